//! The lock of the store of actions: which commit each `owner/repo@ref` is, where it was fetched
//! from, and what its tree holds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::reference::ActionReference;
use crate::lock_file::{self, LockFileError, VERSION};

/// All locked actions, by [`ActionReference::key`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActionLock {
    actions: BTreeMap<String, LockedAction>,
}

/// What a name is locked to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedAction {
    /// Where its repository was fetched from.
    pub url: String,
    /// The commit.
    pub commit: String,
    /// The digest of the commit's files, `sha256:…`.
    pub tree: String,
    /// Not everybody may read its repository: it was fetched with the runner's token.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// What the version was when it was fetched: `refs/tags/v1`, `refs/heads/main`. Nothing where
    /// it is a commit, and in locks of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// What a change to the lock did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockChange {
    /// The name was not locked before.
    Added,
    /// It was locked to this commit.
    Moved(String),
    /// It was locked to the same already.
    Same,
}

/// Why a lock cannot be used or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ActionLockError {
    /// The file is no lock that this program knows.
    #[error("the lock of the actions {0}")]
    File(LockFileError),
    /// An entry is none.
    #[error("the lock of the actions has a wrong entry {name}: {what}")]
    Entry {
        /// Its key, quoted.
        name: String,
        /// What is wrong.
        what: &'static str,
    },
    /// The same commit with other files: either what is here or what came was changed.
    #[error(
        "{name} is locked to {commit} with the files {known}, and now the same commit has {found}: nothing is changed; `workflow-runner actions verify` says which side is wrong"
    )]
    OtherTree {
        /// The key.
        name: String,
        /// The commit.
        commit: String,
        /// The digest in the lock.
        known: String,
        /// The digest of what came.
        found: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockFile {
    version: u32,
    actions: BTreeMap<String, LockedAction>,
}

impl ActionLock {
    /// Reads a lock file; an empty one locks nothing.
    ///
    /// # Errors
    /// When it is no lock, or an entry of it is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, ActionLockError> {
        let file = lock_file::read(bytes, |file: &LockFile| file.version);
        let Some(file) = file.map_err(ActionLockError::File)? else {
            return Ok(Self::default());
        };
        for (key, action) in &file.actions {
            if let Some(what) = find_fault(key, action) {
                let name = config_core::quoted(key);
                return Err(ActionLockError::Entry { name, what });
            }
        }
        Ok(Self {
            actions: file.actions,
        })
    }

    /// The file's text: the same lock always gives the same text.
    #[must_use]
    pub fn to_text(&self) -> String {
        lock_file::to_text(&LockFile {
            version: VERSION,
            actions: self.actions.clone(),
        })
    }

    /// What a reference is locked to.
    #[must_use]
    pub fn get(&self, reference: &ActionReference) -> Option<&LockedAction> {
        self.actions.get(&reference.key())
    }

    /// What is locked of the reference's repository to this commit, by whatever name.
    #[must_use]
    pub fn at_commit(&self, reference: &ActionReference, commit: &str) -> Option<&LockedAction> {
        let key = reference.with_commit("").key();
        let mut same = self.actions.iter();
        let found = same.find(|(name, locked)| name.starts_with(&key) && locked.commit == commit);
        found.map(|(_, locked)| locked)
    }

    /// Forgets what a reference is locked to.
    pub fn remove(&mut self, reference: &ActionReference) -> Option<LockedAction> {
        self.actions.remove(&reference.key())
    }

    /// All entries by key.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &LockedAction)> {
        self.actions
            .iter()
            .map(|(key, action)| (key.as_str(), action))
    }

    /// Locks a reference to what was fetched.
    ///
    /// # Errors
    /// When it is locked to the same commit with other files: then the lock stays as it is.
    pub fn set(
        &mut self,
        reference: &ActionReference,
        action: LockedAction,
    ) -> Result<LockChange, ActionLockError> {
        let key = reference.key();
        let change = match self.actions.get(&key) {
            None => LockChange::Added,
            Some(known) if *known == action => return Ok(LockChange::Same),
            Some(known) if known.commit == action.commit && known.tree != action.tree => {
                return Err(ActionLockError::OtherTree {
                    name: key,
                    commit: action.commit,
                    known: known.tree.clone(),
                    found: action.tree,
                });
            }
            Some(known) if known.commit == action.commit => LockChange::Same,
            Some(known) => LockChange::Moved(known.commit.clone()),
        };
        self.actions.insert(key, action);
        Ok(change)
    }
}

