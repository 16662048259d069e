//! What a run will do: jobs, what they need, their steps, and what is refused.

use serde::Serialize;

use super::locked_uses::LockedUses;
use crate::actions::{ActionReference, LockedAction};
use crate::context::{OWN_DIRECTORY, WORKSPACE};
use crate::expr::{ExprTemplate, ExprValue, IfCondition};
use crate::source_location::SourceLocation;
use crate::workflow::{
    CacheMode, CallSecrets, ConcurrencyQueue, Dialect, DockerRuns, Env, FeatureRefusal, Job,
    NodeRuns, Permissions, RunDefaults, Workflow,
};

/// What a run will do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// The workflow and those it calls; each job says by index which it is from.
    #[serde(skip)]
    pub workflows: Vec<CalledWorkflow>,
    /// The run's name.
    pub name: String,
    /// The concurrency group, and whether a newer run ends this one.
    pub concurrency: Option<ConcurrencyGroup>,
    /// The jobs: those that call others stand before what they call.
    pub jobs: Vec<PlannedJob>,
}

/// A concurrency group with its expressions evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConcurrencyGroup {
    /// Its name; case does not matter.
    pub name: String,
    /// Whether a newer run ends the one that runs.
    pub cancel_in_progress: bool,
    /// How many wait.
    pub queue: ConcurrencyQueue,
}

/// A workflow in a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct CalledWorkflow {
    /// What it says.
    pub workflow: Workflow,
    /// The job (index into [`Plan::jobs`]) that calls it; nothing for the one that was started.
    pub caller: Option<usize>,
    /// For which copy of that job's matrix; 0 without a matrix.
    pub copy: usize,
    /// The repository it is of, when that is not the commit's: `./` and `$/` of its jobs lead
    /// there.
    pub origin: Option<StoredLocation>,
}

/// A job of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedJob {
    /// Unique in the plan: `build`, or `call/build` in a called workflow.
    pub key: String,
    /// The workflow it is from: index into [`Plan::workflows`].
    pub workflow: usize,
    /// What the file says of it.
    #[serde(skip)]
    pub job: Job,
    /// The keys of the jobs it needs.
    pub needs: Vec<String>,
    /// What it does.
    pub work: PlannedWork,
    /// Its copies, one per combination of its matrix (one without a matrix).
    pub instances: Instances,
    /// Whether it may have identity tokens.
    pub id_token: bool,
    /// What its token of the forge may do.
    pub permissions: Permissions,
    /// What it may do with caches.
    pub cache_mode: CacheMode,
    /// It asks for that token: what is said where a runner has none to give.
    pub token: Option<FeatureRefusal>,
    /// The same of defaults of actions, which are empty there.
    pub token_defaults: Vec<String>,
    /// Why it is refused, if it is: it must not run, and counts as failed.
    pub refusals: Vec<FeatureRefusal>,
    /// What is different from elsewhere, or missing, and no reason to refuse it.
    pub notes: Vec<String>,
    /// The releases of tools that its steps want, for those who ask before the run: the step itself
    /// says what it got.
    #[serde(skip)]
    pub setups: Vec<super::PlannedSetup>,
    /// The images that its scripts name: the machine gets those that the runner has or may fetch.
    #[serde(skip)]
    pub script_images: Vec<String>,
    /// Mistakes that only the files show which it uses: actions, called workflows.
    #[serde(skip)]
    pub findings: Vec<PlanFinding>,
}

/// A mistake in what a job makes of an action or a workflow that it uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanFinding {
    /// The file.
    pub file: String,
    /// Where.
    pub place: SourceLocation,
    /// What.
    pub message: String,
    /// What was meant, or what there is.
    pub help: String,
}

impl PlannedJob {
    /// Its id in its own workflow.
    pub fn id(&self) -> &str {
        &self.job.id
    }
}

/// What a job of a plan does.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannedWork {
    /// Steps on a machine.
    Steps(Vec<PlannedStep>),
    /// Another workflow: its jobs are jobs of the plan.
    Call {
        /// Indexes into [`Plan::workflows`], one for each copy of the job's matrix.
        workflows: Vec<usize>,
        /// What is called, while the copies are not known: their matrix is made of outputs of other
        /// jobs.
        #[serde(skip)]
        later: Option<Box<CallTemplate>>,
        /// The inputs it is given.
        with: Vec<(String, ExprTemplate)>,
        /// The secrets it is given.
        secrets: CallSecrets,
    },
}

/// The jobs of a called workflow whose caller's copies are not known yet, with indexes of their
/// own: workflow 0 is the one that is called.
#[derive(Debug, Clone, PartialEq)]
pub struct CallTemplate {
    pub(super) jobs: Vec<PlannedJob>,
    /// The caller of the first is the job that has the template.
    pub(super) workflows: Vec<CalledWorkflow>,
}

