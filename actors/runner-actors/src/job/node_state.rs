//! What a job keeps of its JavaScript actions from one stage to the next.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use runner_core::plan::NodeAction;

use super::frame::ProcessOwner;

/// What a job knows of its JavaScript actions.
#[derive(Default)]
pub(super) struct NodeActions {
    /// What the machine has, as it was listed.
    pub(super) listing: Option<String>,
    /// Where the files of actions lie in the machine.
    pub(super) present: HashSet<String>,
    /// State by the slot of the action's step.
    pub(super) state: HashMap<usize, Vec<(String, String)>>,
    /// What runs after the steps, in the order in which it was met.
    pub(super) posts: Vec<PostStep>,
    /// Why a stage beside the steps failed the job, where nothing had failed before.
    pub(super) failure: Option<String>,
}

/// What runs after the job's steps.
pub(super) struct PostStep {
    pub(super) name: String,
    pub(super) action: NodeAction,
    pub(super) owner: ProcessOwner,
    pub(super) own: Vec<(String, String)>,
    pub(super) limit: Option<Duration>,
    /// Whether the job goes on when it fails.
    pub(super) forgiven: bool,
}
