//! Runs as GitHub counts them: what is run again stays one run, with one attempt more. Here each
//! attempt is a run with an id of its own, and any of these ids means all of them.

use runner_core::gateway::CreatedFilter;
use store::{ReadRows, StoreError};

use super::{event, page, run, trigger};
use crate::event::StoredEvent;
use crate::records::RunRecord;
use crate::run_list::RunFilter;
use crate::run_shape::{job_number, run_words};

/// Runs that a list counts, as on GitHub.
const MAX_LISTED: usize = 1_000;
/// Runs that are read together.
const AT_ONCE: usize = 100;
/// So many times of these for a list: what few runs match is not looked for in all of them.
const MAX_READS: usize = 50;
/// Attempts of a run that are looked at.
const MAX_ATTEMPTS: usize = 100;
/// Runs in which a job is looked for by its number.
const MAX_SEARCHED: usize = 500;

/// What a list is asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunListQuery {
    /// Without a branch.
    pub(crate) filter: RunFilter,
    pub(crate) branch: Option<String>,
    pub(crate) head_sha: Option<String>,
    /// A status or a conclusion.
    pub(crate) status: Option<String>,
    pub(crate) created: Option<CreatedFilter>,
}

/// A part of a list.
#[derive(Debug, Default)]
pub(crate) struct ListedRuns {
    /// How many there are in all.
    pub(crate) total: usize,
    /// The newest first, with what started them.
    pub(crate) runs: Vec<(RunRecord, Option<StoredEvent>)>,
}

/// The newest attempt of a run.
pub(crate) fn newest(rows: &mut impl ReadRows, id: &str) -> Result<Option<RunRecord>, StoreError> {
    let mut found = run(rows, id)?;
    for _ in 0..MAX_ATTEMPTS {
        let next = found.as_ref().and_then(|run| run.repeated_by.clone());
        let Some(next) = next else { break };
        match run(rows, &next)? {
            Some(next) => found = Some(next),
            None => break,
        }
    }
    Ok(found)
}

/// All attempts of a run that are known, the newest first.
pub(crate) fn attempts(rows: &mut impl ReadRows, id: &str) -> Result<Vec<RunRecord>, StoreError> {
    let mut all: Vec<RunRecord> = newest(rows, id)?.into_iter().collect();
    while all.len() < MAX_ATTEMPTS {
        let former = all.last().and_then(|run| run.repeats.clone());
        let Some(former) = former else { break };
        match run(rows, &former)? {
            Some(former) => all.push(former),
            None => break,
        }
    }
    Ok(all)
}

/// The part of a list that begins at `from`, of `size` runs.
pub(crate) fn listed(
    rows: &mut impl ReadRows,
    asked: &RunListQuery,
    (from, size): (usize, usize),
) -> Result<ListedRuns, StoreError> {
    let mut listed = ListedRuns::default();
    let mut before = None;
    for _ in 0..MAX_READS {
        let found = page(rows, &asked.filter, before, AT_ONCE)?;
        for run in found.runs {
            if listed.total == MAX_LISTED {
                return Ok(listed);
            }
            if !shows(rows, asked, &run)? {
                continue;
            }
            if listed.total >= from && listed.runs.len() < size {
                let event = event(rows, &run.id)?;
                listed.runs.push((run, event));
            }
            listed.total += 1;
        }
        before = found.next;
        if before.is_none() {
            break;
        }
    }
    Ok(listed)
}

fn shows(
    rows: &mut impl ReadRows,
    asked: &RunListQuery,
    run: &RunRecord,
) -> Result<bool, StoreError> {
    // A newer attempt stands for it.
    let is_shown = run.repeated_by.is_none()
        && asked.head_sha.as_ref().is_none_or(|sha| *sha == run.sha)
        && asked
            .created
            .is_none_or(|when| when.contains(run.created_at))
        && asked
            .status
            .as_ref()
            .is_none_or(|word| run_words(run).is(word));
    match &asked.branch {
        Some(branch) if is_shown => {
            // Of a pull request it is not in the record.
            let event = trigger(rows, &run.id)?.and_then(|stored| stored.event.value());
            Ok(event.is_some_and(|event| event.head_branch() == Some(branch)))
        }
        _ => Ok(is_shown),
    }
}

/// The run and the place in it of the job with this number: in the run that is named, else in the
/// newest runs of the repository.
pub(crate) fn with_job(
    rows: &mut impl ReadRows,
    (own, repository): (Option<&str>, &str),
    number: u64,
) -> Result<Option<(RunRecord, usize)>, StoreError> {
    let place = |run: &RunRecord| {
        let is = |key: &str, instance| job_number(&run.id, key, instance) == number;
        run.jobs.iter().position(|job| is(&job.key, job.instance))
    };
    let own = own.map(|own| run(rows, own)).transpose()?.flatten();
    let own = own.filter(|run| run.repository.eq_ignore_ascii_case(repository));
    if let Some(own) = own
        && let Some(at) = place(&own)
    {
        return Ok(Some((own, at)));
    }
    let filter = RunFilter {
        repository: Some(repository.to_owned()),
        ..RunFilter::default()
    };
    let mut before = None;
    for _ in 0..MAX_SEARCHED / AT_ONCE {
        let found = page(rows, &filter, before, AT_ONCE)?;
        for run in found.runs {
            if let Some(at) = place(&run) {
                return Ok(Some((run, at)));
            }
        }
        before = found.next;
        if before.is_none() {
            break;
        }
    }
    Ok(None)
}
