//! The specification of an agent's process: prompt, environment, command line, log.

use std::fs;
use std::path::{Path, PathBuf};

use orchestrator_core::config::{AgentCli, AgentIsolation, AgentSpec, Config};
use orchestrator_core::prompt::{Prompt, compose};
use orchestrator_core::run::{Run, RunContext};
use orchestrator_engine::adapters::{Start, command_line};
use orchestrator_engine::output::{LogSizes, Redactor, RunLog};
use orchestrator_engine::process::{
    ChildEnvironment, ProcessLimits, ProcessSpec, RunVariables, Sandbox, View,
};
use orchestrator_engine::scenario::{self, BrowserPlan};

use super::agent_paths::AgentPaths;
use super::assignment::Assignment;
use super::model_route::ModelRoute;
use super::prepare_error::RunPrepareError;
use super::process::AgentLaunch;
use super::sandbox_view::{RunDirectories, view};
use super::vm::{self, VmPlan};
use super::workspace::Workspace;
use crate::host::{AgentHost, run_directory};
use crate::journal::{JournalEvent, RecordedEvent};

impl Assignment<'_> {
    /// Makes the run's own directory, and its log in it.
    pub(super) fn open_log(&self) -> Result<(PathBuf, RunLog), RunPrepareError> {
        let directory = run_directory(self.config, self.run.id.as_str());
        make_directory(&directory)?;
        let half = self.agent.limits.output_bytes / 2;
        let sizes = LogSizes {
            head: half,
            tail: half / 2,
        };
        let redactor = Redactor::new(secrets(self.config));
        let log = RunLog::create(&directory.join("log"), sizes, redactor);
        Ok((directory, log.map_err(|error| error.to_string())?))
    }

    /// The process of the run: everything but its start.
    pub(super) fn process(
        &self,
        (host, sandbox): (&AgentHost, Sandbox),
        workspace: &Workspace,
        (directory, log): (&Path, RunLog),
        (context, route): (&RunContext, ModelRoute),
    ) -> Result<AgentLaunch, RunPrepareError> {
        let (config, agent, run) = (self.config, self.agent, self.run);
        let nonce = uuid::Uuid::new_v4().simple().to_string();
        let (prompt, mut entries) = self.prompt(context, &nonce);
        let prompt_file = directory.join("prompt.md");
        write_prompt(agent, &prompt_file, &prompt.text)?;
        let own_reports = reports(config, run)?;
        let vm = match agent.isolation {
            AgentIsolation::Vm => {
                let folders = (directory, own_reports.clone());
                let of = (config, agent, run);
                Some(VmPlan::new(of, &host.vms, workspace, folders)?)
            }
            _ => None,
        };
        let seen = match vm {
            Some(_) => vm::paths(),
            None => AgentPaths {
                workdir: workspace.directory().to_owned(),
                prompt: prompt_file.clone(),
                reports: own_reports.clone(),
            },
        };
        let browser = browser(self, host, directory)?;
        let start = Start {
            cli: route.action.as_ref().unwrap_or(&agent.cli),
            program: agent.program.as_deref().filter(|_| route.action.is_none()),
            args: &agent.args,
            model: route.model.as_deref(),
            prompt: &prompt.text,
            prompt_file: &seen.prompt,
            workdir: &seen.workdir,
            browser: browser.as_ref(),
        };
        let line = command_line(&start).map_err(|error| error.to_string())?;
        entries.extend(remote_build(agent, run));
        let directories = RunDirectories {
            run: directory,
            workdir: workspace.directory(),
            reports: &own_reports,
            tree: workspace.tree(),
            prompt: &prompt_file,
        };
        let view = match vm {
            Some(_) => View::default(),
            None => view(host, config, agent, &directories),
        };
        let variables = RunVariables {
            branch: workspace.tree().map(|tree| tree.branch.clone()),
            prompt_file: agent.cli.takes_prompt().then(|| seen.prompt.clone().into()),
            reports: Some(seen.reports.into()),
            result_nonce: agent.needs_nonce_variable().then(|| nonce.clone()),
            ..self.variables()
        };
        Ok(AgentLaunch {
            spec: ProcessSpec {
                run: run.id.clone(),
                program: line.program,
                arguments: line.arguments,
                environment: environment(host, config, agent, &variables)?,
                folder: seen.workdir,
                input: line.input,
                limits: limits(agent),
                sandbox,
                view,
            },
            log,
            vm,
            provider: route.provider,
            entries,
            nonce,
        })
    }

    /// The prompt, and what the journal says about it.
    fn prompt(&self, context: &RunContext, nonce: &str) -> (Prompt, Vec<RecordedEvent>) {
        let run = self.run;
        let prompt = compose(self.config, self.agent, self.project, run, context, nonce);
        if !self.agent.cli.takes_prompt() {
            return (prompt, Vec::new());
        }
        let applied = prompt.persona.clone().map(JournalEvent::PersonaApplied);
        let missing = prompt
            .persona_missing
            .clone()
            .map(JournalEvent::PersonaNotFound);
        let skills = Some(prompt.skills.clone()).filter(|skills| !skills.is_empty());
        let skills = skills.map(JournalEvent::SkillsInjected);
        let events = [applied, missing, skills].into_iter().flatten();
        let entries = events.map(|event| RecordedEvent::new(run, event)).collect();
        (prompt, entries)
    }

    /// The variables of the run that need no directory.
    fn variables(&self) -> RunVariables {
        let (config, run) = (self.config, self.run);
        let (persona, status) = (self.agent.persona.as_ref(), run.status.as_ref());
        RunVariables {
            run: run.id.to_string(),
            agent: run.agent.to_string(),
            project: run.project.to_string(),
            repo: Some(run.repository.to_string()),
            issue: run.issue().map(u64::from),
            head_sha: status.map(|status| status.sha.to_string()),
            branch: None,
            status_context: status.map(|status| status.context.to_string()),
            reports: None,
            result_nonce: None,
            prompt_file: None,
            search_url: config.search_url.as_ref().map(ToString::to_string),
            search_role: persona.and_then(|name| config.search_roles.get(name).cloned()),
        }
    }
}

