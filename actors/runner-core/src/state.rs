//! The lifecycle of a run and of its jobs: the states, and which may follow which.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where a run is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Its event is stored.
    Received,
    /// Its workflow is being fetched and read.
    Parsing,
    /// What it does is known.
    Planned,
    /// It waits for an approval, or for the time that an environment makes jobs wait: nothing of it
    /// runs.
    Waiting,
    /// A machine is being asked for.
    Allocating,
    /// A job runs.
    Running,
    /// Every job that had to succeed did.
    Succeeded,
    /// A job failed, or the workflow is wrong.
    Failed,
    /// Someone, or a newer run, ended it.
    Cancelled,
    /// It took longer than it may.
    TimedOut,
    /// The runner or the machine went away, and how it ended is not known.
    Lost,
    /// It asks for what is not done here.
    Refused,
    /// Its event starts none of the workflows: there was nothing to run, and it is in no list.
    Ignored,
}

impl RunState {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Received,
        Self::Parsing,
        Self::Planned,
        Self::Waiting,
        Self::Allocating,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
        Self::TimedOut,
        Self::Lost,
        Self::Refused,
        Self::Ignored,
    ];

    /// The states that may follow.
    pub fn next(self) -> &'static [Self] {
        use RunState::*;
        match self {
            Received => &[Parsing, Failed, Cancelled, Lost, Refused],
            Parsing => &[
                Planned, Waiting, Failed, Cancelled, TimedOut, Lost, Refused, Ignored,
            ],
            // Without a machine: every job is skipped.
            Planned => &[
                Allocating, Waiting, Succeeded, Failed, Cancelled, Lost, Refused,
            ],
            // It is read and planned again when it goes on.
            Waiting => &[Parsing, Failed, Cancelled, Lost, Refused],
            // Back to planned: a restart of the runner takes the run up again at its jobs.
            Allocating => &[
                Running, Planned, Waiting, Failed, Cancelled, TimedOut, Lost, Refused,
            ],
            Running => &[
                Allocating, Planned, Waiting, Succeeded, Failed, Cancelled, TimedOut, Lost, Refused,
            ],
            Succeeded | Failed | Cancelled | TimedOut | Lost | Refused | Ignored => &[],
        }
    }

    /// Whether `next` may follow.
    pub fn may_become(self, next: Self) -> bool {
        self.next().contains(&next)
    }

    /// Whether it has ended.
    pub fn is_terminal(self) -> bool {
        self.next().is_empty()
    }

    /// Goes over to `next`.
    ///
    /// # Errors
    /// When it may not follow.
    pub fn become_state(self, next: Self) -> Result<Self, WrongTransition> {
        if self.may_become(next) {
            Ok(next)
        } else {
            Err(WrongTransition {
                from: self,
                to: next,
            })
        }
    }
}

/// A state that may not follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a run that is {from:?} cannot become {to:?}")]
pub struct WrongTransition {
    /// Where it is.
    pub from: RunState,
    /// What was asked.
    pub to: RunState,
}

/// How a step, a job or a run ended, as expressions see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// It did what it should.
    Success,
    /// It did not: an exit code, a timeout, a refusal.
    Failure,
    /// It was ended.
    Cancelled,
    /// It did not have to run.
    Skipped,
}

impl Conclusion {
    /// As `steps.x.outcome` and `needs.x.result` give it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }

    /// The conclusion of many: one failure counts most, then a cancellation; skipped only when all
    /// were.
    pub fn of_all(all: impl IntoIterator<Item = Self>) -> Self {
        let mut found = Self::Skipped;
        for one in all {
            found = match (found, one) {
                (Self::Failure, _) | (_, Self::Failure) => Self::Failure,
                (Self::Cancelled, _) | (_, Self::Cancelled) => Self::Cancelled,
                (Self::Success, _) | (_, Self::Success) => Self::Success,
                (Self::Skipped, Self::Skipped) => Self::Skipped,
            };
        }
        found
    }
}

