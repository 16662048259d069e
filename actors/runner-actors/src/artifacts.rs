//! Artifacts of runs, as files of the host.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::now_ms;
use crate::stored_tar::{MAX_STORED, PendingTar, entries, hashed};

/// Where artifacts are kept.
#[derive(Debug, Clone)]
pub struct ArtifactStore {
    directory: PathBuf,
}

/// What is known of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Artifact {
    /// As the workflow calls it.
    pub name: String,
    /// Bytes of the tar.
    pub bytes: u64,
    /// When it was stored, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The type of the one file in it, where that was uploaded as it is and not as a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// Which job stored it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<ArtifactMaker>,
}

/// The attempt of a job's copy that stores an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ArtifactMaker {
    /// The job in the plan, and which copy.
    pub job: String,
    /// Which attempt: a later one replaces what an earlier one stored.
    pub attempt: String,
}

impl Artifact {
    /// Its number, as clients name it: of 53 bits, so that JavaScript keeps it.
    #[must_use]
    pub fn id(&self) -> u64 {
        let hash = blake3::hash(format!("{} {}", self.at, self.name).as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&hash.as_bytes()[..8]);
        (u64::from_be_bytes(first) >> 11).max(1)
    }
}

impl ArtifactStore {
    /// Artifacts below the runner's data.
    pub(crate) fn new(data: &Path) -> Self {
        Self {
            directory: data.join("artifacts"),
        }
    }

    /// The directory of a run's artifacts: a run sees its own only.
    fn of_run(&self, run: &str) -> PathBuf {
        self.directory.join(hashed(run))
    }

    /// A file to write a new artifact to.
    pub(crate) fn create(&self, run: &str, name: &str) -> std::io::Result<PendingTar> {
        PendingTar::new(&self.of_run(run), name)
    }

    /// Makes a written artifact count, in place of what had its name; gives its size.
    pub(crate) fn keep(&self, pending: PendingTar, by: &ArtifactMaker) -> std::io::Result<u64> {
        self.keep_typed(pending, by, None)
    }

    /// The same, of one file of this type.
    pub(crate) fn keep_typed(
        &self,
        pending: PendingTar,
        by: &ArtifactMaker,
        raw: Option<String>,
    ) -> std::io::Result<u64> {
        let at = now_ms();
        let kept = pending.keep_as(MAX_STORED, |name, bytes| {
            serde_json::to_vec(&Artifact {
                name: name.to_owned(),
                bytes,
                at,
                raw,
                by: Some(by.clone()),
            })
        })?;
        Ok(kept.bytes)
    }

    /// The artifact of this name.
    #[must_use]
    pub fn find(&self, run: &str, name: &str) -> Option<PathBuf> {
        let path = self.of_run(run).join(format!("{}.tar", hashed(name)));
        path.is_file().then_some(path)
    }

    /// What is known of the artifact of this name.
    pub(crate) fn listed(&self, run: &str, name: &str) -> Option<Artifact> {
        let mut all = self.list(run).into_iter();
        all.find(|artifact| artifact.name == name)
    }

    /// Whether this job may store one of this name: there is none, or it is of an earlier attempt
    /// of its own.
    pub(crate) fn is_free(&self, run: &str, name: &str, by: &ArtifactMaker) -> bool {
        let is_own = |stored: Artifact| {
            let maker = stored.by.as_ref();
            maker.is_some_and(|known| known.job == by.job && known.attempt != by.attempt)
        };
        self.find(run, name).is_none() || self.listed(run, name).is_some_and(is_own)
    }

    /// Removes an artifact.
    pub(crate) fn remove(&self, run: &str, name: &str) -> std::io::Result<()> {
        let base = self.of_run(run).join(hashed(name));
        // The description first: without it the tar is no artifact.
        std::fs::remove_file(base.with_extension("json"))?;
        std::fs::remove_file(base.with_extension("tar"))
    }

    /// All artifacts of a run, by name.
    #[must_use]
    pub fn list(&self, run: &str) -> Vec<Artifact> {
        let entries = entries(&self.of_run(run)).into_iter();
        let mut artifacts: Vec<Artifact> = entries.map(|(artifact, _)| artifact).collect();
        artifacts.sort_by(|a, b| a.name.cmp(&b.name));
        artifacts
    }

