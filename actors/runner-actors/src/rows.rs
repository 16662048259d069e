//! Rows of the store.

use std::collections::HashSet;
use std::ops::{Bound, ControlFlow};

use runner_core::context::run_id_prefix;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use store::{Blob, Extent, JsonRow, ReadRows, Row, StoreError, Table, WriteTxn};

use crate::event::StoredEvent;
use crate::known_repository::KnownRepository;
use crate::records::RunRecord;
use crate::review;
use crate::run_list::{RunFilter, RunHead, RunListPage};
use crate::{summary_rows, test_rows};

pub(crate) mod attempts;
pub(crate) mod extents;
pub(crate) mod outlines;

#[derive(Debug, Serialize, Deserialize)]
struct Counter(u64);

impl Row for Counter {
    const SCHEMA: u16 = 1;
}

const RUNS: Table<String, RunRow> = Table::new("runner_runs");
const TRIGGERS: Table<String, Trigger> = Table::new("runner_arrivals");
const KNOWN: Table<String, JsonRow<KnownRepository>> = Table::new("runner_repositories");
const NUMBERS: Table<String, Counter> = Table::new("runner_numbers");

/// What a run was started by.
#[derive(Debug, Serialize, Deserialize)]
struct Trigger {
    /// JSON, byte for byte as it came.
    body: Extent,
    event: JsonRow<StoredEvent>,
}

impl Row for Trigger {
    const SCHEMA: u16 = 1;
}

/// A run.
#[derive(Debug, Serialize, Deserialize)]
struct RunRow {
    record: JsonRow<RunRecord>,
    /// Until the run is stored again: a delivery costs one row then.
    trigger: Option<Trigger>,
}

impl Row for RunRow {
    const SCHEMA: u16 = 2;
}

/// Stores a run.
pub(crate) fn put_run(rows: &mut WriteTxn<'_>, run: &RunRecord) -> Result<(), StoreError> {
    let stored = rows.get(&RUNS, &run.id)?;
    if let Some(trigger) = stored.and_then(|row| row.trigger) {
        rows.put(&TRIGGERS, &run.id, &trigger)?;
    }
    let record = JsonRow::new(run);
    let trigger = None;
    rows.put(&RUNS, &run.id, &RunRow { record, trigger })
}

/// What a run was started by.
fn trigger(rows: &mut impl ReadRows, id: &String) -> Result<Option<Trigger>, StoreError> {
    match rows.get(&TRIGGERS, id)? {
        None => Ok(rows.get(&RUNS, id)?.and_then(|row| row.trigger)),
        stored => Ok(stored),
    }
}

/// A new run and its event, turned into bytes before the store's writer is asked: it serves all,
/// one after the other.
#[derive(Clone)]
pub(crate) struct NewRunRows {
    id: String,
    run: JsonRow<RunRecord>,
    event: JsonRow<StoredEvent>,
    body: Blob,
}

impl NewRunRows {
    /// Its id.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// As [`NewRunRows::put`], for a transaction that may be repeated after it was stored unseen.
    pub(crate) fn put_once(self, rows: &mut WriteTxn<'_>) -> Result<(), StoreError> {
        match rows.get(&RUNS, &self.id)? {
            Some(_) => Ok(()),
            None => self.put(rows),
        }
    }

    pub(crate) fn new(run: &RunRecord, event: &StoredEvent) -> Self {
        let body = Blob::new(event.payload.clone().into());
        Self::delivered(run, event, body)
    }

    /// With the body that came with the event.
    pub(crate) fn delivered(run: &RunRecord, event: &StoredEvent, body: Blob) -> Self {
        Self {
            id: run.id.clone(),
            run: JsonRow::new(run),
            event: JsonRow::new(event),
            body,
        }
    }

    pub(crate) fn put(self, rows: &mut WriteTxn<'_>) -> Result<(), StoreError> {
        let trigger = Trigger {
            body: rows.append(&self.body)?,
            event: self.event,
        };
        let run = RunRow {
            record: self.run,
            trigger: Some(trigger),
        };
        rows.put(&RUNS, &self.id, &run)
    }
}

/// One run.
pub(crate) fn run(rows: &mut impl ReadRows, id: &str) -> Result<Option<RunRecord>, StoreError> {
    let row = rows.get(&RUNS, &id.to_owned())?;
    Ok(row.and_then(|row| row.record.value()))
}

/// The event of a run.
pub(crate) fn event(rows: &mut impl ReadRows, id: &str) -> Result<Option<StoredEvent>, StoreError> {
    let id = id.to_owned();
    let Some(Trigger { body, event }) = trigger(rows, &id)? else {
        return Ok(None);
    };
    let Some(mut event) = event.value() else {
        return Ok(None);
    };
    let body = rows.blob(&body)?.unwrap_or_default();
    // What is no UTF-8 was never JSON: nothing of it is used.
    event.payload = String::from_utf8(body).unwrap_or_default();
    Ok(Some(event))
}

