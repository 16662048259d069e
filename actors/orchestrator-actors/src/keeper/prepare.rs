//! Making a run ready: worktree, prompt, environment, command line, log.

use std::fs;
use std::path::{Path, PathBuf};

use orchestrator_core::config::{AgentCli, AgentSpec, Config, Project, WorktreeMode};
use orchestrator_core::prompt::{Prompt, compose};
use orchestrator_core::run::{Run, RunContext, WorktreeRecord};
use orchestrator_engine::adapters::{Start, command_line};
use orchestrator_engine::output::{LogSizes, Redactor, RunLog};
use orchestrator_engine::process::{AgentSpec as Process, ChildEnvironment, Limits, RunVariables};
use orchestrator_engine::scenario::{self, BrowserPlan};
use orchestrator_engine::worktree::{Purpose, Worktree};

use super::fetch::{lend_head, start_commit};
use super::route::{Routed, routed};
use super::view::{RunFolders, sandbox, view};
use crate::journal::{Entry, Happened};
use crate::shared::Shared;

/// Everything a run needs to start.
pub(super) struct Prepared {
    pub(super) process: Process,
    pub(super) log: RunLog,
    pub(super) tree: Option<Worktree>,
    pub(super) record: Option<WorktreeRecord>,
    /// The provider that the task was routed to.
    pub(super) provider: Option<String>,
    /// What happened meanwhile, for the journal.
    pub(super) entries: Vec<Entry>,
    /// What the run's verdict must hold; known to its agent alone.
    pub(super) nonce: String,
}

/// Why a run cannot be made ready, for people: what could not be made, and what to do.
#[derive(Debug)]
pub(super) enum Failure {
    /// Something here.
    Here(String),
    /// The forge could not be asked for the commit.
    Network(String),
}

impl Failure {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Here(text) | Self::Network(text) => text,
        }
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::Here(text)
    }
}

impl From<&str> for Failure {
    fn from(text: &str) -> Self {
        Self::Here(text.to_owned())
    }
}

/// Makes a run ready.
pub(super) fn prepare(
    shared: &Shared,
    run: &Run,
    context: &RunContext,
) -> Result<Prepared, Failure> {
    let config = shared.config();
    let agent = config
        .agent(&run.home, &run.agent)
        .ok_or("the agent is not in the configuration any more")?;
    let project = config
        .projects
        .get(&run.project)
        .ok_or("the project is not in the configuration any more")?;
    let sandbox = sandbox(shared, agent)?;
    let nonce = uuid::Uuid::new_v4().simple().to_string();
    let (folder, log) = open_log(shared, &config, agent, run)?;
    let mut entries = Vec::new();
    let tree = worktree(shared, &config, agent, project, run, &mut entries)?;
    if tree.is_none() {
        lend_head(shared, &config, agent, project, run)?;
    }
    let prompt = prompt(
        (&config, agent, project),
        run,
        context,
        &nonce,
        &mut entries,
    );
    let prompt_file = folder.join("prompt.md");
    write_prompt(agent, &prompt_file, &prompt.text)?;
    let workdir = tree
        .as_ref()
        .map_or(&project.working_dir, |tree| &tree.folder)
        .clone();
    let browser = browser(&config, shared, agent, run, &folder)?;
    let Routed {
        provider,
        model,
        action,
    } = routed(shared, &config, agent, context);
    let start = Start {
        cli: action.as_ref().unwrap_or(&agent.cli),
        program: agent.program.as_deref().filter(|_| action.is_none()),
        args: &agent.args,
        model: model.as_deref(),
        prompt: &prompt.text,
        prompt_file: &prompt_file,
        workdir: &workdir,
        browser: browser.as_ref(),
    };
    let line = command_line(&start).map_err(|error| error.to_string())?;
    entries.extend(remote_build(agent, run));
    let prompt_file = agent.cli.takes_prompt().then_some(prompt_file);
    let reports = reports(&config, run)?;
    let folders = RunFolders {
        run: &folder,
        workdir: &workdir,
        reports: &reports,
        tree: tree.as_ref(),
        prompt: &folder.join("prompt.md"),
    };
    let view = view(shared, &config, agent, &folders);
    let mut variables = variables(&config, agent, run, tree.as_ref(), prompt_file);
    variables.reports = Some(reports.into());
    variables.result_nonce = agent.needs_nonce_variable().then(|| nonce.clone());
    let environment = environment(shared, &config, agent, &variables)?;
    Ok(Prepared {
        process: Process {
            run: run.id.clone(),
            program: line.program,
            arguments: line.arguments,
            environment,
            folder: workdir,
            input: line.input,
            limits: limits(agent),
            sandbox,
            view,
        },
        log,
        record: record(tree.as_ref())?,
        provider,
        tree,
        entries,
        nonce,
    })
}

