//! The database and its recovery: commits groups, finds out what became of a failed one, reopens.
//!
//! redb refuses everything after an I/O error until it is opened anew, and says of a failed commit
//! only that it happened whole or not at all. Each commit therefore carries a number: after the
//! reopening the number tells which. See docs/adr/0003 for why that is safe in spite of `fsync`'s
//! manners.

mod blobs;
mod recovery;

use crate::backend::StoreLocation;
use crate::blobs::{BlobChanges, BlobEnd, BlobWriter, CommitGate, SegmentStorage};
use crate::catch_panic;
use crate::database::DatabaseSlot;
use crate::error::{OpenError, StoreError};
use crate::health::{HealthRecord, State};
use crate::lock::DirectoryLock;
use crate::options::Options;
use crate::quarantine::QUARANTINE;
use crate::rows::raw::RawRead;
use crate::write::{BLOB_END, GROUP, GroupChanges, META, WriteTxn, panic_text};
use parking_lot::RwLock;
use redb::{CommitError, Database, WriteTransaction};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The least and the most a probe writes.
const PROBE_BYTES: std::ops::RangeInclusive<usize> = 4096..=1024 * 1024;

/// The writer's side of a store.
pub(crate) struct Engine {
    database: Arc<DatabaseSlot>,
    health: Arc<HealthRecord>,
    place: StoreLocation,
    cache_bytes: usize,
    /// Number of the last committed group.
    last_group: u64,
    /// Where its blobs end.
    head: BlobEnd,
    segment_bytes: u64,
    blob_writer: BlobWriter,
    gate: CommitGate,
    /// What the group that failed wanted to write: what the probe tries.
    probe_bytes: usize,
    probe_every: Duration,
    next_probe: Instant,
    /// Held as long as the database may be open.
    _lock: Option<DirectoryLock>,
}

/// A transaction that went well.
enum TxnOutcome {
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
    /// Opens the store; its schema is as the last program left it.
    pub(crate) fn open(
        place: StoreLocation,
        segments: Arc<dyn SegmentStorage>,
        lock: Option<DirectoryLock>,
        options: &Options,
    ) -> Result<Self, OpenError> {
        let gate = CommitGate::default();
        let db = open(&place, options.cache_bytes, &gate)?;
        let blob_writer = BlobWriter::start(Arc::clone(&segments), gate.clone());
        let blob_writer = blob_writer.map_err(|source| OpenError::Io {
            path: place.to_string().into(),
            source,
        })?;
        let health = Arc::new(HealthRecord::default());
        let database = DatabaseSlot {
            place: place.to_string(),
            open: RwLock::new(Some(db)),
            segments,
            health: Arc::clone(&health),
        };
        let mut engine = Self {
            database: Arc::new(database),
            health,
            place,
            cache_bytes: options.cache_bytes,
            last_group: 0,
            head: BlobEnd::default(),
            segment_bytes: options.segment_bytes,
            blob_writer,
            gate,
            probe_bytes: *PROBE_BYTES.start(),
            probe_every: options.probe_every,
            next_probe: Instant::now(),
            _lock: lock,
        };
        engine.read_numbers()?;
        engine.sweep()?;
        Ok(engine)
    }

    pub(crate) fn place(&self) -> String {
        self.database.place.clone()
    }

    /// What readers need.
    pub(crate) fn database(&self) -> &Arc<DatabaseSlot> {
        &self.database
    }

    /// What `/readyz` and `/metrics` ask.
    pub(crate) fn health(&self) -> &Arc<HealthRecord> {
        &self.health
    }

