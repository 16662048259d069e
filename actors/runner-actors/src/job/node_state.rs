//! What a job keeps of its JavaScript and Docker actions from one stage to the next.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use runner_core::expr::IfCondition;
use runner_core::plan::{DockerAction, NodeAction, PlannedStep};

use super::frame::{Frame, ProcessOwner};

/// What a job knows of its JavaScript and Docker actions.
#[derive(Clone, Default)]
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
#[derive(Clone)]
pub(super) struct PostStep {
    pub(super) name: String,
    pub(super) action: PostAction,
    pub(super) step: PlannedStep,
    /// The steps of the composite action that it stands among; none where it is the job's own.
    pub(super) within: Option<Frame>,
    /// What its step was started with.
    pub(super) input: StageInput,
}

impl PostStep {
    /// The steps that a step stands among, as far as they are to be kept.
    pub(super) fn kept_frame(frame: &Frame) -> Option<Frame> {
        frame.action_path.is_some().then(|| frame.clone())
    }

    /// What it sees at the end of the job, `frame`.
    pub(super) fn frame(&self, frame: &Frame) -> Frame {
        match &self.within {
            Some(within) => Frame {
                job_failed: frame.failed,
                ..within.clone()
            },
            None => frame.clone(),
        }
    }
}

/// An entry point and arguments.
pub(super) type ContainerArguments = (Option<String>, Vec<String>);

/// The action of something that runs after the job's steps.
#[derive(Clone)]
pub(super) enum PostAction {
    Node(NodeAction),
    Docker(DockerAction),
}

impl PostAction {
    fn slot(&self) -> usize {
        match self {
            Self::Node(action) => action.slot,
            Self::Docker(action) => action.slot,
        }
    }

    /// When it runs; nothing where it does not: the condition, if it has one.
    pub(super) fn condition(&self) -> Option<Option<&IfCondition>> {
        match self {
            Self::Node(action) => {
                let post = action.runs.post.as_ref();
                post.map(|post| post.condition.as_ref())
            }
            Self::Docker(action) => {
                let post = action.runs.post.as_ref();
                post.map(|post| post.condition.as_ref())
            }
        }
    }
}

impl NodeActions {
    /// Keeps what runs after the job, once for each step; what is evaluated later counts.
    pub(super) fn keep(&mut self, post: PostStep) {
        let slot = post.action.slot();
        let mut posts = self.posts.iter_mut();
        match posts.find(|known| known.action.slot() == slot) {
            Some(known) => *known = post,
            None => self.posts.push(post),
        }
    }
}

/// What a stage of an action is started with: evaluated when it is.
#[derive(Clone)]
pub(super) struct StageInput {
    pub(super) owner: ProcessOwner,
    /// The step's variables, then the inputs.
    pub(super) own: Vec<(String, String)>,
    pub(super) limit: Option<Duration>,
    /// Entry point and arguments of a container.
    pub(super) args: Option<ContainerArguments>,
}

/// Which part of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DockerStageKind {
    Pre,
    Main,
    Post,
}