/// How the process of a step ended: an exit code is never guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "ended", content = "code")]
pub enum StepEnd {
    /// It exited with this code.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// It took longer than it may.
    TimedOut,
    /// The run was cancelled.
    Cancelled,
    /// Its machine or agent went away.
    Lost,
    /// It could not be started, or its expressions have no value.
    Error,
    /// Its condition did not hold.
    Skipped,
}

impl StepEnd {
    /// `steps.x.outcome`: only exit code 0 is a success.
    pub fn outcome(self) -> Conclusion {
        match self {
            Self::Exited(0) => Conclusion::Success,
            Self::Skipped => Conclusion::Skipped,
            Self::Cancelled => Conclusion::Cancelled,
            Self::Exited(_) | Self::Signalled(_) | Self::TimedOut | Self::Lost | Self::Error => {
                Conclusion::Failure
            }
        }
    }

    /// `steps.x.conclusion`: a failure that may be is a success.
    pub fn conclusion(self, continue_on_error: bool) -> Conclusion {
        match self.outcome() {
            // A machine that went away does not go on, whatever the file says.
            Conclusion::Failure if continue_on_error && self != Self::Lost => Conclusion::Success,
            outcome => outcome,
        }
    }
}

/// How far a run has come, as those that follow it are told (`types` of `workflow_run`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunProgress {
    /// It is planned.
    Requested,
    /// A job of it runs.
    InProgress,
    /// It has ended.
    Completed,
}

impl RunProgress {
    /// All of them, in order.
    pub const ALL: [Self; 3] = [Self::Requested, Self::InProgress, Self::Completed];

    /// As `types` of `workflow_run` and `github.event.action` have it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }

    /// As `github.event.workflow_run.status` has it.
    #[must_use]
    pub fn status(self) -> &'static str {
        match self {
            Self::Requested => "queued",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }

    /// Whether a planned run in this state has come so far; that one is requested is not said of
    /// those that repeat another.
    #[must_use]
    pub fn is_reached(self, state: RunState, repeats: bool) -> bool {
        match self {
            Self::Requested => !repeats,
            Self::InProgress => state == RunState::Running,
            Self::Completed => state.is_terminal() && state != RunState::Ignored,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_ends_and_every_failure_can_be_named() {
        for state in RunState::ALL {
            assert_eq!(
                state.is_terminal(),
                state >= RunState::Succeeded,
                "{state:?}"
            );
            if !state.is_terminal() {
                for end in [
                    RunState::Failed,
                    RunState::Cancelled,
                    RunState::Lost,
                    RunState::Refused,
                ] {
                    assert_eq!(state.become_state(end), Ok(end), "{state:?}");
                }
            }
            assert!(
                !state.may_become(RunState::Received) && !state.may_become(state),
                "{state:?}"
            );
        }
        let wrong = RunState::Succeeded
            .become_state(RunState::Running)
            .unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "a run that is Succeeded cannot become Running"
        );
        assert!(!RunState::Received.may_become(RunState::Succeeded));
    }

    #[test]
    fn only_exit_code_zero_is_a_success() {
        for end in [
            StepEnd::Exited(1),
            StepEnd::Exited(-1),
            StepEnd::Signalled(9),
            StepEnd::TimedOut,
            StepEnd::Lost,
            StepEnd::Error,
        ] {
            assert_eq!(end.outcome(), Conclusion::Failure, "{end:?}");
        }
        assert_eq!(StepEnd::Exited(0).outcome(), Conclusion::Success);
        assert_eq!(StepEnd::Exited(3).conclusion(true), Conclusion::Success);
        assert_eq!(StepEnd::Lost.conclusion(true), Conclusion::Failure);
        assert_eq!(StepEnd::Cancelled.conclusion(true), Conclusion::Cancelled);
    }

    #[test]
    fn one_failure_decides_for_all() {
        use Conclusion::{Cancelled, Failure, Skipped, Success};
        assert_eq!(Conclusion::of_all([Success, Failure, Cancelled]), Failure);
        assert_eq!(Conclusion::of_all([Success, Cancelled, Skipped]), Cancelled);
        assert_eq!(Conclusion::of_all([Skipped, Success]), Success);
        assert_eq!(Conclusion::of_all([Skipped, Skipped]), Skipped);
    }
}