    /// Runs requests as one group: all are durable on `Ok`, none on an error but `Unknown`.
    pub(crate) fn group(&mut self, body: impl FnOnce(&mut WriteTxn<'_>)) -> Result<(), StoreError> {
        if !self.is_ready() && Instant::now() < self.next_probe {
            return Err(self.database.refusal());
        }
        // Otherwise the requests are the probe: some of them may be what makes room.
        let mut written = 0;
        let outcome = self.attempt(|txn| {
            body(txn);
            written = txn.written();
        });
        match outcome {
            Ok(TxnOutcome::Committed) => self.set_state(&State::Ready),
            Ok(TxnOutcome::Unchanged) => {}
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
        *self.health.state.borrow() == State::Ready
    }

    /// One try at a transaction. A panic of redb's, as damaged pages can cause, is a failure like
    /// others; those of requests do not come this far.
    fn attempt(&mut self, body: impl FnOnce(&mut WriteTxn<'_>)) -> Result<TxnOutcome, Failure> {
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

    fn transaction(&mut self, body: impl FnOnce(&mut WriteTxn<'_>)) -> Result<TxnOutcome, Failure> {
        let txn = self.begin().map_err(Failure::before)?;
        let number = self.last_group + 1;
        let appends = BlobChanges::after(self.head, self.segment_bytes);
        let DatabaseSlot {
            place, segments, ..
        } = &*self.database;
        let mut rows = WriteTxn::new(&txn, place, number, appends, &**segments);
        body(&mut rows);
        let mut changes = rows.finish().map_err(Failure::before)?;
        if !changes.changed {
            let ended = txn.abort();
            ended.map_err(|e| Failure::before(self.failure(e)))?;
            return Ok(TxnOutcome::Unchanged);
        }
        let began = Instant::now();
        self.blob_writer.begin(std::mem::take(&mut changes.parts));
        txn.commit().map_err(|e| self.commit_failure(e))?;
        self.note_commit(number, &changes, began.elapsed());
        Ok(TxnOutcome::Committed)
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
        let db = self.database.open.read_recursive();
        let db = db.as_ref().ok_or_else(|| self.database.refusal())?;
        let mut txn = db.begin_write().map_err(|e| self.failure(e))?;
        txn.set_two_phase_commit(true);
        txn.set_quick_repair(true);
        Ok(txn)
    }

    fn note_commit(&mut self, number: u64, changes: &GroupChanges, took: Duration) {
        self.last_group = number;
        self.head = changes.head;
        self.remove_segments(&changes.emptied);
        let counters = &self.health.counters;
        counters.groups.add(1);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        counters.last_commit_micros.set(micros);
        if let Some(rows) = changes.quarantined {
            counters.quarantined.set(rows);
        }
    }

    /// Closes the database, waiting for readers to end, and opens it again.
    fn reopen(&mut self) -> Result<(), OpenError> {
        let mut slot = self.database.open.write();
        *slot = None;
        *slot = Some(open(&self.place, self.cache_bytes, &self.gate)?);
        drop(slot);
        self.health.counters.reopened.add(1);
        self.read_numbers()?;
        Ok(())
    }

    /// Reads what the engine keeps in memory: the last group's number and the quarantine's size.
    fn read_numbers(&mut self) -> Result<(), StoreError> {
        let db = self.database.open.read_recursive();
        let mut rows = self.database.snapshot(&db)?;
        let number = rows.raw_get(META, GROUP)?.and_then(|n| n.try_into().ok());
        self.last_group = number.map_or(0, u64::from_be_bytes);
        let head = rows.raw_get(META, BLOB_END)?;
        self.head = head
            .and_then(|row| BlobEnd::from_bytes(&row))
            .unwrap_or_default();
        let quarantined = rows.raw_len(QUARANTINE.name())?;
        self.health.counters.quarantined.set(quarantined);
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
        let changed = self.health.state.send_if_modified(|now| {
            let changed = now != state;
            now.clone_from(state);
            changed
        });
        if changed {
            let place = &self.database.place;
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
        *self.database.open.write() = None;
    }

    fn failure(&self, error: impl Into<redb::Error>) -> StoreError {
        StoreError::from_redb(&self.database.place, &error.into())
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
fn open(
    place: &StoreLocation,
    cache_bytes: usize,
    gate: &CommitGate,
) -> Result<Database, OpenError> {
    let opened = catch_panic::catch_silently(|| place.open(cache_bytes, gate));
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
