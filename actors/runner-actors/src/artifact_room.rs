//! How much room artifacts have: one, those of a job, those of a repository.

use std::collections::{HashMap, HashSet};
use std::io::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::time::{Duration, Instant};

use config_core::ByteSize;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// Artifacts of one job (GitHub's limit).
pub(crate) const MAX_OF_JOB: usize = 500;
/// Those of pull requests from forks have this fraction of a repository's quota, beside it.
const UNTRUSTED_FRACTION: u64 = 4;
/// What is counted is believed for so long: what went since is room that is not seen.
const COUNT_LIFETIME: Duration = Duration::from_secs(300);

/// How much of artifacts there may be, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArtifactLimits {
    /// Bytes of one.
    pub one: u64,
    /// Bytes of all of a repository. Those of pull requests from forks have a quarter of it of
    /// their own.
    pub of_repository: u64,
    /// Days that one stays where its step does not say; 0: as long as its run.
    pub days: u64,
}

impl Default for ArtifactLimits {
    fn default() -> Self {
        Self {
            one: 2 << 30,
            of_repository: 100 << 30,
            days: runner_core::context::RETENTION_DAYS,
        }
    }
}

/// Where an artifact was made.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct ArtifactOrigin {
    /// The run's id.
    pub(crate) run: String,
    /// In small letters.
    pub(crate) repository: String,
    /// By a pull request from a fork.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) untrusted: bool,
}

/// What is counted of an artifact.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct CountedArtifact {
    pub(crate) origin: ArtifactOrigin,
    pub(crate) name: String,
    /// When it was stored.
    pub(crate) at: u64,
    pub(crate) bytes: u64,
}

/// Whose room it takes: a repository, and whether strangers have it.
type Owner = (String, bool);

/// What the artifacts of all repositories take; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ArtifactRoom(Arc<Mutex<Option<UsageCount>>>);

#[derive(Debug)]
struct UsageCount {
    at: Instant,
    bytes: HashMap<Owner, u64>,
}

impl ArtifactRoom {
    /// Takes room for so many bytes more. `all` reads the artifacts there are.
    ///
    /// # Errors
    /// [`ErrorKind::QuotaExceeded`], with what to do; else those of `all`.
    pub(crate) fn take(
        &self,
        of: &ArtifactOrigin,
        bytes: u64,
        limits: &ArtifactLimits,
        all: impl Fn() -> Result<Vec<CountedArtifact>>,
    ) -> Result<()> {
        let quota = match of.untrusted {
            true => limits.of_repository / UNTRUSTED_FRACTION,
            false => limits.of_repository,
        };
        let owner = (of.repository.clone(), of.untrusted);
        let mut counted = self.0.lock();
        let is_old = |counted: &UsageCount| counted.at.elapsed() > COUNT_LIFETIME;
        let known = counted.take().filter(|counted| !is_old(counted));
        let fits = |counted: &UsageCount| counted.count_for(&owner).saturating_add(bytes) <= quota;
        // Where it does not fit, some may have gone.
        let known = match known.filter(&fits) {
            Some(known) => known,
            None => UsageCount::anew(all()?),
        };
        let known = counted.insert(known);
        if !fits(known) {
            return Err(no_room(of, known.count_for(&owner), quota));
        }
        *known.bytes.entry(owner).or_default() += bytes;
        Ok(())
    }
}

impl UsageCount {
    fn count_for(&self, owner: &Owner) -> u64 {
        self.bytes.get(owner).copied().unwrap_or_default()
    }

    /// One that a later attempt of its run has, too, is one file.
    fn anew(all: Vec<CountedArtifact>) -> Self {
        let mut bytes = HashMap::new();
        let all: HashSet<CountedArtifact> = all.into_iter().collect();
        for CountedArtifact {
            origin, bytes: own, ..
        } in all
        {
            *bytes
                .entry((origin.repository, origin.untrusted))
                .or_default() += own;
        }
        let at = Instant::now();
        Self { at, bytes }
    }
}

fn no_room(of: &ArtifactOrigin, taken: u64, quota: u64) -> Error {
    let whose = match of.untrusted {
        true => "artifacts of pull requests from forks (a quarter of `artifact_quota`)",
        false => "artifacts (`artifact_quota`)",
    };
    let text = format!(
        "{} has no room for more {whose}: {} of {} are taken; delete some, have steps keep them for fewer days (`retention-days`), or ask the operator for a larger `artifact_quota` or a shorter `artifact_days`",
        of.repository,
        ByteSize::new(taken),
        ByteSize::new(quota)
    );
    Error::new(ErrorKind::QuotaExceeded, text)
}

/// A job has as many as it may have.
pub(crate) fn too_many() -> Error {
    let text = format!("a job stores {MAX_OF_JOB} artifacts at most, as on GitHub");
    Error::new(ErrorKind::QuotaExceeded, text)
}

/// Whether it is a bound of ours, and none of the disk's.
pub(crate) fn is_bound(error: &Error) -> bool {
    error.kind() == ErrorKind::QuotaExceeded && error.raw_os_error().is_none()
}
