//! A cache of the open runs: a read of the queue decodes what has changed only.
//!
//! ```text
//! OPEN: id -> how often written ──compare──▶ OpenRunCache ──same count──▶ the cached run
//!                                              └──────other count──▶ RUNS: read again
//! ```
//! It always yields what the given snapshot holds.

use std::ops::ControlFlow;

use forge_core::RunId;
use orchestrator_core::action::ReconcileAction;
use orchestrator_core::run::{Hold, Run};
use store::{ReadRows, StoreError};

use super::rows::{OPEN, OpenRow, RUNS, RunRow};

/// Open runs, and how often the row of each was written when it was read.
#[derive(Debug, Default)]
pub struct OpenRunCache {
    /// By id.
    runs: Vec<Run>,
    /// Of the run at the same place.
    written: Vec<(String, u64)>,
}

impl OpenRunCache {
    /// The open runs of this snapshot, by id.
    ///
    /// # Errors
    /// The store's; then nothing is known any more.
    pub fn refresh(&mut self, rows: &mut impl ReadRows) -> Result<&[Run], StoreError> {
        let mut open = Vec::with_capacity(self.written.len());
        rows.for_each(&OPEN, .., |id, OpenRow(count)| {
            open.push((id, count));
            ControlFlow::Continue(())
        })?;
        let known = std::mem::take(&mut self.written).into_iter();
        let mut known = known.zip(std::mem::take(&mut self.runs)).peekable();
        let (mut written, mut runs) = (Vec::with_capacity(open.len()), Vec::new());
        runs.reserve(open.len());
        // Both are in the order of their ids.
        for (id, count) in open {
            while known.next_if(|((before, _), _)| *before < id).is_some() {}
            let here = known.next_if(|((same, _), _)| *same == id);
            let run = match here {
                Some(((_, then), run)) if then == count => Some(run),
                _ => rows.get(&RUNS, &id)?.map(|RunRow(run)| run),
            };
            // A row that cannot be read is in quarantine; its status is closed by the tick.
            if let Some(run) = run {
                written.push((id, count));
                runs.push(run);
            }
        }
        (self.written, self.runs) = (written, runs);
        Ok(&self.runs)
    }

    /// Keeps why runs wait, so that the next tick decides on changes only.
    pub(super) fn remember_holds(&mut self, actions: &[ReconcileAction]) {
        for action in actions {
            match action {
                ReconcileAction::Hold { run, hold } => self.set_hold(run, Some(*hold)),
                ReconcileAction::Start { run } => self.set_hold(run, None),
                _ => {}
            }
        }
    }

    /// Why a queued run waits, as the last tick decided.
    pub(crate) fn hold_of(&self, run: &str) -> Option<Hold> {
        let found = self
            .written
            .binary_search_by(|(id, _)| id.as_str().cmp(run));
        found.ok().and_then(|index| self.runs[index].hold)
    }

    fn set_hold(&mut self, run: &RunId, hold: Option<Hold>) {
        let found = self
            .written
            .binary_search_by(|(id, _)| id.as_str().cmp(run.as_str()));
        if let Ok(index) = found {
            self.runs[index].hold = hold;
        }
    }
}

/// The runs that have not ended, read as they are.
///
/// # Errors
/// The store's.
pub fn open_runs(rows: &mut impl ReadRows) -> Result<Vec<Run>, StoreError> {
    let mut open_runs = OpenRunCache::default();
    open_runs.refresh(rows)?;
    Ok(open_runs.runs)
}
