//! The database and its recovery: commits groups, finds out what became of a failed one, reopens.
//!
//! redb refuses everything after an I/O error until it is opened anew, and says of a failed commit
//! only that it happened whole or not at all. Each commit therefore carries a number: after the
//! reopening the number tells which. See docs/adr/0003 for why that is safe in spite of `fsync`'s
//! manners.

mod pieces;
mod recovery;

use crate::appended::{Appends, Gate, Head, PieceWriter, SegmentStorage};
use crate::backend::Place;
use crate::error::{OpenError, StoreError};
use crate::health::{Counters, State};
use crate::lock::FolderLock;
use crate::migrate::migrate;
use crate::options::Options;
use crate::quarantine::QUARANTINE;
use crate::quiet;
use crate::read::ReadTxn;
use crate::rows::raw::RawRead;
use crate::write::{GROUP, HEAD, META, Sealed, WriteTxn, panic_text};
use parking_lot::RwLock;
use redb::{CommitError, Database, WriteTransaction};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// What the writer, the readers and the handles share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The store's file, for messages.
    pub(crate) place: String,
    /// The database; empty while it cannot be opened, and after closing.
    pub(crate) db: RwLock<Option<Database>>,
    /// What was appended beside the rows.
    pub(crate) segments: Arc<dyn SegmentStorage>,
    pub(crate) state: watch::Sender<State>,
    pub(crate) counters: Counters,
}

impl Shared {
    /// Why there is no database.
    pub(crate) fn refusal(&self) -> StoreError {
        let place = self.place.clone();
        match &*self.state.borrow() {
            State::Closed => StoreError::Closed,
            State::Full => StoreError::Full { place },
            State::Failing(reason) => StoreError::Storage {
                place,
                reason: reason.clone(),
            },
            State::Ready => StoreError::Storage {
                place,
                reason: "it is being reopened".to_owned(),
            },
        }
    }
}

/// The writer's side of a store.
pub(crate) struct Engine {
    pub(crate) shared: Arc<Shared>,
    place: Place,
    cache_bytes: usize,
    /// Number of the last committed group.
    last_group: u64,
    /// Where its pieces end.
    head: Head,
    segment_bytes: u64,
    pieces: PieceWriter,
    gate: Gate,
    /// What the group that failed wanted to write: what the probe tries.
    probe_bytes: usize,
    probe_every: Duration,
    next_probe: Instant,
    /// Held as long as the database may be open.
    _lock: Option<FolderLock>,
}

/// A transaction that went well.
enum Outcome {
    Committed,
    /// There was nothing to commit.
    Unchanged,
}

/// A group that was not committed, or perhaps was.
struct Failure {
    error: StoreError,
    /// The commit itself failed, so it may have happened.
    in_commit: bool,
}

impl Engine {
    /// Opens the store and brings its schema up to date.
    pub(crate) fn open(
        place: Place,
        segments: Arc<dyn SegmentStorage>,
        lock: Option<FolderLock>,
        options: &Options,
    ) -> Result<Self, OpenError> {
        let gate = Gate::default();
        let db = open(&place, options.cache_bytes, &gate)?;
        let pieces = PieceWriter::start(Arc::clone(&segments), gate.clone());
        let pieces = pieces.map_err(|source| OpenError::Io {
            path: place.to_string().into(),
            source,
        })?;
        let shared = Shared {
            place: place.to_string(),
            db: RwLock::new(Some(db)),
            segments,
            state: watch::Sender::new(State::Ready),
            counters: Counters::default(),
        };
        let mut engine = Self {
            shared: Arc::new(shared),
            place,
            cache_bytes: options.cache_bytes,
            last_group: 0,
            head: Head::default(),
            segment_bytes: options.segment_bytes,
            pieces,
            gate,
            probe_bytes: *recovery::PROBE_BYTES.start(),
            probe_every: options.probe_every,
            next_probe: Instant::now(),
            _lock: lock,
        };
        engine.read_numbers()?;
        engine.sweep()?;
        migrate(&mut engine, options.migrations)?;
        Ok(engine)
    }

    pub(crate) fn place(&self) -> String {
        self.shared.place.clone()
    }

