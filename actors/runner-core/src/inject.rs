//! Texts that strangers write, inside scripts: `run: echo ${{ github.event.pull_request.title }}`
//! makes a command of a title.

use config_core::{Diagnostics, Severity, SourceText};

use crate::expr::Template;
use crate::workflow::{JobWork, Step, StepWork, Workflow};

/// Ends of names below `github.event` whose values a stranger can choose freely.
const FREE: [&str; 9] = [
    "title",
    "body",
    "message",
    "name",
    "email",
    "ref",
    "label",
    "page_name",
    "default_branch",
];
/// Others.
const WHOLE: [&str; 3] = ["github.head_ref", "github.event.inputs", "github.ref_name"];

/// Expressions of a script whose values strangers choose, as they are written.
pub fn untrusted(script: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut rest = script;
    while let Some(start) = rest.find("${{") {
        let Some(length) = rest[start..].find("}}") else {
            break;
        };
        let inner = rest[start + 3..start + length].trim();
        if names(inner).any(|name| is_untrusted(&name)) && !found.iter().any(|known| known == inner)
        {
            found.push(inner.to_owned());
        }
        rest = &rest[start + length + 2..];
    }
    found
}

/// The dotted names of an expression, in lower case; texts in quotes are none.
fn names(expression: &str) -> impl Iterator<Item = String> {
    let outside: String = expression
        .split('\'')
        .step_by(2)
        .collect::<Vec<_>>()
        .join(" ");
    // `commits[0].message` is `commits.0.message`.
    let lower = outside
        .to_ascii_lowercase()
        .replace('[', ".")
        .replace(']', "");
    let names: Vec<String> = lower
        .split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '*')))
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    names.into_iter()
}

fn is_untrusted(name: &str) -> bool {
    let name = ["forgejo.", "gitea."]
        .iter()
        .find_map(|other| name.strip_prefix(other))
        .map_or_else(|| name.to_owned(), |rest| format!("github.{rest}"));
    let free = name.strip_prefix("github.event.").is_some_and(|rest| {
        let mut parts = rest.rsplit('.');
        parts.next().is_some_and(|last| FREE.contains(&last)) && !rest.starts_with("repository.")
    });
    free || WHOLE
        .iter()
        .any(|whole| name == *whole || name.starts_with(&format!("{whole}.")))
}

/// Inputs of actions that are run as scripts, in small letters.
const SCRIPTS: [(&str, &str); 6] = [
    ("actions/github-script", "script"),
    ("nick-fields/retry", "command"),
    ("nick-invision/retry", "command"),
    ("azure/cli", "inlinescript"),
    ("azure/powershell", "inlinescript"),
    ("appleboy/ssh-action", "script"),
];

/// What of a step is run as commands: its script, or the script that an action is given.
fn scripts(step: &Step) -> Vec<&Template> {
    match &step.work {
        StepWork::Run { script, .. } => vec![script],
        StepWork::Uses { uses, with } => {
            let name = uses.value.split('@').next().unwrap_or_default();
            let name = name.to_ascii_lowercase();
            let is_script = |input: &str| {
                let mut known = SCRIPTS.iter();
                known.any(|(action, key)| name == *action && input.eq_ignore_ascii_case(key))
            };
            let given = with.iter().filter(|(input, _)| is_script(input));
            given.map(|(_, value)| value).collect()
        }
        _ => Vec::new(),
    }
}

/// A warning for each step whose script holds such an expression.
pub(crate) fn warnings(workflow: &Workflow, bytes: &[u8]) -> Diagnostics {
    let mut warnings = Diagnostics::default();
    let Ok(text) = SourceText::read(&workflow.file, bytes) else {
        return warnings;
    };
    for job in &workflow.jobs {
        let JobWork::Steps { steps, .. } = &job.work else {
            continue;
        };
        for script in steps.iter().flat_map(scripts) {
            for expression in untrusted(&script.source) {
                let message = format!(
                    "`${{{{ {expression} }}}}` puts a text that strangers choose into a script, where it is run as commands"
                );
                let help = "give it to the step by `env`, and use the variable in double quotes";
                let place = script.place.bytes();
                warnings.push(text.diagnostic(Severity::Warning, place, &message, Some(help), ""));
            }
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r03_what_strangers_choose_is_found_and_the_rest_is_not() {
        let script = "echo '${{ github.event.pull_request.title }}' ${{github.HEAD_REF}} ${{ format('{0}', github.event.commits[0].message) }} ${{ github.event.inputs.x }}";
        assert_eq!(
            untrusted(script),
            [
                "github.event.pull_request.title",
                "github.HEAD_REF",
                "format('{0}', github.event.commits[0].message)",
                "github.event.inputs.x"
            ]
        );
        for harmless in [
            "echo ${{ github.sha }} ${{ github.event.number }} ${{ github.event.pull_request.head.sha }}",
            "echo ${{ 'github.event.issue.title' }} ${{ env.TITLE }} ${{ github.event.repository.name }}",
            "echo $TITLE ${{ unclosed",
        ] {
            assert_eq!(untrusted(harmless), Vec::<String>::new(), "{harmless}");
        }
    }
}