/// The copies of a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Instances {
    /// These.
    Known(Vec<JobInstance>),
    /// Known when the jobs it needs have ended: its matrix is made of their outputs.
    Later,
}

/// One copy of a job: what runs on one machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobInstance {
    /// Its name for people, unique among the job's copies: `build (1, ubuntu-latest)`.
    pub name: String,
    /// Its values: the context `matrix`.
    pub matrix: ExprValue,
    /// Which one it is, from 0.
    pub index: usize,
    /// How many there are.
    pub total: usize,
    /// Labels of its machine.
    pub runs_on: Vec<String>,
    /// The group of machines that it is taken from, where one is named.
    pub machine_group: Option<String>,
    /// Whether one failure ends the others.
    pub fail_fast: bool,
    /// How many may run at once.
    pub max_parallel: Option<usize>,
    /// After how many minutes it is ended.
    pub timeout_minutes: f64,
    /// Whether the run goes on when it fails.
    pub continue_on_error: bool,
    /// Its concurrency group.
    pub concurrency: Option<ConcurrencyGroup>,
    /// The environment it deploys to or has secrets of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<InstanceEnvironment>,
}

/// An environment with its expressions evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InstanceEnvironment {
    /// Its name; case does not matter.
    pub name: String,
    /// Whether the job deploys to it, or only has its secrets and variables.
    pub deployment: bool,
}

impl JobInstance {
    /// The context `strategy`.
    pub fn strategy(&self) -> ExprValue {
        let count =
            |number: usize| ExprValue::Number(u32::try_from(number).unwrap_or(u32::MAX).into());
        ExprValue::object([
            ("fail-fast", self.fail_fast.into()),
            ("job-index", count(self.index)),
            ("job-total", count(self.total)),
            (
                "max-parallel",
                count(self.max_parallel.unwrap_or(self.total)),
            ),
        ])
    }
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedStep {
    /// Its id in the file, by which expressions refer to it.
    pub id: Option<String>,
    /// Its id, or what stands for one: `__run`, `__run_2`, `__actions_checkout`
    /// (`github.action`).
    pub action_name: String,
    /// Its name as written.
    pub name: Option<ExprTemplate>,
    /// Where it was written.
    pub place: SourceLocation,
    /// Whether it runs.
    pub condition: Option<IfCondition>,
    /// Its environment.
    #[serde(skip)]
    pub env: Env,
    /// Whether the job goes on as if it had succeeded.
    pub continue_on_error: Option<ExprTemplate>,
    /// After how many minutes it is ended.
    pub timeout_minutes: Option<ExprTemplate>,
    /// Whether those after it begin before it has ended.
    pub background: bool,
    /// What it does.
    pub work: StepKind,
}

/// What a step of a plan does.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A script.
    Run {
        /// The script.
        script: ExprTemplate,
        /// The shell; none is the job's default, then the workflow's, then `bash -e`.
        shell: Option<ExprTemplate>,
        /// The directory; none is the job's default, then the workflow's, then the workspace.
        working_directory: Option<ExprTemplate>,
    },
    /// An action done by the runner itself.
    Native {
        /// Which.
        action: super::NativeAction,
        /// As written.
        uses: String,
        /// The same with the release that the comment behind a commit tells, else with the newest
        /// one in its place: what differs between releases is done by it.
        #[serde(skip)]
        release: String,
        /// Its inputs as written.
        with: Vec<(String, ExprTemplate)>,
        /// The original of one that sets a tool up, for what the image of the machine has not.
        #[serde(skip)]
        original: Option<Box<DeferredAction>>,
    },
    /// A composite action.
    Composite(Box<Composite>),
    /// A JavaScript action.
    Node(Box<NodeAction>),
    /// A container.
    Docker(Box<DockerAction>),
    /// An action of the workspace that an earlier step may put there: read when its step runs.
    Deferred(Box<DeferredAction>),
    /// Waits for steps in the background, by their places among those of the job.
    Wait(Vec<usize>),
    /// Waits for all of them.
    WaitAll,
    /// Ends a step in the background, by its place.
    Cancel(usize),
    /// Something that is not done here; its job is refused.
    Refused {
        /// As written.
        uses: String,
    },
}

impl StepKind {
    /// What it uses, as written; nothing where it runs a script or waits.
    pub fn uses(&self) -> Option<&str> {
        match self {
            Self::Native { uses, .. } | Self::Refused { uses } => Some(uses),
            Self::Composite(action) => Some(&action.uses),
            Self::Node(action) => Some(&action.uses),
            Self::Docker(action) => Some(&action.uses),
            Self::Deferred(action) => Some(&action.uses),
            Self::Run { .. } | Self::Wait(_) | Self::WaitAll | Self::Cancel(_) => None,
        }
    }
}

