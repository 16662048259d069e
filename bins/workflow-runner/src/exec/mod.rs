//! `exec`: runs a workflow of a working tree on this machine, without a forge.
//!
//! ```text
//! working tree ─snapshot─▶ a repository of its own ─▶ runner (actors, no HTTP) ─▶ VM manager: by URL, or one in this process
//!                                                        └─ log, as it grows ─▶ standard output
//! ```

mod machines;
mod origin;
mod output;
mod tree;

use std::net::TcpListener;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use config_core::{Environment, Secret};
use edge_web::ServeOptions;
use forge_core::{Forge, RepoName};
use runner_actors::messages::{CancelRun, StartEvent};
use runner_actors::{RunRecord, RunnerService, StoredEvent};
use runner_core::event::{EventKind, PullRequestCommit};
use runner_core::state::RunState;
use runner_web::ServingServices;
use runner_web::config::{RunnerConfig, RunnerFlags, services_at};
use store::{Store, StoreOptions};
use supervision::{Root, SupervisorSpec};

use crate::arguments::{EventName, ExecOptions, print_note};
use crate::repository::WorkflowDirectory;
use machines::ManagerChoice;
use origin::RepositoryOrigin;
use tree::CommitSnapshot;

/// Runs it; the exit code says how the run ended.
pub(crate) fn run(options: &ExecOptions) -> ExitCode {
    match exec(options) {
        Ok(record) => code(&record),
        Err(error) => {
            print_note(&daemon::error_chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn code(record: &RunRecord) -> ExitCode {
    ExitCode::from(match record.state {
        RunState::Succeeded => 0,
        RunState::Refused | RunState::Ignored => 3,
        RunState::Lost => 4,
        RunState::Cancelled => 130,
        _ => 1,
    })
}

fn exec(options: &ExecOptions) -> anyhow::Result<RunRecord> {
    let repository = WorkflowDirectory::open(&options.workflow).map_err(anyhow::Error::msg)?;
    let [file] = repository.workflows.as_slice() else {
        bail!(
            "{} has several workflows, name one: {}",
            options.workflow.display(),
            repository.workflows.join(", ")
        );
    };
    let directory = tempfile::tempdir().context("a folder for the run")?;
    // Before the directory is looked through: a file elsewhere may be in one with anything in it.
    let file = tree::workflow_path(file, &repository)?;
    let snapshot = CommitSnapshot::create(repository.root(), directory.path())?;
    let environment = environment();
    edge_web::logging::init(
        if options.verbose { "info" } else { "error" },
        environment.text("RUST_LOG"),
    );
    let origin = RepositoryOrigin::find(repository.root());
    let event = event(options, &snapshot, repository.root(), origin.as_ref())?;
    let request = StartEvent {
        event,
        workflow: Some(file),
        job: options.job.clone(),
        cause: "exec".to_owned(),
    };
    let mut settings = settings(options, &environment)?;
    settings.data = directory.path().join("runs");
    settings.repositories = directory.path().join("mirrors");
    settings.transports.file = true;
    settings.forge_token = None;
    // What lies in the working tree is run.
    settings.pull_request_commit = PullRequestCommit::Head;
    settings.actions.reads_all = true;
    if origin.is_some_and(|origin| origin.host == "github.com") {
        settings.forge = Forge::GitHub;
    }
    let mut machines = ManagerChoice::from_options(options, &environment)?;
    let services = machines.services(settings.services.as_ref())?;
    if let Some(listener) = &services {
        settings.services = Some(services_at(listener.local_addr()?));
    }
    actix_rt::System::new().block_on(async move {
        let machines = machines.start().await?;
        settings.vm_hosts = vec![machines.access()];
        let store = Store::open(&settings.data, &StoreOptions::new("workflow-runner"))?;
        let service = RunnerService::new(settings, store.clone())?;
        let ended = follow(service, request, services).await;
        machines.stop().await;
        store.close();
        ended
    })
}

/// Starts the run and prints it until it has ended.
async fn follow(
    service: RunnerService,
    request: StartEvent,
    services: Option<TcpListener>,
) -> anyhow::Result<RunRecord> {
    let RunnerService {
        supervisor,
        coordinator,
        view,
        job_services,
        ..
    } = service;
    let options = ServeOptions::default();
    let services =
        services.map(|listener| ServingServices::start(job_services, listener, &options));
    let root = Root::start(SupervisorSpec::root("orrery").supervisor(supervisor));
    coordinator.ready().await;
    let run = coordinator.ask(request).await??;
    let interrupt = edge_web::shutdown_signal()?;
    let printing = output::print(&view, &run);
    let (mut interrupt, mut printing) = (std::pin::pin!(interrupt), std::pin::pin!(printing));
    let record = tokio::select! {
        record = &mut printing => record?,
        _ = &mut interrupt => {
            print_note("ending the run");
            let reason = "interrupted".to_owned();
            coordinator.ask(CancelRun { run: run.clone(), reason }).await?;
            printing.await?
        }
    };
    root.handle().stop();
    root.verdict().await;
    drop(services);
    output::summary(&record);
    Ok(record)
}

/// The process's environment with what a runner without a forge does not need.
fn environment() -> Environment {
    let own = std::env::vars_os()
        .filter(|(name, _)| name != "FORGE_WEBHOOK_SECRET" && name != "FORGE_TOKEN");
    // Nothing listens for webhooks: the secret is nobody's.
    let secret = (
        "FORGE_WEBHOOK_SECRET".into(),
        uuid::Uuid::new_v4().to_string().into(),
    );
    Environment::from_os(own.chain([secret]))
}

fn settings(
    options: &ExecOptions,
    environment: &Environment,
) -> anyhow::Result<runner_actors::RunnerSettings> {
    let flags = RunnerFlags::default();
    let parsed = match &options.config {
        None => RunnerConfig::parse(None, &flags, environment),
        Some(path) => {
            let text =
                std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            let absolute = std::path::absolute(path)?;
            let base = absolute.parent().unwrap_or(Path::new("/"));
            let name = path.display().to_string();
            RunnerConfig::parse(Some((&name, &text, base)), &flags, environment)
        }
    };
    let mut settings = parsed.map_err(|wrong| anyhow::anyhow!("{wrong}"))?.runner;
    for pair in &options.secret {
        let (name, value) = pair
            .split_once('=')
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .or_else(|| Some((pair.clone(), std::env::var(pair).ok()?)))
            .with_context(|| format!("--secret {pair}: there is no variable of this name"))?;
        settings.secrets.push((name, Secret::new(value)));
    }
    Ok(settings)
}

fn event(
    options: &ExecOptions,
    snapshot: &CommitSnapshot,
    root: &Path,
    origin: Option<&RepositoryOrigin>,
) -> anyhow::Result<StoredEvent> {
    let kind = match options.event {
        EventName::Push => EventKind::Push,
        EventName::PullRequest => EventKind::PullRequest,
        EventName::PullRequestTarget => EventKind::PullRequestTarget,
        EventName::WorkflowDispatch => EventKind::WorkflowDispatch,
        EventName::Schedule => EventKind::Schedule,
        EventName::IssueComment => EventKind::IssueComment,
        EventName::Issues => EventKind::Issues,
        EventName::Release => EventKind::Release,
        EventName::RepositoryDispatch => EventKind::RepositoryDispatch,
        EventName::MergeGroup => EventKind::MergeGroup,
    };
    let (payload, inputs) = payload_and_inputs(options)?;
    let repository = match origin {
        Some(origin) => origin.repository.clone(),
        None => of_folder(root)?,
    };
    let reference = snapshot.reference()?;
    let url = snapshot.url();
    let page = origin.map(|origin| origin.page.as_str());
    let mut event = StoredEvent::local(kind, &repository, &reference, &snapshot.sha, &url, page);
    if kind == EventKind::WorkflowDispatch {
        event = event.dispatched("local", inputs);
    }
    Ok(match payload {
        Some(payload) => event.with_payload(&payload),
        None => event,
    })
}

/// What a tree is called that is of no forge.
fn of_folder(root: &Path) -> anyhow::Result<RepoName> {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '-'
            }
        })
        .collect();
    let name = name.trim_matches('-');
    let name = if name.is_empty() { "tree" } else { name };
    let repository = format!("local/{name}").parse();
    repository.context("the folder's name")
}

/// What the event's file says, and the inputs of both: those of the command line count.
type PayloadAndInputs = (Option<serde_json::Value>, Vec<(String, String)>);

fn payload_and_inputs(options: &ExecOptions) -> anyhow::Result<PayloadAndInputs> {
    let mut payload = options.event_path.as_deref().map(payload).transpose()?;
    let mut inputs: Vec<(String, String)> = Vec::new();
    let written = payload.as_ref().and_then(|payload| payload.get("inputs"));
    for (name, value) in written
        .and_then(|value| value.as_object())
        .into_iter()
        .flatten()
    {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        inputs.push((name.clone(), text));
    }
    for pair in &options.input {
        let (name, value) = pair
            .split_once('=')
            .with_context(|| format!("--input {pair}: write it as NAME=VALUE"))?;
        inputs.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        inputs.push((name.to_owned(), value.to_owned()));
    }
    if options.event != EventName::WorkflowDispatch && !options.input.is_empty() {
        bail!("--input is for --event workflow_dispatch");
    }
    if let Some(payload) = payload.as_mut().and_then(|payload| payload.as_object_mut())
        && options.event == EventName::WorkflowDispatch
    {
        let all = inputs
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().into()));
        payload.insert(
            "inputs".to_owned(),
            serde_json::Value::Object(all.collect()),
        );
    }
    Ok((payload, inputs))
}

/// The event's file: one JSON object.
fn payload(path: &Path) -> anyhow::Result<serde_json::Value> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let value: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("{shown} is no JSON"))?;
    if !value.is_object() {
        bail!("{shown} holds no event: a JSON object is wanted, as a forge sends it");
    }
    Ok(value)
}
