//! One agent as the configuration describes it.

use std::collections::BTreeMap;
use std::time::Duration;

use forge_core::{AgentName, Login, ProjectId};
use serde::{Deserialize, Serialize};

use super::post_kind::PostKind;

/// The machine of agents that name none.
pub const DEFAULT_MACHINE: &str = "default";

/// How urgent an agent's scheduled work is, and where it stands in the routing table.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum AgentLayer {
    /// Guards the fleet; goes before everything else.
    Safety,
    /// The usual work.
    #[default]
    Core,
    /// What can wait longest.
    Growth,
}

impl AgentLayer {
    /// The word of the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safety => "safety",
            Self::Core => "core",
            Self::Growth => "growth",
        }
    }
}

/// Which program an agent is, and so how it is started (the adapter).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentCli {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// opencode.
    Opencode,
    /// Gemini CLI.
    Gemini,
    /// aider.
    Aider,
    /// The browser agent: runs the files of `scenarios/` in a browser.
    Browser,
    /// A shell agent: `sh -eu -c <script>`; no prompt, the task is in `ORCH_*` variables.
    Sh {
        /// The script.
        script: String,
    },
    /// Any other program: an argument list in which `{prompt}`, `{prompt_file}`, `{model}` and
    /// `{workdir}` are replaced as whole arguments; nothing is given to a shell.
    Command {
        /// Program and arguments.
        argv: Vec<String>,
        /// How the prompt gets in.
        prompt_by: PromptBy,
    },
}

impl AgentCli {
    /// The word of the configuration (`cli = "…"`).
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
            Self::Aider => "aider",
            Self::Browser => "browser",
            Self::Sh { .. } => "sh",
            Self::Command { .. } => "command",
        }
    }

    /// The program that must be on `PATH` (or an absolute path), unless `program` of the agent says
    /// otherwise.
    pub fn program(&self) -> &str {
        match self {
            Self::Browser => "node",
            Self::Command { argv, .. } => argv.first().map_or("", String::as_str),
            other => other.as_str(),
        }
    }

    /// Whether a prompt is composed for it.
    pub fn takes_prompt(&self) -> bool {
        !matches!(self, Self::Sh { .. } | Self::Browser)
    }
}

/// How a generic program gets its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptBy {
    /// On standard input, which is then closed.
    #[default]
    Stdin,
    /// As the argument that says `{prompt}` (or the last one).
    Argv,
}

/// Where an agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorktreeMode {
    /// In the working directory of its project.
    #[default]
    None,
    /// In a worktree of its own, from the project's default branch.
    Base,
    /// In a worktree of its own, at the pull request's head where there is one, else at the base.
    Head,
}

impl WorktreeMode {
    /// The word of the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Base => "base",
            Self::Head => "head",
        }
    }
}

/// What becomes of a run that was under way when the orchestrator ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnRestart {
    /// It is over, with exit class `orchestrator_restart`.
    #[default]
    Drop,
    /// The same, and a new run of the same subject is queued.
    Requeue,
}

/// Resource limits of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentLimits {
    /// Wall-clock limit (`max_cpu_seconds`, `max_wall_seconds`).
    pub wall: Duration,
    /// Longest silence before the run counts as stalled; nothing: never.
    pub stall: Option<Duration>,
    /// Time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Most bytes of output kept (head and tail).
    pub output_bytes: u64,
    /// `memory.max` of its cgroup, in bytes.
    pub memory_bytes: Option<u64>,
    /// `pids.max` of its cgroup.
    pub processes: Option<u32>,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(1200),
            stall: None,
            grace: Duration::from_secs(5),
            output_bytes: 8 << 20,
            memory_bytes: None,
            processes: None,
        }
    }
}

/// What an agent may cost in one calendar month (UTC).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentBudget {
    /// Most hundredths of the account's currency.
    pub cents: Option<u64>,
    /// Most runs.
    pub runs: Option<u64>,
    /// What a run counts when its result names no cost.
    pub cents_per_run: u64,
}

impl AgentBudget {
    /// Whether anything is limited.
    pub fn is_limited(&self) -> bool {
        self.cents.is_some() || self.runs.is_some()
    }
}

