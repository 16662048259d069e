//! Artifacts of runs.

use std::path::{Path, PathBuf};

use cluster_actors::replica::{FirstFault, SharedFiles};
use config_core::quoted;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::now_ms;
use crate::stored_tar::{MAX_STORED, PendingTar, hashed};
use crate::tar_store::{TarEntry, TarOwner, TarStore, remove_unfinished};

/// What they are, for [`TarStore`].
pub(crate) const KIND: &str = "artifacts";

/// Where artifacts are kept. Its methods block.
#[derive(Debug, Clone)]
pub struct ArtifactStore {
    tars: TarStore,
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
    /// When it goes, in milliseconds since the Unix epoch; otherwise with its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// Its name for people, where a secret stands in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(ignore)]
    pub(crate) shown: Option<String>,
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

    /// As people see it: without the secrets in its name.
    fn for_people(self) -> Self {
        Self {
            name: self.shown.unwrap_or(self.name),
            shown: None,
            ..self
        }
    }

    fn is_expired(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// When an artifact goes that is kept for so many days (`retention-days`); 0: with its run.
#[must_use]
pub(crate) fn expiry(days: u64) -> Option<u64> {
    let kept = days.saturating_mul(24 * 60 * 60 * 1000);
    (days > 0).then(|| now_ms().saturating_add(kept))
}

impl ArtifactStore {
    /// Artifacts below the runner's data, or where every process can read them.
    pub(crate) fn new(data: &Path, shared: Option<&SharedFiles>) -> Self {
        remove_unfinished(&data.join(KIND));
        Self {
            tars: TarStore::new(data, shared),
        }
    }

    /// A file to write a new artifact to.
    pub(crate) fn create(&self, run: &str, name: &str) -> std::io::Result<PendingTar> {
        self.tars.create(&of_run(run), name)
    }

    /// Makes a written artifact count, in place of what had its name. `raw`: it is one file of this
    /// type; `expires_at`: when it goes.
    pub(crate) fn keep(
        &self,
        run: &str,
        pending: PendingTar,
        by: &ArtifactMaker,
        raw: Option<String>,
        expires_at: Option<u64>,
    ) -> std::io::Result<Artifact> {
        self.keep_shown(run, pending, by, raw, expires_at, None)
    }

    /// The same of one that people see by another name (`shown`): a secret stands in its own.
    pub(crate) fn keep_shown(
        &self,
        run: &str,
        pending: PendingTar,
        by: &ArtifactMaker,
        raw: Option<String>,
        expires_at: Option<u64>,
        shown: Option<String>,
    ) -> std::io::Result<Artifact> {
        let tar = pending.finish(MAX_STORED)?;
        let about = Artifact {
            name: tar.name.clone(),
            bytes: tar.bytes,
            at: now_ms(),
            raw,
            by: Some(by.clone()),
            expires_at,
            shown,
        };
        self.tars.keep(&of_run(run), &tar, &about)?;
        Ok(about)
    }

    /// Those of a run that have not expired.
    fn entries(&self, run: &str) -> std::io::Result<Vec<TarEntry<Artifact>>> {
        let (mut all, now) = (self.tars.list::<Artifact>(&of_run(run))?, now_ms());
        all.retain(|entry| !entry.about.is_expired(now));
        Ok(all)
    }

    /// Removes those that have expired by `now`, in milliseconds since the Unix epoch; gives how
    /// many.
    pub(crate) fn remove_expired(&self, now: u64) -> std::io::Result<usize> {
        let mut all = self.tars.list_all::<Artifact>(KIND)?;
        all.retain(|entry| entry.about.is_expired(now));
        let (mut faults, mut removed) = (FirstFault::default(), 0);
        for entry in &all {
            removed += usize::from(faults.note(self.tars.remove(entry)).is_some());
        }
        faults.end().map(|()| removed)
    }

    fn entry(&self, run: &str, name: &str) -> std::io::Result<Option<TarEntry<Artifact>>> {
        let mut all = self.entries(run)?.into_iter();
        Ok(all.find(|entry| entry.about.name == name))
    }

    /// The artifact of this name, as a file of this machine.
    ///
    /// # Errors
    /// When it cannot be read where it is.
    pub fn find(&self, run: &str, name: &str) -> std::io::Result<Option<PathBuf>> {
        let entry = self.entry(run, name)?;
        entry.map(|entry| self.tars.open(&entry)).transpose()
    }

    /// The same by the name that people see.
    ///
    /// # Errors
    /// When it cannot be read where it is.
    pub fn find_shown(&self, run: &str, name: &str) -> std::io::Result<Option<PathBuf>> {
        let mut all = self.entries(run)?.into_iter();
        match all.find(|entry| entry.about.shown.as_deref() == Some(name)) {
            Some(entry) => self.tars.open(&entry).map(Some),
            None => self.find(run, name),
        }
    }

    /// All artifacts of a run as people see them, by name.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn list_shown(&self, run: &str) -> std::io::Result<Vec<Artifact>> {
        let all = self.list(run)?.into_iter();
        Ok(all.map(Artifact::for_people).collect())
    }

    /// What is known of the artifact of this name.
    pub(crate) fn listed(&self, run: &str, name: &str) -> std::io::Result<Option<Artifact>> {
        Ok(self.entry(run, name)?.map(|entry| entry.about))
    }

    /// Whether this job may store one of this name: there is none, or it is of an earlier attempt
    /// of its own.
    pub(crate) fn is_free(
        &self,
        run: &str,
        name: &str,
        by: &ArtifactMaker,
    ) -> std::io::Result<bool> {
        let is_own = |stored: Artifact| {
            let maker = stored.by.as_ref();
            maker.is_some_and(|known| known.job == by.job && known.attempt != by.attempt)
        };
        Ok(self.listed(run, name)?.is_none_or(is_own))
    }

    /// Removes an artifact.
    pub(crate) fn remove(&self, run: &str, name: &str) -> std::io::Result<()> {
        match self.entry(run, name)? {
            Some(entry) => self.tars.remove(&entry),
            None => Ok(()),
        }
    }

    /// All artifacts of a run, by name.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn list(&self, run: &str) -> std::io::Result<Vec<Artifact>> {
        let entries = self.entries(run)?.into_iter();
        let mut artifacts: Vec<Artifact> = entries.map(|entry| entry.about).collect();
        artifacts.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(artifacts)
    }

