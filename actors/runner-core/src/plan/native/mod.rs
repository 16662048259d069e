//! Actions that the runner does itself, and which of their inputs it can do.

mod setup;
mod table;
mod types;

use setup::checked;
pub(super) use setup::{moving, planned_setup};
use table::{NATIVE, NativeActionRow, harmless};
pub use types::{NativeAction, PlannedSetup, SetupTool};

use crate::expr::ExprTemplate;
use crate::workflow::Need;

/// The names of the native actions, for documentation and suggestions.
pub fn native_actions() -> impl Iterator<Item = &'static str> {
    NATIVE.iter().map(|entry| entry.name)
}

/// The inputs without which a native action fails; none of one that is not native.
pub(crate) fn required_inputs(uses: &str) -> &'static [&'static str] {
    entry(uses).map_or(&[], |entry| entry.required)
}

/// What a native action gives; nothing of one that is not native.
pub(crate) fn native_outputs(uses: &str) -> Option<&'static [&'static str]> {
    entry(uses).map(|entry| entry.outputs)
}

fn entry(uses: &str) -> Option<&'static NativeActionRow> {
    let name = action_name(uses);
    NATIVE
        .iter()
        .find(|entry| entry.name.eq_ignore_ascii_case(name))
}

/// Whether it is an action that sets a tool up, whatever version it names.
pub(super) fn sets_up(uses: &str) -> bool {
    entry(uses).is_some_and(|entry| matches!(entry.action, NativeAction::Setup(_)))
}

/// The native action of a `uses`, or everything that is missing for it, and why.
pub(super) fn native(
    uses: &str,
    with: &[(String, ExprTemplate)],
) -> Result<NativeAction, Vec<(Need, String)>> {
    let Some(entry) = entry(uses) else {
        let reason = "it is in no store of actions; the operator can add it there (`workflow-runner actions add`)";
        let need = Need::Action(written_name(uses).to_owned());
        return Err(vec![(need, reason.to_owned())]);
    };
    let mut missing = Vec::new();
    for (input, value) in with {
        let known = |list: &[&str]| list.iter().any(|name| name.eq_ignore_ascii_case(input));
        let fixed = value.fixed().map(|value| value.as_text().to_string());
        if known(entry.inputs) || known(entry.idle) || fixed.as_deref().is_some_and(harmless) {
            continue;
        }
        let is_limited = entry.values_of(input).is_some();
        if !is_limited {
            // No release has it: a warning, see `unknown_inputs`.
            continue;
        }
        let undone = fixed
            .as_deref()
            .and_then(|value| entry.undone(input, value));
        let Some(reason) = undone else {
            continue;
        };
        let need = Need::NativeInput(format!("{input} of {}", entry.name));
        missing.push((need, reason));
    }
    let action = match entry.action {
        NativeAction::Setup(tool) => match checked(tool, uses, with) {
            Ok(tool) => NativeAction::Setup(tool),
            Err(reason) => {
                missing.push((Need::Version(entry.name.to_owned()), reason));
                entry.action
            }
        },
        action => action,
    };
    if missing.is_empty() {
        Ok(action)
    } else {
        Err(missing)
    }
}

/// Inputs of a step that its native action does not have: they change nothing, as on GitHub.
pub(super) fn unknown_inputs<'a>(uses: &str, with: &'a [(String, ExprTemplate)]) -> Vec<&'a str> {
    let Some(entry) = entry(uses) else {
        return Vec::new();
    };
    let is_known = |input: &str| {
        let mut known = entry.inputs.iter().chain(entry.idle);
        known.any(|name| name.eq_ignore_ascii_case(input)) || entry.values_of(input).is_some()
    };
    let inputs = with.iter().map(|(input, _)| input.as_str());
    inputs.filter(|input| !is_known(input)).collect()
}

/// Why a value that an input of a native action has in a run is not done; nothing where it is.
#[must_use]
pub fn undone_value(uses: &str, input: &str, value: &str) -> Option<String> {
    entry(uses)?.undone(input, value.trim())
}

/// Whether a `uses` names this release of an action or a later one: `v7`, `v7.0.1`, or its newest
/// branch. A commit names none; see the release of a planned step.
#[must_use]
pub fn is_release_since(uses: &str, major: u64) -> bool {
    let reference = uses.rsplit_once('@').map_or("", |(_, reference)| reference);
    if matches!(reference, "main" | "master") {
        return true;
    }
    let number = reference.strip_prefix('v').unwrap_or(reference);
    let number = number.split('.').next().unwrap_or(number);
    // A commit of digits alone is none either.
    let number = number.parse::<u64>().ok().filter(|number| *number < 1000);
    number.is_some_and(|number| number >= major)
}

