//! Pieces are written while the database writes their rows.
//!
//! ```text
//! writer ──pieces──▶ store-pieces: write, fsync ──────────┐
//!    └─ commit: write rows, fsync ── waits at the gate ◀──┘ ── name the new root, fsync
//! ```
//!
//! A commit in two phases synchronises twice. The gate stands behind the first: until the pieces are durable, nothing on
//! the disk names the root that tells of them.

use super::book::Parts;
use super::segments::SegmentStorage;
use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::thread;

/// What a synchronisation of the database waits for, if there is anything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate(Arc<Mutex<Option<Receiver<io::Result<()>>>>>);

impl Gate {
    /// Waits for the pieces under way, once.
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

/// The thread that writes pieces. It ends with its handle.
#[derive(Debug)]
pub(crate) struct PieceWriter {
    gate: Gate,
    orders: Sender<Order>,
}

type Order = (Parts, Sender<io::Result<()>>);

impl PieceWriter {
    /// Starts the thread.
    ///
    /// # Errors
    /// When there can be no further thread.
    pub(crate) fn start(segments: Arc<dyn SegmentStorage>, gate: Gate) -> io::Result<Self> {
        let (orders, queue) = bounded::<Order>(1);
        thread::Builder::new()
            .name("store-pieces".to_owned())
            .spawn(move || {
                for (parts, outcome) in queue {
                    // Nobody waiting is no failure: the group failed for another reason.
                    let _ = outcome.send(parts.write_to(&*segments));
                }
            })?;
        Ok(Self { gate, orders })
    }

    /// Begins to write; the next synchronisation of the database waits for the end.
    pub(crate) fn begin(&self, parts: Parts) {
        if parts.is_empty() {
            return;
        }
        let (outcome, gate) = bounded(1);
        *self.gate.0.lock() = Some(gate);
        // Without the thread the gate says that it has ended.
        let _ = self.orders.send((parts, outcome));
    }
}
