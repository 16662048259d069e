//! `.github/workflows/actions.lock`: the commits that a repository's workflows are locked to, as
//! `gh actions-lock` writes them (page "Workflow dependency lockfiles" of GitHub's documentation,
//! format versions v0.0.1 and v0.0.2).

use std::collections::{BTreeMap, BTreeSet};

use config_core::{Diagnostics, SourceText, quoted};

use super::reference::ActionReference;
use crate::source_location::SourceLocation;
use crate::yaml::{MergeKeys, NodeData, YamlEntry, YamlNode, load};

/// Where it is in a repository.
pub const WORKFLOW_LOCK: &str = ".github/workflows/actions.lock";

/// The versions of its format.
const VERSIONS: [&str; 2] = ["v0.0.1", "v0.0.2"];
/// The keys of its top.
const KEYS: [&str; 3] = ["version", "workflows", "dependencies"];

/// What a repository's workflows are locked to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkflowLock {
    /// The workflow files that take part.
    workflows: BTreeSet<String>,
    /// The commit of each `owner/repo@ref`, the repository in small letters.
    commits: BTreeMap<String, String>,
}

/// What is wrong, and where.
type LocatedError = (SourceLocation, String);

impl WorkflowLock {
    /// Reads the file.
    ///
    /// # Errors
    /// The first thing that is wrong with it, with its place, for people.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let unreadable = |wrong: Diagnostics| {
            let wrong = wrong.to_string();
            let first = wrong.lines().next().unwrap_or_default();
            format!("{WORKFLOW_LOCK} cannot be read: {first}")
        };
        let text = SourceText::read(WORKFLOW_LOCK, bytes).map_err(unreadable)?;
        let wrong = |(place, message): LocatedError| format!("{WORKFLOW_LOCK}:{place}: {message}");
        let document =
            load(&text, MergeKeys::Refused).map_err(|error| wrong((error.place, error.message)))?;
        if let Some(mistake) = document.mistakes.into_iter().next() {
            return Err(wrong((mistake.place, mistake.message)));
        }
        Self::from_node(&document.root).map_err(wrong)
    }

    fn from_node(root: &YamlNode) -> Result<Self, LocatedError> {
        let entries = entries(root, "the file")?;
        if let Some(odd) = entries.iter().find(|it| !KEYS.contains(&it.key.as_str())) {
            return Err((odd.key_place, format!("unknown key {}", quoted(&odd.key))));
        }
        let Some(version) = root.entry("version") else {
            return Err((root.place, "it has no `version`".to_owned()));
        };
        let known = version.value.text();
        if !known.is_some_and(|known| VERSIONS.contains(&known)) {
            let message = format!("this program knows the versions {}", VERSIONS.join(" and "));
            return Err((version.value.place, message));
        }
        let mut lock = Self::default();
        for workflow in inner(root, "workflows")? {
            lock.workflows.insert(workflow.key.clone());
        }
        for dependency in inner(root, "dependencies")? {
            lock.add(dependency)?;
        }
        Ok(lock)
    }

    fn add(&mut self, dependency: &YamlEntry) -> Result<(), LocatedError> {
        let name = quoted(&dependency.key);
        let Some(key) = key_of(&dependency.key) else {
            let message = format!("{name} is not `owner/repo@ref`");
            return Err((dependency.key_place, message));
        };
        entries(&dependency.value, &name)?;
        let Some(commit) = dependency.value.entry("commit") else {
            return Err((dependency.key_place, format!("{name} has no `commit`")));
        };
        let digits = commit.value.text().and_then(digits);
        let Some(digits) = digits else {
            let message = format!("the commit of {name} is no `sha1-…` or `sha256-…`");
            return Err((commit.value.place, message));
        };
        match self.commits.insert(key, digits.clone()) {
            Some(other) if other != digits => {
                let message = format!("{name} is there twice, with two commits");
                Err((dependency.key_place, message))
            }
            _ => Ok(()),
        }
    }

    /// Whether a workflow file takes part: then all that it uses has to be here.
    #[must_use]
    pub fn has_workflow(&self, file: &str) -> bool {
        self.workflows.contains(file)
    }

    /// The commit that a reference is locked to.
    #[must_use]
    pub fn commit(&self, reference: &ActionReference) -> Option<&str> {
        self.commits.get(&reference.key()).map(String::as_str)
    }
}

/// The entries of a mapping; of nothing none.
fn entries<'n>(node: &'n YamlNode, what: &str) -> Result<&'n [YamlEntry], LocatedError> {
    match &node.data {
        NodeData::Map(entries) => Ok(entries),
        _ if node.is_null() => Ok(&[]),
        _ => {
            let message = format!("{what} is {}, not a mapping", node.kind());
            Err((node.place, message))
        }
    }
}