/// A composite action in a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Composite {
    /// As written: `./.github/actions/x`, `owner/repo/x@v1`.
    pub uses: String,
    /// It planned anew, where the workspace has another action than the commit when its step runs.
    #[serde(skip)]
    pub again: Option<Box<DeferredAction>>,
    /// Which repository it is of.
    pub location: ActionLocation,
    /// Its directory in that repository.
    pub directory: String,
    /// Its inputs: what was given, else the default.
    pub inputs: Vec<(String, Option<ExprTemplate>)>,
    /// Its steps, with contexts `inputs` and `steps` of their own.
    pub steps: Vec<PlannedStep>,
    /// What it gives: evaluated over its own `steps`.
    pub outputs: Vec<(String, ExprTemplate)>,
}

/// An action that is planned when its step runs: one of the workspace that the commit does not
/// have, or the original of a native one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeferredAction {
    /// As written: `./tools/lint`.
    pub uses: String,
    /// The file that uses it.
    pub file: String,
    /// Whose grammar that file has.
    #[serde(skip)]
    pub dialect: Dialect,
    /// Where in that file.
    pub place: SourceLocation,
    /// Its inputs as written.
    #[serde(skip)]
    pub with: Vec<(String, ExprTemplate)>,
    /// How many actions are around it.
    pub depth: usize,
    /// What the lock file of the workflow says of what it uses.
    #[serde(skip)]
    pub locked: LockedUses,
    /// It is that of a native action, which the image of the machine cannot do.
    #[serde(skip)]
    pub original: bool,
}

/// A JavaScript action in a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeAction {
    /// As written.
    pub uses: String,
    /// It planned anew, where the workspace has another action than the commit when its step runs.
    #[serde(skip)]
    pub again: Option<Box<DeferredAction>>,
    /// Which repository it is of.
    pub location: ActionLocation,
    /// Its directory in that repository.
    pub directory: String,
    /// Which step of the job it is: its state and what runs after the job are kept by it.
    pub slot: usize,
    /// What it runs.
    pub runs: NodeRuns,
    /// Its inputs: what was given, else the default; then what was given and is not declared.
    pub inputs: Vec<(String, Option<ExprTemplate>)>,
}

/// A container that is a step: `docker://image`, or an action that runs in one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DockerAction {
    /// As written.
    pub uses: String,
    /// Which repository it is of; nothing for `docker://image`.
    pub location: Option<ActionLocation>,
    /// Its directory in that repository.
    pub directory: String,
    /// Which step of the job it is: its state and what runs after the job are kept by it.
    pub slot: usize,
    /// What it runs.
    pub runs: DockerRuns,
    /// Its inputs: what was given, else the default; then what was given and is not declared.
    pub inputs: Vec<(String, Option<ExprTemplate>)>,
    /// The images that must be there: its own, or those that its Dockerfile builds on.
    pub images: Vec<String>,
}

/// The repository that an action's files are of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionLocation {
    /// That of the workflow: its files are in the workspace.
    Workspace,
    /// Another one: its files come from the store of actions, before the first step.
    Stored(Box<StoredLocation>),
}

/// A repository of the store of actions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoredLocation {
    /// `owner/repo`, as written: `github.action_repository`.
    pub repository: String,
    /// The tag, branch or commit, as written: `github.action_ref`.
    pub reference: String,
    /// What it is locked to.
    pub locked: LockedAction,
}

impl StoredLocation {
    /// Of what a reference is locked to.
    pub(crate) fn new(reference: &ActionReference, locked: LockedAction) -> Self {
        Self {
            repository: reference.repository().to_string(),
            reference: reference.reference().to_owned(),
            locked,
        }
    }

    /// Where the repository's files are in the machine.
    pub fn top(&self) -> String {
        format!(
            "{OWN_DIRECTORY}/actions/{}/{}",
            self.repository, self.locked.commit
        )
    }
}

impl ActionLocation {
    /// Where a directory of the repository is in the machine: `github.action_path`.
    pub fn path(&self, directory: &str) -> String {
        let top = match self {
            Self::Workspace => WORKSPACE.to_owned(),
            Self::Stored(location) => location.top(),
        };
        let directory = directory.trim_start_matches("./");
        if directory.is_empty() {
            top
        } else {
            format!("{top}/{directory}")
        }
    }

    /// The repository and the version of an action that is not the workflow's own.
    pub fn stored(&self) -> Option<&StoredLocation> {
        match self {
            Self::Workspace => None,
            Self::Stored(location) => Some(location),
        }
    }
}

/// Defaults that hold for a step: the job's before the workflow's.
pub fn run_defaults<'a>(
    job: &'a RunDefaults,
    workflow: &'a RunDefaults,
) -> (Option<&'a ExprTemplate>, Option<&'a ExprTemplate>) {
    (
        job.shell.as_ref().or(workflow.shell.as_ref()),
        job.working_directory
            .as_ref()
            .or(workflow.working_directory.as_ref()),
    )
}
