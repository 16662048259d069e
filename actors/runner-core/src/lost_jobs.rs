//! Whether a job that was lost runs again by itself, and whether a run goes on that nobody drives
//! any more. No clock, no VMs.

use crate::state::RunState;

/// The variable of a workflow or a job, in its `env`, that says how often.
pub const RERUN_VARIABLE: &str = "ORRERY_RERUN_LOST";
/// The most that anybody may say.
pub const MAX_RERUNS: u32 = 5;
/// So often at least a job runs again of which no step had begun: nothing of it has happened yet.
pub const UNBEGUN_RERUNS: u32 = 2;

/// A run is taken up so often that may have ended the runner; one that brings it down each time is
/// lost then.
pub const MAX_RECOVERIES: u64 = 3;

/// A run that is taken up again: the runner was ended, or what drives the run crashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndrivenRun {
    /// Where it was.
    pub state: RunState,
    /// What drives it crashed by itself.
    pub has_crashed: bool,
    /// A job of it had been asked a machine for.
    pub has_jobs: bool,
    /// A job of it had a machine.
    pub had_machine: bool,
}

impl UndrivenRun {
    /// Whether the run may be why the runner ended. One that had not been looked at, or whose jobs
    /// waited for their turn and their machines, did nothing: it is not lost, however often the
    /// runner is started again.
    #[must_use]
    pub fn may_be_the_cause(self) -> bool {
        match self.state {
            _ if self.has_crashed => true,
            RunState::Received | RunState::Waiting => false,
            RunState::Planned | RunState::Allocating => self.had_machine || !self.has_jobs,
            _ => true,
        }
    }
}

/// What is known of a job that was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostJob {
    /// It had a machine. Without one it has waited as long as jobs wait.
    pub had_machine: bool,
    /// A step of it has begun.
    pub has_steps: bool,
    /// Attempts of it that were lost before this one.
    pub lost_before: u32,
    /// How often it may run again.
    pub reruns: u32,
}

impl LostJob {
    /// How many attempts it has in all, if another one follows.
    #[must_use]
    pub fn attempts(self) -> Option<u32> {
        let reruns = if self.has_steps {
            self.reruns
        } else {
            self.reruns.max(UNBEGUN_RERUNS)
        };
        (self.had_machine && self.lost_before < reruns).then_some(reruns + 1)
    }
}

/// How often a lost job runs again, as a variable says it.
///
/// # Errors
/// What is wrong with the text.
pub fn parse_reruns(text: &str) -> Result<u32, String> {
    let number = text.trim().parse().ok();
    number
        .filter(|number| *number <= MAX_RERUNS)
        .ok_or_else(|| {
            format!("{RERUN_VARIABLE} is `{text}`; it says how often a lost job runs again, 0 to {MAX_RERUNS}")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_a_lost_job_runs_again_as_often_as_it_may_and_always_before_its_first_step() {
        // had a machine, began, lost before, reruns: attempts in all.
        let table = [
            ((true, true, 0, 0), None),
            ((true, true, 0, 1), Some(2)),
            ((true, true, 1, 1), None),
            ((true, true, 4, 5), Some(6)),
            ((true, true, 5, 5), None),
            ((true, false, 0, 0), Some(3)),
            ((true, false, 1, 0), Some(3)),
            ((true, false, 2, 0), None),
            ((true, false, 2, 3), Some(4)),
            ((false, false, 0, 5), None),
        ];
        for ((had_machine, has_steps, lost_before, reruns), expected) in table {
            let job = LostJob {
                had_machine,
                has_steps,
                lost_before,
                reruns,
            };
            assert_eq!(job.attempts(), expected, "{job:?}");
        }
    }

    #[test]
    fn i17_a_run_that_did_nothing_is_not_why_the_runner_ended() {
        use RunState::{Allocating, Parsing, Planned, Received, Running, Waiting};
        // state, has jobs, one had a machine: it may be the cause.
        let table = [
            (Received, false, false, false),
            (Parsing, false, false, true),
            // Its files are laid out.
            (Planned, false, false, true),
            (Planned, true, false, false),
            (Allocating, true, false, false),
            (Allocating, true, true, true),
            (Running, true, true, true),
            (Waiting, true, false, false),
            (Waiting, true, true, false),
        ];
        for (state, has_jobs, had_machine, expected) in table {
            let run = UndrivenRun {
                state,
                has_crashed: false,
                has_jobs,
                had_machine,
            };
            assert_eq!(run.may_be_the_cause(), expected, "{run:?}");
            let crashed = UndrivenRun {
                has_crashed: true,
                ..run
            };
            assert!(crashed.may_be_the_cause(), "{crashed:?}");
        }
    }

    #[test]
    fn i17_how_often_is_a_small_number() {
        assert_eq!(parse_reruns("0"), Ok(0));
        assert_eq!(parse_reruns(" 5 "), Ok(5));
        for wrong in ["6", "-1", "often", "", "1.5", "99999999999"] {
            assert!(
                parse_reruns(wrong).unwrap_err().contains("0 to 5"),
                "{wrong}"
            );
        }
    }
}
