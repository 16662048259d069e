//! Blobs are written while the database writes their rows.
//!
//! ```text
//! writer ──blobs──▶ store-blobs: write, fsync ──────────┐
//!    └─ commit: write rows, fsync ── waits at the gate ◀──┘ ── name the new root, fsync
//! ```
//!
//! A commit in two phases synchronises twice. The gate stands behind the first: until the blobs are
//! durable, nothing on the disk names the root that tells of them.

use super::changes::BlobBatch;
use super::segments::SegmentStorage;
use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::thread;

/// What a synchronisation of the database waits for, if there is anything.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommitGate(Arc<Mutex<Option<Receiver<io::Result<()>>>>>);

impl CommitGate {
    /// Waits for the blobs under way, once.
    ///
    /// # Errors
    /// What became of them.
    pub(crate) fn pass(&self) -> io::Result<()> {
        let Some(outcome) = self.0.lock().take() else {
            return Ok(());
        };
        let ended = |_| Err(io::Error::other("the thread that writes pieces has ended"));
        outcome.recv().unwrap_or_else(ended)
    }
}

/// The thread that writes blobs. It ends with its handle.
#[derive(Debug)]
pub(crate) struct BlobWriter {
    gate: CommitGate,
    requests: Sender<WriteRequest>,
}

type WriteRequest = (BlobBatch, Sender<io::Result<()>>);

impl BlobWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// When there can be no further thread.
    pub(crate) fn start(segments: Arc<dyn SegmentStorage>, gate: CommitGate) -> io::Result<Self> {
        let (requests, queue) = bounded::<WriteRequest>(1);
        thread::Builder::new()
            .name("store-pieces".to_owned())
            .spawn(move || {
                for (parts, outcome) in queue {
                    // Nobody waiting is no failure: the group failed for another reason.
                    let _ = outcome.send(parts.write_to(&*segments));
                }
            })?;
        Ok(Self { gate, requests })
    }

    /// Begins to write; the next synchronisation of the database waits for the end.
    pub(crate) fn start_write(&self, parts: BlobBatch) {
        if parts.is_empty() {
            return;
        }
        let (outcome, gate) = bounded(1);
        *self.gate.0.lock() = Some(gate);
        // Without the thread the gate says that it has ended.
        let _ = self.requests.send((parts, outcome));
    }
}
