//! Rows of the store.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use store::{Blob, ReadRows, Row, StoreError, Table, WriteTxn};

use crate::event::StoredEvent;
use crate::json_row::JsonRow;
use crate::known::Known;
use crate::payload::Payload;
use crate::records::RunRecord;

#[derive(Debug, Serialize, Deserialize)]
struct Counter(u64);

impl Row for Counter {
    const SCHEMA: u16 = 1;
}

const RUNS: Table<String, JsonRow<RunRecord>> = Table::new("runner_runs");
const EVENTS: Table<String, JsonRow<StoredEvent>> = Table::new("runner_events");
/// Payloads of webhooks: see [`Payload`].
const PAYLOADS: Table<String, Blob> = Table::new("runner_payloads");
const KNOWN: Table<String, JsonRow<Known>> = Table::new("runner_repositories");
const NUMBERS: Table<String, Counter> = Table::new("runner_numbers");

/// Stores a run.
pub(crate) fn put_run(rows: &mut WriteTxn<'_>, run: &RunRecord) -> Result<(), StoreError> {
    rows.put(&RUNS, &run.id, &JsonRow::of(run))
}

/// A new run and its event, turned into bytes before the store's writer is asked: it serves all, one after the other.
pub(crate) struct NewRun {
    id: String,
    run: JsonRow<RunRecord>,
    event: JsonRow<StoredEvent>,
    payload: Blob,
}

impl NewRun {
    pub(crate) fn of(run: &RunRecord, event: &StoredEvent) -> Self {
        Self::delivered(run, event, Payload::pack(event.payload.as_bytes()))
    }

    /// With the body that came with the event.
    pub(crate) fn delivered(run: &RunRecord, event: &StoredEvent, payload: Payload) -> Self {
        Self {
            id: run.id.clone(),
            run: JsonRow::of(run),
            event: JsonRow::of(event),
            payload: payload.0,
        }
    }

    pub(crate) fn put(&self, rows: &mut WriteTxn<'_>) -> Result<(), StoreError> {
        rows.put(&RUNS, &self.id, &self.run)?;
        rows.put(&EVENTS, &self.id, &self.event)?;
        rows.put(&PAYLOADS, &self.id, &self.payload)
    }
}

/// One run.
pub(crate) fn run(rows: &mut impl ReadRows, id: &str) -> Result<Option<RunRecord>, StoreError> {
    let row = rows.get(&RUNS, &id.to_owned())?;
    Ok(row.and_then(JsonRow::value))
}

/// The event of a run.
pub(crate) fn event(rows: &mut impl ReadRows, id: &str) -> Result<Option<StoredEvent>, StoreError> {
    let id = id.to_owned();
    let Some(mut event) = rows.get(&EVENTS, &id)?.and_then(JsonRow::value) else {
        return Ok(None);
    };
    let payload = rows.get(&PAYLOADS, &id)?.unwrap_or_default();
    // What is no UTF-8 was never JSON: nothing of it is used.
    event.payload = Payload::unpack(payload).unwrap_or_default();
    Ok(Some(event))
}

/// All runs, oldest first (ids are in the order of time).
pub(crate) fn all(rows: &mut impl ReadRows) -> Result<Vec<RunRecord>, StoreError> {
    let mut runs = Vec::new();
    rows.for_each(&RUNS, .., |_, row| {
        runs.extend(row.value());
        ControlFlow::Continue(())
    })?;
    Ok(runs)
}

/// The next number of a workflow of a repository, from 1.
pub(crate) fn next_number(
    rows: &mut WriteTxn<'_>,
    repository: &str,
    file: &str,
) -> Result<u64, StoreError> {
    let key = format!("{}\n{file}", repository.to_lowercase());
    let next = rows
        .get(&NUMBERS, &key)?
        .map_or(1, |Counter(last)| last + 1);
    rows.put(&NUMBERS, &key, &Counter(next))?;
    Ok(next)
}

/// Forgets a run.
pub(crate) fn forget(rows: &mut WriteTxn<'_>, id: &str) -> Result<(), StoreError> {
    rows.delete(&RUNS, &id.to_owned())?;
    rows.delete(&EVENTS, &id.to_owned())?;
    rows.delete(&PAYLOADS, &id.to_owned())?;
    Ok(())
}

/// Forgets the oldest runs that have ended, beyond `keep`; gives their ids. Looks at a few only, so that one delivery costs little.
pub(crate) fn forget_oldest(
    rows: &mut WriteTxn<'_>,
    keep: usize,
) -> Result<Vec<String>, StoreError> {
    let excess = rows.len(&RUNS)?.saturating_sub(keep as u64);
    let most = usize::try_from(excess).unwrap_or(usize::MAX).min(16);
    if most == 0 {
        return Ok(Vec::new());
    }
    let mut oldest = Vec::new();
    rows.for_each(&RUNS, .., |id, row| {
        if row.value().is_none_or(|run| run.state.is_terminal()) {
            oldest.push(id);
        }
        if oldest.len() == most {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    for id in &oldest {
        forget(rows, id)?;
    }
    Ok(oldest)
}

/// What is known of a repository that has pushed.
pub(crate) fn known(
    rows: &mut impl ReadRows,
    repository: &str,
) -> Result<Option<Known>, StoreError> {
    let row = rows.get(&KNOWN, &repository.to_lowercase())?;
    Ok(row.and_then(JsonRow::value))
}

/// Stores what is known of a repository.
pub(crate) fn put_known(rows: &mut WriteTxn<'_>, known: &Known) -> Result<(), StoreError> {
    let key = known.repository.to_lowercase();
    rows.put(&KNOWN, &key, &JsonRow::of(known))
}

/// All repositories that are known.
pub(crate) fn all_known(rows: &mut impl ReadRows) -> Result<Vec<Known>, StoreError> {
    let mut all = Vec::new();
    rows.for_each(&KNOWN, .., |_, row| {
        all.extend(row.value());
        ControlFlow::Continue(())
    })?;
    Ok(all)
}
