//! `uses`: what a step or a job may name (page "Workflow syntax", `jobs.<job_id>.steps[*].uses`,
//! `jobs.<job_id>.uses`).

use config_core::quoted;

use super::reader::WorkflowReader;
use crate::expr::ExprTemplate;
use crate::source_location::SourceLocation;
use crate::yaml::YamlNode;

/// What it names, without blanks around it: a block (`uses: |`) ends with a line break.
pub(super) fn named(reader: &WorkflowReader<'_>, node: &YamlNode) -> Option<String> {
    let name = reader.plain(node, "uses")?;
    Some(name.trim().to_owned())
}

/// `owner/name[/path]@ref`, `./path`, `docker://image`, or (as Forgejo has it) an address.
pub(super) fn check_action(reader: &WorkflowReader<'_>, uses: &str, place: SourceLocation) {
    if uses.trim().is_empty() {
        let help = "for example `actions/checkout@v4`";
        reader.error_help(place, "`uses` is empty", help);
        return;
    }
    if uses.contains("${{") {
        let help = "write the version out; GitHub refuses the file";
        let note = "write the version out: which action it is must be known before anything runs";
        reader.strict(place, "`uses` takes no expressions", help, note);
        return;
    }
    if is_local(uses) || uses.starts_with("docker://") {
        return;
    }
    let (name, version) = uses.split_once('@').unwrap_or((uses, ""));
    if version.is_empty() {
        let message = format!("{} names no version", quoted(uses));
        let help = format!("for example `{name}@v4`");
        reader.strict(
            place,
            message,
            help,
            "its job is refused, as it fails there",
        );
        return;
    }
    let name = name.split_once("://").map_or(name, |(_, rest)| rest);
    let segments = name.split(['/', '\\']).filter(|part| !part.is_empty());
    if segments.count() < 2 {
        let message = format!("{} is no action", quoted(uses));
        reader.error_help(place, message, "`owner/name@version`, or `./path`");
    }
}

/// `./path` of the same commit, or `owner/name/path@ref`.
pub(super) fn check_called(reader: &WorkflowReader<'_>, uses: &str, place: SourceLocation) {
    if uses.trim().is_empty() {
        reader.error_help(
            place,
            "`uses` is empty",
            "for example `./.github/workflows/build.yml`",
        );
        return;
    }
    if !is_local(uses) {
        check_remote(reader, uses, place);
        return;
    }
    let Some((path, _)) = uses.split_once('@') else {
        return;
    };
    let message = "a workflow of the same repository has no version: it is that of the commit";
    reader.error_help(place, message, format!("write `{path}`"));
}

/// `owner/repo/path/to/workflow.yml@ref`.
fn check_remote(reader: &WorkflowReader<'_>, uses: &str, place: SourceLocation) {
    let name = uses.split_once('@').map(|(name, _)| name);
    let name = name.map(|name| name.split_once("://").map_or(name, |(_, rest)| rest));
    let parts: Vec<&str> = name.unwrap_or_default().split('/').collect();
    let is_file = parts.last().is_some_and(|file| {
        std::path::Path::new(file)
            .extension()
            .is_some_and(|ending| ending == "yml" || ending == "yaml")
    });
    // An expression is a mistake of its own.
    if uses.contains("${{") {
        return;
    }
    if parts.len() < 3 || parts.contains(&"") || !is_file {
        let message = format!("{} is no workflow that can be called", quoted(uses));
        let help = "`owner/repo/.github/workflows/x.yml@ref`, or `./.github/workflows/x.yml`";
        reader.error_help(place, message, help);
    }
}

/// The inputs without which an action that is done here fails.
pub(super) fn check_inputs(
    reader: &WorkflowReader<'_>,
    uses: &str,
    with: &[(String, ExprTemplate)],
    place: SourceLocation,
) {
    for input in crate::plan::required_inputs(uses) {
        let given = with.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case(input) && !value.source.trim().is_empty()
        });
        if !given {
            let message = format!("{uses} needs the input `{input}`: the step would fail");
            reader.warn(place, message, format!("give it by `with: {{{input}: …}}`"));
        }
    }
}

fn is_local(uses: &str) -> bool {
    uses.starts_with(".\\") || in_repository(uses).is_some()
}

/// The path of what lies in the same repository: `./path`, or `$/path`, which is the repository of
/// the file itself.
pub(crate) fn in_repository(uses: &str) -> Option<&str> {
    uses.strip_prefix("./").or_else(|| uses.strip_prefix("$/"))
}
