//! `shell`, `kept`, `release` and `rerun`: the VMs of failed jobs, over the API of a runner that
//! serves.

mod session;

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use config_core::Environment;
use http_clients::http::{Method, Request};
use serde_json::Value;
use url::Url;

use session::RefusedShell;

use crate::arguments::print_note;
use crate::runner_api::{RunnerApi, path_part, print_result};
use crate::shell_options::{KeptOptions, ReleaseOptions, RerunOptions, ShellOptions};

/// What ssh ends with too, when it is not the shell that has failed.
const NO_SHELL: u8 = 255;

/// Opens a shell; the exit code is the shell's.
pub(crate) fn open(options: &ShellOptions, environment: &Environment) -> ExitCode {
    match run(options, environment) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            print_note(&daemon::error_chain(error.as_ref()));
            ExitCode::from(NO_SHELL)
        }
    }
}

fn run(options: &ShellOptions, environment: &Environment) -> anyhow::Result<u8> {
    let api = RunnerApi::from_options(&options.runner, environment)?;
    let Some(token) = api.token().cloned() else {
        bail!("WORKFLOW_RUNNER_API_TOKEN is not set: who opens a shell must be known");
    };
    let mut url = job_url(&api, &options.run, "shell", options.job.as_deref())?;
    if let Some(step) = options.before_step {
        url.query_pairs_mut()
            .append_pair("before_step", &step.to_string());
    }
    let by = options.by.as_deref().or_else(|| environment.text("USER"));
    if let Some(by) = by.filter(|by| !by.is_empty()) {
        url.query_pairs_mut().append_pair("by", by);
    }
    session::run(url.clone(), token).map_err(|error| match error.downcast() {
        Ok(refused) => why_refused(&api, url, refused),
        Err(other) => other,
    })
}

/// The runner's own reason: asked as a page is asked for, it opens no shell but says why.
fn why_refused(api: &RunnerApi, url: Url, refused: RefusedShell) -> anyhow::Error {
    match api.ask(Request::get(url)) {
        Err(said) if !said.to_string().contains("speaks WebSocket only") => {
            said.context("no shell")
        }
        _ => anyhow::Error::new(refused),
    }
}

/// Prints the VMs that are kept.
pub(crate) fn list(options: &KeptOptions, environment: &Environment) -> ExitCode {
    print_result(table(options, environment))
}

fn table(options: &KeptOptions, environment: &Environment) -> anyhow::Result<String> {
    let api = RunnerApi::from_options(&options.runner, environment)?;
    let kept = api.ask(Request::get(api.url("runs/kept")?))?;
    if options.json {
        return Ok(format!("{kept:#}\n"));
    }
    let mut text = String::new();
    for vm in kept.as_array().into_iter().flatten() {
        let field = |name: &str| vm[name].as_str().unwrap_or_default();
        let minutes = vm["left_ms"].as_u64().unwrap_or_default().div_ceil(60_000);
        let open = vm["shells"].as_u64().unwrap_or_default();
        let steps = vm["snapshots"].as_array().into_iter().flatten();
        let steps: Vec<String> = steps.map(|it| it["step"].to_string()).collect();
        let back = match &*steps.join(", ") {
            "" => String::new(),
            steps => format!("  before step {steps}"),
        };
        let _ = writeln!(
            text,
            "{}  {}  {}  {minutes} min left  {open} open{back}",
            field("run"),
            field("job"),
            field("vm")
        );
    }
    if text.is_empty() {
        text.push_str("no VM is kept\n");
    }
    Ok(text)
}

/// Gives a VM back.
pub(crate) fn release(options: &ReleaseOptions, environment: &Environment) -> ExitCode {
    print_result(send_release(options, environment))
}

fn send_release(options: &ReleaseOptions, environment: &Environment) -> anyhow::Result<String> {
    let api = RunnerApi::from_options(&options.runner, environment)?;
    let mut url = job_url(&api, &options.run, "kept", options.job.as_deref())?;
    if let Some(by) = environment.text("USER").filter(|by| !by.is_empty()) {
        url.query_pairs_mut().append_pair("by", by);
    }
    let answer = api.ask(Request::new(Method::Delete, url))?;
    debug_assert_eq!(answer, Value::Null);
    Ok(format!("{}: the VM is given back\n", options.run))
}

/// Runs a run again.
pub(crate) fn rerun(options: &RerunOptions, environment: &Environment) -> ExitCode {
    print_result(send_rerun(options, environment))
}

fn send_rerun(options: &RerunOptions, environment: &Environment) -> anyhow::Result<String> {
    let api = RunnerApi::from_options(&options.runner, environment)?;
    let mut url = job_url(&api, &options.run, "rerun", options.job.as_deref())?;
    let flags = [
        ("failed", options.failed),
        ("keep", options.keep),
        ("snapshots", options.snapshots),
    ];
    for (name, _) in flags.iter().filter(|(_, set)| *set) {
        url.query_pairs_mut().append_pair(name, "true");
    }
    if let Some(step) = options.from_step {
        url.query_pairs_mut()
            .append_pair("from_step", &step.to_string());
    }
    let answer = api.ask(Request::new(Method::Post, url))?;
    let Some(run) = answer["run"].as_str() else {
        bail!("the runner does not say which run it has started: {answer}");
    };
    Ok(format!("{run}\n"))
}

/// What the runner has of a run, or of one of its jobs.
fn job_url(api: &RunnerApi, run: &str, what: &str, job: Option<&str>) -> anyhow::Result<Url> {
    let mut url = api.url(&format!("runs/{}/{what}", path_part(run)?))?;
    if let Some(job) = job {
        url.query_pairs_mut().append_pair("job", job);
    }
    Ok(url)
}