    /// Gives a run the artifacts of another, which keeps them; what it has already stays.
    pub(crate) fn adopt(&self, run: &str, from: &str) -> std::io::Result<()> {
        for entry in self.entries(from)? {
            self.tars.share(&entry, &entry.about.name, &of_run(run))?;
        }
        Ok(())
    }

    /// Whose artifacts there are: of each run its hash, as [`hashed`] makes it.
    pub(crate) fn owners(&self) -> std::io::Result<Vec<String>> {
        self.tars.owners(KIND)
    }

    /// Forgets all artifacts of an owner.
    pub(crate) fn remove_owner(&self, owner: &str) -> std::io::Result<()> {
        let (kind, owner) = (KIND.to_owned(), owner.to_owned());
        self.tars.remove_owner(&TarOwner { kind, owner })
    }

    /// Forgets a run's artifacts.
    pub(crate) fn remove_run(&self, run: &str) -> std::io::Result<()> {
        self.tars.remove_owner(&of_run(run))
    }

    /// Moves those that lie on this machine only to where every process can read them.
    pub(crate) fn move_local(&self) -> std::io::Result<usize> {
        self.tars.move_local(KIND)
    }
}

/// A run sees its own only.
fn of_run(run: &str) -> TarOwner {
    TarOwner {
        kind: KIND.to_owned(),
        owner: hashed(run),
    }
}

/// The longest name.
const MAX_NAME: usize = 512;

