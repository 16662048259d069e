//! Which workers there are.

use std::path::Path;

use config_core::{ConfigInput, ConfigItem, Diagnostics, Environment};

/// Slots of a worker, unless said: the contract's.
const DEFAULT_SLOTS: u16 = 6;

/// A machine that builds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BuildWorker {
    /// What `--worker` and messages call it.
    pub(crate) name: String,
    /// As ssh takes it.
    pub(crate) host: String,
    /// Builds at one time.
    pub(crate) slots: u16,
    /// Its folder there.
    pub(crate) folder: String,
    /// Further arguments for ssh.
    pub(crate) ssh_args: Vec<String>,
}

/// The worker there is without a configuration.
pub(crate) fn defaults() -> Vec<BuildWorker> {
    vec![BuildWorker {
        name: "local".to_owned(),
        host: "localhost".to_owned(),
        slots: DEFAULT_SLOTS,
        folder: "build-worker".to_owned(),
        ssh_args: Vec::new(),
    }]
}

/// Reads the file that lists the workers.
///
/// # Errors
/// Every mistake of it, with its place.
pub(crate) fn read(
    path: &Path,
    text: &[u8],
    environment: &Environment,
) -> Result<Vec<BuildWorker>, Diagnostics> {
    let name = path.display().to_string();
    let input = ConfigInput::toml(&name, text, environment);
    let decoded = input.decode(|item| {
        item.fields("the file", &["worker"], |fields| {
            fields.required("worker", |item| {
                item.non_empty_list("at least one worker is needed", worker)
            })
        })
    })?;
    Ok(decoded.value)
}

fn worker(item: &ConfigItem<'_>) -> Option<BuildWorker> {
    item.fields(
        "a worker",
        &["name", "host", "slots", "folder", "ssh_args"],
        |fields| {
            let name = fields.required("name", ConfigItem::string);
            let host = fields.required("host", host);
            let slots = fields.optional("slots", |item| item.integer(1..=64));
            let folder = fields.optional("folder", folder);
            let ssh_args = fields.optional("ssh_args", |item| item.list(ConfigItem::string));
            Some(BuildWorker {
                name: name?,
                host: host?,
                slots: slots
                    .and_then(|slots| u16::try_from(slots).ok())
                    .unwrap_or(DEFAULT_SLOTS),
                folder: folder.unwrap_or_else(|| "build-worker".to_owned()),
                ssh_args: ssh_args.unwrap_or_default(),
            })
        },
    )
}

/// ssh must not take it for an option, nor git for another kind of address.
fn host(item: &ConfigItem<'_>) -> Option<String> {
    let host = item.string()?;
    let strange = |c: char| c.is_whitespace() || c.is_control() || ":/'\"\\".contains(c);
    if host.starts_with('-') || host.contains(strange) {
        item.error("use <host> or <user>@<host>; ports and the like go into `ssh_args` or ssh's own configuration");
        return None;
    }
    Some(host)
}

/// A folder that needs no quoting anywhere.
fn folder(item: &ConfigItem<'_>) -> Option<String> {
    let folder = item.string()?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    if !folder.bytes().all(plain)
        || folder.starts_with('-')
        || folder.split('/').any(|part| part == "..")
    {
        item.error("use letters, digits and / . _ - only, without `..`");
        return None;
    }
    Some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<BuildWorker>, String> {
        read(
            Path::new("w.toml"),
            text.as_bytes(),
            &Environment::default(),
        )
        .map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn one_local_worker_with_six_slots_is_the_usual_one() {
        assert_eq!(
            parsed("[[worker]]\nname = 'local'\nhost = 'localhost'\n").unwrap(),
            defaults()
        );
        assert_eq!(defaults()[0].slots, 6);
    }

    #[test]
    fn the_sample_is_the_usual_worker() {
        let sample =
            include_str!("../../../../../config-samples/orchestrator/fleet/build-workers.toml");
        assert_eq!(parsed(sample).unwrap(), defaults());
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        let head = "[[worker]]\nname = 'a'\n";
        for (text, expected) in [
            ("", "the file is empty"),
            ("worker = []", "at least one worker"),
            (&format!("{head}host = '-oProxyCommand=x'\n"), "w.toml:3"),
            (&format!("{head}host = 'a b'\n"), "w.toml:3"),
            (&format!("{head}host = 'ext::sh'\n"), "w.toml:3"),
            (&format!("{head}host = 'h'\nslots = 0\n"), "w.toml:4"),
            (
                &format!("{head}host = 'h'\nfolder = '$(id)'\n"),
                "letters, digits",
            ),
            (
                &format!("{head}host = 'h'\nfolder = '../x'\n"),
                "without `..`",
            ),
            (
                &format!("{head}host = 'h'\nslot = 2\n"),
                "did you mean `slots`?",
            ),
        ] {
            let said = parsed(text).expect_err(text);
            assert!(said.contains(expected), "{text}: {said}");
        }
    }
}
