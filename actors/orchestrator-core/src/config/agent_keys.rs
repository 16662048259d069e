//! The keys of an agent, one row each. Rows without a place in [`AgentSpec`] are read by code:
//! other keys and other files decide about them.

use std::collections::BTreeMap;

use config_core::{
    BOOLEAN, Choices, ObjectFields, SECRET, TextKind, ValueError, choice, integer, list, map_of,
    opt, table,
};
use forge_core::{AgentName, ProjectId};

use super::agent::{
    AgentBudget, AgentCli, AgentIsolation, AgentLayer, AgentLimits, AgentSpec, OnRestart, PromptBy,
    WorktreeMode,
};
use super::post_kind::PostKind;
use super::values::{LOGINS, LONG_TEXT, VARIABLE, id_kind, seconds, variable};

/// Longest wall-clock limit, in seconds: a week.
const MAX_WALL: i64 = 604_800;
const MOST_BYTES: i64 = 1 << 42;
const MOST_CENTS: i64 = 1_000_000_000;

/// The words of `cli`. Some programs are made of further keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CliWord {
    Claude,
    Codex,
    Opencode,
    Gemini,
    Aider,
    Browser,
    Sh,
    Command,
}

pub(super) const CLIS: &Choices<CliWord> = &[
    ("claude", CliWord::Claude),
    ("codex", CliWord::Codex),
    ("opencode", CliWord::Opencode),
    ("gemini", CliWord::Gemini),
    ("aider", CliWord::Aider),
    ("browser", CliWord::Browser),
    ("sh", CliWord::Sh),
    ("command", CliWord::Command),
];
pub(super) const PROMPTS: &Choices<PromptBy> =
    &[("stdin", PromptBy::Stdin), ("argv", PromptBy::Argv)];
const LAYERS: &Choices<AgentLayer> = &[
    ("safety", AgentLayer::Safety),
    ("core", AgentLayer::Core),
    ("growth", AgentLayer::Growth),
    ("Safety", AgentLayer::Safety),
    ("Core", AgentLayer::Core),
    ("Growth", AgentLayer::Growth),
];
const WORKTREES: &Choices<WorktreeMode> = &[
    ("none", WorktreeMode::None),
    ("base", WorktreeMode::Base),
    ("head", WorktreeMode::Head),
];
const RESTARTS: &Choices<OnRestart> = &[("drop", OnRestart::Drop), ("requeue", OnRestart::Requeue)];
const ISOLATIONS: &Choices<AgentIsolation> = &[
    ("auto", AgentIsolation::Auto),
    ("cgroup", AgentIsolation::Cgroup),
    ("sandbox", AgentIsolation::Sandbox),
    ("vm", AgentIsolation::Vm),
    ("none", AgentIsolation::None),
];
const VERDICTS: &Choices<bool> = &[("exit", false), ("block", true)];

