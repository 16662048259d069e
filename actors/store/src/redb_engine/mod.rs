//! The database and its recovery: commits groups, finds out what became of a failed one, reopens.
//!
//! redb refuses everything after an I/O error until it is opened anew, and says of a failed commit
//! only that it happened whole or not at all. Each commit therefore carries a number: after the
//! reopening the number tells which. See docs/adr/0003 for why that is safe in spite of `fsync`'s
//! manners.

mod blobs;
mod database;
mod recovery;
mod snapshot;
mod write;

use self::database::DatabaseSlot;
use self::write::RedbChanges;
use crate::backend::StoreLocation;
use crate::blobs::{BlobChanges, BlobEnd, BlobWriter, CommitGate, SegmentStorage};
use crate::catch_panic;
use crate::engine::{Engine, SnapshotSource};
use crate::error::{OpenError, StoreError};
use crate::health::{HealthRecord, StoreState};
use crate::lock::DirectoryLock;
use crate::options::StoreOptions;
use crate::quarantine::QUARANTINE;
use crate::row_source::RowSource;
use crate::write::{BLOB_END, GROUP, GroupChanges, META, WriteTxn, panic_text};
use parking_lot::RwLock;
use redb::{CommitError, Database, WriteTransaction};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The least and the most a probe writes.
const PROBE_BYTES: std::ops::RangeInclusive<usize> = 4096..=1024 * 1024;

/// The writer's side of a store.
pub(crate) struct RedbEngine {
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

impl RedbEngine {
    /// Opens the store; its schema is as the last program left it.
    pub(crate) fn open(
        place: StoreLocation,
        segments: Arc<dyn SegmentStorage>,
        lock: Option<DirectoryLock>,
        options: &StoreOptions,
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

    fn is_ready(&self) -> bool {
        *self.health.state.borrow() == StoreState::Ready
    }

    /// One try at a transaction. A panic of redb's, as damaged pages can cause, is a failure like
    /// others; those of requests do not come this far.
    fn attempt(&mut self, body: impl FnOnce(&mut WriteTxn<'_>)) -> Result<TxnOutcome, Failure> {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.transaction(body)));
        outcome.unwrap_or_else(|panic| {
            let reason = panic_text(panic.as_ref());
            let place = self.place.to_string();
            Err(Failure {
                error: StoreError::Storage { place, reason },
                in_commit: true,
            })
        })
    }

    fn transaction(&mut self, body: impl FnOnce(&mut WriteTxn<'_>)) -> Result<TxnOutcome, Failure> {
        let txn = self.begin_write().map_err(Failure::before)?;
        let number = self.last_group + 1;
        let appends = BlobChanges::starting_at(self.head, self.segment_bytes);
        let DatabaseSlot {
            place, segments, ..
        } = &*self.database;
        let mut rows = RedbChanges::new(&txn, place, &**segments);
        let mut group = WriteTxn::new(&mut rows, number, appends);
        body(&mut group);
        let changes = group.finish().map_err(Failure::before);
        drop(rows);
        let mut changes = changes?;
        if !changes.changed {
            let ended = txn.abort();
            ended.map_err(|e| Failure::before(self.failure(e)))?;
            return Ok(TxnOutcome::Unchanged);
        }
        let began = Instant::now();
        self.blob_writer
            .start_write(std::mem::take(&mut changes.parts));
        txn.commit().map_err(|e| self.commit_failure(e))?;
        self.record_commit(number, &changes, began.elapsed());
        Ok(TxnOutcome::Committed)
    }

    /// A transaction. A failure that a reader met blocks redb, but concerns no request of the
    /// writer's: the database is reopened before the group begins.
    fn begin_write(&mut self) -> Result<WriteTransaction, StoreError> {
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

    fn record_commit(&mut self, number: u64, changes: &GroupChanges, took: Duration) {
        self.last_group = number;
        self.head = changes.head;
        self.remove_segments(&changes.emptied);
        self.health.record_commit(took, changes.quarantined);
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
        let mut rows = self.database.snapshot_of(&db)?;
        let number = rows.get(META, GROUP)?.and_then(|n| n.try_into().ok());
        self.last_group = number.map_or(0, u64::from_be_bytes);
        let head = rows.get(META, BLOB_END)?;
        self.head = head
            .and_then(|row| BlobEnd::from_bytes(&row))
            .unwrap_or_default();
        let quarantined = rows.len(QUARANTINE.name())?;
        self.health.counters.quarantined.set(quarantined);
        Ok(())
    }

    fn halt(&mut self, error: &StoreError) {
        self.next_probe = Instant::now() + self.probe_every;
        self.set_state(&match error {
            StoreError::Full { .. } => StoreState::Full,
            other => StoreState::Failing(other.to_string()),
        });
    }

    fn set_state(&self, state: &StoreState) {
        self.health.set_state(&self.database.place, state);
    }

    fn failure(&self, error: impl Into<redb::Error>) -> StoreError {
        StoreError::from_redb(&self.database.place, &error.into())
    }

    fn open_failure(&self, error: OpenError) -> StoreError {
        match error {
            OpenError::Store(error) => error,
            OpenError::Io { source, .. } => self.failure(redb::Error::Io(source)),
            other => StoreError::Storage {
                place: self.place.to_string(),
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

impl RedbEngine {
    /// Looks for damage that only redb can see.
    pub(crate) fn check_integrity(&mut self) -> Result<Vec<String>, StoreError> {
        let mut open = self.database.open.write();
        let Some(db) = open.as_mut() else {
            drop(open);
            return Err(self.database.refusal());
        };
        let whole = db.check_integrity();
        drop(open);
        match whole {
            Ok(true) => Ok(Vec::new()),
            Ok(false) => Ok(vec!["redb found damage and repaired it".to_owned()]),
            Err(error) => Ok(vec![format!("redb: {error}")]),
        }
    }
}

impl Engine for RedbEngine {
    fn place(&self) -> String {
        self.database.place.clone()
    }

    fn health(&self) -> &Arc<HealthRecord> {
        &self.health
    }

    fn snapshots(&self) -> Arc<dyn SnapshotSource> {
        Arc::clone(&self.database) as Arc<dyn SnapshotSource>
    }

    fn group(&mut self, body: &mut dyn FnMut(&mut WriteTxn<'_>)) -> Result<(), StoreError> {
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
            Ok(TxnOutcome::Committed) => self.set_state(&StoreState::Ready),
            Ok(TxnOutcome::Unchanged) => {}
            Err(failure) => return self.recover(failure, written),
        }
        Ok(())
    }

    fn probe(&mut self) {
        self.try_disk();
    }

    fn probe_in(&self) -> Duration {
        self.next_look()
    }

    fn check_health(&mut self) {
        self.probe_files();
    }

    /// The folder's lock goes with the engine.
    fn close(&mut self) {
        self.set_state(&StoreState::Closed);
        *self.database.open.write() = None;
    }

    fn continue_from(&mut self, group: u64, blob_end: &[u8]) -> Result<(), StoreError> {
        self.last_group = self.last_group.max(group);
        self.head = BlobEnd::from_bytes(blob_end).unwrap_or(self.head);
        Ok(())
    }

    fn import_segment(&mut self, segment: u32, at: u64, bytes: &[u8]) -> Result<(), StoreError> {
        self.write_segment(segment, at, bytes)
    }

    fn clear_segments(&mut self) -> Result<(), StoreError> {
        let listed = self.database.segments.list();
        self.remove_segments(&listed.map_err(|e| self.failure(redb::Error::Io(e)))?);
        Ok(())
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
