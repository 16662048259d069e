//! Artifacts of runs.

use std::path::{Path, PathBuf};

use cluster_actors::replica::{FirstFault, SharedFiles};
use config_core::quoted;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::artifact_room::{
    ArtifactLimits, ArtifactOrigin, ArtifactRoom, CountedArtifact, MAX_OF_JOB, too_many,
};
use crate::artifact_zip::digest_of_download;
use crate::clock::now_ms;
use crate::stored_tar::{PendingTar, WholeTar, hashed};
use crate::tar_store::{TarEntry, TarOwner, TarStore, remove_unfinished};

/// What they are, for [`TarStore`].
pub(crate) const KIND: &str = "artifacts";

/// Where artifacts are kept. Its methods block.
#[derive(Debug, Clone)]
pub struct ArtifactStore {
    tars: TarStore,
    limits: ArtifactLimits,
    room: ArtifactRoom,
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
    /// Where it was made; of former versions nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(ignore)]
    pub(crate) origin: Option<ArtifactOrigin>,
    /// `sha256:…` of what the clients of jobs download; of former versions nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(ignore)]
    pub(crate) digest: Option<String>,
}

/// What is said of an artifact that is stored.
#[derive(Debug, Default)]
pub(crate) struct NewArtifact {
    /// It is one file of this type.
    pub(crate) raw: Option<String>,
    /// When it goes; otherwise after the usual days.
    pub(crate) expires_at: Option<u64>,
    /// How people see its name, where a secret stands in it.
    pub(crate) shown: Option<String>,
    /// Whose room it takes.
    pub(crate) origin: Option<ArtifactOrigin>,
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
        // Runs that store one of a name at once have two.
        let run = self
            .origin
            .as_ref()
            .map(|origin| format!("{} ", origin.run));
        let run = run.unwrap_or_default();
        let hash = blake3::hash(format!("{run}{} {}", self.at, self.name).as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&hash.as_bytes()[..8]);
        (u64::from_be_bytes(first) >> 11).max(1)
    }

    /// As people see it: without the secrets in its name.
    fn for_people(self) -> Self {
        Self {
            name: self.shown.unwrap_or(self.name),
            shown: None,
            origin: None,
            digest: None,
            ..self
        }
    }

    /// What is counted of it, where it is known whose it is.
    fn counted(self) -> Option<CountedArtifact> {
        Some(CountedArtifact {
            origin: self.origin?,
            name: self.name,
            at: self.at,
            bytes: self.bytes,
        })
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
            limits: ArtifactLimits::default(),
            room: ArtifactRoom::default(),
        }
    }

    /// Within these limits, instead of the usual ones.
    #[must_use]
    pub(crate) fn with_limits(self, limits: ArtifactLimits) -> Self {
        Self { limits, ..self }
    }

    /// Bytes that one may have.
    pub(crate) fn most(&self) -> u64 {
        self.limits.one
    }

    /// A file to write a new artifact to.
    pub(crate) fn create(&self, run: &str, name: &str) -> std::io::Result<PendingTar> {
        self.tars.create(&of_run(run), name, self.limits.one)
    }

    /// Makes a written artifact count, in place of what had its name.
    ///
    /// # Errors
    /// When there is no room for it, or it cannot be stored.
    pub(crate) fn keep(
        &self,
        run: &str,
        pending: PendingTar,
        by: &ArtifactMaker,
        new: NewArtifact,
    ) -> std::io::Result<Artifact> {
        let tar = pending.finish(self.limits.one)?;
        self.take_room(run, &tar, by, new.origin.as_ref())?;
        let about = Artifact {
            // Nothing that clients could hold what they download against, if it cannot be packed.
            digest: digest_of_download(&tar.part, new.raw.is_some()).ok(),
            name: tar.name.clone(),
            bytes: tar.bytes,
            at: now_ms(),
            raw: new.raw,
            by: Some(by.clone()),
            expires_at: new.expires_at.or_else(|| expiry(self.limits.days)),
            shown: new.shown,
            origin: new.origin,
        };
        self.tars.keep(&of_run(run), &tar, &about)?;
        Ok(about)
    }

    /// Takes room for a new artifact, but for that of the one that it replaces.
    fn take_room(
        &self,
        run: &str,
        tar: &WholeTar,
        by: &ArtifactMaker,
        origin: Option<&ArtifactOrigin>,
    ) -> std::io::Result<()> {
        let (former, others): (Vec<Artifact>, Vec<Artifact>) = self
            .list(run)?
            .into_iter()
            .partition(|one| one.name == tar.name);
        let is_own = |one: &&Artifact| one.by.as_ref() == Some(by);
        if others.iter().filter(is_own).count() >= MAX_OF_JOB {
            return Err(too_many());
        }
        let Some(origin) = origin else { return Ok(()) };
        let freed: u64 = former.iter().map(|one| one.bytes).sum();
        self.take(origin, tar.bytes.saturating_sub(freed))
    }

    fn take(&self, origin: &ArtifactOrigin, bytes: u64) -> std::io::Result<()> {
        let all = || {
            let (all, now) = (self.tars.list_all::<Artifact>(KIND)?, now_ms());
            let all = all.into_iter().map(|entry| entry.about);
            let all = all.filter(|one| !one.is_expired(now));
            Ok(all.filter_map(Artifact::counted).collect())
        };
        self.room.take(origin, bytes, &self.limits, all)
    }

    /// Whether a job may store one more, of whatever size: asked before it is sent.
    ///
    /// # Errors
    /// When it may not.
    pub(crate) fn check_room(
        &self,
        by: &ArtifactMaker,
        origin: &ArtifactOrigin,
    ) -> std::io::Result<()> {
        let all = self.list(&origin.run)?;
        let is_own = |one: &&Artifact| one.by.as_ref() == Some(by);
        if all.iter().filter(is_own).count() >= MAX_OF_JOB {
            return Err(too_many());
        }
        // The least that a tar has; it is counted again with what comes.
        self.take(origin, 1)
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
            removed += usize::from(faults.record(self.tars.remove(entry)).is_some());
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
mod tests;
