//! The right to publish a part of a source: held by writing its pointer, again and again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use http_clients::objects::{ObjectVersion, ReplaceResult};
use parking_lot::Mutex;
use search_core::snapshots::{
    HolderState, LeaseWatch, MANIFEST_FORMAT, PublishedManifest, SnapshotPointer,
};

use super::error::SnapshotError;
use super::unit::{PointerRead, Unit};

/// Looks for the moment at which a lease can be taken.
pub(super) struct LeaseSeeker {
    unit: Unit,
    owner: String,
    watch: LeaseWatch,
    began: Instant,
    /// The pointer that was read last.
    known: Option<(SnapshotPointer, ObjectVersion)>,
}

impl LeaseSeeker {
    pub(super) fn new(unit: Unit, owner: String) -> Self {
        Self {
            unit,
            owner,
            watch: LeaseWatch::default(),
            began: Instant::now(),
            known: None,
        }
    }

    /// Who has it, as far as is known.
    pub(super) fn holder(&self) -> &str {
        self.known
            .as_ref()
            .map_or("", |(pointer, _)| pointer.owner.as_str())
    }

    /// Takes the lease where nobody has it; `None` where somebody does. `lost` is set when another
    /// one has taken it.
    pub(super) fn attempt(
        &mut self,
        lost: &Arc<AtomicBool>,
    ) -> Result<Option<SnapshotLease>, SnapshotError> {
        let version = self.known.as_ref().map(|(_, version)| version);
        match self.unit.pointer(version) {
            Ok(PointerRead::Missing) => self.known = None,
            Ok(PointerRead::Unchanged) => {}
            Ok(PointerRead::Read(pointer, version)) => self.known = Some((pointer, version)),
            Err(error) => {
                self.watch.record_unreachable();
                return Err(error);
            }
        }
        let pointer = self.known.as_ref().map(|(pointer, _)| pointer);
        if self.watch.observe(pointer, self.began.elapsed()) == HolderState::Held {
            return Ok(None);
        }
        let former = pointer.cloned().unwrap_or_default();
        let next = SnapshotPointer {
            format: MANIFEST_FORMAT,
            owner: self.owner.clone(),
            epoch: former.epoch + 1,
            beat: former.beat + 1,
            ..former
        };
        let expected = self.known.as_ref().map(|(_, version)| version);
        match self.unit.replace(expected, &next)? {
            ReplaceResult::Done(version) => {
                lost.store(false, Ordering::Release);
                Ok(Some(SnapshotLease {
                    unit: self.unit.clone(),
                    state: Mutex::new((next, version)),
                    lost: Arc::clone(lost),
                }))
            }
            // Another one was faster.
            ReplaceResult::Conflict => Ok(None),
        }
    }
}

/// The right to publish, until it is lost.
#[derive(Debug)]
pub(super) struct SnapshotLease {
    pub(super) unit: Unit,
    /// The pointer as this process wrote it last.
    state: Mutex<(SnapshotPointer, ObjectVersion)>,
    lost: Arc<AtomicBool>,
}

impl SnapshotLease {
    /// The pointer as this process wrote it last.
    pub(super) fn pointer(&self) -> SnapshotPointer {
        self.state.lock().0.clone()
    }

    /// Whether another one has it.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Says that this process is there.
    pub(super) fn renew(&self) -> Result<(), SnapshotError> {
        self.write(|_| {})
    }

    /// Leads searchers to a manifest.
    pub(super) fn publish(&self, manifest: &PublishedManifest) -> Result<(), SnapshotError> {
        self.write(|pointer| {
            pointer.sequence += 1;
            pointer.manifest = Some(manifest.clone());
        })
    }

    /// Leads searchers nowhere.
    pub(super) fn withdraw(&self) -> Result<(), SnapshotError> {
        self.write(|pointer| pointer.manifest = None)
    }

    /// Gives it back: the next one need not wait.
    pub(super) fn release(&self) -> Result<(), SnapshotError> {
        self.write(|pointer| pointer.owner.clear())
    }

    fn write(&self, change: impl Fn(&mut SnapshotPointer)) -> Result<(), SnapshotError> {
        if self.is_lost() {
            return Err(SnapshotError::LeaseLost);
        }
        let mut state = self.state.lock();
        for _ in 0..2 {
            let mut next = state.0.clone();
            next.beat += 1;
            change(&mut next);
            match self.unit.replace(Some(&state.1), &next)? {
                ReplaceResult::Done(version) => {
                    *state = (next, version);
                    return Ok(());
                }
                ReplaceResult::Conflict => {}
            }
            // Nobody else writes this owner and epoch: an earlier write was done, and its answer
            // did not come.
            match self.unit.pointer(None)? {
                PointerRead::Read(there, version)
                    if there.owner == state.0.owner && there.epoch == state.0.epoch =>
                {
                    *state = (there, version);
                }
                _ => break,
            }
        }
        self.lost.store(true, Ordering::Release);
        Err(SnapshotError::LeaseLost)
    }
}
