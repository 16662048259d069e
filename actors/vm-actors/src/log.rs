//! What a command wrote, as far as it is kept: a bounded ring that any number of readers follow.
//!
//! ```text
//! guest ─▶ OutputLog::push ─▶ Flow (hold when a reader is far behind)
//!              └──wake──▶ Follower::next (the edge) ──▶ OutputLog::room ─▶ output flows again
//! ```
//! A command that writes faster than its readers read is slowed down to them, for a while: a reader
//! that takes nothing for the log's patience is no longer waited for, loses the oldest output, and
//! is told how much. Without readers the newest output is kept.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use vm_core::guest::WINDOW;
use vm_core::{ExecEnd, OutputStream};
use vm_engine::OutputFlow;

/// The least a log can keep: what a guest still sends after it was told to hold, twice.
pub const LEAST_LOG: usize = 2 * WINDOW as usize;

/// Output of one stream is kept in pieces of at most so many bytes.
const PIECE: usize = 32 * 1024;

/// What a piece costs beside its bytes.
const OVERHEAD: usize = 96;

/// The output and the end of one command.
#[derive(Debug)]
pub struct OutputLog {
    /// The most bytes kept.
    limit: usize,
    /// How long a reader that takes nothing is waited for.
    patience: Duration,
    kept: Mutex<LogBuffer>,
    /// Counts changes, for readers and for who waits for room.
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct LogBuffer {
    pieces: VecDeque<Run>,
    /// What `pieces` cost: their bytes, and [`OVERHEAD`] for each.
    cost: usize,
    /// Bytes in `pieces`.
    bytes: usize,
    /// The number of the first piece kept, counted from the first ever.
    first: u64,
    /// Bytes of the pieces before that.
    lost: u64,
    /// How it ended.
    end: Option<ExecEnd>,
    readers: BTreeMap<u64, Cursor>,
    next_reader: u64,
}

/// Output of one stream without a break.
#[derive(Debug)]
struct Run {
    stream: OutputStream,
    bytes: Vec<u8>,
}

/// Where a reader is.
#[derive(Debug, Clone, Copy)]
struct Cursor {
    /// The number of its next piece.
    next: u64,
    /// Bytes that it took of that piece already.
    taken: usize,
    /// Bytes before what it takes next.
    offset: u64,
    /// When it last took something.
    took: Instant,
}

impl LogBuffer {
    fn drop_oldest(&mut self) {
        if let Some(piece) = self.pieces.pop_front() {
            self.bytes -= piece.bytes.len();
            self.cost -= piece.bytes.len() + OVERHEAD;
            self.first += 1;
            self.lost += piece.bytes.len() as u64;
        }
    }

    /// Adds output to the last piece, if it is of the same stream and not full: output of a byte at
    /// a time costs no more than its bytes.
    fn add(&mut self, stream: OutputStream, output: &[u8]) {
        match self.pieces.back_mut() {
            Some(last) if last.stream == stream && last.bytes.len() + output.len() <= PIECE => {
                let (present, added) = (last.bytes.len(), output.len());
                // Twice as much each time, but never more than a piece.
                last.bytes
                    .reserve_exact(added.max(present).min(PIECE - present));
                last.bytes.extend_from_slice(output);
                self.cost += added;
            }
            _ => {
                let bytes = output.to_vec();
                self.pieces.push_back(Run { stream, bytes });
                self.cost += output.len() + OVERHEAD;
            }
        }
        self.bytes += output.len();
    }

    /// What the slowest reader that is still waited for has not taken, as it costs, and since when.
    fn lag(&self, now: Instant, patience: Duration) -> Option<(u64, Instant)> {
        let total = self.lost + self.bytes as u64;
        let pieces = self.first + self.pieces.len() as u64;
        let waited_for = self
            .readers
            .values()
            .filter(|cursor| now.duration_since(cursor.took) < patience);
        waited_for
            .map(|cursor| {
                let behind = pieces.saturating_sub(cursor.next) * OVERHEAD as u64;
                (total - cursor.offset + behind, cursor.took)
            })
            .max_by_key(|(lag, _)| *lag)
    }
}

/// What a reader gets next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogChunk {
    /// Output, in the order it came.
    Output(OutputStream, Bytes),
    /// So many bytes are no longer kept.
    Lost(u64),
    /// The command has ended; nothing follows.
    End(ExecEnd),
}

impl OutputLog {
    /// A log that keeps at most `limit` bytes, at least [`LEAST_LOG`].
    #[must_use]
    pub fn new(limit: usize, patience: Duration) -> Arc<Self> {
        Arc::new(Self {
            limit: limit.max(LEAST_LOG),
            patience,
            kept: Mutex::default(),
            changed: watch::Sender::new(0),
        })
    }

    /// Adds output; says whether more may come.
    pub fn push(&self, stream: OutputStream, output: &[u8]) -> OutputFlow {
        // More than fits at once leaves only its end.
        let cut = output.len().saturating_sub(self.limit);
        let mut kept = self.kept.lock();
        if kept.end.is_some() || output.is_empty() {
            return OutputFlow::Continue;
        }
        while kept.bytes > 0 && kept.cost + output.len() + OVERHEAD > self.limit {
            kept.drop_oldest();
        }
        if cut > 0 {
            kept.first += 1;
            kept.lost += cut as u64;
        }
        kept.add(stream, &output[cut..]);
        let hold = kept
            .lag(Instant::now(), self.patience)
            .is_some_and(|(lag, _)| lag + u64::from(WINDOW) > self.limit as u64);
        drop(kept);
        self.wake();
        if hold {
            OutputFlow::Hold
        } else {
            OutputFlow::Continue
        }
    }

