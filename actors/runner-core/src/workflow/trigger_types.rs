//! What starts a workflow, and what it is given then: `on`, its events with their options, inputs.

use serde::Serialize;

use crate::event_kind::EventKind;
use crate::expr::ExprTemplate;
use crate::glob::GlobFilter;
use crate::source_location::{Located, SourceLocation};

/// What starts a workflow.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Triggers {
    /// `push`
    pub push: Option<PushTrigger>,
    /// `pull_request`
    pub pull_request: Option<PullRequestTrigger>,
    /// `workflow_dispatch`: its inputs.
    pub workflow_dispatch: Option<Vec<InputSpec>>,
    /// `workflow_call`: other workflows may call it.
    pub workflow_call: Option<CallTrigger>,
    /// `schedule`: when.
    pub schedule: Vec<Located<crate::schedule::Schedule>>,
    /// Other events that start it.
    pub events: Vec<EventTrigger>,
    /// Events that exist, but never start a run here.
    pub others: Vec<Located<String>>,
}

impl Triggers {
    /// The events that start it, but for calls of other workflows.
    pub fn kinds(&self) -> Vec<EventKind> {
        let has = |is: bool, kind: EventKind| is.then_some(kind);
        let usual = [
            has(self.push.is_some(), EventKind::Push),
            has(self.pull_request.is_some(), EventKind::PullRequest),
            has(
                self.workflow_dispatch.is_some(),
                EventKind::WorkflowDispatch,
            ),
            has(!self.schedule.is_empty(), EventKind::Schedule),
        ];
        let others = self.events.iter().map(|event| event.kind);
        usual.into_iter().flatten().chain(others).collect()
    }

    /// What an event that is neither a push nor a pull request starts it by.
    pub fn event(&self, kind: EventKind) -> Option<&EventTrigger> {
        self.events.iter().find(|trigger| trigger.kind == kind)
    }
}

/// `on.<event>` of an event that is neither a push nor a pull request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventTrigger {
    /// Which event.
    pub kind: EventKind,
    /// Which actions; empty is every one, of `pull_request_target` the three usual ones.
    pub types: Vec<String>,
    /// Which branches: those of the base, or of the run that `workflow_run` follows.
    pub branches: GlobFilter,
    /// Which changed files, of `pull_request_target`.
    pub paths: GlobFilter,
    /// Names of the workflows that `workflow_run` follows.
    pub workflows: Vec<String>,
}

impl EventTrigger {
    /// Without options.
    pub(super) fn new(kind: EventKind) -> Self {
        Self {
            kind,
            types: Vec::new(),
            branches: GlobFilter::All,
            paths: GlobFilter::All,
            workflows: Vec::new(),
        }
    }
}

/// `on.push`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct PushTrigger {
    /// Which branches.
    pub branches: GlobFilter,
    /// Which tags.
    pub tags: GlobFilter,
    /// Which changed files.
    pub paths: GlobFilter,
}

/// `on.pull_request`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct PullRequestTrigger {
    /// Which actions; empty is the default (opened, synchronize, reopened).
    pub types: Vec<String>,
    /// Which base branches.
    pub branches: GlobFilter,
    /// Which changed files.
    pub paths: GlobFilter,
}

/// `on.workflow_call`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct CallTrigger {
    /// What the caller gives.
    pub inputs: Vec<InputSpec>,
    /// Secrets the caller must give.
    pub secrets: Vec<SecretSpec>,
    /// What the caller gets.
    pub outputs: Vec<(String, ExprTemplate)>,
}

/// A secret a called workflow takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SecretSpec {
    /// Its name.
    pub name: String,
    /// Whether it must be given.
    pub required: bool,
}

/// An input of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InputSpec {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it may be.
    pub kind: InputKind,
    /// Whether it must be given.
    pub required: bool,
    /// Its value when it is not given.
    pub default: Option<ExprTemplate>,
    /// Where it was written.
    pub place: SourceLocation,
}

/// What an input may be.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    /// A text.
    Text,
    /// True or false.
    Boolean,
    /// A number.
    Number,
    /// One of these.
    Choice(Vec<String>),
    /// The name of an environment: a text.
    Environment,
}
