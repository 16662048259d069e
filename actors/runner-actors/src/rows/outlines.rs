//! What is read of runs where many are looked at and most have ended long ago: a few fields of
//! each. Jobs and events are passed over.

use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};

use runner_core::state::RunState;
use serde::{Deserialize, Serialize};
use store::{ReadRows, StoreError, Table};

use super::HeadRow;

const OUTLINES: Table<String, HeadRow<RunOutline>> = Table::new("runner_runs");

/// Where a run is, and of which commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunOutline {
    pub(crate) id: String,
    pub(crate) state: RunState,
    pub(crate) repository: String,
    pub(crate) sha: String,
    pub(crate) created_at: u64,
    #[serde(default)]
    pub(crate) ended_at: Option<u64>,
    /// It has its place in its concurrency group while it waits.
    #[serde(default)]
    pub(crate) holds_group: bool,
}

/// The outlines of the runs for which something holds, oldest first.
pub(crate) fn outlines(
    rows: &mut impl ReadRows,
    holds: impl Fn(&RunOutline) -> bool,
) -> Result<Vec<RunOutline>, StoreError> {
    outlines_after(rows, None, |outline| holds(&outline).then_some(outline))
}

fn outlines_after<T>(
    rows: &mut impl ReadRows,
    after: Option<String>,
    mut take: impl FnMut(RunOutline) -> Option<T>,
) -> Result<Vec<T>, StoreError> {
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    let mut taken = Vec::new();
    rows.for_each(&OUTLINES, (from, Bound::Unbounded), |_, row| {
        taken.extend(row.record.value().and_then(&mut take));
        ControlFlow::Continue(())
    })?;
    Ok(taken)
}

/// Runs that go on or ended lately, found again without reading those that ended before: these
/// change no more.
#[derive(Debug, Default)]
pub(crate) struct OpenRuns {
    /// Those among the runs that were looked at.
    open: BTreeSet<String>,
    /// All runs up to this one were looked at.
    last: Option<String>,
}

impl OpenRuns {
    /// Those now, oldest first; what ended or began before `oldest` is not lately.
    pub(crate) fn load(
        &mut self,
        rows: &mut impl ReadRows,
        oldest: u64,
    ) -> Result<Vec<RunOutline>, StoreError> {
        let is_open = |run: &RunOutline| run.ended_at.is_none_or(|at| at > oldest);
        let mut runs = Vec::new();
        for id in &self.open {
            let row = rows.get(&OUTLINES, id)?;
            runs.extend(row.and_then(|row| row.record.value()).filter(is_open));
        }
        let mut last = self.last.clone();
        let new = outlines_after(rows, self.last.clone(), |run| {
            // One that was made before it may be stored behind it: there is time for that.
            if run.created_at <= oldest {
                last = Some(run.id.clone());
            }
            is_open(&run).then_some(run)
        })?;
        runs.extend(new);
        let is_known = |run: &&RunOutline| last.as_ref().is_some_and(|last| run.id <= *last);
        self.open = (runs.iter().filter(is_known))
            .map(|run| run.id.clone())
            .collect();
        self.last = last;
        Ok(runs)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use runner_core::event::EventKind;
    use store::{Store, StoreOptions};

    use super::*;
    use crate::event::StoredEvent;
    use crate::records::RunRecord;
    use crate::rows::{NewRunRows, put_run, run};

    const NOW: u64 = 100_000_000;
    const OLDEST: u64 = NOW - 600_000;

    /// A run, made and ended so long ago.
    fn put(store: &Store, id: &str, made: u64, ended: Option<u64>) {
        let repository = "acme/rocket".parse().unwrap();
        let reference = "refs/heads/main".parse().unwrap();
        let sha = "1".repeat(40);
        let event = StoredEvent::local(EventKind::Push, &repository, &reference, &sha, "u", None);
        let mut record = RunRecord::received(&event, "d".to_owned());
        record.id = id.to_owned();
        record.created_at = NOW - made;
        end(&mut record, ended);
        let new = NewRunRows::new(&record, &event);
        store.write_blocking(move |rows| new.put(rows)).unwrap();
    }

    fn end(record: &mut RunRecord, ended: Option<u64>) {
        record.ended_at = ended.map(|ago| NOW - ago);
        if ended.is_some() {
            record.state = RunState::Succeeded;
        }
    }

    fn change(store: &Store, id: &'static str, ended: u64) {
        let changed = store.write_blocking(move |rows| {
            let mut record = run(rows, id)?.expect("it is stored");
            end(&mut record, Some(ended));
            put_run(rows, &record)
        });
        changed.unwrap();
    }

    fn list_open(store: &Store, open: &mut OpenRuns) -> Vec<String> {
        let looked = store.read_blocking(|rows| open.load(rows, OLDEST));
        looked.unwrap().into_iter().map(|run| run.id).collect()
    }

    #[test]
    fn i17_runs_that_ended_long_ago_are_read_once() {
        let store = Store::in_memory(&StoreOptions::new("test")).unwrap();
        let hour = 3_600_000;
        put(&store, "1", 3 * hour, Some(2 * hour));
        put(&store, "2", 3 * hour, None);
        put(&store, "3", 2 * hour, Some(1000));
        put(&store, "4", 2 * hour, Some(hour));
        put(&store, "6", 2000, None);
        let mut open = OpenRuns::default();
        assert_eq!(list_open(&store, &mut open), ["2", "3", "6"]);
        // What was made lately is looked at again, as it may be stored out of order.
        assert_eq!(open.last.as_deref(), Some("4"));
        assert_eq!(open.open, ["2", "3"].map(str::to_owned).into());
        put(&store, "5", 3000, None);
        change(&store, "2", hour);
        change(&store, "6", 10);
        assert_eq!(list_open(&store, &mut open), ["3", "5", "6"]);
        assert_eq!(open.open, ["3"].map(str::to_owned).into());
        // One that was forgotten is no open one.
        let gone = store.write_blocking(|rows| crate::rows::forget(rows, "3"));
        gone.unwrap();
        assert_eq!(list_open(&store, &mut open), ["5", "6"]);
    }

    #[test]
    fn i17_outlines_are_of_all_runs_however_their_rows_were_written() {
        let store = Store::in_memory(&StoreOptions::new("test")).unwrap();
        put(&store, "1", 5, None);
        put(&store, "2", 5, None);
        change(&store, "2", 1);
        let seen = AtomicUsize::new(0);
        let read = store.read_blocking(|rows| {
            outlines(rows, |run| {
                seen.fetch_add(1, Ordering::Relaxed);
                run.state == RunState::Received
            })
        });
        let ids: Vec<String> = read.unwrap().into_iter().map(|run| run.id).collect();
        assert_eq!((ids, seen.into_inner()), (vec!["1".to_owned()], 2));
    }
}