    /// Resolves when output that was held may flow again: the readers have caught up, are no longer
    /// waited for, or the command has ended.
    pub async fn room(&self) {
        let mut changed = self.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let waited_since = {
                let kept = self.kept.lock();
                match kept.lag(Instant::now(), self.patience) {
                    _ if kept.end.is_some() => return,
                    None => return,
                    Some((lag, _)) if lag <= u64::from(WINDOW) / 2 => return,
                    Some((_, took)) => took,
                }
            };
            // An error would say that the log is gone; it is borrowed here.
            let _ = tokio::time::timeout_at(waited_since + self.patience, changed.changed()).await;
        }
    }

    /// Writes down how the command ended; the first end is kept. True when this was it.
    pub fn finish(&self, end: ExecEnd) -> bool {
        let mut kept = self.kept.lock();
        let first = kept.end.is_none();
        kept.end.get_or_insert(end);
        drop(kept);
        self.wake();
        first
    }

    /// How the command ended, if it has.
    #[must_use]
    pub fn end(&self) -> Option<ExecEnd> {
        self.kept.lock().end.clone()
    }

    /// Keeps no more than `most` of what an ended command wrote: the newest.
    pub fn trim(&self, most: usize) {
        let mut kept = self.kept.lock();
        while kept.cost > most {
            kept.drop_oldest();
        }
    }

    /// What the output that is kept costs in memory.
    #[must_use]
    pub fn cost(&self) -> usize {
        self.kept.lock().cost
    }

    /// Bytes that are kept, and bytes that no longer are.
    #[must_use]
    pub fn sizes(&self) -> (usize, u64) {
        let kept = self.kept.lock();
        (kept.bytes, kept.lost)
    }

    /// Reads from the beginning, as far as it is kept, to the end of the command.
    #[must_use]
    pub fn follow(self: &Arc<Self>) -> Follower {
        let mut kept = self.kept.lock();
        let id = kept.next_reader;
        kept.next_reader += 1;
        let cursor = Cursor {
            next: 0,
            taken: 0,
            offset: 0,
            took: Instant::now(),
        };
        kept.readers.insert(id, cursor);
        drop(kept);
        Follower {
            log: Arc::clone(self),
            changed: self.changed.subscribe(),
            id,
        }
    }

    fn wake(&self) {
        self.changed
            .send_modify(|version| *version = version.wrapping_add(1));
    }

    /// What the reader `id` gets next; `None` when there is nothing yet.
    fn take(&self, id: u64) -> Option<LogChunk> {
        let mut kept = self.kept.lock();
        let mut cursor = kept.readers.get(&id).copied()?;
        if cursor.next < kept.first && cursor.offset == kept.lost {
            // What is gone was all taken.
            (cursor.next, cursor.taken) = (kept.first, 0);
        }
        let took = Instant::now();
        let (piece, next, taken, offset) = if cursor.next < kept.first {
            let lost = kept.lost - cursor.offset;
            (LogChunk::Lost(lost), kept.first, 0, kept.lost)
        } else {
            let index = usize::try_from(cursor.next - kept.first).ok()?;
            // The last piece may have grown since.
            let present = kept.pieces.get(index);
            let rest = present.map(|piece| (piece.stream, &piece.bytes[cursor.taken..]));
            let (index, stream, rest, taken) = match rest {
                Some((stream, rest)) if !rest.is_empty() => (index, stream, rest, cursor.taken),
                _ => match kept.pieces.get(index + 1) {
                    Some(next) if present.is_some() => (index + 1, next.stream, &next.bytes[..], 0),
                    _ => {
                        let end = kept.end.clone().map(LogChunk::End);
                        let caught_up = Cursor { took, ..cursor };
                        kept.readers.insert(id, caught_up);
                        return end;
                    }
                },
            };
            let piece = LogChunk::Output(stream, Bytes::copy_from_slice(rest));
            let count = rest.len();
            let offset = cursor.offset + count as u64;
            (piece, kept.first + index as u64, taken + count, offset)
        };
        kept.readers.insert(
            id,
            Cursor {
                next,
                taken,
                offset,
                took,
            },
        );
        drop(kept);
        self.wake();
        Some(piece)
    }

    fn forget(&self, id: u64) {
        self.kept.lock().readers.remove(&id);
        self.wake();
    }
}

/// One reader of a log. While it lives and takes, the command waits for it.
#[derive(Debug)]
pub struct Follower {
    log: Arc<OutputLog>,
    changed: watch::Receiver<u64>,
    id: u64,
}

impl Follower {
    /// The next piece, waited for; after [`LogChunk::End`] the same again.
    pub async fn next(&mut self) -> LogChunk {
        loop {
            self.changed.mark_unchanged();
            if let Some(piece) = self.log.take(self.id) {
                return piece;
            }
            // Cannot fail: this reader keeps the log, and with it the sender, alive.
            let _ = self.changed.changed().await;
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.log.forget(self.id);
    }
}

#[cfg(test)]
mod tests;
