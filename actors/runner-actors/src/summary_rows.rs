//! What steps wrote to their summaries, in the store: beside the record of their run, which is
//! written with each of its changes; with their run, as long as it is kept.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use store::{Blob, Extent, ExtentTable, HoldsExtents, ReadRows, Row, StoreError, Table, WriteTxn};

use crate::packed::{packed, unpacked};
use crate::records::{JobRecord, RunRecord, StepRecord};

/// Of a step: its run, the key of its job, which copy of it and the step's number.
type SummaryKey = (String, String, (u32, u32));

const SUMMARIES: Table<SummaryKey, SummaryRow> = Table::new("runner_summaries");
/// Rows that are forgotten at once.
const FORGOTTEN_AT_ONCE: usize = 1_000;
/// The most bytes of the summaries of a run.
pub(crate) const MAX_OF_RUN: u64 = 64 << 20;
/// The most bytes of summaries that are shown with a run's record.
const MAX_SHOWN: u64 = 16 << 20;

#[derive(Debug, Serialize, Deserialize)]
struct SummaryRow {
    text: Extent,
}

impl Row for SummaryRow {
    const SCHEMA: u16 = 1;
}

impl HoldsExtents for SummaryRow {
    fn extents(&self) -> Vec<Extent> {
        vec![self.text]
    }
}

/// The table whose rows hold extents.
pub(crate) const EXTENT_TABLE: ExtentTable = ExtentTable::of(SUMMARIES);

/// The summary of a step on its way into the store.
#[derive(Debug, Clone)]
pub(crate) struct NewSummary {
    key: SummaryKey,
    text: Bytes,
}

impl NewSummary {
    /// Takes it out of the record of its step, which keeps its length.
    pub(crate) fn taken(run: &str, job: &JobRecord, step: &mut StepRecord) -> Option<Self> {
        let text = step.summary.take()?;
        step.summary_bytes = Some(text.len() as u64);
        Some(Self {
            key: key(run, job, step),
            text: packed(text.as_bytes()),
        })
    }

    /// Stores it, in place of what the step had.
    pub(crate) fn put(&self, rows: &mut WriteTxn<'_>) -> Result<(), StoreError> {
        if let Some(former) = rows.get(&SUMMARIES, &self.key)? {
            rows.release(&former.text);
        }
        let text = rows.append(&Blob::new(self.text.clone()))?;
        rows.put(&SUMMARIES, &self.key, &SummaryRow { text })
    }
}

fn key(run: &str, job: &JobRecord, step: &StepRecord) -> SummaryKey {
    let instance = u32::try_from(job.instance).unwrap_or(u32::MAX);
    (run.to_owned(), job.key.clone(), (instance, step.number))
}

/// Bytes of all summaries of a run.
pub(crate) fn bytes_of(run: &RunRecord) -> u64 {
    let steps = run.jobs.iter().flat_map(|job| &job.steps);
    steps.filter_map(|step| step.summary_bytes).sum()
}

/// Forgets the summaries of a run.
pub(crate) fn forget(rows: &mut WriteTxn<'_>, run: &str) -> Result<(), StoreError> {
    loop {
        let some = rows.below(&SUMMARIES, &run.to_owned(), None, FORGOTTEN_AT_ONCE)?;
        let is_last = some.len() < FORGOTTEN_AT_ONCE;
        for (key, row) in some {
            rows.release(&row.text);
            rows.delete(&SUMMARIES, &key)?;
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Puts the summaries of a run's steps into its record, as it is shown; those that it had in itself
/// stay. A step that ran in the run that this one repeats has what it wrote there.
pub(crate) fn fill(rows: &mut impl ReadRows, run: &mut RunRecord) -> Result<(), StoreError> {
    let mut shown = 0;
    for at in 0..run.jobs.len() {
        let (id, job) = (run.id.clone(), run.jobs[at].clone());
        let ran_in = job.kept_from.as_deref().unwrap_or(&id);
        for (step, known) in run.jobs[at].steps.iter_mut().zip(&job.steps) {
            let Some(bytes) = known.summary_bytes.filter(|_| known.summary.is_none()) else {
                continue;
            };
            shown += bytes;
            if shown > MAX_SHOWN {
                step.summary = Some(left_out(bytes));
                continue;
            }
            let row = rows.get(&SUMMARIES, &key(ran_in, &job, known))?;
            if let Some(row) = row {
                let text = unpacked(rows, &row.text)?;
                step.summary = text.and_then(|text| String::from_utf8(text).ok());
            }
        }
    }
    Ok(())
}

fn left_out(bytes: u64) -> String {
    let most = MAX_SHOWN >> 20;
    format!(
        "(a summary of {bytes} bytes is not shown here: those of a run are shown up to {most} MiB together)\n"
    )
}

#[cfg(test)]
mod tests;
