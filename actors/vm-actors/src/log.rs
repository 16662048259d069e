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
use vm_core::{ExecEnd, Stream};
use vm_engine::Flow;

/// The least a log can keep: what a guest still sends after it was told to hold, twice.
pub const LEAST_LOG: usize = 2 * WINDOW as usize;

/// The output and the end of one command.
#[derive(Debug)]
pub struct OutputLog {
    /// The most bytes kept.
    limit: usize,
    /// How long a reader that takes nothing is waited for.
    patience: Duration,
    kept: Mutex<Kept>,
    /// Counts changes, for readers and for who waits for room.
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Kept {
    pieces: VecDeque<(Stream, Bytes)>,
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

/// Where a reader is.
#[derive(Debug, Clone, Copy)]
struct Cursor {
    /// The number of its next piece.
    next: u64,
    /// Bytes before that piece.
    offset: u64,
    /// When it last took something.
    took: Instant,
}

impl Kept {
    fn drop_oldest(&mut self) {
        if let Some((_, piece)) = self.pieces.pop_front() {
            self.bytes -= piece.len();
            self.first += 1;
            self.lost += piece.len() as u64;
        }
    }

    /// Bytes that the slowest reader that is still waited for has not taken, and since when.
    fn lag(&self, now: Instant, patience: Duration) -> Option<(u64, Instant)> {
        let total = self.lost + self.bytes as u64;
        let waited_for = self
            .readers
            .values()
            .filter(|cursor| now.duration_since(cursor.took) < patience);
        waited_for
            .map(|cursor| (total - cursor.offset, cursor.took))
            .max_by_key(|(lag, _)| *lag)
    }
}

/// What a reader gets next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Output, in the order it came.
    Output(Stream, Bytes),
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
    pub fn push(&self, stream: Stream, output: &[u8]) -> Flow {
        // More than fits at once leaves only its end.
        let cut = output.len().saturating_sub(self.limit);
        let mut kept = self.kept.lock();
        if kept.end.is_some() || output.is_empty() {
            return Flow::Continue;
        }
        while kept.bytes > 0 && kept.bytes + output.len() > self.limit {
            kept.drop_oldest();
        }
        if cut > 0 {
            kept.first += 1;
            kept.lost += cut as u64;
        }
        let piece = Bytes::copy_from_slice(&output[cut..]);
        kept.bytes += piece.len();
        kept.pieces.push_back((stream, piece));
        let hold = kept
            .lag(Instant::now(), self.patience)
            .is_some_and(|(lag, _)| lag + u64::from(WINDOW) > self.limit as u64);
        drop(kept);
        self.wake();
        if hold { Flow::Hold } else { Flow::Continue }
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
    fn take(&self, id: u64) -> Option<Piece> {
        let mut kept = self.kept.lock();
        let cursor = kept.readers.get(&id).copied()?;
        let took = Instant::now();
        let (piece, next, offset) = if cursor.next < kept.first {
            let lost = kept.lost - cursor.offset;
            (Piece::Lost(lost), kept.first, kept.lost)
        } else {
            let index = usize::try_from(cursor.next - kept.first).ok()?;
            let Some((stream, piece)) = kept.pieces.get(index).cloned() else {
                let caught_up = Cursor { took, ..cursor };
                kept.readers.insert(id, caught_up);
                return kept.end.clone().map(Piece::End);
            };
            let offset = cursor.offset + piece.len() as u64;
            (Piece::Output(stream, piece), cursor.next + 1, offset)
        };
        kept.readers.insert(id, Cursor { next, offset, took });
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
    /// The next piece, waited for; after [`Piece::End`] the same again.
    pub async fn next(&mut self) -> Piece {
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
mod tests {
    use super::*;

    const EXITED: ExecEnd = ExecEnd::Exited { code: 0 };
    const LONG: Duration = Duration::from_secs(3600);

    async fn all(follower: &mut Follower) -> (Vec<u8>, u64, ExecEnd) {
        let (mut output, mut lost) = (Vec::new(), 0);
        loop {
            match follower.next().await {
                Piece::Output(_, piece) => output.extend_from_slice(&piece),
                Piece::Lost(bytes) => lost += bytes,
                Piece::End(end) => return (output, lost, end),
            }
        }
    }

    #[actix_rt::test]
    async fn readers_get_everything_in_order_whenever_they_come() {
        let log = OutputLog::new(0, Duration::ZERO);
        let mut early = log.follow();
        log.push(Stream::Stdout, b"one ");
        assert_eq!(
            early.next().await,
            Piece::Output(Stream::Stdout, "one ".into())
        );
        log.push(Stream::Stderr, b"two");
        assert!(log.finish(EXITED));
        assert!(!log.finish(ExecEnd::Killed), "the first end is kept");
        log.push(Stream::Stdout, b"after the end");
        assert_eq!(all(&mut early).await, (b"two".to_vec(), 0, EXITED));
        let mut late = log.follow();
        assert_eq!(all(&mut late).await, (b"one two".to_vec(), 0, EXITED));
        assert_eq!(late.next().await, Piece::End(EXITED));
    }

    #[actix_rt::test]
    async fn r10_without_readers_the_newest_is_kept_and_the_loss_is_told() {
        let log = OutputLog::new(0, LONG);
        let piece = vec![b'x'; 50_000];
        for _ in 0..1000 {
            assert_eq!(log.push(Stream::Stdout, &piece), Flow::Continue);
            assert!(log.sizes().0 <= LEAST_LOG);
        }
        log.finish(EXITED);
        let (output, lost, _) = all(&mut log.follow()).await;
        assert_eq!(output.len() as u64 + lost, 50_000_000);
        assert!(output.len() > LEAST_LOG - piece.len(), "{}", output.len());
    }

    #[actix_rt::test]
    async fn r10_a_reader_that_takes_slows_the_command_and_loses_nothing() {
        let log = OutputLog::new(0, LONG);
        let mut follower = log.follow();
        let writer = Arc::clone(&log);
        let written = actix_rt::spawn(async move {
            let mut held = 0_u32;
            for number in 0..1000_u32 {
                let piece = [(number % 251) as u8; 10_000];
                if writer.push(Stream::Stdout, &piece) == Flow::Hold {
                    held += 1;
                    writer.room().await;
                }
            }
            writer.finish(EXITED);
            held
        });
        let (output, lost, _) = all(&mut follower).await;
        assert_eq!((output.len(), lost), (10_000_000, 0));
        let mut pieces = output.chunks(10_000).zip(0..1000_u32);
        assert!(
            pieces.all(|(piece, number)| piece.iter().all(|byte| *byte == (number % 251) as u8))
        );
        assert!(written.await.unwrap() > 0, "it was never held");
    }

    #[actix_rt::test]
    async fn a_reader_that_takes_nothing_stops_nobody_for_ever() {
        let log = OutputLog::new(0, Duration::from_millis(20));
        let mut sleeper = log.follow();
        let piece = vec![0; LEAST_LOG];
        assert_eq!(log.push(Stream::Stdout, &piece), Flow::Hold);
        log.room().await;
        assert_eq!(log.push(Stream::Stdout, &piece), Flow::Continue);
        log.finish(EXITED);
        let (output, lost, end) = all(&mut sleeper).await;
        assert_eq!(
            (output.len(), lost, end),
            (LEAST_LOG, LEAST_LOG as u64, EXITED)
        );
    }

    #[actix_rt::test]
    async fn the_end_of_a_command_and_of_a_reader_free_who_waits_for_room() {
        for end in [true, false] {
            let log = OutputLog::new(0, LONG);
            let reader = log.follow();
            assert_eq!(log.push(Stream::Stdout, &vec![0; LEAST_LOG]), Flow::Hold);
            let waiting = {
                let log = Arc::clone(&log);
                actix_rt::spawn(async move { log.room().await })
            };
            actix_rt::task::yield_now().await;
            if end {
                log.finish(ExecEnd::Killed);
            } else {
                drop(reader);
            }
            waiting.await.unwrap();
        }
    }
}