fn inner<'n>(root: &'n YamlNode, key: &str) -> Result<&'n [YamlEntry], LocatedError> {
    root.entry(key)
        .map_or(Ok(&[]), |entry| entries(&entry.value, &format!("`{key}`")))
}

/// How references know it: `owner/repo@ref`, the repository in small letters; v0.0.1 has the digest
/// behind it.
fn key_of(text: &str) -> Option<String> {
    let (repository, reference) = text.split_once('@')?;
    let reference = match reference.rsplit_once(':') {
        Some((reference, digest)) => digits(digest).map(|_| reference)?,
        None => reference,
    };
    let (owner, name) = repository.split_once('/')?;
    let has_name = !owner.is_empty() && !name.is_empty() && !name.contains('/');
    (has_name && !reference.is_empty())
        .then(|| format!("{}@{reference}", repository.to_lowercase()))
}

/// The digits of `sha1-…` and `sha256-…`.
fn digits(text: &str) -> Option<String> {
    let (algorithm, digits) = text.split_once('-')?;
    let length = match algorithm {
        "sha1" => 40,
        "sha256" => 64,
        _ => return None,
    };
    let is_hex = digits.len() == length && digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_hex.then(|| digits.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(version: &str, key: &str, commit: &str) -> String {
        format!(
            "# made by a program\nversion: '{version}'\nworkflows:\n    '.github/workflows/ci.yml':\n        - '{key}'\n    '.github/workflows/none.yml': []\ndependencies:\n    '{key}':\n        ref: 'v1'\n        commit: '{commit}'\n        owner_id: 1\n        repo_id: 2\n"
        )
    }

    #[test]
    fn i17_both_versions_of_the_lock_of_workflows_are_read() {
        let commit = "C0ffee00".repeat(5);
        for (version, key) in [
            ("v0.0.2", "Acme/Tool@V1".to_owned()),
            ("v0.0.1", format!("acme/tool@V1:sha1-{commit}")),
        ] {
            let text = file(version, &key, &format!("sha1-{commit}"));
            let lock = WorkflowLock::parse(text.as_bytes()).expect(&text);
            let commit_of = |name: &str| lock.commit(&name.parse().expect(name));
            assert_eq!(commit_of("ACME/tool/sub@V1"), Some(&*commit.to_lowercase()));
            assert_eq!(commit_of("acme/tool@v1"), None, "the case of a ref counts");
            assert_eq!(commit_of("https://code.example/acme/tool@V1"), None);
            assert!(lock.has_workflow(".github/workflows/ci.yml"));
            assert!(lock.has_workflow(".github/workflows/none.yml"));
            assert!(!lock.has_workflow(".github/workflows/other.yml"));
        }
        let nothing = WorkflowLock::parse(b"version: v0.0.2\nworkflows:\n");
        assert_eq!(nothing, Ok(WorkflowLock::default()));
    }

    #[test]
    fn i17_a_wrong_lock_of_workflows_says_where() {
        let commit = format!("sha1-{}", "a".repeat(40));
        let [one, other] = ["a", "b"].map(|digit| format!("sha1-{}", digit.repeat(40)));
        let twice = format!(
            "version: v0.0.1\ndependencies:\n  a/b@v1:{one}: {{commit: {one}}}\n  a/b@v1:{other}: {{commit: {other}}}\n"
        );
        for (text, why) in [
            ("workflows: [".to_owned(), "actions.lock:"),
            ("[]".to_owned(), "actions.lock:1:1: the file is a list"),
            ("workflows: {}".to_owned(), "has no `version`"),
            ("version: v0.1.0".to_owned(), ":1:10: this program knows"),
            (
                "version: v0.0.2\nother: 1".to_owned(),
                ":2:1: unknown key `other`",
            ),
            (
                "version: v0.0.2\nworkflows: [a]".to_owned(),
                "`workflows` is a list",
            ),
            (
                file("v0.0.2", "acme/tool/sub@v1", &commit),
                "is not `owner/repo@ref`",
            ),
            (
                file("v0.0.2", "acme/tool", &commit),
                "is not `owner/repo@ref`",
            ),
            (
                file("v0.0.2", "acme/tool@v1", "sha1-abc"),
                ":10:17: the commit of",
            ),
            (
                file("v0.0.2", "acme/tool@v1", &"a".repeat(40)),
                "is no `sha1-…`",
            ),
            (
                "version: v0.0.2\ndependencies: {a/b@v1: {ref: v1}}".to_owned(),
                "has no `commit`",
            ),
            (twice, "there twice"),
            ("\u{0}".to_owned(), "cannot be read"),
        ] {
            let error = WorkflowLock::parse(text.as_bytes()).expect_err(&text);
            assert!(error.contains(why), "{text}: {error}");
            assert!(error.starts_with(WORKFLOW_LOCK), "{text}: {error}");
        }
    }
}