table! {
    /// An agent.
    pub(super) static AGENT: AgentSpec = "an agent" {
        /// its name, as in `@orch:<name>`
        "name" (required) = id_kind::<AgentName>();
        /// the project it belongs to
        "project" (documented_default "that of the file") = id_kind::<ProjectId>();
        /// one sentence for people
        "description" = TextKind::STRING => description;
        /// how urgent its scheduled work is
        "layer" = choice("layer", LAYERS) => layer;
        /// whether it may start at all
        "enabled" = BOOLEAN => enabled;
        /// which program it is
        "cli" (required) = choice("agent program", CLIS);
        /// the arguments of `cli = "command"`: `{prompt}`, `{prompt_file}`, `{model}` and
        /// `{workdir}` are replaced
        "command" = list(LONG_TEXT);
        /// the script of `cli = "sh"`
        "script" = LONG_TEXT;
        /// how `cli = "command"` gets its prompt
        "prompt_by" (documented_default "stdin") = choice("way of prompting", PROMPTS);
        /// the program's path, in place of its name on `PATH`
        "program" = opt(TextKind::STRING) => program;
        /// the provider that its circuit breaker is about
        "provider" = opt(TextKind::STRING) => provider;
        /// the model, as its program writes it
        "model" = opt(TextKind::STRING) => model;
        /// what it is told to do; only `sh`, `command` and `browser` need none
        "task" = LONG_TEXT => task;
        /// the persona, by name
        "persona" = TextKind::STRING;
        /// skills, by folder name
        "skills" = list(TextKind::STRING);
        /// when it starts by itself: cron with five or six fields
        "schedule" = TextKind::STRING;
        /// the time zone of `schedule`
        "time_zone" (documented_default "UTC") = TextKind::STRING;
        /// whether `@orch:<name>` starts it
        "mentionable" = BOOLEAN => mentionable;
        /// who may start it by mention
        "allow" (documented_default "as the project") = LOGINS => allow;
        /// further projects in which it can be named
        "extra_projects" = list(id_kind::<ProjectId>());
        /// how many of its runs may go on at a time
        "max_parallel" = integer(1..=1000) => max_parallel;
        /// wall-clock limit in seconds
        "max_cpu_seconds" = seconds(1, MAX_WALL) => limits.wall;
        /// the same limit by another name
        "max_wall_seconds" = seconds(1, MAX_WALL) => limits.wall;
        /// longest silence in seconds
        "stall_seconds" = opt(seconds(1, MAX_WALL)) => limits.stall;
        /// time between SIGTERM and SIGKILL in seconds
        "grace_seconds" = seconds(0, 300) => limits.grace;
        /// most bytes of output kept, head and tail
        "max_output_bytes" = integer(4096..=MOST_BYTES) => limits.output_bytes;
        /// memory of a run
        "max_memory_bytes" (documented_default "4 GiB") = opt(integer(1 << 20..=MOST_BYTES)) => limits.memory_bytes;
        /// processes of a run
        "max_processes" (documented_default "512") = opt(integer(1..=100_000)) => limits.processes;
        /// what it may cost in a month, in hundredths; 80 percent warns, 100 percent stops
        "budget_monthly_cents" = opt(integer(0..=MOST_CENTS)) => budget.cents;
        /// how often it may run in a month
        "budget_monthly_runs" = opt(integer(0..=MOST_CENTS)) => budget.runs;
        /// what a run counts when its result names no cost
        "cost_cents_per_run" = integer(0..=MOST_CENTS) => budget.cents_per_run;
        /// where it works: the project's folder, a worktree of the default branch, or one of the
        /// pull request's head
        "worktree" = choice("worktree mode", WORKTREES) => worktree;
        /// what becomes of its run when the orchestrator restarts
        "on_restart" = choice("restart rule", RESTARTS) => on_restart;
        /// how it is kept apart ([SECURITY.md](SECURITY.md#agents))
        "isolation" = choice("isolation", ISOLATIONS) => isolation;
        /// with `isolation = "vm"`: the entry of `[machines]` that its VM is made by
        "machine" (documented_default "default") = opt(TextKind::STRING) => machine;
        /// whether its output is posted
        "comment" = BOOLEAN => comment;
        /// variables that it inherits
        "pass_env" = list(VARIABLE) => pass_env;
        /// variables that it gets
        "env" = map_of(variable, SECRET) => env;
        /// further arguments of its program, before the prompt
        "args" = list(LONG_TEXT) => args;
        /// `block`: its status is its `orch-result` block
        "verdict" = choice("kind of verdict", VERDICTS) => verdict_block;
        /// what stays alive in posted output
        "allow_in_posts" = list(choice("kind of content", &PostKind::WORDS)) => allow_in_posts;
    } then check;
}

/// What is wrong only together.
fn check(fields: &ObjectFields<'_>, _: &mut AgentSpec) {
    if fields.contains("max_cpu_seconds") && fields.contains("max_wall_seconds") {
        let error = ValueError::new("`max_cpu_seconds` and `max_wall_seconds` are the same limit");
        let error = error.help("both are wall-clock time; keep one");
        fields.error_at("max_wall_seconds", error);
    }
    if fields.contains("cost_cents_per_run") && fields.is_absent("budget_monthly_cents") {
        let message = "`cost_cents_per_run` has no effect without `budget_monthly_cents`";
        fields.error_at("cost_cents_per_run", message);
    }
    let program = fields.optional("cli", |item| item.peek());
    if fields.is_absent("task") && !matches!(program, Some("sh" | "command" | "browser")) {
        fields.error(
            ValueError::new("missing key `task` in an agent").help(
                "say what the agent is to do; shell agents, commands and the browser need none",
            ),
        );
    }
}

/// An agent with every default; its name, project and program are replaced by what was read.
pub(super) fn blank_agent() -> AgentSpec {
    AgentSpec {
        name: "unnamed".parse().expect("it is a name"),
        project: "unnamed".parse().expect("it is an id"),
        description: String::new(),
        layer: AgentLayer::default(),
        enabled: true,
        cli: AgentCli::Claude,
        program: None,
        args: Vec::new(),
        provider: None,
        model: None,
        task: String::new(),
        persona: None,
        skills: Vec::new(),
        schedule: None,
        mentionable: true,
        allow: Vec::new(),
        extra_projects: Vec::new(),
        max_parallel: 1,
        limits: AgentLimits::default(),
        budget: AgentBudget::default(),
        worktree: WorktreeMode::default(),
        on_restart: OnRestart::default(),
        isolation: AgentIsolation::default(),
        machine: None,
        comment: true,
        verdict_block: false,
        allow_in_posts: Vec::new(),
        pass_env: Vec::new(),
        env: BTreeMap::new(),
    }
}
