//! What the runner of a job's steps keeps from one step to the next.

use tokio::sync::watch;
use tokio::time::Instant;

use super::checked_out::CheckedOutTree;
use super::checkpoint::{Checkpoints, DoneStep};

/// The step that runs, and what ends it.
pub(super) struct CurrentStep {
    /// Number of the step at the top level.
    pub(super) number: u32,
    /// Ends the step that this runner is for, where it runs beside others.
    pub(super) cancel: Option<watch::Receiver<bool>>,
    /// What runs now is not ended by the job's cancellation: it was decided on after it, or its
    /// condition holds then too.
    pub(super) outlives_cancel: bool,
    /// The same of the actions around it.
    pub(super) around_outlives: bool,
    /// When it, or an action around it, has to be done.
    pub(super) deadline: Option<Instant>,
    /// That it has begun is stored.
    pub(super) is_recorded: bool,
}

/// What steps have checked out, and what git in the machine uses for it.
#[derive(Clone)]
pub(super) struct JobCheckouts {
    /// What steps have checked out, the last one last.
    pub(super) trees: Vec<CheckedOutTree>,
    /// Folders of the machine with keys of checkouts.
    pub(super) keys: Vec<String>,
    /// What stands for the forge's token in the machine.
    pub(super) forge_token: Option<String>,
    /// git in the machine uses it, as a checkout leaves it there.
    pub(super) keeps_token: bool,
    /// The event's commit lies in the workspace from the start.
    pub(super) has_commit: bool,
}

/// Which steps are done, and what the job can go back to.
#[derive(Default)]
pub(super) struct JobHistory {
    /// How many steps it has, those of actions aside.
    pub(super) planned_steps: usize,
    /// The steps so far.
    pub(super) records: Vec<DoneStep>,
    /// What it can go back to.
    pub(super) checkpoints: Checkpoints,
}

impl Default for CurrentStep {
    /// None yet.
    fn default() -> Self {
        Self {
            number: 0,
            cancel: None,
            outlives_cancel: false,
            around_outlives: true,
            deadline: None,
            is_recorded: false,
        }
    }
}

impl CurrentStep {
    /// The step with this number, beside others; `cancel` ends it alone.
    pub(super) fn beside_others(number: u32, cancel: watch::Receiver<bool>) -> Self {
        Self {
            number,
            cancel: Some(cancel),
            ..Self::default()
        }
    }
}

impl JobCheckouts {
    /// Those of a job that begins.
    pub(super) fn new(forge_token: Option<String>) -> Self {
        Self {
            trees: Vec::new(),
            keys: Vec::new(),
            forge_token,
            keeps_token: true,
            has_commit: true,
        }
    }

    /// Those that a step beside others begins with; the job itself removes its keys.
    pub(super) fn fork(&self) -> Self {
        Self {
            keys: Vec::new(),
            ..self.clone()
        }
    }
}

impl JobHistory {
    /// That of a step beside others.
    pub(super) fn fork(&self) -> Self {
        Self {
            planned_steps: self.planned_steps,
            ..Self::default()
        }
    }
}