/// Whether an artifact may have this name: no file system that artifacts are unpacked on has the
/// characters that are left out (`path-and-artifact-name-validation` of the toolkit), and all of a
/// run are unpacked into folders of their names.
///
/// # Errors
/// Why not.
pub(crate) fn check_artifact_name(name: &str) -> Result<(), String> {
    if let Some(wrong) = name.chars().find(|c| "\"\\/:<>|*?\r\n".contains(*c)) {
        return Err(format!(
            "the name of an artifact has no {}: {}",
            wrong.escape_default(),
            quoted(name)
        ));
    }
    if matches!(name, "." | "..") {
        return Err(format!("an artifact is not called {}", quoted(name)));
    }
    if name.is_empty() || name.len() > MAX_NAME || name.contains(char::is_control) {
        return Err(format!(
            "an artifact's name has 1 to {MAX_NAME} bytes, and no control bytes"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_an_artifact_has_a_name_that_a_folder_can_have() {
        for name in ["site", "a b", "tests (7)", "x.y-z_1", "\u{dc}ber"] {
            assert_eq!(check_artifact_name(name), Ok(()), "{name}");
        }
        let long = "x".repeat(MAX_NAME + 1);
        let mut wrong = vec![
            "../evil", "a/b", "..", ".", "a:b", "a\"b", "a\\b", "", &long,
        ];
        wrong.extend(["a*", "a?", "a|b", "<a>", "a\nb", "a\tb"]);
        for name in wrong {
            assert!(check_artifact_name(name).is_err(), "{name:?}");
        }
    }
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
        let artifacts = ArtifactStore::new(directory.path(), None);
        let is_free =
            |run: &str, name: &str, by: &ArtifactMaker| artifacts.is_free(run, name, by).unwrap();
        let by = maker("build#0", "run-1-0");
        assert!(is_free("one", "a", &by));
        let mut pending = artifacts.create("one", "a").unwrap();
        pending.write(&tar_of("x", 3)).unwrap();
        artifacts.keep("one", pending, &by, None, None).unwrap();
        assert!(!is_free("one", "a", &by), "within one attempt");
        assert!(!is_free("one", "a", &maker("build#1", "run-1-1")));
        assert!(is_free("one", "a", &maker("build#0", "run-1-0.1")));
        artifacts.adopt("two", "one").unwrap();
        assert!(is_free("two", "a", &maker("build#0", "two-2-0")));
    }

    #[test]
    fn i17_an_artifact_that_was_being_stored_at_a_kill_takes_no_room() {
        let directory = tempfile::TempDir::new().unwrap();
        let artifacts = ArtifactStore::new(directory.path(), None);
        let pending = artifacts.create("one", "a").unwrap();
        // As a kill does it.
        std::mem::forget(pending);
        let of = directory.path().join(KIND).join(hashed("one"));
        assert_eq!(std::fs::read_dir(&of).unwrap().count(), 1);
        let _artifacts = ArtifactStore::new(directory.path(), None);
        assert_eq!(std::fs::read_dir(&of).unwrap().count(), 0);
    }

    #[test]
    fn i17_an_artifact_goes_when_its_days_are_over() {
        let folder = tempfile::tempdir().unwrap();
        let artifacts = ArtifactStore::new(folder.path(), None);
        let keep = |name: &str, expires_at| {
            let mut pending = artifacts.create("one", name).unwrap();
            pending.write(&tar_of("x", 3)).unwrap();
            let by = maker("a#0", "1");
            artifacts
                .keep("one", pending, &by, None, expires_at)
                .unwrap();
        };
        let left = |artifacts: &ArtifactStore| {
            let all = artifacts.list("one").unwrap().into_iter();
            all.map(|artifact| artifact.name).collect::<Vec<_>>()
        };
        let (hour, now) = (3_600_000, now_ms());
        keep("always", expiry(0));
        keep("later", Some(now + hour));
        keep("over", Some(now - 1));
        assert_eq!(left(&artifacts), ["always", "later"]);
        assert_eq!(artifacts.find("one", "over").unwrap(), None);
        artifacts.adopt("two", "one").unwrap();
        assert_eq!(artifacts.list("two").unwrap().len(), 2);
        assert_eq!(artifacts.remove_expired(now).unwrap(), 1);
        assert_eq!(
            artifacts.remove_expired(now + hour).unwrap(),
            2,
            "of both runs"
        );
        assert_eq!(left(&artifacts), ["always"]);
        let in_two_days = expiry(2).unwrap();
        assert!(in_two_days.abs_diff(now + 48 * hour) < hour);
    }

    #[test]
    fn a_run_adopts_artifacts_and_replaces_its_own_only() {
        let directory = tempfile::TempDir::new().unwrap();
        let artifacts = ArtifactStore::new(directory.path(), None);
        let by = maker("a#0", "1");
        let put = |run: &str, name: &str, size: usize| {
            let mut pending = artifacts.create(run, name).unwrap();
            pending.write(&tar_of("x", size)).unwrap();
            artifacts.keep(run, pending, &by, None, None).unwrap();
            std::fs::read(artifacts.find(run, name).unwrap().unwrap()).unwrap()
        };
        let old = put("one", "a", 3);
        put("one", "b", 3);
        let own = put("two", "b", 9000);
        artifacts.adopt("two", "one").unwrap();
        artifacts.adopt("two", "one").unwrap();
        artifacts.adopt("two", "unknown").unwrap();
        let read =
            |run: &str, name: &str| std::fs::read(artifacts.find(run, name).unwrap().unwrap());
        assert_eq!(read("two", "a").unwrap(), old);
        assert_eq!(read("two", "b").unwrap(), own, "what it has stays");
        let new = put("two", "a", 5000);
        assert_ne!(new, old);
        assert_eq!(
            read("one", "a").unwrap(),
            old,
            "the other's stay as they were"
        );
        assert_eq!(artifacts.list("one").unwrap()[0].bytes, old.len() as u64);
        artifacts.remove_run("one").unwrap();
        assert_eq!(artifacts.list("two").unwrap().len(), 2);
    }

    #[test]
    fn i17_people_see_and_find_an_artifact_without_the_secret_in_its_name() {
        let directory = tempfile::TempDir::new().unwrap();
        let artifacts = ArtifactStore::new(directory.path(), None);
        for (name, shown) in [("art-hunter2", Some("art-***")), ("plain", None)] {
            let mut pending = artifacts.create("run-1", name).unwrap();
            pending.write(&tar_of(name, 3)).unwrap();
            let (by, shown) = (maker("a#0", "1"), shown.map(str::to_owned));
            let kept = artifacts.keep_shown("run-1", pending, &by, None, None, shown);
            assert_eq!(kept.unwrap().name, name);
        }
        let names = |all: Vec<Artifact>| all.into_iter().map(|one| one.name).collect::<Vec<_>>();
        let shown = artifacts.list_shown("run-1").unwrap();
        assert!(!serde_json::to_string(&shown).unwrap().contains("hunter2"));
        assert_eq!(names(shown), ["art-***", "plain"]);
        // Jobs know it by its name.
        let known = artifacts.list("run-1").unwrap();
        assert_eq!(names(known), ["art-hunter2", "plain"]);
        let by_jobs = artifacts.find("run-1", "art-hunter2").unwrap();
        assert!(by_jobs.is_some());
        for (name, expected) in [
            ("art-***", &by_jobs),
            ("art-hunter2", &by_jobs),
            ("x", &None),
        ] {
            assert_eq!(
                &artifacts.find_shown("run-1", name).unwrap(),
                expected,
                "{name}"
            );
        }
        assert!(artifacts.find_shown("run-1", "plain").unwrap().is_some());
    }

    #[test]
    fn r15_names_never_become_paths_and_runs_see_their_own_only() {
        let directory = tempfile::TempDir::new().unwrap();
        let artifacts = ArtifactStore::new(directory.path(), None);
        let mut pending = artifacts.create("run-1", "../../x").unwrap();
        pending.write(&tar_of("x", 3)).unwrap();
        artifacts
            .keep("run-1", pending, &maker("a#0", "1"), None, None)
            .unwrap();
        assert!(
            artifacts
                .find("run-1", "../../x")
                .unwrap()
                .unwrap()
                .starts_with(directory.path())
        );
        assert_eq!(artifacts.find("run-2", "../../x").unwrap(), None);
        assert_eq!(artifacts.list("run-1").unwrap()[0].name, "../../x");
        drop(artifacts.create("run-1", "half").unwrap());
        assert_eq!(
            artifacts.list("run-1").unwrap().len(),
            1,
            "what was not kept does not count"
        );
    }
}