/// When an agent starts by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSchedule {
    /// The cron expression as written (five or six fields).
    pub expression: String,
    /// IANA name of the time zone it is read in.
    pub time_zone: String,
    /// The same, to be asked when it is due.
    pub due: super::schedule::DueTimes,
}

/// How far a run is kept apart from the host beyond its process group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentIsolation {
    /// The strongest level that the host allows; the run's record names it.
    #[default]
    Auto,
    /// As `auto`, and without a writable cgroup v2 the run is refused.
    Cgroup,
    /// Bubblewrap: own processes, and the orchestrator's files out of sight. Without it the run is
    /// refused.
    Sandbox,
    /// A VM of a host of `[vm_hosts]`; the agent sees nothing of the orchestrator's machine.
    Vm,
    /// A process of the orchestrator's user like any other.
    None,
}

/// One agent, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSpec {
    /// Its name, as in `@orch:<name>`.
    pub name: AgentName,
    /// The project it belongs to.
    pub project: ProjectId,
    /// One sentence for people.
    pub description: String,
    /// Its layer.
    pub layer: AgentLayer,
    /// Whether it may start at all.
    pub enabled: bool,
    /// Which program it is.
    pub cli: AgentCli,
    /// The program's path, in place of the adapter's own name on `PATH`.
    pub program: Option<String>,
    /// Further arguments, given to the adapter's program before the prompt.
    pub args: Vec<String>,
    /// The provider its circuit breaker is about; absent for shell agents.
    pub provider: Option<String>,
    /// The model, as its CLI writes it.
    pub model: Option<String>,
    /// What it is told to do; in a prompt it stands before the context of the event.
    pub task: String,
    /// The persona, by name.
    pub persona: Option<String>,
    /// Skills, by folder name.
    pub skills: Vec<String>,
    /// When it starts by itself.
    pub schedule: Option<AgentSchedule>,
    /// Whether `@orch:<name>` starts it.
    pub mentionable: bool,
    /// Who may start it by mention; empty: whom the project allows.
    pub allow: Vec<Login>,
    /// Further projects in which it can be named, by id.
    pub extra_projects: Vec<ProjectId>,
    /// How many of its runs may go on at a time.
    pub max_parallel: u32,
    /// Resource limits of a run.
    pub limits: AgentLimits,
    /// What it may cost.
    pub budget: AgentBudget,
    /// Where it works.
    pub worktree: WorktreeMode,
    /// After a restart of the orchestrator.
    pub on_restart: OnRestart,
    /// How it is kept apart.
    pub isolation: AgentIsolation,
    /// With [`AgentIsolation::Vm`]: the entry of `[machines]`; `default` unless given.
    pub machine: Option<String>,
    /// Whether its output is posted as a comment on the issue it was asked in.
    pub comment: bool,
    /// Whether a check's verdict is its `orch-result` block (`verdict = "block"`) rather than its
    /// exit status. Of an agent with a prompt a block that is printed counts either way.
    pub verdict_block: bool,
    /// What of its output stays alive when it is posted (`allow_in_posts`); empty: nothing.
    pub allow_in_posts: Vec<PostKind>,
    /// Variables of the orchestrator's environment it inherits, beside the fixed allow-list.
    pub pass_env: Vec<String>,
    /// Variables it gets. Values are not shown anywhere.
    pub env: BTreeMap<String, config_core::Secret<String>>,
}

impl AgentSpec {
    /// Whether it can be named in comments of `project`.
    pub fn serves(&self, project: &ProjectId) -> bool {
        self.project == *project || self.extra_projects.contains(project)
    }

    /// Whether an `orch-result` block in its output can be a verdict: always where a prompt asks
    /// for one, else only where the configuration does (what a script runs may print anything).
    pub fn reads_blocks(&self) -> bool {
        self.verdict_block || self.cli.takes_prompt()
    }

    /// Whether the nonce of a run is handed over as `ORCH_RESULT_NONCE`: to a script that has to
    /// print a block and has no prompt to read it in.
    pub fn needs_nonce_variable(&self) -> bool {
        self.verdict_block && !self.cli.takes_prompt()
    }
}
