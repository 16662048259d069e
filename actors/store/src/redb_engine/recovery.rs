//! What follows a failure: reopening, finding out what became of the group, trying the disk again.

use super::{Failure, PROBE_BYTES, RedbEngine, TxnOutcome};
use crate::error::StoreError;
use crate::health::StoreState;
use crate::write::{BALLAST, META, WriteTxn};
use std::time::{Duration, Instant};

/// How often the files are looked for while nothing is asked.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(2);

impl RedbEngine {
    /// Reopens after a failure and finds out what became of the group.
    pub(super) fn recover(&mut self, failure: Failure, written: usize) -> Result<(), StoreError> {
        let Failure { error, in_commit } = failure;
        // A commit that failed early did not wait; what it left under way must not meet the next
        // group.
        let _ = self.gate.pass();
        self.probe_bytes = written.clamp(*PROBE_BYTES.start(), *PROBE_BYTES.end());
        self.halt(&error);
        let number = self.last_group + 1;
        let reopened = self.reopen();
        if !in_commit {
            return Err(error);
        }
        match reopened {
            Ok(()) if self.last_group < number => Err(error),
            Ok(()) => self.confirm(&error),
            Err(_) => Err(self.unknown(&error)),
        }
    }

    /// The group is there, but perhaps in the page cache only: its pages are on disk since the
    /// first phase, the header that names them may not be. A further commit writes the header
    /// anew and synchronises it. (Opening does so as well in redb 4.4, but does not promise to.)
    fn confirm(&mut self, error: &StoreError) -> Result<(), StoreError> {
        if self.write_ballast(1).is_ok() {
            self.set_state(&StoreState::Ready);
            return Ok(());
        }
        let _ = self.reopen();
        Err(self.unknown(error))
    }

    fn unknown(&self, error: &StoreError) -> StoreError {
        StoreError::Unknown {
            place: self.place.to_string(),
            reason: error.to_string(),
        }
    }

    /// Tries a disk that was full or failing, if it is time to.
    pub(super) fn try_disk(&mut self) {
        if self.is_ready() || Instant::now() < self.next_probe {
            return;
        }
        self.next_probe = Instant::now() + self.probe_every;
        if let Err(error) = self.check_files() {
            self.halt(&error);
            return;
        }
        let tried = self
            .write_ballast(self.probe_bytes)
            .and_then(|_| self.attempt(|txn| drop(txn.scope(remove_ballast))));
        match tried {
            Ok(_) => self.set_state(&StoreState::Ready),
            Err(failure) => {
                self.halt(&failure.error);
                // The next probe opens again if this fails.
                let _ = self.reopen();
            }
        }
    }

    fn write_ballast(&mut self, bytes: usize) -> Result<TxnOutcome, Failure> {
        let ballast = vec![0x5A; bytes];
        self.attempt(|txn| {
            // A failure is noted in the transaction, and the attempt fails with it.
            let _ = txn.scope(|txn| txn.raw_put(META, BALLAST.to_vec(), &ballast));
        })
    }

    /// When the writer should look after the disk.
    pub(super) fn next_look(&self) -> Duration {
        if self.is_ready() {
            return IDLE_CHECK_INTERVAL;
        }
        self.next_probe.saturating_duration_since(Instant::now())
    }

    /// While nothing is asked: whether the files are still there, so that health says so before
    /// somebody asks.
    pub(super) fn probe_files(&mut self) {
        if self.is_ready()
            && let Err(error) = self.check_files()
        {
            self.halt(&error);
        }
    }

    /// Whether the open files are still those that their paths name.
    fn check_files(&self) -> Result<(), StoreError> {
        let checked = self
            .place
            .check()
            .and_then(|()| self.database.segments.check());
        checked.map_err(|error| self.failure(redb::Error::Io(error)))
    }
}

fn remove_ballast(txn: &mut WriteTxn<'_>) -> Result<bool, StoreError> {
    txn.raw_delete(META, BALLAST.to_vec())
}