fn write_prompt(agent: &AgentSpec, file: &Path, text: &str) -> Result<(), Failure> {
    if agent.cli.takes_prompt() {
        fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// The journal's entry of a script that hands its build to a worker.
fn remote_build(agent: &AgentSpec, run: &Run) -> Option<Entry> {
    let AgentCli::Sh { script } = &agent.cli else {
        return None;
    };
    let task_bytes = script.len();
    let is_remote = script.contains("build-dispatch");
    is_remote.then(|| Entry::of(run, Happened::BuildRemote { task_bytes }))
}

/// The run's own folder, and its log in it.
fn open_log(
    shared: &Shared,
    config: &Config,
    agent: &AgentSpec,
    run: &Run,
) -> Result<(PathBuf, RunLog), String> {
    let log = shared.log_folder(run.id.as_str());
    let folder = log.parent().map_or_else(|| log.clone(), PathBuf::from);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let half = agent.limits.output_bytes / 2;
    let sizes = LogSizes {
        head: half,
        tail: half / 2,
    };
    let opened = RunLog::create(&log, sizes, Redactor::new(secrets(config)));
    Ok((folder, opened.map_err(|error| error.to_string())?))
}

/// What the agent is told of its run.
fn variables(
    config: &Config,
    agent: &AgentSpec,
    run: &Run,
    tree: Option<&Worktree>,
    prompt_file: Option<PathBuf>,
) -> RunVariables {
    let (persona, status) = (agent.persona.as_ref(), run.status.as_ref());
    RunVariables {
        run: run.id.to_string(),
        agent: run.agent.to_string(),
        project: run.project.to_string(),
        repo: Some(run.repository.to_string()),
        issue: run.issue().map(u64::from),
        head_sha: status.map(|status| status.sha.to_string()),
        branch: tree.map(|tree| tree.branch.clone()),
        status_context: status.map(|status| status.context.to_string()),
        reports: None,
        result_nonce: None,
        prompt_file: prompt_file.map(Into::into),
        search_url: config.search_url.as_ref().map(ToString::to_string),
        search_role: persona.and_then(|name| config.search_roles.get(name).cloned()),
    }
}

/// Everything that must not appear in an output.
fn secrets(config: &Config) -> impl Iterator<Item = &config_core::Secret<String>> {
    let own = [
        Some(&config.webhook.secret),
        config.webhook.previous_secret.as_ref(),
        config.listeners.admin_token.as_ref(),
        config.forge.as_ref().map(|forge| &forge.token),
    ];
    let variables = config.agents.values().flat_map(|agent| agent.env.values());
    let webhooks = config.projects.values().filter_map(|p| p.webhook.as_ref());
    let webhooks = webhooks.flat_map(|own| std::iter::once(&own.secret).chain(&own.previous));
    own.into_iter()
        .flatten()
        .chain(config.agent_tokens.values())
        .chain(webhooks)
        .chain(variables)
}

fn worktree(
    shared: &Shared,
    config: &Config,
    agent: &AgentSpec,
    project: &Project,
    run: &Run,
    entries: &mut Vec<Entry>,
) -> Result<Option<Worktree>, Failure> {
    if agent.worktree == WorktreeMode::None {
        return Ok(None);
    }
    let worktrees = shared.worktrees(&project.worktree_root)?;
    let start = start_commit(shared, config, agent, project, run)?;
    let purpose = Purpose {
        project: run.project.clone(),
        agent: run.agent.clone(),
        run: run.id.clone(),
    };
    let made = worktrees.create(&project.working_dir, &purpose, &start);
    let tree = made.map_err(|error| error.to_string())?;
    let path = tree.folder.display().to_string();
    entries.push(Entry::of(run, Happened::WorktreeCreated(path)));
    Ok(Some(tree))
}

fn record(tree: Option<&Worktree>) -> Result<Option<WorktreeRecord>, String> {
    let Some(tree) = tree else { return Ok(None) };
    let branch = tree.branch.parse().map_err(|error| format!("{error}"))?;
    Ok(Some(WorktreeRecord {
        path: tree.folder.display().to_string(),
        branch,
        present: true,
    }))
}

fn prompt(
    (config, agent, project): (&Config, &AgentSpec, &Project),
    run: &Run,
    context: &RunContext,
    nonce: &str,
    entries: &mut Vec<Entry>,
) -> Prompt {
    let prompt = compose(config, agent, project, run, context, nonce);
    if !agent.cli.takes_prompt() {
        return prompt;
    }
    if let Some(persona) = &prompt.persona {
        entries.push(Entry::of(run, Happened::PersonaApplied(persona.clone())));
    }
    if let Some(missing) = &prompt.persona_missing {
        entries.push(Entry::of(run, Happened::PersonaNotFound(missing.clone())));
    }
    if !prompt.skills.is_empty() {
        entries.push(Entry::of(
            run,
            Happened::SkillsInjected(prompt.skills.clone()),
        ));
    }
    prompt
}

fn reports(config: &Config, run: &Run) -> Result<PathBuf, String> {
    let name = orchestrator_engine::names::safe_name(run.id.as_str());
    let folder = config.directories.reports.join(name);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

fn browser(
    config: &Config,
    shared: &Shared,
    agent: &AgentSpec,
    run: &Run,
    folder: &std::path::Path,
) -> Result<Option<BrowserPlan>, String> {
    if agent.cli != AgentCli::Browser {
        return Ok(None);
    }
    let scenarios = &config.directories.scenarios;
    let id = run.id.as_str();
    let plan = scenario::prepare(
        scenarios,
        shared.environment(),
        folder,
        &config.directories.reports,
        id,
    );
    plan.map(Some).map_err(|error| error.to_string())
}

fn environment(
    shared: &Shared,
    config: &Config,
    agent: &AgentSpec,
    variables: &RunVariables,
) -> Result<ChildEnvironment, String> {
    let text = |error: orchestrator_engine::process::EnvironmentError| error.to_string();
    let made = ChildEnvironment::new(shared.environment(), &agent.pass_env, variables);
    let mut environment = made.map_err(text)?;
    for (name, value) in &agent.env {
        environment = environment.with(name, value.expose()).map_err(text)?;
    }
    if let Some(token) = config.agent_tokens.get(&agent.name) {
        environment = environment.with_forge_token(token).map_err(text)?;
    }
    Ok(environment)
}

fn limits(agent: &AgentSpec) -> Limits {
    let default = Limits::default();
    Limits {
        wall: agent.limits.wall,
        stall: agent.limits.stall,
        grace: agent.limits.grace,
        processes: agent.limits.processes.map(u64::from).or(default.processes),
        memory: agent.limits.memory_bytes.or(default.memory),
        ..default
    }
}
