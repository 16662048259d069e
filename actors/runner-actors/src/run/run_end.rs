//! What a run's jobs make of it.

use runner_core::state::{Conclusion, RunState};

use crate::records::{JobEnd, JobRecord};

/// How reasons of jobs begin that ask for what is not done here.
const REFUSED: &str = "refused:";

/// The state of a run whose jobs have come to this conclusion together, and why it is not better.
/// `cancelled`: why somebody ended it.
pub(super) fn of_jobs(
    jobs: &[JobRecord],
    conclusion: Conclusion,
    cancelled: Option<&str>,
) -> (RunState, Option<String>) {
    let state = state(jobs, conclusion, cancelled.is_some());
    let reason = match state {
        RunState::Succeeded => None,
        RunState::Cancelled => cancelled.map(str::to_owned),
        _ => first_failure(jobs).map(|job| {
            let reason = job.reason.as_deref().unwrap_or("failed");
            format!("{}: {reason}", job.name)
        }),
    };
    (state, with_refused(jobs, state, reason))
}

fn state(jobs: &[JobRecord], conclusion: Conclusion, is_cancelled: bool) -> RunState {
    let has = |end| jobs.iter().any(|job| job.end == end);
    match conclusion {
        Conclusion::Success | Conclusion::Skipped => RunState::Succeeded,
        Conclusion::Cancelled if !is_cancelled && has(JobEnd::TimedOut) => RunState::TimedOut,
        Conclusion::Cancelled => RunState::Cancelled,
        Conclusion::Failure if has(JobEnd::Lost) => RunState::Lost,
        Conclusion::Failure if has(JobEnd::TimedOut) => RunState::TimedOut,
        Conclusion::Failure if !jobs.iter().any(is_refused) => RunState::Failed,
        // Of the others the worst counts: what was refused hides neither a failure nor that
        // somebody ended it.
        Conclusion::Failure if jobs.iter().any(has_failed) => RunState::Failed,
        Conclusion::Failure if is_cancelled => RunState::Cancelled,
        Conclusion::Failure if jobs.iter().any(has_run) => RunState::Failed,
        Conclusion::Failure => RunState::Refused,
    }
}

fn is_refused(job: &JobRecord) -> bool {
    let reason = job.reason.as_deref();
    reason.is_some_and(|reason| reason.starts_with(REFUSED))
}

fn has_failed(job: &JobRecord) -> bool {
    job.conclusion == Some(Conclusion::Failure) && !is_refused(job)
}

fn has_run(job: &JobRecord) -> bool {
    let is_skipped = matches!(job.conclusion, None | Some(Conclusion::Skipped));
    !is_skipped && !is_refused(job)
}

/// What failed comes before what was refused.
fn first_failure(jobs: &[JobRecord]) -> Option<&JobRecord> {
    let failed = jobs.iter().find(|job| has_failed(job));
    failed.or_else(|| jobs.iter().find(|job| is_refused(job)))
}

fn with_refused(jobs: &[JobRecord], state: RunState, reason: Option<String>) -> Option<String> {
    let refused: Vec<&JobRecord> = jobs.iter().filter(|job| is_refused(job)).collect();
    let is_told = state == RunState::Succeeded || state == RunState::Refused;
    let [first, ..] = refused.as_slice() else {
        return reason;
    };
    let is_first = first_failure(jobs).is_some_and(is_refused);
    if is_told || (is_first && state != RunState::Cancelled && refused.len() == 1) {
        return reason;
    }
    let what = match refused.len() {
        1 => format!("1 job was refused: {}", first.name),
        count => format!("{count} jobs were refused: {} first", first.name),
    };
    Some(match reason {
        Some(reason) => format!("{reason}; {what}"),
        None => what,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &str, conclusion: &str, reason: &str) -> JobRecord {
        let record = serde_json::json!({
            "key": name, "instance": 0, "name": name, "context": name, "queued_at": 0,
            "steps": [], "conclusion": conclusion, "reason": reason,
        });
        serde_json::from_value(record).unwrap()
    }

    /// One job for another system hid that the others had failed, or were cancelled.
    #[test]
    fn i17_a_refused_job_hides_nothing_of_what_ran() {
        let refused = || job("macos", "failure", "refused: macOS");
        let end = |jobs: Vec<JobRecord>, cancelled| of_jobs(&jobs, Conclusion::Failure, cancelled);
        let (state, reason) = end(vec![refused(), job("later", "skipped", "")], None);
        assert_eq!(state, RunState::Refused);
        assert_eq!(reason.as_deref(), Some("macos: refused: macOS"));
        let failed = vec![refused(), job("linux", "failure", "exit code 1")];
        let (state, reason) = end(failed, None);
        assert_eq!(state, RunState::Failed);
        let text = "linux: exit code 1; 1 job was refused: macos";
        assert_eq!(reason.as_deref(), Some(text));
        let (state, reason) = end(vec![refused(), job("linux", "success", "")], None);
        assert_eq!(state, RunState::Failed);
        assert_eq!(reason.as_deref(), Some("macos: refused: macOS"));
        let cancelled = vec![refused(), refused(), job("linux", "cancelled", "")];
        let (state, reason) = end(cancelled, Some("cancelled by me"));
        assert_eq!(state, RunState::Cancelled);
        let text = "cancelled by me; 2 jobs were refused: macos first";
        assert_eq!(reason.as_deref(), Some(text));
    }
}
