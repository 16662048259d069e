//! Artifacts and caches, as files of the host: names from workflows never become paths.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::tar_guard::TarGuard;
use crate::caches::Caches;

/// Largest artifact or cache entry in bytes.
pub(crate) const MAX_STORED: u64 = 2 << 30;

/// Where artifacts and caches are kept.
#[derive(Debug, Clone)]
pub struct Stores {
    folder: PathBuf,
    pub(crate) caches: Caches,
}

/// What is known of a stored tar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// As the workflow calls it.
    pub name: String,
    /// Bytes of the tar.
    pub bytes: u64,
    /// When it was stored, in milliseconds since the Unix epoch.
    pub at: u64,
}

impl Stores {
    /// Stores below `folder`, with so many bytes of caches for each repository. Blocks.
    #[must_use]
    pub fn open(folder: &Path, cache_bytes: u64) -> Self {
        Self {
            folder: folder.to_owned(),
            caches: Caches::open(folder, cache_bytes),
        }
    }

    /// The folder of a run's artifacts: a run sees its own only.
    fn artifacts(&self, run: &str) -> PathBuf {
        self.folder.join("artifacts").join(hashed(run))
    }

    /// A file to write a new artifact to.
    pub(crate) fn new_artifact(&self, run: &str, name: &str) -> std::io::Result<Pending> {
        Pending::new(&self.artifacts(run), name)
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
}

/// A name as a file name: no name leads out of its folder, and none is another's.
pub(crate) fn hashed(name: &str) -> String {
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
    guard: TarGuard,
}

/// A tar that counts.
pub(crate) struct Kept {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

impl Pending {
    pub(crate) fn new(folder: &Path, name: &str) -> std::io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let part = folder.join(format!("{}.part", uuid::Uuid::new_v4()));
        Ok(Self {
            name: name.to_owned(),
            file: std::fs::File::create_new(&part)?,
            part,
            folder: folder.to_owned(),
            bytes: 0,
            guard: TarGuard::default(),
        })
    }

    /// Adds bytes, up to the limit; the machine made them, so that they are looked at.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        use std::io::Write;
        self.bytes += bytes.len() as u64;
        if self.bytes > MAX_STORED {
            return Err(std::io::Error::other(format!(
                "it is larger than {MAX_STORED} bytes"
            )));
        }
        self.guard.push(bytes).map_err(std::io::Error::other)?;
        self.file.write_all(bytes)
    }

    /// Makes it count, in place of what had its name.
    pub(crate) fn keep(self) -> std::io::Result<u64> {
        let at = crate::clock::now_ms();
        let kept = self.keep_as(MAX_STORED, |name, bytes| {
            serde_json::to_vec(&Stored {
                name: name.to_owned(),
                bytes,
                at,
            })
        })?;
        Ok(kept.bytes)
    }

    /// Makes it count with this description, if it has at most so many bytes.
    pub(crate) fn keep_as(
        self,
        most: u64,
        describe: impl FnOnce(&str, u64) -> serde_json::Result<Vec<u8>>,
    ) -> std::io::Result<Kept> {
        self.guard.finish().map_err(std::io::Error::other)?;
        if self.bytes > most {
            return Err(std::io::Error::other(format!(
                "it has {} bytes, {most} are allowed",
                self.bytes
            )));
        }
        let base = self.folder.join(hashed(&self.name));
        let described = describe(&self.name, self.bytes)?;
        let path = base.with_extension("tar");
        std::fs::rename(&self.part, &path)?;
        std::fs::write(base.with_extension("json"), described)?;
        Ok(Kept {
            path,
            bytes: self.bytes,
        })
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
    use crate::job::tar_guard::tar_of;

    fn put(pending: std::io::Result<Pending>, bytes: &[u8]) {
        let mut pending = pending.unwrap();
        pending.write(bytes).unwrap();
        pending.keep().unwrap();
    }

    #[test]
    fn r15_names_never_become_paths_and_runs_see_their_own_only() {
        let folder = tempfile::TempDir::new().unwrap();
        let stores = Stores::open(folder.path(), 1 << 20);
        put(stores.new_artifact("run-1", "../../x"), &tar_of("x", 3));
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
}