/// What is wrong with an entry.
fn find_fault(key: &str, action: &LockedAction) -> Option<&'static str> {
    let hex = |text: &str| text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let read = key.parse::<ActionReference>();
    if !read.is_ok_and(|read| read.key() == key && read.path().is_empty()) {
        return Some("its name is not `owner/repo@ref`, in small letters");
    }
    if !(matches!(action.commit.len(), 40 | 64) && hex(&action.commit)) {
        return Some("its commit is none");
    }
    let digest = action.tree.strip_prefix("sha256:");
    if !digest.is_some_and(|digest| digest.len() == 64 && hex(digest)) {
        return Some("its tree is no `sha256:…`");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(text: &str) -> ActionReference {
        text.parse().expect(text)
    }

    fn action(commit: char, tree: char) -> LockedAction {
        LockedAction {
            url: "https://code.example/acme/tool".to_owned(),
            commit: commit.to_string().repeat(40),
            tree: format!("sha256:{}", tree.to_string().repeat(64)),
            private: false,
            reference: None,
        }
    }

    #[test]
    fn changes_are_named_and_a_changed_tree_of_one_commit_is_refused() {
        let mut lock = ActionLock::default();
        let tool = reference("Acme/Tool/sub@v1");
        for (next, expected) in [
            (action('a', '1'), Ok(LockChange::Added)),
            (action('a', '1'), Ok(LockChange::Same)),
            (action('b', '2'), Ok(LockChange::Moved("a".repeat(40)))),
            (action('b', '3'), Err(())),
        ] {
            let found = lock.set(&tool, next.clone());
            assert_eq!(
                found.clone().map_err(|_| ()),
                expected,
                "{next:?}: {found:?}"
            );
        }
        // All paths of a repository are one entry; another version is another.
        assert_eq!(
            lock.get(&reference("acme/tool@v1")),
            Some(&action('b', '2'))
        );
        assert_eq!(lock.get(&reference("acme/tool@v2")), None);
        assert_eq!(lock.get(&reference("https://x.example/acme/tool@v1")), None);
        assert_eq!(ActionLock::parse(lock.to_text().as_bytes()), Ok(lock));
        assert_eq!(ActionLock::parse(b""), Ok(ActionLock::default()));
    }

    #[test]
    fn files_that_are_no_lock_are_refused() {
        let entry = |key: &str, commit: &str, tree: &str| {
            format!(
                r#"{{"version":1,"actions":{{"{key}":{{"url":"u","commit":"{commit}","tree":"{tree}"}}}}}}"#
            )
        };
        let (commit, tree) = ("a".repeat(40), format!("sha256:{}", "b".repeat(64)));
        assert!(ActionLock::parse(entry("a/b@v1", &commit, &tree).as_bytes()).is_ok());
        for (text, why) in [
            ("{".to_owned(), "cannot be read"),
            (r#"{"version":2,"actions":{}}"#.to_owned(), "version 2"),
            (
                r#"{"version":1,"actions":{},"x":1}"#.to_owned(),
                "unknown field",
            ),
            (entry("A/b@v1", &commit, &tree), "small letters"),
            (entry("a/b/c@v1", &commit, &tree), "owner/repo@ref"),
            (entry("../b@v1", &commit, &tree), "owner/repo@ref"),
            (entry("a/b@v1", "../../x", &tree), "commit"),
            (entry("a/b@v1", &commit, "sha1:x"), "sha256"),
        ] {
            let error = ActionLock::parse(text.as_bytes()).expect_err(&text);
            assert!(error.to_string().contains(why), "{text}: {error}");
        }
    }
}
