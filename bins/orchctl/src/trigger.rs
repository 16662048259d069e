//! `trigger`: signs and sends, tells what became of it, and waits for the run when asked to.

use std::time::{Duration, Instant, SystemTime};

use config_core::Environment;
use forge_core::ProjectId;
use orchestrator_core::admin::{ProjectView, RunView, StatusView, WebhookOutcome, WebhookReply};
use serde::Serialize;

use crate::arguments::{Arguments, OutputFormat, TriggerArguments};
use crate::bridge::OrchestratorClient;
use crate::configuration::{Configuration, KnownProject};
use crate::failure::CommandFailure;
use crate::output::{show, write};
use crate::payload::{MAX_CONTEXT_BYTES, TriggerRequest, body};
use crate::{human, secret, stream};

/// Between two polls of a run: at first, and the most it is doubled to.
const POLL_INTERVALS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// So many lines of an agent's output are shown when its run was waited for.
const LAST_LINES: u32 = 200;

/// What `--format json` prints for a waited run.
#[derive(Serialize)]
struct TriggerResult<'a> {
    reply: &'a WebhookReply,
    run: &'a RunView,
    /// What the agent has printed last; absent where it has no log.
    output: Option<String>,
}

/// Runs `trigger`; the exit code.
pub(crate) async fn trigger(
    arguments: &Arguments,
    wanted: &TriggerArguments,
    environment: &Environment,
) -> Result<u8, CommandFailure> {
    if wanted.context.len() > MAX_CONTEXT_BYTES {
        return Err(CommandFailure::Usage(format!(
            "--context has {} bytes, more than {MAX_CONTEXT_BYTES}; write it into the repository and name the file",
            wanted.context.len()
        )));
    }
    let bridge = OrchestratorClient::open(&arguments.target, environment)?;
    let known = known_project(&bridge, arguments, wanted, environment).await?;
    let secret = secret::resolve(
        wanted.secret.as_ref(),
        &arguments.target,
        &known.id,
        environment,
    )?;
    let request = TriggerRequest {
        agent: &wanted.agent,
        repository: &known.repository,
        issue: wanted.issue,
        context: &wanted.context,
    };
    let body = body(&request, SystemTime::now());
    let reply = bridge.send(body, &secret).await?;
    let run = match accepted(&reply) {
        Ok(run) => run,
        Err(failure) => {
            if arguments.format == OutputFormat::Json {
                show(arguments.format, &reply, String::new)?;
            }
            return Err(failure);
        }
    };
    if !wanted.wait {
        show(arguments.format, &reply, || human::accepted(&reply))?;
        return Ok(0);
    }
    human::print_message(&format!("run {run} is queued; waiting"));
    let ended = wait(&bridge, &run, wanted.timeout).await?;
    let output = last_words(&bridge, &run).await;
    if let Some(output) = output
        .as_deref()
        .filter(|_| arguments.format == OutputFormat::Human)
    {
        // The agent's words are what was asked for; on a terminal they cannot steer it.
        write(&human::safe(output.as_bytes()))?;
        human::print_message(&format!("[all of it: orchctl logs {run}]"));
    }
    let waited = TriggerResult {
        reply: &reply,
        run: &ended,
        output,
    };
    show(arguments.format, &waited, || human::run(&ended))?;
    Ok(code_of(&ended))
}

/// What a run has printed last, with a line end; `None` where there is nothing to read.
async fn last_words(bridge: &OrchestratorClient, run: &str) -> Option<String> {
    let path = format!("admin/runs/{run}/log?follow=0&tail={LAST_LINES}");
    match stream::text(bridge, &path).await {
        Ok(text) if text.trim().is_empty() => None,
        Ok(text) => Some(format!("{}\n", text.trim_end())),
        // A run that never had a process has no log.
        Err(CommandFailure::NotFound(_)) => None,
        Err(failure) => {
            human::print_message(&format!("the agent's output cannot be read: {failure}"));
            None
        }
    }
}

