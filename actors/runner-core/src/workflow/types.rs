//! A workflow file as it was written: checked, nothing evaluated, every part with its place.

use serde::Serialize;

use super::cache_mode::CacheMode;
use super::dialect::Dialect;
use super::environment::JobEnvironment;
use super::need::Need;
use super::permissions::Permissions;
use super::trigger_types::Triggers;
use crate::expr::{Data, DataKey, ExprTemplate, IfCondition};
use crate::source_location::{Located, SourceLocation};

/// Where workflows lie in a repository; the first that exists counts.
pub const WORKFLOW_DIRECTORIES: [&str; 3] = [
    ".forgejo/workflows",
    ".gitea/workflows",
    ".github/workflows",
];

/// A workflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Workflow {
    /// The file's path in the repository.
    pub file: Box<str>,
    /// Whose grammar it was read by.
    #[serde(skip)]
    pub dialect: Dialect,
    /// Its name, as it was written.
    pub name: Option<String>,
    /// What a run of it is called.
    pub run_name: Option<ExprTemplate>,
    /// What starts it.
    pub on: Triggers,
    /// Environment of every step.
    pub env: Env,
    /// Defaults of every `run` step.
    pub defaults: RunDefaults,
    /// Which runs exclude each other.
    pub concurrency: Option<Concurrency>,
    /// What its jobs may do that do not say it themselves.
    pub permissions: Option<Permissions>,
    /// The same with caches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_mode: Option<CacheMode>,
    /// The jobs, in the order of the file.
    pub jobs: Vec<Job>,
}

impl Workflow {
    /// Its name, or its file where it has none.
    pub fn display_name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.file)
    }

    /// A job by its id.
    pub fn job(&self, id: &str) -> Option<&Job> {
        self.jobs.iter().find(|job| job.id == id)
    }

    /// Leaves out every job but this one and those it needs; `false`: there is no such job.
    pub fn keep_only(&mut self, id: &str) -> bool {
        if self.job(id).is_none() {
            return false;
        }
        let mut kept = vec![id.to_owned()];
        let mut next = 0;
        while let Some(job) = kept.get(next).and_then(|id| self.job(id)) {
            let needs: Vec<String> = job.needs.iter().map(|need| need.value.clone()).collect();
            for need in needs {
                if !kept.contains(&need) {
                    kept.push(need);
                }
            }
            next += 1;
        }
        self.jobs.retain(|job| kept.contains(&job.id));
        true
    }
}

/// What a file asks for and is not done here: the job (or the run) is refused.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeatureRefusal {
    /// What: `services`, `container`, `uses: docker://…`.
    pub feature: String,
    /// Why, and what to do instead.
    pub reason: String,
    /// The file it is in.
    pub file: Box<str>,
    /// Where.
    pub place: SourceLocation,
    /// What is missing, for counts over many files.
    pub need: Need,
    /// What to add to the store of actions, where that is not what the file names: the commit that
    /// its lock file names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked: Option<String>,
}

impl FeatureRefusal {
    pub(crate) fn new(feature: &str, reason: &str, file: &str, place: SourceLocation) -> Self {
        Self {
            feature: feature.to_owned(),
            reason: reason.to_owned(),
            file: file.into(),
            place,
            need: Need::Feature,
            locked: None,
        }
    }

    /// For a line that a forge cuts off: what and why come before where.
    #[must_use]
    pub fn in_short(&self) -> String {
        let Self {
            feature,
            reason,
            file,
            place,
            ..
        } = self;
        format!("{feature}: {reason} ({file}:{place})")
    }

    /// With what is missing.
    #[must_use]
    pub(crate) fn needing(self, need: Need) -> Self {
        Self { need, ..self }
    }
}

impl std::fmt::Display for FeatureRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            feature,
            reason,
            file,
            place,
            need: _,
            locked: _,
        } = self;
        write!(f, "{file}:{place}: {feature} is not supported: {reason}")
    }
}

/// Environment variables: names and values, or one expression that gives an object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Env {
    /// Names and values, in order; names may hold expressions too, or add what the value gives.
    Map(Vec<(DataKey, ExprTemplate)>),
    /// An expression.
    Expr(ExprTemplate),
}

impl Default for Env {
    fn default() -> Self {
        Self::Map(Vec::new())
    }
}

/// `defaults.run`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct RunDefaults {
    /// The shell.
    pub shell: Option<ExprTemplate>,
    /// The directory, relative to the workspace.
    pub working_directory: Option<ExprTemplate>,
}

/// `concurrency`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Concurrency {
    /// Of one group only one runs.
    pub group: ExprTemplate,
    /// Whether a newer one ends the one that runs.
    pub cancel_in_progress: Option<ExprTemplate>,
    /// How many wait.
    pub queue: ConcurrencyQueue,
}

