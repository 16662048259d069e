//! What a `setup-…` step says of versions before it runs.

use super::types::{NativeAction, PlannedSetup, SetupTool};
use crate::expr::ExprTemplate;
use crate::setup::{VersionRequirement, caching::setup_cache, npm, rust_parts};

/// A tool whose version the image can be held to, as far as it is known before the run.
pub(super) fn checked(
    mut tool: SetupTool,
    uses: &str,
    with: &[(String, ExprTemplate)],
) -> Result<SetupTool, String> {
    // `dtolnay/rust-toolchain@1.75` names the version behind the action's name.
    let is_given = find_input(with, tool.version_input).is_some();
    if tool.command == "rustc" && !is_given {
        tool.named_by_reference = named_by_reference(uses).is_some();
    }
    if let Some(components) = fixed(with, "components").filter(|_| tool.command == "rustc") {
        rust_parts(&components, "")?;
    }
    if let Some(cache) = fixed(with, "cache") {
        setup_cache(tool.command, &cache)?;
    }
    if let Some(url) = fixed(with, "registry-url").filter(|url| !url.is_empty()) {
        npm::settings(&url, "", "", "")?;
    }
    required_versions(tool, uses, with).map(|_| tool)
}

/// The versions that a step wants, as far as they are known before the run: one a line.
fn required_versions(
    tool: SetupTool,
    uses: &str,
    with: &[(String, ExprTemplate)],
) -> Result<Vec<VersionRequirement>, String> {
    let version = match find_input(with, tool.version_input) {
        Some(_) => fixed(with, tool.version_input).unwrap_or_default(),
        None if tool.command == "rustc" => named_by_reference(uses).unwrap_or_default().to_owned(),
        None => String::new(),
    };
    let lines = version.lines().filter(|line| !line.trim().is_empty());
    let versions = lines.map(|version| {
        VersionRequirement::parse(tool.command, version)
            .map_err(|reason| format!("`{}`: {reason}", tool.version_input))
    });
    versions.collect()
}

/// What of a setup step means another release tomorrow: the newest that the image has is taken.
pub(in crate::plan) fn moving(
    action: NativeAction,
    uses: &str,
    with: &[(String, ExprTemplate)],
) -> Option<String> {
    let NativeAction::Setup(tool) = action else {
        return None;
    };
    if fixed(with, "check-latest").is_some_and(|value| value == "true") {
        return Some("`check-latest`".to_owned());
    }
    let versions = required_versions(tool, uses, with).unwrap_or_default();
    let moves = versions.iter().any(VersionRequirement::moves);
    let named = fixed(with, tool.version_input);
    let named = named.as_deref().or_else(|| named_by_reference(uses));
    moves.then(|| {
        format!(
            "`{}`",
            named.unwrap_or_default().trim().replace('\n', "`, `")
        )
    })
}

/// What such a step asks of the image.
pub(in crate::plan) fn planned_setup(
    action: NativeAction,
    uses: &str,
    with: &[(String, ExprTemplate)],
    is_stored: bool,
) -> Option<PlannedSetup> {
    let NativeAction::Setup(tool) = action else {
        return None;
    };
    Some(PlannedSetup {
        uses: uses.to_owned(),
        command: tool.command,
        newest: moving(action, uses, with),
        is_stored,
    })
}

fn find_input<'w>(with: &'w [(String, ExprTemplate)], name: &str) -> Option<&'w ExprTemplate> {
    let mut with = with.iter();
    let found = with.find(|(input, _)| input.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value)
}

fn fixed(with: &[(String, ExprTemplate)], name: &str) -> Option<String> {
    let value = find_input(with, name)?.fixed()?;
    Some(value.as_text().to_string())
}

/// The version behind the name of the action; a commit or a branch of the action itself names none.
fn named_by_reference(uses: &str) -> Option<&str> {
    let (_, version) = uses.split_once('@')?;
    let commit = version.len() == 40 && version.bytes().all(|byte| byte.is_ascii_hexdigit());
    (!commit && !matches!(version, "" | "master" | "main" | "v1")).then_some(version)
}
