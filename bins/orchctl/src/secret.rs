//! The webhook secret: `--secret`, `ORCH_WEBHOOK_SECRET`, then the orchestrator's own
//! configuration, where a project may have a secret of its own.

use config_core::{Environment, Secret};

use crate::arguments::{HiddenText, Target};
use crate::failure::Failure;
use crate::ssh;

/// Where the secret stands in the configuration.
const KEY: &str = "`[webhook] secret`";

/// The secret that was given, or that can be found.
pub(crate) fn resolve(
    given: Option<&HiddenText>,
    target: &Target,
    project: &str,
    environment: &Environment,
) -> Result<Secret<String>, Failure> {
    let given = given.map(|text| text.0.clone());
    let set = || {
        environment
            .get("ORCH_WEBHOOK_SECRET")
            .ok()
            .flatten()
            .map(str::to_owned)
    };
    match given.or_else(set) {
        Some(secret) if !secret.trim().is_empty() => Ok(Secret::new(secret)),
        Some(_) => Err(Failure::NotAllowed(
            "the webhook secret is empty".to_owned(),
        )),
        None => from_configuration(target, project, environment),
    }
}

fn from_configuration(
    target: &Target,
    project: &str,
    environment: &Environment,
) -> Result<Secret<String>, Failure> {
    let where_ = target
        .ssh
        .as_deref()
        .map(|host| format!("{host}:"))
        .unwrap_or_default();
    let file = format!("{where_}{}", target.config);
    let missing = |reason: String| {
        Failure::NotAllowed(format!(
            "no webhook secret: {reason}; give --secret or set ORCH_WEBHOOK_SECRET"
        ))
    };
    let text = match &target.ssh {
        Some(host) => ssh::read_file(target, host, &target.config)?,
        None => std::fs::read_to_string(&target.config)
            .map_err(|error| missing(format!("{file}: {error}")))?,
    };
    let written = written_secret(&text, project).or_else(|reason| match reason {
        Missing::ElsewhereOr(shared) => {
            Ok(fragment_secret(target, project).or(shared).ok_or_else(|| {
                format!("it has no {KEY}, and no file of conf.d has one for {project}")
            })?)
        }
        Missing::Wrong(reason) => Err(reason),
    });
    let written = written.map_err(|reason| missing(format!("{file}: {reason}")))?;
    let variable = |name: &str| match &target.ssh {
        Some(host) => ssh::variable(target, host, name),
        None => Ok(environment.get(name).ok().flatten().map(str::to_owned)),
    };
    let secret =
        expand(&written, &variable)?.map_err(|reason| missing(format!("{file}: {reason}")))?;
    if secret.trim().is_empty() {
        return Err(missing(format!("{file}: {KEY} is empty")));
    }
    Ok(Secret::new(secret))
}

/// Why the main file does not have the last word.
#[derive(Debug, PartialEq)]
enum Missing {
    /// The project is declared in `conf.d`, where it may have a secret; else it is this one.
    ElsewhereOr(Option<String>),
    /// The file cannot be used.
    Wrong(String),
}

/// The secret for a project as it is written. An error says nothing of the file's content: it is
/// full of secrets.
fn written_secret(text: &str, project: &str) -> Result<String, Missing> {
    let wrong = |text: &str| Missing::Wrong(text.to_owned());
    let table: toml::Table = text.parse().map_err(|_| wrong("it is not TOML"))?;
    let shared = table
        .get("webhook")
        .and_then(|webhook| webhook.get("secret"));
    let shared = match shared {
        Some(toml::Value::String(secret)) => Some(secret.clone()),
        Some(_) => return Err(wrong(&format!("its {KEY} is no text"))),
        None => None,
    };
    let listed = table.get("projects").and_then(toml::Value::as_array);
    let declared = listed.into_iter().flatten().chain(table.get("project"));
    for one in declared {
        if one.get("id").and_then(toml::Value::as_str) == Some(project) {
            let own = own_secret(one).or(shared);
            return own.ok_or_else(|| wrong(&format!("it has no {KEY}")));
        }
    }
    Err(Missing::ElsewhereOr(shared))
}

fn own_secret(project: &toml::Value) -> Option<String> {
    let secret = project.get("webhook_secret")?.as_str()?;
    Some(secret.to_owned())
}

/// The secret that `conf.d/<project>.toml` has for its project.
fn fragment_secret(target: &Target, project: &str) -> Option<String> {
    let directory = match target.config.rsplit_once('/') {
        Some((directory, _)) => format!("{directory}/"),
        None => String::new(),
    };
    let path = format!("{directory}conf.d/{project}.toml");
    let text = match &target.ssh {
        Some(host) => ssh::read_file(target, host, &path).ok()?,
        None => std::fs::read_to_string(&path).ok()?,
    };
    let table: toml::Table = text.parse().ok()?;
    own_secret(table.get("project")?)
}

/// Replaces `${VAR}` and `$$`, as the orchestrator does.
fn expand(
    written: &str,
    variable: &dyn Fn(&str) -> Result<Option<String>, Failure>,
) -> Result<Result<String, String>, Failure> {
    let mut text = String::new();
    let mut rest = written;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            text.push('$');
            rest = after;
        } else if let Some((name, after)) = after
            .strip_prefix('{')
            .and_then(|inner| inner.split_once('}'))
        {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if name.is_empty()
                || !name.bytes().all(allowed)
                || name.starts_with(|c: char| c.is_ascii_digit())
            {
                return Ok(Err(format!("{KEY} names a variable that cannot be one")));
            }
            match variable(name)? {
                Some(value) => text.push_str(&value),
                None => return Ok(Err(format!("{KEY} is ${{{name}}}, which is not set there"))),
            }
            rest = after;
        } else {
            text.push('$');
            rest = after;
        }
    }
    text.push_str(rest);
    Ok(Ok(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(written: &str) -> Result<String, String> {
        let variable = |name: &str| Ok((name == "SECRET").then(|| "s3cret".to_owned()));
        expand(written, &variable).unwrap()
    }

    #[test]
    fn variables_are_replaced_as_in_the_orchestrator() {
        assert_eq!(expanded("plain").as_deref(), Ok("plain"));
        assert_eq!(
            expanded("a-${SECRET}-b$$c$d").as_deref(),
            Ok("a-s3cret-b$c$d")
        );
        assert!(expanded("${MISSING}").unwrap_err().contains("${MISSING}"));
        for wrong in ["${}", "${a b}", "${$(id)}", "${;id}", "${1A}"] {
            assert!(expanded(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_secret_is_found_and_nothing_else_is_told() {
        let text = "token = 'sk-other'\n[webhook]\nsecret = \"${SECRET}\"\n[[projects]]\nid = 'main'\n\
            [[projects]]\nid = 'own'\nwebhook_secret = 'its own'\n";
        assert_eq!(written_secret(text, "main").as_deref(), Ok("${SECRET}"));
        assert_eq!(written_secret(text, "own").as_deref(), Ok("its own"));
        let elsewhere = Missing::ElsewhereOr(Some("${SECRET}".to_owned()));
        assert_eq!(written_secret(text, "other"), Err(elsewhere));
        let none = Err(Missing::ElsewhereOr(None));
        assert_eq!(written_secret("token = 'sk-other'", "main"), none);
        for wrong in ["[webhook]\nsecret = 'sk-unclosed", "[webhook]\nsecret = 5"] {
            let said = written_secret(wrong, "main").unwrap_err();
            assert!(
                matches!(&said, Missing::Wrong(said) if !said.contains("sk-")),
                "{said:?}"
            );
        }
    }
}