/// Stores an event that is known better now than when it came.
pub(crate) fn put_event(
    rows: &mut WriteTxn<'_>,
    id: &str,
    event: &StoredEvent,
) -> Result<(), StoreError> {
    let id = id.to_owned();
    if let Some(mut stored) = trigger(rows, &id)? {
        stored.event = JsonRow::new(event);
        rows.put(&TRIGGERS, &id, &stored)?;
    }
    Ok(())
}

/// Runs that a page of a list may look at.
const MAX_LOOKED_AT: usize = 20_000;
/// Runs that are read together.
const HEADS_AT_ONCE: usize = 256;

/// JSON that nobody looks at here.
#[derive(Debug, Serialize, Deserialize)]
struct IgnoredJson {}

/// What is looked at of a run where its jobs and its event are passed over. As [`RunRow`]
/// otherwise, since a row that cannot be read would be put aside.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "H: Serialize", deserialize = "H: DeserializeOwned"))]
struct HeadRow<H> {
    record: JsonRow<H>,
    trigger: Option<(Extent, JsonRow<IgnoredJson>)>,
}

impl<H: Serialize + DeserializeOwned> Row for HeadRow<H> {
    const SCHEMA: u16 = RunRow::SCHEMA;
}

const HEADS: Table<String, HeadRow<RunHead>> = Table::new("runner_runs");

/// The newest id of a run or event.
pub(crate) fn newest(rows: &mut impl ReadRows) -> Result<Option<String>, StoreError> {
    Ok(rows.last(&HEADS)?.map(|(id, _)| id))
}

/// A page of the runs that a filter shows, the newest first, from below `before`.
pub(crate) fn page(
    rows: &mut impl ReadRows,
    filter: &RunFilter,
    before: Option<String>,
    limit: usize,
) -> Result<RunListPage, StoreError> {
    let mut page = RunListPage::default();
    let mut below = before;
    let mut looked_at = 0;
    loop {
        let range = below.clone().map_or(Bound::Unbounded, Bound::Excluded);
        let heads = rows.range_back(&HEADS, (Bound::Unbounded, range), HEADS_AT_ONCE)?;
        let is_last = heads.len() < HEADS_AT_ONCE;
        for (id, row) in heads {
            looked_at += 1;
            if row.record.value().is_some_and(|head| filter.shows(&head)) {
                if page.runs.len() == limit {
                    page.next = below;
                    return Ok(page);
                }
                page.runs.extend(run(rows, &id)?);
            }
            below = Some(id);
        }
        if is_last {
            return Ok(page);
        }
        if looked_at >= MAX_LOOKED_AT {
            page.next = below;
            return Ok(page);
        }
    }
}

