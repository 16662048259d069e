//! What steps wrote to their summaries, in the store: beside the record of their run, which is
//! written with each of its changes; with their run, as long as it is kept.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use store::{Blob, Extent, ExtentTable, HoldsExtents, ReadRows, Row, StoreError, Table, WriteTxn};
use utoipa::ToSchema;

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
/// A page ends with the summary that brings it to so many bytes.
const PAGE_BYTES: u64 = 4 << 20;

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

/// What one step wrote to its summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct StepSummary {
    /// The job's name.
    pub job: String,
    /// The step's number in its job.
    pub step: u32,
    /// What the step is called.
    pub name: String,
    /// Markdown.
    pub text: String,
}

/// Some of the summaries of a run, in the order of its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryPage {
    /// As many as make a page, and one at least where there are any.
    pub summaries: Vec<StepSummary>,
    /// Where the next page begins.
    pub next: Option<SummaryPlace>,
}

/// A place among the summaries of a run: which job of its record, and the step's number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SummaryPlace {
    job: usize,
    step: u32,
}

impl fmt::Display for SummaryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.job, self.step)
    }
}

impl FromStr for SummaryPlace {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (job, step) = text.split_once('-').ok_or(())?;
        let (job, step) = (job.parse().map_err(drop)?, step.parse().map_err(drop)?);
        Ok(Self { job, step })
    }
}

impl SummaryPlace {
    /// Where the first summary stands that is left out of a record as it is shown.
    #[must_use]
    pub fn left_out(run: &RunRecord) -> Option<Self> {
        let mut all = steps(run);
        let (place, ..) =
            all.find(|(_, _, step)| step.summary_bytes.is_some() && step.summary.is_none())?;
        Some(place)
    }
}

/// All steps of a run, with their places.
fn steps(run: &RunRecord) -> impl Iterator<Item = (SummaryPlace, &JobRecord, &StepRecord)> {
    let jobs = run.jobs.iter().enumerate();
    jobs.flat_map(|(at, job)| {
        let steps = job.steps.iter();
        steps.map(move |step| {
            let place = SummaryPlace {
                job: at,
                step: step.number,
            };
            (place, job, step)
        })
    })
}

impl SummaryPage {
    /// Those from `from` on, of the jobs of one name where one is given.
    pub(crate) fn read(
        rows: &mut impl ReadRows,
        run: &RunRecord,
        (job, from): (Option<&str>, SummaryPlace),
    ) -> Result<Self, StoreError> {
        let (mut summaries, mut bytes) = (Vec::new(), 0);
        let wrote = |step: &StepRecord| step.summary.is_some() || step.summary_bytes.is_some();
        for (place, of, step) in steps(run) {
            let is_other = job.is_some_and(|job| job != of.name);
            if place < from || is_other || !wrote(step) {
                continue;
            }
            if bytes >= PAGE_BYTES {
                let next = Some(place);
                return Ok(Self { summaries, next });
            }
            let text = text(rows, &run.id, (of, step))?;
            bytes += text.len() as u64;
            summaries.push(StepSummary {
                job: of.name.clone(),
                step: step.number,
                name: step.name.clone(),
                text,
            });
        }
        let next = None;
        Ok(Self { summaries, next })
    }
}

/// The table whose rows hold extents.
pub(crate) const EXTENT_TABLE: ExtentTable = ExtentTable::new(SUMMARIES);

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
/// stay. A step that ran in the run that this one repeats has what it wrote there. Where they are
/// too many the last ones are left out: [`SummaryPage`] has them.
pub(crate) fn fill(rows: &mut impl ReadRows, run: &mut RunRecord) -> Result<(), StoreError> {
    let mut shown = 0;
    for at in 0..run.jobs.len() {
        let (id, job) = (run.id.clone(), run.jobs[at].clone());
        for (step, known) in run.jobs[at].steps.iter_mut().zip(&job.steps) {
            let Some(bytes) = known.summary_bytes.filter(|_| known.summary.is_none()) else {
                continue;
            };
            shown += bytes;
            if shown <= MAX_SHOWN {
                step.summary = Some(text(rows, &id, (&job, known))?);
            }
        }
    }
    Ok(())
}

/// What a step wrote; nothing where it is not stored any more.
fn text(
    rows: &mut impl ReadRows,
    run: &str,
    (job, step): (&JobRecord, &StepRecord),
) -> Result<String, StoreError> {
    if let Some(text) = &step.summary {
        return Ok(text.clone());
    }
    let ran_in = job.kept_from.as_deref().unwrap_or(run);
    let Some(row) = rows.get(&SUMMARIES, &key(ran_in, job, step))? else {
        return Ok(String::new());
    };
    let text = unpacked(rows, &row.text)?;
    Ok(text
        .and_then(|text| String::from_utf8(text).ok())
        .unwrap_or_default())
}

#[cfg(test)]
mod tests;