/// What stands for the newest release.
pub(super) const NEWEST: &str = "@main";

/// A `uses` by its release: where it names a commit, with the one that the comment behind it tells
/// (`# v8.0.1`, as those write it who update actions), else the newest.
pub(super) fn release_of(uses: &str, comment: Option<&str>) -> String {
    let Some((name, reference)) = uses.rsplit_once('@') else {
        return uses.to_owned();
    };
    let is_commit = reference.len() >= 40 && reference.bytes().all(|it| it.is_ascii_hexdigit());
    if !is_commit {
        return uses.to_owned();
    }
    let apart = |c: char| !c.is_ascii_alphanumeric() && !".-_".contains(c);
    let mut words = comment.unwrap_or_default().split(apart);
    let release = words.find(|word| {
        let numbers = word.strip_prefix(['v', 'V']).unwrap_or(word);
        let mut parts = numbers.split('.');
        parts.all(|part| (1..4).contains(&part.len()) && part.bytes().all(|c| c.is_ascii_digit()))
    });
    match release {
        Some(release) => format!("{name}@{}", release.to_ascii_lowercase()),
        None => format!("{name}{NEWEST}"),
    }
}

/// `owner/name` of `owner/name@v4` and of `https://code.example/owner/name@v4`.
pub(super) fn action_name(uses: &str) -> &str {
    let name = written_name(uses);
    let name = match name.split_once("://") {
        Some((scheme, rest)) if scheme.starts_with("http") => {
            rest.split_once('/').map_or(rest, |(_, path)| path)
        }
        _ => name,
    };
    let same = |(alias, _): &&(&str, &str)| name.eq_ignore_ascii_case(alias);
    ALIASES.iter().find(same).map_or(name, |(_, name)| name)
}

/// An action without its version, its forge with it where one is named: what can be added.
fn written_name(uses: &str) -> &str {
    uses.split_once('@').map_or(uses, |(name, _)| name)
}

/// Actions that are others with GitHub's check of the forge taken out.
const ALIASES: [(&str, &str); 4] = [
    ("forgejo/upload-artifact", "actions/upload-artifact"),
    ("forgejo/download-artifact", "actions/download-artifact"),
    (
        "christopherhx/gitea-upload-artifact",
        "actions/upload-artifact",
    ),
    (
        "christopherhx/gitea-download-artifact",
        "actions/download-artifact",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// All commits were taken for old releases.
    #[test]
    fn i17_the_comment_behind_a_commit_tells_its_release() {
        let commit = "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c";
        for (uses, comment, expected) in [
            (commit, Some("v8.0.1"), "v8.0.1"),
            (commit, Some("V4"), "v4"),
            (commit, Some("4.1.0"), "4.1.0"),
            (commit, Some("tag=v4.3.0"), "v4.3.0"),
            (commit, Some("ratchet:actions/download-artifact@v5"), "v5"),
            (commit, Some("pin@v4 (2024-01-01)"), "v4"),
            (commit, Some("2024-01-01"), "main"),
            (commit, Some("the newest"), "main"),
            (commit, None, "main"),
            ("actions/download-artifact@v4", Some("v8"), "v4"),
            ("actions/download-artifact@abc", Some("v8"), "abc"),
        ] {
            let release = release_of(uses, comment);
            assert_eq!(
                release,
                format!("actions/download-artifact@{expected}"),
                "{uses} {comment:?}"
            );
        }
    }

    #[test]
    fn i17_a_release_of_an_action_is_known_by_its_name() {
        for (uses, expected) in [
            ("actions/checkout@v7", true),
            ("actions/checkout@v7.0.1", true),
            ("https://code.example/actions/checkout@10", true),
            ("actions/checkout@main", true),
            ("actions/checkout@v6.1.0", false),
            (
                "actions/checkout@1111111111111111111111111111111111111111",
                false,
            ),
            ("actions/checkout@v8-beta", false),
            ("actions/checkout", false),
        ] {
            assert_eq!(is_release_since(uses, 7), expected, "{uses}");
        }
    }
}
