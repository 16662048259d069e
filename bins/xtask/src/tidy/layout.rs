//! The top level is fixed: whatever is new has a place below it.

use std::collections::BTreeSet;

use super::finding::Finding;

/// Every name that may stand at the top level.
const TOP: [&str; 22] = [
    ".cargo",
    ".ci",
    ".config",
    ".editorconfig",
    ".gitattributes",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "actors",
    "bins",
    "clippy.toml",
    "config-samples",
    "deny.toml",
    "docs",
    "integration-tests",
    "rustfmt.toml",
    "web",
];

/// Files that a checkout cannot do without.
const NEEDED: [&str; 12] = [
    ".ci/run",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "clippy.toml",
    "deny.toml",
    "docs/ARCHITECTURE.md",
    "docs/LOGGING.md",
    "rustfmt.toml",
];

/// Checks the names at the top level, and that nothing needed is missing.
pub(super) fn check<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<Finding> {
    let paths: BTreeSet<&str> = paths.collect();
    let top: BTreeSet<&str> = paths
        .iter()
        .filter_map(|path| path.split('/').next())
        .collect();
    let strange = top.into_iter().filter(|name| !TOP.contains(name));
    let strange = strange.map(|name| {
        Finding::error(
            name,
            "the top level is fixed: put it into one of its folders",
        )
    });
    let missing = NEEDED.iter().filter(|path| !paths.contains(**path));
    let missing = missing.map(|path| Finding::error(*path, "the file is missing"));
    strange.chain(missing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_name_at_the_top_is_refused() {
        let with = |path: &'static str| check(NEEDED.into_iter().chain([path]));
        assert_eq!(with("web/edge-web/Cargo.toml"), []);
        assert_eq!(with("tools/x.sh")[0].place, "tools");
        assert_eq!(with("notes.md")[0].place, "notes.md");
    }

    #[test]
    fn a_missing_file_is_named() {
        let findings = check(NEEDED.into_iter().filter(|path| *path != "README.md"));
        assert_eq!(
            findings,
            [Finding::error("README.md", "the file is missing")]
        );
    }
}