/// How many runs or jobs of a concurrency group wait while one runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConcurrencyQueue {
    /// One: a newer one takes its place.
    #[default]
    Single,
    /// Up to 100, the first one first; further ones are cancelled.
    Max,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Job {
    /// Its key.
    pub id: String,
    /// Where it was written.
    pub place: SourceLocation,
    /// Its name for people.
    pub name: Option<ExprTemplate>,
    /// Jobs that must have ended before.
    pub needs: Vec<Located<String>>,
    /// Whether it runs.
    pub condition: Option<IfCondition>,
    /// Its matrix.
    pub strategy: Option<Strategy>,
    /// Environment of its steps.
    pub env: Env,
    /// Defaults of its `run` steps.
    pub defaults: RunDefaults,
    /// What it deploys to.
    pub environment: Option<JobEnvironment>,
    /// Which runs of it exclude each other.
    pub concurrency: Option<Concurrency>,
    /// Whether the run goes on when it fails.
    pub continue_on_error: Option<ExprTemplate>,
    /// After how many minutes it is ended (360 when not given).
    pub timeout_minutes: Option<ExprTemplate>,
    /// What other jobs get from it.
    pub outputs: Vec<(String, ExprTemplate)>,
    /// The container that its steps run in.
    pub container: Option<Located<Data>>,
    /// The containers beside it, by name.
    pub services: Option<Located<Data>>,
    /// What it may do.
    pub permissions: Option<Permissions>,
    /// What it may do with caches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_mode: Option<CacheMode>,
    /// What it does.
    pub work: JobWork,
    /// What it asks for and is not done.
    pub refusals: Vec<FeatureRefusal>,
}

impl Job {
    /// Whether it has a matrix.
    pub fn has_matrix(&self) -> bool {
        let strategy = self.strategy.as_ref();
        strategy.is_some_and(|strategy| strategy.matrix.is_some())
    }
}

/// What a job does.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobWork {
    /// Steps on a machine.
    Steps {
        /// Labels of the machine.
        runs_on: Data,
        /// The steps.
        steps: Vec<Step>,
    },
    /// Another workflow.
    Call {
        /// Its path in the repository, or where else it is.
        uses: Located<String>,
        /// Its inputs.
        with: Vec<(String, ExprTemplate)>,
        /// Its secrets.
        secrets: CallSecrets,
    },
}

/// The secrets a called workflow gets.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallSecrets {
    /// All of the caller's.
    Inherit,
    /// These.
    Only(Vec<(String, ExprTemplate)>),
}

/// `strategy`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Strategy {
    /// `matrix`: a mapping, or an expression that gives one.
    pub matrix: Option<Data>,
    /// Where the matrix was written.
    pub place: SourceLocation,
    /// It is one expression, whose value may leave out each of these.
    #[serde(skip)]
    pub is_computed: bool,
    /// Whether one failure ends the others (true when not given).
    pub fail_fast: Option<ExprTemplate>,
    /// How many may run at once.
    pub max_parallel: Option<ExprTemplate>,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// Where it was written.
    pub place: SourceLocation,
    /// Its id, by which later steps refer to it.
    pub id: Option<String>,
    /// Its name for people.
    pub name: Option<ExprTemplate>,
    /// Whether it runs.
    pub condition: Option<IfCondition>,
    /// Environment of this step.
    pub env: Env,
    /// Whether the job goes on as if it had succeeded.
    pub continue_on_error: Option<ExprTemplate>,
    /// After how many minutes it is ended.
    pub timeout_minutes: Option<ExprTemplate>,
    /// Whether those after it begin before it has ended.
    pub background: bool,
    /// What it does.
    pub work: StepWork,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepWork {
    /// A script.
    Run {
        /// The script.
        script: ExprTemplate,
        /// The shell.
        shell: Option<ExprTemplate>,
        /// The directory, relative to the workspace.
        working_directory: Option<ExprTemplate>,
    },
    /// An action.
    Uses {
        /// Which.
        uses: Located<String>,
        /// The comment behind it, which tells the release of a commit: `v8.0.1`.
        #[serde(skip)]
        comment: Option<String>,
        /// Its inputs.
        with: Vec<(String, ExprTemplate)>,
    },
    /// Waits for steps in the background.
    Wait(WaitFor),
    /// Ends a step in the background, by its id.
    Cancel(Located<String>),
}

/// The background steps that a step waits for (`wait`, `wait-all`, `parallel`).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitFor {
    /// Those with these ids.
    Steps(Vec<Located<String>>),
    /// All that have not ended.
    All,
    /// So many before it: a group of `parallel`.
    Group(usize),
}