/// The project that is meant, and its repository: as the admin bridge says, else as the
/// orchestrator's files do. A receiver is enough to start an agent; waiting takes the bridge.
async fn known_project(
    bridge: &OrchestratorClient,
    arguments: &Arguments,
    wanted: &TriggerArguments,
    environment: &Environment,
) -> Result<KnownProject, CommandFailure> {
    let absent = match project(bridge, wanted.project.as_ref()).await {
        Ok(ProjectView { id, repository, .. }) => return Ok(KnownProject { id, repository }),
        Err(absent @ (CommandFailure::Unreachable(_) | CommandFailure::NotAllowed(_)))
            if !wanted.wait =>
        {
            absent
        }
        Err(failure) => return Err(failure),
    };
    let id = wanted.project.as_ref().map(|project| project.as_str());
    let found = Configuration::read(&arguments.target)
        .and_then(|configuration| configuration.project(id, environment));
    found.map_err(|failure| {
        let text = format!("{absent}; nor is the repository known otherwise: {failure}");
        match absent {
            CommandFailure::NotAllowed(_) => CommandFailure::NotAllowed(text),
            _ => CommandFailure::Unreachable(text),
        }
    })
}

/// The project that is meant: the one named, else the main one.
pub(crate) async fn project(
    bridge: &OrchestratorClient,
    wanted: Option<&ProjectId>,
) -> Result<ProjectView, CommandFailure> {
    let status: StatusView = bridge.get("admin/status").await?;
    let project = wanted.map_or(status.main_project.as_str(), |project| project.as_str());
    let all: Vec<&str> = status
        .projects
        .iter()
        .map(|known| known.id.as_str())
        .collect();
    let missing = || {
        CommandFailure::NotFound(format!(
            "there is no project {project}; there are: {}",
            all.join(", ")
        ))
    };
    let mut known = status.projects.iter();
    let known = known.find(|known| known.id == project).cloned();
    known.ok_or_else(missing)
}

/// The run that was queued, or why there is none.
fn accepted(reply: &WebhookReply) -> Result<String, CommandFailure> {
    if let Some(dispatch) = reply.dispatches.first() {
        return Ok(dispatch.run.clone());
    }
    let Some(rejected) = reply.rejected.first() else {
        let why = match reply.outcome {
            WebhookOutcome::Duplicate => "the same trigger was sent before".to_owned(),
            _ => match (&reply.reason, &reply.detail) {
                (Some(reason), Some(detail)) => format!("{reason}: {detail}"),
                _ => "the orchestrator found no mention in it".to_owned(),
            },
        };
        return Err(CommandFailure::Refused(format!(
            "nothing was started: {why}"
        )));
    };
    let text = format!(
        "{} was not started: {}: {}",
        rejected.agent, rejected.reason, rejected.detail
    );
    Err(match rejected.reason.as_str() {
        "unknown_agent" | "other_project" | "unknown_project" => CommandFailure::NotFound(text),
        "not_allowed" => CommandFailure::NotAllowed(text),
        _ => CommandFailure::Refused(text),
    })
}

/// Follows the run by its id, as the orchestrator's records show it. A bridge that is away for a
/// while (a restart) is waited for as well.
async fn wait(
    bridge: &OrchestratorClient,
    run: &str,
    longest: Duration,
) -> Result<RunView, CommandFailure> {
    let until = Instant::now() + longest;
    let mut pause = POLL_INTERVALS.0;
    loop {
        match bridge.get::<RunView>(&format!("admin/runs/{run}")).await {
            Ok(view) if view.ended => return Ok(view),
            Ok(_) | Err(CommandFailure::Unreachable(_) | CommandFailure::TimedOut(_)) => {}
            Err(failure) => return Err(failure),
        }
        if Instant::now() + pause > until {
            let advice = format!("see `orchctl show {run}`");
            return Err(CommandFailure::TimedOut(format!(
                "run {run} has not ended within {} s; {advice}",
                longest.as_secs()
            )));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(POLL_INTERVALS.1);
    }
}

/// The run's exit code: 0 for success, the agent's own, 128 + a signal's number, else 1.
fn code_of(run: &RunView) -> u8 {
    let Some(exit) = &run.exit else { return 1 };
    if matches!(exit.class.as_str(), "success" | "empty_success") {
        return 0;
    }
    let code = exit.code.filter(|code| *code != 0);
    let code = code.or(exit.signal.map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code)
        .ok()
        .filter(|code| *code != 0)
        .unwrap_or(1)
}
