//! Whether the storage still has what is published as it was stored.
//!
//! ```text
//! Publisher ──what is published──▶ StoredCheck ◀──lengths, digests── its thread ──▶ storage
//!     ▲                                 │
//!     └──── what is to be stored again ─┘
//! ```
//!
//! An object that a disk has damaged would be named by each later snapshot, as nothing that was
//! published is stored twice. Lengths are compared every minute, contents one after the other
//! so slowly that nobody notices.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_clients::objects::ObjectError;
use parking_lot::Mutex;
use search_core::snapshots::{PartManifest, PublishedManifest};

use super::error::SnapshotError;
use super::unit::Unit;
use super::wait::sleep;

/// Between two looks at all lengths.
const LENGTHS_INTERVAL: Duration = Duration::from_secs(60);
/// Bytes of contents that are read in a second.
const PACE: u64 = 256 << 10;
/// Between two objects at least.
const INTERVAL: Duration = Duration::from_secs(1);

/// What an object was when it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
struct StoredAs {
    digest: String,
    /// None of a manifest: nothing says how long it is.
    bytes: Option<u64>,
}

/// What is published, and what of it the storage does not have any more.
#[derive(Debug, Default)]
pub(super) struct StoredCheck {
    state: Mutex<CheckState>,
}

#[derive(Debug, Default)]
struct CheckState {
    published: BTreeMap<String, StoredAs>,
    /// Objects that are not there, or not as they were stored.
    lost: BTreeSet<String>,
}

impl StoredCheck {
    /// Looks at what is published now, and at nothing else.
    pub(super) fn follow(&self, published: &PublishedManifest, manifest: &PartManifest) {
        let files = manifest.files.iter().map(|file| {
            let stored = StoredAs {
                digest: file.digest.clone(),
                bytes: Some(file.bytes),
            };
            (file.object.clone(), stored)
        });
        let own = StoredAs {
            digest: published.digest.clone(),
            bytes: None,
        };
        let mut state = self.state.lock();
        state.published = files.chain([(published.object.clone(), own)]).collect();
        let CheckState { published, lost } = &mut *state;
        lost.retain(|object| published.contains_key(object));
    }

    /// The objects that have to be stored again.
    pub(super) fn lost_objects(&self) -> BTreeSet<String> {
        self.state.lock().lost.clone()
    }

    /// Whether there are any.
    pub(super) fn has_lost(&self) -> bool {
        !self.state.lock().lost.is_empty()
    }

    fn record_lost(&self, object: &str, source: &str, reason: &str) {
        let mut state = self.state.lock();
        // It may be needed no more, and be removed.
        if state.published.contains_key(object) && state.lost.insert(object.to_owned()) {
            drop(state);
            tracing::warn!(event = "snapshot.object_lost", source, object, %reason);
        }
    }

    fn published(&self) -> BTreeMap<String, StoredAs> {
        self.state.lock().published.clone()
    }

    /// The one whose content is read after that of `last`.
    fn next(&self, last: &str) -> Option<(String, StoredAs)> {
        let state = self.state.lock();
        let after = (Bound::Excluded(last), Bound::Unbounded);
        let mut behind = state.published.range::<str, _>(after);
        let next = behind.next().or_else(|| state.published.iter().next());
        next.map(|(object, stored)| (object.clone(), stored.clone()))
    }

    /// Starts the thread. Nobody waits for its end: a storage that hangs holds it up for minutes,
    /// and it has nothing here that another one could need.
    pub(super) fn start(
        self: &Arc<Self>,
        unit: Unit,
        source: &str,
        is_ended: impl Fn() -> bool + Send + Sync + 'static,
    ) -> io::Result<()> {
        let (check, source) = (Arc::clone(self), source.to_owned());
        let run = move || check.run(&unit, &source, &is_ended);
        let name = "stored-check".to_owned();
        std::thread::Builder::new().name(name).spawn(run).map(drop)
    }

    fn run(&self, unit: &Unit, source: &str, is_ended: &(dyn Fn() -> bool + Sync)) {
        let mut last = String::new();
        let (mut lengths_at, mut content_at) = (Instant::now(), Instant::now());
        while sleep(INTERVAL, is_ended) {
            // A storage that is away is told of by whoever publishes.
            if Instant::now() >= lengths_at {
                let _ = self.compare_lengths(unit, source);
                lengths_at = Instant::now() + LENGTHS_INTERVAL;
            }
            if Instant::now() >= content_at
                && let Some((object, stored)) = self.next(&last)
            {
                let _ = self.compare_content(unit, source, (&object, &stored));
                content_at = Instant::now() + pause_after(stored.bytes.unwrap_or_default());
                last = object;
            }
        }
    }

    fn compare_lengths(&self, unit: &Unit, source: &str) -> Result<(), SnapshotError> {
        for (object, stored) in self.published() {
            match (unit.storage.bytes_of(&unit.key(&object))?, stored.bytes) {
                (None, _) => self.record_lost(&object, source, "it is not there"),
                (Some(found), Some(bytes)) if found != bytes => {
                    let reason = format!("it has {found} bytes, {bytes} were stored");
                    self.record_lost(&object, source, &reason);
                }
                (Some(_), _) => {}
            }
        }
        Ok(())
    }

    fn compare_content(
        &self,
        unit: &Unit,
        source: &str,
        (object, stored): (&str, &StoredAs),
    ) -> Result<(), SnapshotError> {
        match unit.storage.digest_of(&unit.key(object)) {
            Ok(digest) if digest == stored.digest => {}
            Ok(_) => self.record_lost(object, source, "its BLAKE3 digest is another"),
            Err(ObjectError::Missing { .. }) => self.record_lost(object, source, "it is not there"),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// How long nothing is read after so many bytes.
fn pause_after(bytes: u64) -> Duration {
    Duration::from_millis(bytes.saturating_mul(1000) / PACE)
}