/// The id of a repository's run that has this `github.run_id`, or this id.
pub(crate) fn find_run(
    rows: &mut impl ReadRows,
    named: &str,
    repository: &str,
) -> Result<Option<String>, StoreError> {
    let prefix = run_id_prefix(named).unwrap_or_else(|| named.to_owned());
    for (id, row) in rows.range(&HEADS, prefix.clone().., HEADS_AT_ONCE)? {
        let is_named = id == named || (prefix != named && id.starts_with(&prefix));
        if !is_named {
            break;
        }
        if row
            .record
            .value()
            .is_some_and(|head| head.is_of(repository))
        {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// All runs, oldest first (ids are in the order of time).
#[cfg(test)]
pub(crate) fn all(rows: &mut impl ReadRows) -> Result<Vec<RunRecord>, StoreError> {
    let mut runs = Vec::new();
    rows.for_each(&RUNS, .., |_, row| {
        runs.extend(row.record.value());
        ControlFlow::Continue(())
    })?;
    Ok(runs)
}

/// The ids of all runs.
pub(crate) fn ids(rows: &mut impl ReadRows) -> Result<HashSet<String>, StoreError> {
    let mut ids = HashSet::new();
    rows.for_each(&RUNS, .., |id, _| {
        ids.insert(id);
        ControlFlow::Continue(())
    })?;
    Ok(ids)
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
    let id = id.to_owned();
    if let Some(Trigger { body, .. }) = trigger(rows, &id)? {
        rows.release(&body);
    }
    rows.delete(&RUNS, &id)?;
    rows.delete(&TRIGGERS, &id)?;
    test_rows::forget(rows, &id)?;
    summary_rows::forget(rows, &id)?;
    review::forget(rows, &id)
}

/// Forgets the oldest runs that have ended, beyond `keep`; gives their ids. Looks at a few only, so
/// that one delivery costs little.
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
        let run = row.record.value();
        // A stranger's pull request that waits is nothing that runs.
        if run.is_none_or(|run| run.state.is_terminal() || run.awaits_approval()) {
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
pub(crate) fn load_repository(
    rows: &mut impl ReadRows,
    repository: &str,
) -> Result<Option<KnownRepository>, StoreError> {
    let row = rows.get(&KNOWN, &repository.to_lowercase())?;
    Ok(row.and_then(JsonRow::value))
}

/// Stores what is known of a repository.
pub(crate) fn put_known(
    rows: &mut WriteTxn<'_>,
    known: &KnownRepository,
) -> Result<(), StoreError> {
    let key = known.repository.to_lowercase();
    rows.put(&KNOWN, &key, &JsonRow::new(known))
}

/// All repositories that are known.
pub(crate) fn all_known(rows: &mut impl ReadRows) -> Result<Vec<KnownRepository>, StoreError> {
    let mut all = Vec::new();
    rows.for_each(&KNOWN, .., |_, row| {
        all.extend(row.value());
        ControlFlow::Continue(())
    })?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forge_core::{GitRef, RepoName};
    use runner_core::event::EventKind;
    use runner_core::state::RunState;
    use store::{Store, StoreOptions};

    const BODY: &str = r#"{"ref":"refs/heads/main","note":"é"}"#;

    fn started() -> (RunRecord, StoredEvent) {
        let repository: RepoName = "acme/rocket".parse().unwrap();
        let reference: GitRef = "refs/heads/main".parse().unwrap();
        let sha = "1".repeat(40);
        let mut event =
            StoredEvent::local(EventKind::Push, &repository, &reference, &sha, "u", None);
        event.payload = BODY.to_owned();
        (RunRecord::received(&event, "d-1".to_owned()), event)
    }

    fn read(store: &Store, id: &str) -> Option<StoredEvent> {
        let id = id.to_owned();
        store.read_blocking(move |rows| event(rows, &id)).unwrap()
    }

    #[test]
    fn an_event_comes_back_with_its_body_until_its_run_is_forgotten() {
        let store = Store::in_memory(&StoreOptions::new("test")).unwrap();
        let (record, event) = started();
        let new = NewRunRows::new(&record, &event);
        store.write_blocking(move |rows| new.put(rows)).unwrap();
        assert_eq!(read(&store, &record.id).as_ref(), Some(&event));
        for state in [RunState::Running, RunState::Succeeded] {
            let mut record = record.clone();
            record.state = state;
            let (id, changed) = (record.id.clone(), record.clone());
            store
                .write_blocking(move |rows| put_run(rows, &changed))
                .unwrap();
            let stored = store.read_blocking(|rows| run(rows, &id)).unwrap();
            assert_eq!(stored.map(|run| run.state), Some(state));
            assert_eq!(read(&store, &id).as_ref(), Some(&event));
        }
        let id = record.id.clone();
        store.write_blocking(move |rows| forget(rows, &id)).unwrap();
        assert_eq!(read(&store, &record.id), None);
    }

    #[test]
    fn a_page_reads_runs_with_and_without_their_event_and_puts_none_aside() {
        let store = Store::in_memory(&StoreOptions::new("test")).unwrap();
        let (record, event) = started();
        let mut ids = Vec::new();
        for number in 0..600 {
            let mut record = record.clone();
            record.id = format!("{number:08}");
            ids.insert(0, record.id.clone());
            let event = event.clone();
            let put = store.write_blocking(move |rows| match number % 2 {
                0 => NewRunRows::new(&record, &event).put(rows),
                _ => put_run(rows, &record),
            });
            put.unwrap();
        }
        let (mut seen, mut before) = (Vec::new(), None);
        loop {
            let read =
                store.read_blocking(|rows| page(rows, &RunFilter::default(), before.clone(), 70));
            let read = read.unwrap();
            seen.extend(read.runs.into_iter().map(|run| run.id));
            before = read.next;
            if before.is_none() {
                break;
            }
        }
        assert_eq!(seen, ids);
        assert_eq!(store.read_blocking(|rows| rows.len(&RUNS)).unwrap(), 600);
        assert_eq!(read(&store, "00000000"), Some(event));
    }

    #[test]
    fn u8_of_788_runs_that_have_ended_300_are_kept() {
        let store = Store::in_memory(&StoreOptions::new("test")).unwrap();
        let (record, event) = started();
        let ids = store.write_blocking(move |rows| {
            let mut ids = Vec::new();
            for number in 0..788 {
                let mut record = record.clone();
                record.id = format!("{number:08}");
                // One goes on: it is kept, however old it is.
                record.state = if number == 0 {
                    RunState::Running
                } else {
                    RunState::Succeeded
                };
                NewRunRows::new(&record, &event).put(rows)?;
                ids.push(record.id);
            }
            Ok::<_, StoreError>(ids)
        });
        let ids = ids.unwrap();
        let forget = || {
            store
                .write_blocking(|rows| forget_oldest(rows, 300))
                .unwrap()
        };
        let gone: Vec<String> = std::iter::repeat_with(forget)
            .take_while(|gone| !gone.is_empty())
            .flatten()
            .collect();
        assert_eq!(gone, ids[1..489]);
        assert_eq!(store.read_blocking(|rows| rows.len(&RUNS)).unwrap(), 300);
    }
}
