//! Folders as people write them, and the default places of each operating system.

use std::path::{Component, Path, PathBuf};

use config_core::{Environment, ValueError, quoted};

/// The operating system, as far as default places differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Os {
    /// Linux and other Unix systems.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Os {
    /// The system this program was built for.
    pub const fn current() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Linux
        }
    }

    /// The default path of the role file (contract, section 2.1).
    pub(super) fn settings_path(self, environment: &Environment) -> Result<PathBuf, ValueError> {
        Ok(match self {
            Self::Linux => {
                base(environment, "XDG_CONFIG_HOME", ".config")?.join("service/config.json")
            }
            Self::MacOs => {
                home_directory(environment)?.join("Library/Application Support/Service/config.json")
            }
            Self::Windows => app_data(environment)?.join("Service").join("config.json"),
        })
    }

    /// The default data folder.
    pub(super) fn data_path(self, environment: &Environment) -> Result<PathBuf, ValueError> {
        Ok(match self {
            Self::Linux => base(environment, "XDG_DATA_HOME", ".local/share")?.join("service"),
            Self::MacOs => {
                home_directory(environment)?.join("Library/Application Support/Service/data")
            }
            Self::Windows => app_data(environment)?.join("Service").join("data"),
        })
    }
}

fn folder_variable(environment: &Environment, name: &str) -> Result<Option<PathBuf>, ValueError> {
    let value = environment
        .get(name)
        .map_err(|error| ValueError::new(format!("{name}: {error}")))?;
    Ok(value.filter(|value| !value.is_empty()).map(PathBuf::from))
}

/// A base folder of the XDG specification: as `variable` says, else the usual one below the home
/// folder. A path that is not absolute counts as none, as the specification has it.
fn base(environment: &Environment, variable: &str, usual: &str) -> Result<PathBuf, ValueError> {
    let named = folder_variable(environment, variable)?.filter(|path| path.is_absolute());
    named.map_or_else(|| Ok(home_directory(environment)?.join(usual)), Ok)
}

/// The user's home folder.
fn home_directory(environment: &Environment) -> Result<PathBuf, ValueError> {
    let home = match folder_variable(environment, "HOME")? {
        Some(home) => Some(home),
        None => folder_variable(environment, "USERPROFILE")?,
    };
    home.ok_or_else(|| ValueError::new("the home folder is unknown: HOME is not set"))
}

fn app_data(environment: &Environment) -> Result<PathBuf, ValueError> {
    let folder = folder_variable(environment, "APPDATA")?;
    folder.ok_or_else(|| ValueError::new("the folder for settings is unknown: APPDATA is not set"))
}

/// A path with `~` for the home folder.
pub(super) fn with_home(text: &str, environment: &Environment) -> Result<PathBuf, ValueError> {
    match text.strip_prefix('~') {
        Some("") => home_directory(environment),
        Some(rest) if rest.starts_with(['/', '\\']) => {
            Ok(home_directory(environment)?.join(&rest[1..]))
        }
        Some(_) => Err(
            ValueError::new("another user's home folder is not supported")
                .help("write the whole path; `./~name` is a folder of that name"),
        ),
        None => Ok(PathBuf::from(text)),
    }
}

/// The folder of a haystack. It cannot climb (`..`): what a role may read is seen at a glance.
pub(super) fn folder(text: &str, environment: &Environment) -> Result<PathBuf, ValueError> {
    if Path::new(text)
        .components()
        .any(|component| component == Component::ParentDir)
    {
        let error = ValueError::new("a location must not hold `..`");
        return Err(error.help("write the whole path, or one below the role file's folder"));
    }
    usable_here(text)?;
    with_home(text, environment)
}

/// Refuses what people write for a path and what would be taken for the name of a folder beside the
/// role file.
fn usable_here(text: &str) -> Result<(), ValueError> {
    if let Some(address) = text
        .get(..5)
        .filter(|scheme| scheme.eq_ignore_ascii_case("file:"))
    {
        let path = text[address.len()..].trim_start_matches('/');
        let path = path.strip_prefix("localhost/").unwrap_or(path);
        let error = ValueError::new(format!("{} is a URL, and a path is wanted", quoted(text)));
        return Err(error.help(format!("write {}", quoted(&format!("/{path}")))));
    }
    if let Some(scheme) = ["http://", "https://"]
        .into_iter()
        .find(|scheme| text.starts_with(scheme))
    {
        let error = ValueError::new(format!("{} is a URL, and a path is wanted", quoted(text)));
        return Err(error.help(format!(
            "`{scheme}` addresses belong to services that ask servers"
        )));
    }
    let variable = text.strip_prefix('$').map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        &rest[..end.unwrap_or(rest.len())]
    });
    if let Some(name) = variable.filter(|name| !name.is_empty()) {
        let error = ValueError::new(format!("`${name}` is not a variable here"));
        return Err(error.help(format!(
            "write `${{{name}}}`, or `./${name}` for a folder of that name"
        )));
    }
    let mut letters = text.chars();
    let is_drive = letters
        .next()
        .is_some_and(|letter| letter.is_ascii_alphabetic())
        && letters.next() == Some(':')
        && letters.next().is_none_or(|sign| matches!(sign, '\\' | '/'));
    if is_drive && Os::current() != Os::Windows {
        let rest = text[2..].replace('\\', "/");
        let mounted = format!("/mnt/{}{rest}", text[..1].to_ascii_lowercase());
        let error = ValueError::new(format!("{} is a path of Windows", quoted(text)));
        return Err(error.help(format!(
            "write a path of this system, for example {} in the Windows Subsystem for Linux",
            quoted(&mounted)
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn y7_the_default_places_are_below_the_xdg_base_folders() {
        let places = |pairs: &[(&str, &str)]| {
            let environment: Environment = pairs.iter().copied().collect();
            let place = |found: Result<PathBuf, ValueError>| {
                found.map(|path| path.to_str().unwrap_or_default().to_owned())
            };
            (
                place(Os::Linux.settings_path(&environment)).ok(),
                place(Os::Linux.data_path(&environment)).ok(),
            )
        };
        let both = |settings: &str, data: &str| (Some(settings.to_owned()), Some(data.to_owned()));
        let home = ("HOME", "/home/me");
        let usual = both(
            "/home/me/.config/service/config.json",
            "/home/me/.local/share/service",
        );
        assert_eq!(places(&[home]), usual, "the contract's own places");
        let named = [
            home,
            ("XDG_CONFIG_HOME", "/etc/me"),
            ("XDG_DATA_HOME", "/data"),
        ];
        assert_eq!(
            places(&named),
            both("/etc/me/service/config.json", "/data/service")
        );
        assert_eq!(
            places(&named[1..]),
            places(&named),
            "no home is needed then"
        );
        let none = [home, ("XDG_CONFIG_HOME", "relative"), ("XDG_DATA_HOME", "")];
        assert_eq!(places(&none), usual);
        assert_eq!(places(&[]), (None, None));
    }
}