fn make_directory(directory: &Path) -> Result<(), String> {
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))
}

fn write_prompt(agent: &AgentSpec, file: &Path, text: &str) -> Result<(), String> {
    if agent.cli.takes_prompt() {
        fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// The journal's entry of a script that hands its build to a worker.
fn remote_build(agent: &AgentSpec, run: &Run) -> Option<RecordedEvent> {
    let AgentCli::Sh { script } = &agent.cli else {
        return None;
    };
    let task_bytes = script.len();
    let is_remote = script.contains("build-dispatch");
    is_remote.then(|| RecordedEvent::new(run, JournalEvent::BuildRemote { task_bytes }))
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
        .chain(
            config
                .vm_hosts
                .iter()
                .filter_map(|host| host.token.as_ref()),
        )
}

fn reports(config: &Config, run: &Run) -> Result<PathBuf, String> {
    let name = orchestrator_engine::names::safe_name(run.id.as_str());
    let directory = config.directories.reports.join(name);
    make_directory(&directory)?;
    Ok(directory)
}

fn browser(
    assignment: &Assignment<'_>,
    host: &AgentHost,
    directory: &Path,
) -> Result<Option<BrowserPlan>, String> {
    if assignment.agent.cli != AgentCli::Browser {
        return Ok(None);
    }
    let directories = &assignment.config.directories;
    let plan = scenario::prepare(
        &directories.scenarios,
        &host.environment,
        directory,
        &directories.reports,
        assignment.run.id.as_str(),
    );
    plan.map(Some).map_err(|error| error.to_string())
}

fn environment(
    host: &AgentHost,
    config: &Config,
    agent: &AgentSpec,
    variables: &RunVariables,
) -> Result<ChildEnvironment, String> {
    let text = |error: orchestrator_engine::process::EnvironmentError| error.to_string();
    let made = match agent.isolation {
        AgentIsolation::Vm => {
            ChildEnvironment::in_vm(&host.environment, &agent.pass_env, variables)
        }
        _ => ChildEnvironment::new(&host.environment, &agent.pass_env, variables),
    };
    let mut environment = made.map_err(text)?;
    if agent.isolation == AgentIsolation::Vm && agent.cli == AgentCli::Claude {
        // It is root there, and refuses to work without questions as root elsewhere.
        environment = environment.with("IS_SANDBOX", "1").map_err(text)?;
    }
    for (name, value) in &agent.env {
        environment = environment.with(name, value.expose()).map_err(text)?;
    }
    if let Some(token) = config.agent_tokens.get(&agent.name) {
        environment = environment.with_forge_token(token).map_err(text)?;
    }
    Ok(environment)
}

fn limits(agent: &AgentSpec) -> ProcessLimits {
    let default = ProcessLimits::default();
    ProcessLimits {
        wall: agent.limits.wall,
        stall: agent.limits.stall,
        grace: agent.limits.grace,
        processes: agent.limits.processes.map(u64::from).or(default.processes),
        memory: agent.limits.memory_bytes.or(default.memory),
        ..default
    }
}
