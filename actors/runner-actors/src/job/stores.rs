//! Artifacts and caches, as files of the host: names from workflows never become paths.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Largest artifact or cache entry in bytes.
pub(crate) const MAX_STORED: u64 = 2 << 30;

/// Where artifacts and caches are kept.
#[derive(Debug, Clone)]
pub struct Stores {
    folder: PathBuf,
}

/// What is known of a stored tar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// As the workflow calls it: an artifact's name, a cache's key.
    pub name: String,
    /// Bytes of the tar.
    pub bytes: u64,
    /// When it was stored, in milliseconds since the Unix epoch.
    pub at: u64,
}

impl Stores {
    /// Stores below `folder`.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// The folder of a run's artifacts: a run sees its own only.
    fn artifacts(&self, run: &str) -> PathBuf {
        self.folder.join("artifacts").join(hashed(run))
    }

    /// The folder of a scope's caches: a repository, and for untrusted events that event's reference.
    fn caches(&self, scope: &str) -> PathBuf {
        self.folder.join("caches").join(hashed(scope))
    }

    /// A file to write a new artifact to.
    pub(crate) fn new_artifact(&self, run: &str, name: &str) -> std::io::Result<Pending> {
        Pending::new(&self.artifacts(run), name)
    }

    /// A file to write a new cache entry to.
    pub(crate) fn new_cache(&self, scope: &str, key: &str) -> std::io::Result<Pending> {
        Pending::new(&self.caches(scope), key)
    }

    /// The artifact of this name.
    #[must_use]
    pub fn artifact(&self, run: &str, name: &str) -> Option<PathBuf> {
        let path = self.artifacts(run).join(format!("{}.tar", hashed(name)));
        path.is_file().then_some(path)
    }

    /// All artifacts of a run, by name.
    #[must_use]
    pub fn list_artifacts(&self, run: &str) -> Vec<Stored> {
        let mut found: Vec<Stored> = entries(&self.artifacts(run))
            .into_iter()
            .map(|(stored, _)| stored)
            .collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// Forgets a run's artifacts.
    pub(crate) fn remove_run(&self, run: &str) {
        // Gone already, or never there.
        let _ = std::fs::remove_dir_all(self.artifacts(run));
    }

    /// The cache entry for `key`, else the newest whose key begins with the first of `restore_keys` that has one. Gives its own
    /// key and its file.
    pub(crate) fn find_cache(
        &self,
        scopes: &[String],
        key: &str,
        restore_keys: &[String],
    ) -> Option<(String, PathBuf)> {
        for scope in scopes {
            let all = entries(&self.caches(scope));
            if let Some((stored, path)) = all.iter().find(|(stored, _)| stored.name == key) {
                return Some((stored.name.clone(), path.clone()));
            }
            for prefix in restore_keys.iter().filter(|prefix| !prefix.is_empty()) {
                let newest = all
                    .iter()
                    .filter(|(stored, _)| stored.name.starts_with(prefix.as_str()));
                if let Some((stored, path)) = newest.max_by_key(|(stored, _)| stored.at) {
                    return Some((stored.name.clone(), path.clone()));
                }
            }
        }
        None
    }
}

/// A name as a file name: no name leads out of its folder, and none is another's.
fn hashed(name: &str) -> String {
    blake3::hash(name.as_bytes()).to_hex().to_string()
}

fn entries(folder: &Path) -> Vec<(Stored, PathBuf)> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let described = files.filter_map(|file| {
        let path = file.path();
        (path.extension()? == "json").then_some(())?;
        let stored: Stored = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        let tar = path.with_extension("tar");
        tar.is_file().then_some((stored, tar))
    });
    described.collect()
}

/// A tar that is being written; it counts only when it is [kept](Self::keep).
pub(crate) struct Pending {
    name: String,
    file: std::fs::File,
    part: PathBuf,
    folder: PathBuf,
    bytes: u64,
}

impl Pending {
    fn new(folder: &Path, name: &str) -> std::io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let part = folder.join(format!("{}.part", uuid::Uuid::new_v4()));
        Ok(Self {
            name: name.to_owned(),
            file: std::fs::File::create_new(&part)?,
            part,
            folder: folder.to_owned(),
            bytes: 0,
        })
    }

    /// Adds bytes, up to the limit.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        use std::io::Write;
        self.bytes += bytes.len() as u64;
        if self.bytes > MAX_STORED {
            return Err(std::io::Error::other(format!(
                "it is larger than {MAX_STORED} bytes"
            )));
        }
        self.file.write_all(bytes)
    }

    /// Makes it count, in place of what had its name.
    pub(crate) fn keep(self) -> std::io::Result<u64> {
        let base = self.folder.join(hashed(&self.name));
        let stored = Stored {
            name: self.name.clone(),
            bytes: self.bytes,
            at: crate::clock::now_ms(),
        };
        std::fs::rename(&self.part, base.with_extension("tar"))?;
        std::fs::write(base.with_extension("json"), serde_json::to_vec(&stored)?)?;
        Ok(self.bytes)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // Kept ones have another name by now.
        let _ = std::fs::remove_file(&self.part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(pending: std::io::Result<Pending>, bytes: &[u8]) {
        let mut pending = pending.unwrap();
        pending.write(bytes).unwrap();
        pending.keep().unwrap();
    }

    #[test]
    fn r15_names_never_become_paths_and_runs_see_their_own_only() {
        let folder = tempfile::TempDir::new().unwrap();
        let stores = Stores::new(folder.path());
        put(stores.new_artifact("run-1", "../../x"), b"tar");
        assert!(
            stores
                .artifact("run-1", "../../x")
                .unwrap()
                .starts_with(folder.path())
        );
        assert_eq!(stores.artifact("run-2", "../../x"), None);
        assert_eq!(stores.list_artifacts("run-1")[0].name, "../../x");
        drop(stores.new_artifact("run-1", "half").unwrap());
        assert_eq!(
            stores.list_artifacts("run-1").len(),
            1,
            "what was not kept does not count"
        );
    }

    #[test]
    fn r14_caches_are_found_by_key_then_by_prefix_in_their_scope() {
        let folder = tempfile::TempDir::new().unwrap();
        let stores = Stores::new(folder.path());
        put(stores.new_cache("a/b", "deps-1"), b"1");
        put(stores.new_cache("a/b", "deps-2"), b"2");
        put(stores.new_cache("evil/fork", "deps-3"), b"3");
        let scope = ["a/b".to_owned()];
        let found = |key: &str, prefixes: &[&str]| {
            let prefixes: Vec<String> = prefixes.iter().map(|p| (*p).to_owned()).collect();
            stores
                .find_cache(&scope, key, &prefixes)
                .map(|(key, _)| key)
        };
        assert_eq!(found("deps-1", &[]).as_deref(), Some("deps-1"));
        assert_eq!(found("deps-3", &[]), None);
        assert!(found("x", &["other-", "deps-"]).is_some_and(|key| key.starts_with("deps-")));
        assert_eq!(found("x", &[""]), None);
    }
}