    /// Gives a run the artifacts of another, which keeps them; what it has already stays.
    pub(crate) fn adopt(&self, run: &str, from: &str) -> std::io::Result<()> {
        let directory = self.of_run(run);
        for (artifact, tar) in entries::<Artifact>(&self.of_run(from)) {
            let base = directory.join(hashed(&artifact.name));
            let (to, description) = (base.with_extension("tar"), base.with_extension("json"));
            if description.exists() {
                continue;
            }
            std::fs::create_dir_all(&directory)?;
            // Left by an attempt that ended here; a tar is never written to once it counts.
            let _ = std::fs::remove_file(&to);
            if std::fs::hard_link(&tar, &to).is_err() {
                std::fs::copy(&tar, &to)?;
            }
            std::fs::write(description, serde_json::to_vec(&artifact)?)?;
        }
        Ok(())
    }

    /// Forgets a run's artifacts.
    pub(crate) fn remove_run(&self, run: &str) {
        // Gone already, or never there.
        let _ = std::fs::remove_dir_all(self.of_run(run));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tar_guard::tar_of;

    fn maker(job: &str, attempt: &str) -> ArtifactMaker {
        ArtifactMaker {
            job: job.to_owned(),
            attempt: attempt.to_owned(),
        }
    }

    #[test]
    fn i17_an_artifact_is_replaced_by_a_later_attempt_of_its_job_only() {
        let directory = tempfile::TempDir::new().unwrap();
        let artifacts = ArtifactStore::new(directory.path());
        let by = maker("build#0", "run-1-0");
        assert!(artifacts.is_free("one", "a", &by));
        let mut pending = artifacts.create("one", "a").unwrap();
        pending.write(&tar_of("x", 3)).unwrap();
        artifacts.keep(pending, &by).unwrap();
        assert!(!artifacts.is_free("one", "a", &by), "within one attempt");
        assert!(!artifacts.is_free("one", "a", &maker("build#1", "run-1-1")));
        assert!(artifacts.is_free("one", "a", &maker("build#0", "run-1-0.1")));
        artifacts.adopt("two", "one").unwrap();
        assert!(artifacts.is_free("two", "a", &maker("build#0", "two-2-0")));
    }

    #[test]
    fn a_run_adopts_artifacts_and_replaces_its_own_only() {
        let directory = tempfile::TempDir::new().unwrap();
        let artifacts = ArtifactStore::new(directory.path());
        let by = maker("a#0", "1");
        let put = |run: &str, name: &str, size: usize| {
            let mut pending = artifacts.create(run, name).unwrap();
            pending.write(&tar_of("x", size)).unwrap();
            artifacts.keep(pending, &by).unwrap();
            std::fs::read(artifacts.find(run, name).unwrap()).unwrap()
        };
        let old = put("one", "a", 3);
        put("one", "b", 3);
        let own = put("two", "b", 9000);
        artifacts.adopt("two", "one").unwrap();
        artifacts.adopt("two", "one").unwrap();
        artifacts.adopt("two", "unknown").unwrap();
        let read = |run: &str, name: &str| std::fs::read(artifacts.find(run, name).unwrap());
        assert_eq!(read("two", "a").unwrap(), old);
        assert_eq!(read("two", "b").unwrap(), own, "what it has stays");
        let new = put("two", "a", 5000);
        assert_ne!(new, old);
        assert_eq!(
            read("one", "a").unwrap(),
            old,
            "the other's stay as they were"
        );
        assert_eq!(artifacts.list("one")[0].bytes, old.len() as u64);
        artifacts.remove_run("one");
        assert_eq!(artifacts.list("two").len(), 2);
    }

    #[test]
    fn r15_names_never_become_paths_and_runs_see_their_own_only() {
        let directory = tempfile::TempDir::new().unwrap();
        let artifacts = ArtifactStore::new(directory.path());
        let mut pending = artifacts.create("run-1", "../../x").unwrap();
        pending.write(&tar_of("x", 3)).unwrap();
        artifacts.keep(pending, &maker("a#0", "1")).unwrap();
        assert!(
            artifacts
                .find("run-1", "../../x")
                .unwrap()
                .starts_with(directory.path())
        );
        assert_eq!(artifacts.find("run-2", "../../x"), None);
        assert_eq!(artifacts.list("run-1")[0].name, "../../x");
        drop(artifacts.create("run-1", "half").unwrap());
        assert_eq!(
            artifacts.list("run-1").len(),
            1,
            "what was not kept does not count"
        );
    }
}
