//! Commit statuses that are owed: `pending` when a run is queued, and exactly one terminal state on
//! every path to its end.

use forge_core::{CommitState, CommitStatus, RunId};
use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::run::{AgentRunState, ExitClass, Reason, Run, StatusKey};
use crate::verdict::Verdict;

/// What is owed for one commit and context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obligation {
    /// Which status.
    pub key: StatusKey,
    /// The run that owes it; of several runs the last.
    pub run: RunId,
    /// How it stands.
    pub state: CommitState,
    /// One sentence.
    pub description: String,
    /// Since when.
    pub at: Millis,
}

impl Obligation {
    /// A run was queued.
    pub fn pending(key: StatusKey, run: RunId, at: Millis) -> Self {
        Self {
            key,
            run,
            state: CommitState::Pending,
            description: "queued".to_owned(),
            at,
        }
    }

    /// As it is to be posted.
    pub fn status(&self, target_url: Option<String>) -> CommitStatus {
        CommitStatus {
            context: self.key.context.clone(),
            state: self.state,
            description: self.description.clone(),
            target_url,
        }
    }
}

/// What the end of a run says about its commit. A run that has not ended says `pending`.
pub fn conclusion(
    run: &Run,
    verdict: Option<&Verdict>,
    needs_verdict: bool,
) -> (CommitState, String) {
    match run.state {
        AgentRunState::Queued => (CommitState::Pending, "queued".to_owned()),
        AgentRunState::Starting | AgentRunState::Running => {
            (CommitState::Pending, "running".to_owned())
        }
        AgentRunState::Rejected | AgentRunState::Cancelled => {
            let reason = run.reason.unwrap_or(Reason::CancelledByOperator);
            (CommitState::Error, format!("{reason}: {}", reason.detail()))
        }
        AgentRunState::Exited => of_exit(run, verdict, needs_verdict),
    }
}

fn of_exit(run: &Run, verdict: Option<&Verdict>, needs_verdict: bool) -> (CommitState, String) {
    let Some(exit) = &run.exit else {
        let reason = run.reason.unwrap_or(Reason::StartFailed);
        return (CommitState::Error, format!("{reason}: {}", reason.detail()));
    };
    let took = exit.wall_millis / 1000;
    if let Some(state) = state_of(exit.class) {
        let detail = exit.detail.as_deref().unwrap_or("see the run's log");
        return (state, format!("{} after {took} s: {detail}", exit.class));
    }
    match verdict {
        Some(Verdict::Given { state, summary }) => (*state, summary.clone()),
        Some(Verdict::Refused { why }) => {
            (CommitState::Error, format!("{}: {why}", Reason::NoVerdict))
        }
        None if needs_verdict => {
            let reason = Reason::NoVerdict;
            (CommitState::Error, format!("{reason}: {}", reason.detail()))
        }
        None => {
            let what = exit.detail.as_deref().map(|what| format!(": {what}"));
            let text = format!("passed in {took} s{}", what.unwrap_or_default());
            (CommitState::Success, text)
        }
    }
}

/// The conclusion of an exit class by itself; `None` when the agent's verdict counts.
fn state_of(class: ExitClass) -> Option<CommitState> {
    match class {
        ExitClass::Success | ExitClass::EmptySuccess => None,
        // The check was made and found something.
        ExitClass::CompilationError | ExitClass::TestFailure | ExitClass::Unknown => {
            Some(CommitState::Failure)
        }
        _ => Some(CommitState::Error),
    }
}
