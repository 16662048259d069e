//! A run that is run again: a run of its own with the same event, workflow and number, one attempt
//! later.

use runner_core::protection::ProtectionVerdict;
use runner_core::state::RunState;
use store::{StoreError, WriteTxn};

use crate::clock::now_ms;
use crate::job_graph::RepeatedJobs;
use crate::messages::RepeatError;
use crate::records::{JobRecord, ResumePoint, RunApproval, RunRecord};
use crate::rows::{self, NewRunRows};

/// How a run is run again.
#[derive(Debug, Clone)]
pub(crate) struct RepeatOptions {
    /// Only the jobs that did not succeed, and what needs them.
    pub(crate) failed_only: bool,
    /// Only this job, by its name or key, and what needs it.
    pub(crate) job: Option<String>,
    /// VMs of jobs that fail are kept for a while.
    pub(crate) keep: bool,
    /// Snapshots are taken between the steps of those.
    pub(crate) snapshots: bool,
    /// Where one of its jobs begins.
    pub(crate) resume: Option<ResumePoint>,
}

/// Stores the next attempt of a run: in one transaction, so that two who ask at once start one.
pub(crate) fn repeat(
    rows: &mut WriteTxn<'_>,
    id: &str,
    next: &str,
    options: &RepeatOptions,
) -> Result<Result<String, RepeatError>, StoreError> {
    let Some(mut last) = last_attempt(rows, id)? else {
        return Ok(Err(RepeatError::Unknown));
    };
    if !last.state.is_terminal() {
        return Ok(Err(RepeatError::Runs(last.id)));
    }
    let Some(event) = rows::event(rows, &last.id)? else {
        return Ok(Err(RepeatError::Unknown));
    };
    if let Some(point) = &options.resume
        && point.run != last.id
    {
        return Ok(Err(RepeatError::NotNewest(last.id)));
    }
    let mut attempt = next_attempt(&last, next);
    attempt.keep = options.keep || options.snapshots;
    attempt.snapshots = options.snapshots;
    attempt.resume.clone_from(&options.resume);
    if options.failed_only || options.job.is_some() {
        match kept_jobs(&last, options.job.as_deref()) {
            Ok(kept) => attempt.jobs = kept,
            Err(refused) => return Ok(Err(refused)),
        }
    }
    NewRunRows::new(&attempt, &event).put(rows)?;
    last.repeated_by = Some(next.to_owned());
    rows::put_run(rows, &last)?;
    Ok(Ok(next.to_owned()))
}

/// The newest attempt of a run's number; attempts are newer than what they repeat, so none is
/// forgotten before it.
fn last_attempt(rows: &mut WriteTxn<'_>, id: &str) -> Result<Option<RunRecord>, StoreError> {
    let mut last = rows::run(rows, id)?;
    while let Some(next) = last.as_ref().and_then(|run| run.repeated_by.clone()) {
        match rows::run(rows, &next)? {
            Some(run) => last = Some(run),
            None => break,
        }
    }
    Ok(last)
}

/// The copies of jobs that need not run again, with their outputs.
fn kept_jobs(last: &RunRecord, job: Option<&str>) -> Result<Vec<JobRecord>, RepeatError> {
    if last.plan.is_empty() {
        return Err(RepeatError::NoPlan(last.id.clone()));
    }
    let repeated = match job {
        Some(job) => RepeatedJobs::with_job(last, job)
            .ok_or_else(|| RepeatError::UnknownJob(last.id.clone(), job.to_owned()))?,
        None => RepeatedJobs::from_run(last),
    };
    if repeated.is_empty() {
        return Err(RepeatError::NothingFailed(last.id.clone()));
    }
    let kept = last.jobs.iter().filter(|job| repeated.keeps(job));
    Ok(kept
        .map(|job| JobRecord {
            kept_from: job.kept_from.clone().or_else(|| Some(last.id.clone())),
            ..job.clone()
        })
        .collect())
}

/// What was approved once is approved for its next attempt; everything else is asked again.
fn is_approved(approval: &RunApproval) -> bool {
    let review = approval.review.as_ref();
    review.is_some_and(|review| review.verdict == ProtectionVerdict::Approved)
}

fn next_attempt(last: &RunRecord, id: &str) -> RunRecord {
    RunRecord {
        id: id.to_owned(),
        state: RunState::Received,
        reason: None,
        attempt: last.attempt + 1,
        announced: None,
        taken_up: 0,
        cancelled: false,
        resume: None,
        taken_up_at_wait: 0,
        holds_group: false,
        left_calls: Vec::new(),
        approval: last.approval.clone().filter(is_approved),
        environments: Vec::new(),
        repeats: Some(last.id.clone()),
        repeated_by: None,
        created_at: now_ms(),
        started_at: None,
        ended_at: None,
        jobs: Vec::new(),
        job_order: Vec::new(),
        plan: Vec::new(),
        ..last.clone()
    }
}
