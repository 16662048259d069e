//! The time that ages are measured by, kept beside the rows that are forgotten for theirs.
//!
//! Times of rows are no measure: they follow a clock that may have jumped, and a restart right
//! after the jump would believe them. So the time of [`forge_core::retention`] is stored itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use forge_core::retention;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use store::{ReadRows, Row, StoreError, Table, WriteTxn};

/// How far behind the stored time may be, in milliseconds: ages are days.
const STORE_INTERVAL_MS: u64 = 3_600_000;

/// The time as it was stored, in milliseconds since the Unix epoch.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredTime {
    at: u64,
}

impl Row for StoredTime {
    const SCHEMA: u16 = 1;
}

/// A clock that a jump of the wall clock does not move. Clones are the same.
#[derive(Clone)]
pub struct AgeClock(Arc<Inner>);

struct Inner {
    table: Table<u8, StoredTime>,
    monotonic: fn() -> Instant,
    state: Mutex<State>,
}

struct State {
    /// What it was at the last look, and when that was.
    last: Option<(u64, Instant)>,
    stored: u64,
}

impl AgeClock {
    /// The clock that a table holds. `newest` is the time of the newest row beside it, for stores
    /// of a version that stored no time.
    ///
    /// # Errors
    /// The store's.
    pub fn open(
        rows: &mut impl ReadRows,
        table: Table<u8, StoredTime>,
        newest: Option<u64>,
    ) -> Result<Self, StoreError> {
        Self::open_with(rows, table, newest, Instant::now)
    }

    pub(crate) fn open_with(
        rows: &mut impl ReadRows,
        table: Table<u8, StoredTime>,
        newest: Option<u64>,
        monotonic: fn() -> Instant,
    ) -> Result<Self, StoreError> {
        let stored = rows.get(&table, &0)?.map(|row| row.at);
        let last = stored.or(newest).map(|last| (last, monotonic()));
        Ok(Self(Arc::new(Inner {
            table,
            monotonic,
            state: Mutex::new(State { last, stored: 0 }),
        })))
    }

    /// The time to measure ages by, which the transaction stores now and then; `wall` is the wall
    /// clock's. Both are milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// The store's.
    pub fn now(&self, rows: &mut WriteTxn<'_>, wall: u64) -> Result<u64, StoreError> {
        let Inner {
            table,
            monotonic,
            state,
        } = &*self.0;
        let state = &mut *state.lock();
        let at = monotonic();
        let (last, elapsed) = match state.last {
            Some((last, then)) => (Some(last), at.saturating_duration_since(then)),
            None => (None, Duration::ZERO),
        };
        let now = retention::trusted(last, elapsed, wall);
        state.last = Some((now, at));
        if now.abs_diff(state.stored) >= STORE_INTERVAL_MS {
            rows.put(table, &0, &StoredTime { at: now })?;
            // Undone with its group it is stored an hour later.
            state.stored = now;
        }
        Ok(now)
    }
}
