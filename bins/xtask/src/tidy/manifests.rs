//! Manifests: one version of each library for the whole workspace, the same lints and fields
//! everywhere.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::finding::Finding;

/// The fields every member takes from the workspace.
const INHERITED: [&str; 5] = ["version", "edition", "rust-version", "license", "publish"];

/// The section of what tests need.
pub(super) const DEV: &str = "dev-dependencies";

const DEPENDENCIES: [&str; 3] = ["dependencies", DEV, "build-dependencies"];

/// The manifest as a table.
///
/// # Errors
/// When it is not TOML.
pub(super) fn parse(path: &str, text: &str) -> Result<Table> {
    text.parse().with_context(|| format!("{path} is not TOML"))
}

/// Checks the root manifest.
pub(super) fn check_root(manifest: &Table) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut refuse = |text: String| findings.push(Finding::error("Cargo.toml", text));
    for (name, value) in workspace_dependencies(manifest) {
        if value.get("git").is_some() {
            refuse(format!(
                "{name} comes from git: libraries come from the package registry"
            ));
        }
        let version = value
            .as_str()
            .or_else(|| value.get("version").and_then(Value::as_str));
        if version.is_some_and(|version| version.contains('*')) {
            refuse(format!("{name} takes any version: name one"));
        }
    }
    for (profile, settings) in manifest
        .get("profile")
        .and_then(Value::as_table)
        .into_iter()
        .flatten()
    {
        if settings.get("panic").and_then(Value::as_str) == Some("abort") {
            refuse(format!(
                "profile.{profile} aborts on a panic: supervision has to see panics"
            ));
        }
    }
    findings
}

/// Checks a member's manifest.
pub(super) fn check_member(path: &str, manifest: &Table) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut refuse = |text: String| findings.push(Finding::error(path, text));
    for (section, name, value) in dependencies(manifest) {
        if !inherits(value) {
            refuse(format!(
                "[{section}] {name}: write `{name}.workspace = true`, the version stands in the root"
            ));
        }
    }
    let package = manifest.get("package");
    for field in INHERITED {
        if !package
            .and_then(|package| package.get(field))
            .is_some_and(inherits)
        {
            refuse(format!(
                "[package] {field}: write `{field}.workspace = true`"
            ));
        }
    }
    if !manifest.get("lints").is_some_and(inherits) {
        refuse("write `[lints] workspace = true`".to_owned());
    }
    let description = package
        .and_then(|package| package.get("description"))
        .and_then(Value::as_str);
    if description.is_none_or(|text| text.trim().is_empty()) {
        refuse("[package] description: say in one sentence what it is".to_owned());
    }
    if manifest.contains_key("profile") {
        refuse("[profile] has no effect here: profiles stand in the root".to_owned());
    }
    findings
}

/// The libraries of the root manifest that no member uses.
pub(super) fn check_unused(root: &Table, used: &BTreeSet<String>) -> Vec<Finding> {
    let unused = workspace_dependencies(root).filter(|(name, _)| !used.contains(*name));
    unused
        .map(|(name, _)| Finding::warning("Cargo.toml", format!("no member uses {name}")))
        .collect()
}

/// The libraries a member names, as the root names them.
pub(super) fn dependency_names(manifest: &Table) -> impl Iterator<Item = String> {
    dependencies(manifest)
        .into_iter()
        .map(|(_, name, _)| name.to_owned())
}

fn workspace_dependencies(root: &Table) -> impl Iterator<Item = (&str, &Value)> {
    let table = root
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies"))
        .and_then(Value::as_table);
    table
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), value))
}

/// Every dependency of a member with its section's name, those under `[target.…]` included.
pub(super) fn dependencies(manifest: &Table) -> Vec<(&'static str, &str, &Value)> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let targets = targets
        .into_iter()
        .flatten()
        .filter_map(|(_, value)| value.as_table());
    let mut found = Vec::new();
    for table in std::iter::once(manifest).chain(targets) {
        for section in DEPENDENCIES {
            let entries = table.get(section).and_then(Value::as_table);
            found.extend(
                entries
                    .into_iter()
                    .flatten()
                    .map(|(name, value)| (section, name.as_str(), value)),
            );
        }
    }
    found
}

fn inherits(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "
        [package]
        name = 'a'
        description = 'An example.'
        version.workspace = true
        edition.workspace = true
        rust-version.workspace = true
        license.workspace = true
        publish.workspace = true
        [lints]
        workspace = true
        [dependencies]
        serde.workspace = true
        toml = { workspace = true, features = ['x'] }
    ";

    fn member(text: &str) -> Vec<String> {
        let manifest = parse("a/Cargo.toml", text).expect("the example is TOML");
        check_member("a/Cargo.toml", &manifest)
            .into_iter()
            .map(|finding| finding.text)
            .collect()
    }

    #[test]
    fn a_member_that_inherits_everything_passes() {
        assert_eq!(member(GOOD), [""; 0]);
    }

    #[test]
    fn each_way_out_of_the_workspace_is_refused() {
        for (from, to, expected) in [
            (
                "serde.workspace = true",
                "serde = '1'",
                "[dependencies] serde",
            ),
            (
                "serde.workspace = true",
                "serde = { version = '1', features = ['derive'] }",
                "[dependencies] serde",
            ),
            (
                "serde.workspace = true",
                "b = { path = '../b' }",
                "[dependencies] b",
            ),
            (
                "edition.workspace = true",
                "edition = '2021'",
                "[package] edition",
            ),
            ("license.workspace = true", "", "[package] license"),
            ("[lints]\n        workspace = true", "", "[lints]"),
            ("An example.", " ", "[package] description"),
            (
                "[lints]",
                "[profile.release]\n panic = 'abort'\n[lints]",
                "[profile]",
            ),
            (
                "[lints]",
                "[target.'cfg(unix)'.dependencies]\n nix = '1'\n[lints]",
                "[dependencies] nix",
            ),
            (
                "[lints]",
                "[dev-dependencies]\n proptest = '1'\n[lints]",
                "[dev-dependencies] proptest",
            ),
        ] {
            assert!(GOOD.contains(from), "the example lost `{from}`");
            let said = member(&GOOD.replacen(from, to, 1));
            assert!(
                said.len() == 1 && said[0].contains(expected),
                "{to}: {said:?}"
            );
        }
    }

    #[test]
    fn the_root_takes_no_git_no_star_and_no_abort() {
        let root =
            |text: &str| check_root(&parse("Cargo.toml", text).expect("the example is TOML")).len();
        assert_eq!(
            root(
                "[workspace.dependencies]\na = '1'\nb = { path = 'b' }\n[profile.release]\nstrip = true"
            ),
            0
        );
        assert_eq!(root("[workspace.dependencies]\na = '*'"), 1);
        assert_eq!(root("[workspace.dependencies]\na = { version = '1.*' }"), 1);
        assert_eq!(
            root("[workspace.dependencies]\na = { git = 'https://example.org' }"),
            1
        );
        assert_eq!(root("[profile.release]\npanic = 'abort'"), 1);
    }

    #[test]
    fn a_library_that_nobody_uses_is_shown() {
        let root = parse("Cargo.toml", "[workspace.dependencies]\na = '1'\nb = '1'")
            .expect("the example is TOML");
        let findings = check_unused(&root, &BTreeSet::from(["a".to_owned()]));
        assert_eq!(
            findings,
            [Finding::warning("Cargo.toml", "no member uses b")]
        );
    }
}
