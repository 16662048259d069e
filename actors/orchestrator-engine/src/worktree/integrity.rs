//! Whether a mirror is as this program left it.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hash, Hasher};
use std::path::Path;

use super::error::WorktreeError;
use super::guard;

/// What git reads in a repository and this program never makes in a mirror: each would lead
/// elsewhere, or run something.
const FOREIGN: [&str; 7] = [
    "config.worktree",
    "commondir",
    "hooks",
    "info/attributes",
    "info/grafts",
    "objects/info/alternates",
    "objects/info/http-alternates",
];

/// What the references of a mirror were when it was written to last; unknown after a start.
#[derive(Debug, Default)]
pub(super) struct ReferenceDigest {
    keys: RandomState,
    references: Option<u64>,
}

impl ReferenceDigest {
    /// Notes the references as they are.
    pub(super) fn close(&mut self, folder: &Path) {
        self.references = Some(self.digest(folder));
    }

    /// What somebody else has changed since; `None` where nothing was, or there is no mirror yet.
    pub(super) fn broken(&self, folder: &Path, config: &str) -> Option<&'static str> {
        if !folder.join("HEAD").exists() {
            return None;
        }
        let there = |name: &&&str| folder.join(name).symlink_metadata().is_ok();
        if let Some(foreign) = FOREIGN.iter().find(there) {
            return Some(foreign);
        }
        if !fs::read(folder.join("config")).is_ok_and(|own| own == config.as_bytes()) {
            return Some("config");
        }
        let known = self.references?;
        (self.digest(folder) != known).then_some("references")
    }

    /// Of names and contents of all references. The keys of the hash are this process's own: nobody
    /// can aim at a digest.
    fn digest(&self, folder: &Path) -> u64 {
        let mut hasher = self.keys.build_hasher();
        let mut open = vec![
            folder.join("packed-refs"),
            folder.join("HEAD"),
            folder.join("refs"),
        ];
        while let Some(path) = open.pop() {
            path.hash(&mut hasher);
            let Ok(data) = path.symlink_metadata() else {
                continue;
            };
            if data.is_dir() {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                let mut below: Vec<_> = entries.map(|entry| entry.path()).collect();
                below.sort();
                open.extend(below);
            } else if data.is_file() {
                fs::read(&path).unwrap_or_default().hash(&mut hasher);
            } else {
                fs::read_link(&path).unwrap_or_default().hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

/// Removes everything of a mirror but its objects.
pub(super) fn clear(folder: &Path) -> Result<(), WorktreeError> {
    guard::remove_tree(&folder.join("objects/info"))?;
    let entries = fs::read_dir(folder).map_err(WorktreeError::at_path(folder))?;
    for entry in entries
        .flatten()
        .filter(|entry| entry.file_name() != "objects")
    {
        guard::remove_tree(&entry.path())?;
    }
    Ok(())
}
