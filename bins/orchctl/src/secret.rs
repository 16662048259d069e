//! The webhook secret: `--secret`, `ORCH_WEBHOOK_SECRET`, then the orchestrator's own
//! configuration, where a project may have a secret of its own.

use config_core::{Environment, Secret};

use crate::arguments::{HiddenText, OrchestratorTarget};
use crate::configuration::{Configuration, declared};
use crate::failure::CommandFailure;

/// Where the secret stands in the configuration.
const KEY: &str = "`[webhook] secret`";

/// The secret that was given, or that can be found.
pub(crate) fn resolve(
    given: Option<&HiddenText>,
    target: &OrchestratorTarget,
    project: &str,
    environment: &Environment,
) -> Result<Secret<String>, CommandFailure> {
    let given = given.map(|text| text.0.clone());
    let set = || {
        let set = environment.get("ORCH_WEBHOOK_SECRET").ok().flatten();
        // Empty is how shells and units leave a variable unset.
        let set = set.filter(|secret| !secret.trim().is_empty());
        set.map(str::to_owned)
    };
    match given.or_else(set) {
        Some(secret) if !secret.trim().is_empty() => Ok(Secret::new(secret)),
        Some(_) => Err(CommandFailure::NotAllowed(
            "the webhook secret is empty".to_owned(),
        )),
        None => from_configuration(target, project, environment),
    }
}

fn from_configuration(
    target: &OrchestratorTarget,
    project: &str,
    environment: &Environment,
) -> Result<Secret<String>, CommandFailure> {
    let missing = |reason: String| {
        CommandFailure::NotAllowed(format!(
            "no webhook secret: {reason}; give --secret or set ORCH_WEBHOOK_SECRET"
        ))
    };
    let configuration = Configuration::read(target).map_err(|failure| match failure {
        CommandFailure::NotAllowed(reason) => missing(reason),
        other => other,
    })?;
    let file = configuration.name();
    let written = written_secret(&configuration.text, project).or_else(|reason| match reason {
        UnresolvedSecret::ElsewhereOr(shared) => {
            let fragment = configuration.fragment(project);
            let own = fragment.and_then(|table| own_secret(table.get("project")?));
            own.or(shared).ok_or_else(|| {
                format!("it has no {KEY}, and no file of conf.d has one for {project}")
            })
        }
        UnresolvedSecret::Wrong(reason) => Err(reason),
    });
    let written = written.map_err(|reason| missing(format!("{file}: {reason}")))?;
    let secret = configuration
        .expand(KEY, &written, environment)?
        .map_err(|reason| missing(format!("{file}: {reason}")))?;
    if secret.trim().is_empty() {
        return Err(missing(format!("{file}: {KEY} is empty")));
    }
    Ok(Secret::new(secret))
}

/// Why the main file does not have the last word.
#[derive(Debug, PartialEq)]
enum UnresolvedSecret {
    /// The project is declared in `conf.d`, where it may have a secret; else it is this one.
    ElsewhereOr(Option<String>),
    /// The file cannot be used.
    Wrong(String),
}

/// The secret for a project as it is written. An error says nothing of the file's content: it is
/// full of secrets.
fn written_secret(text: &str, project: &str) -> Result<String, UnresolvedSecret> {
    let wrong = |text: &str| UnresolvedSecret::Wrong(text.to_owned());
    let table: toml::Table = text.parse().map_err(|_| wrong("it is not TOML"))?;
    let shared = table
        .get("webhook")
        .and_then(|webhook| webhook.get("secret"));
    let shared = match shared {
        Some(toml::Value::String(secret)) => Some(secret.clone()),
        Some(_) => return Err(wrong(&format!("its {KEY} is no text"))),
        None => None,
    };
    for one in declared(&table) {
        if one.get("id").and_then(toml::Value::as_str) == Some(project) {
            let own = own_secret(one).or(shared);
            return own.ok_or_else(|| wrong(&format!("it has no {KEY}")));
        }
    }
    Err(UnresolvedSecret::ElsewhereOr(shared))
}

fn own_secret(project: &toml::Value) -> Option<String> {
    let secret = project.get("webhook_secret")?.as_str()?;
    Some(secret.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_is_found_and_nothing_else_is_told() {
        let text = "token = 'sk-other'\n[webhook]\nsecret = \"${SECRET}\"\n[[projects]]\nid = 'main'\n\
            [[projects]]\nid = 'own'\nwebhook_secret = 'its own'\n";
        assert_eq!(written_secret(text, "main").as_deref(), Ok("${SECRET}"));
        assert_eq!(written_secret(text, "own").as_deref(), Ok("its own"));
        let elsewhere = UnresolvedSecret::ElsewhereOr(Some("${SECRET}".to_owned()));
        assert_eq!(written_secret(text, "other"), Err(elsewhere));
        let none = Err(UnresolvedSecret::ElsewhereOr(None));
        assert_eq!(written_secret("token = 'sk-other'", "main"), none);
        for wrong in ["[webhook]\nsecret = 'sk-unclosed", "[webhook]\nsecret = 5"] {
            let said = written_secret(wrong, "main").unwrap_err();
            assert!(
                matches!(&said, UnresolvedSecret::Wrong(said) if !said.contains("sk-")),
                "{said:?}"
            );
        }
    }
}