    /// Runs requests as one group: all are durable on `Ok`, none on an error but `Unknown`.
    pub(crate) fn group(&mut self, body: impl FnOnce(&mut WriteTxn<'_>)) -> Result<(), StoreError> {
        if !self.is_ready() && Instant::now() < self.next_probe {
            return Err(self.shared.refusal());
        }
        // Otherwise the requests are the probe: some of them may be what makes room.
        let mut written = 0;
        let outcome = self.attempt(|txn| {
            body(txn);
            written = txn.written();
        });
        match outcome {
            Ok(Outcome::Committed) => self.set_state(&State::Ready),
            Ok(Outcome::Unchanged) => {}
            Err(failure) => return self.recover(failure, written),
        }
        Ok(())
    }

    /// One request as a group of its own, before there is a writer thread.
    pub(crate) fn alone<T>(
        &mut self,
        work: impl FnOnce(&mut WriteTxn<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut result = Err(StoreError::Closed);
        self.group(|txn| result = txn.scope(work))?;
        result
    }

    pub(crate) fn is_ready(&self) -> bool {
        *self.shared.state.borrow() == State::Ready
    }

    /// One try at a transaction. A panic of redb's, as damaged pages can cause, is a failure like
    /// others; those of requests do not come this far.
    fn attempt(&mut self, body: impl FnOnce(&mut WriteTxn<'_>)) -> Result<Outcome, Failure> {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.transaction(body)));
        outcome.unwrap_or_else(|panic| {
            let reason = panic_text(panic.as_ref());
            let place = self.place();
            Err(Failure {
                error: StoreError::Storage { place, reason },
                in_commit: true,
            })
        })
    }

    fn transaction(&mut self, body: impl FnOnce(&mut WriteTxn<'_>)) -> Result<Outcome, Failure> {
        let txn = self.begin().map_err(Failure::before)?;
        let number = self.last_group + 1;
        let appends = Appends::after(self.head, self.segment_bytes);
        let Shared {
            place, segments, ..
        } = &*self.shared;
        let mut rows = WriteTxn::new(&txn, place, number, appends, &**segments);
        body(&mut rows);
        let mut sealed = rows.seal().map_err(Failure::before)?;
        if !sealed.changed {
            let ended = txn.abort();
            ended.map_err(|e| Failure::before(self.failure(e)))?;
            return Ok(Outcome::Unchanged);
        }
        let began = Instant::now();
        self.pieces.begin(std::mem::take(&mut sealed.parts));
        txn.commit().map_err(|e| self.commit_failure(e))?;
        self.note_commit(number, &sealed, began.elapsed());
        Ok(Outcome::Committed)
    }

    /// A transaction. A failure that a reader met blocks redb, but concerns no request of the
    /// writer's: the database is reopened before the group begins.
    fn begin(&mut self) -> Result<WriteTransaction, StoreError> {
        if let Ok(txn) = self.try_begin() {
            return Ok(txn);
        }
        self.reopen().map_err(|e| self.open_failure(e))?;
        self.try_begin()
    }

    fn try_begin(&self) -> Result<WriteTransaction, StoreError> {
        let db = self.shared.db.read_recursive();
        let db = db.as_ref().ok_or_else(|| self.shared.refusal())?;
        let mut txn = db.begin_write().map_err(|e| self.failure(e))?;
        txn.set_two_phase_commit(true);
        txn.set_quick_repair(true);
        Ok(txn)
    }

    fn note_commit(&mut self, number: u64, sealed: &Sealed, took: Duration) {
        self.last_group = number;
        self.head = sealed.head;
        self.remove_segments(&sealed.emptied);
        let counters = &self.shared.counters;
        counters.groups.add(1);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        counters.last_commit_micros.set(micros);
        if let Some(rows) = sealed.quarantined {
            counters.quarantined.set(rows);
        }
    }

    /// Closes the database, waiting for readers to end, and opens it again.
    fn reopen(&mut self) -> Result<(), OpenError> {
        let mut slot = self.shared.db.write();
        *slot = None;
        *slot = Some(open(&self.place, self.cache_bytes, &self.gate)?);
        drop(slot);
        self.shared.counters.reopened.add(1);
        self.read_numbers()?;
        Ok(())
    }

    /// Reads what the engine keeps in memory: the last group's number and the quarantine's size.
    fn read_numbers(&mut self) -> Result<(), StoreError> {
        let slot = self.shared.db.read_recursive();
        let db = slot.as_ref().ok_or_else(|| self.shared.refusal())?;
        let mut rows = ReadTxn::new(db, &self.shared.place, &*self.shared.segments)?;
        let number = rows.raw_get(META, GROUP)?.and_then(|n| n.try_into().ok());
        self.last_group = number.map_or(0, u64::from_be_bytes);
        let head = rows.raw_get(META, HEAD)?;
        self.head = head
            .and_then(|row| Head::from_bytes(&row))
            .unwrap_or_default();
        let quarantined = rows.raw_len(QUARANTINE.name())?;
        self.shared.counters.quarantined.set(quarantined);
        Ok(())
    }

    fn halt(&mut self, error: &StoreError) {
        self.next_probe = Instant::now() + self.probe_every;
        self.set_state(&match error {
            StoreError::Full { .. } => State::Full,
            other => State::Failing(other.to_string()),
        });
    }

    fn set_state(&self, state: &State) {
        let changed = self.shared.state.send_if_modified(|now| {
            let changed = now != state;
            now.clone_from(state);
            changed
        });
        if changed {
            let place = &self.shared.place;
            match state {
                State::Ready => tracing::info!(event = "store.ready", %place, "works again"),
                State::Closed => tracing::debug!(event = "store.closed", %place),
                State::Full => tracing::error!(event = "store.full", %place, "no space left"),
                State::Failing(why) => tracing::error!(event = "store.failing", %place, %why),
            }
        }
    }

    /// Closes the database; the folder's lock goes with the engine.
    pub(crate) fn close(&mut self) {
        self.set_state(&State::Closed);
        *self.shared.db.write() = None;
    }

    fn failure(&self, error: impl Into<redb::Error>) -> StoreError {
        StoreError::from_redb(&self.shared.place, &error.into())
    }

    fn open_failure(&self, error: OpenError) -> StoreError {
        match error {
            OpenError::Store(error) => error,
            OpenError::Io { source, .. } => self.failure(redb::Error::Io(source)),
            other => StoreError::Storage {
                place: self.place(),
                reason: other.to_string(),
            },
        }
    }

    fn commit_failure(&self, error: CommitError) -> Failure {
        Failure {
            // A poisoned transaction was rolled back, says redb: nothing of it is there.
            in_commit: !matches!(error, CommitError::TransactionPoisoned),
            error: self.failure(error),
        }
    }
}

/// Opens the database; a panic of redb's over damaged pages is an error like others.
fn open(place: &Place, cache_bytes: usize, gate: &Gate) -> Result<Database, OpenError> {
    let opened = quiet::catch(|| place.open(cache_bytes, gate));
    opened.unwrap_or_else(|panic| {
        Err(OpenError::Damaged {
            place: place.to_string(),
            reason: panic_text(panic.as_ref()),
        })
    })
}

impl Failure {
    fn before(error: StoreError) -> Self {
        Self {
            error,
            in_commit: false,
        }
    }
}
