//! `approve`, `reject` and `waiting`: runs that wait for somebody, over the API of a runner that
//! serves.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use config_core::Environment;
use http_clients::http::Request;
use serde_json::{Value, json};

use crate::review_options::{ReviewOptions, WaitingOptions};
use crate::runner_api::{RunnerApi, path_part, print_result};

/// Says something to a run that waits; `verdict` is `approve` or `reject`.
pub(crate) fn review(
    options: &ReviewOptions,
    verdict: &str,
    environment: &Environment,
) -> ExitCode {
    print_result(send(options, verdict, environment))
}

/// Prints the runs that wait.
pub(crate) fn waiting(options: &WaitingOptions, environment: &Environment) -> ExitCode {
    print_result(list(options, environment))
}

fn send(
    options: &ReviewOptions,
    verdict: &str,
    environment: &Environment,
) -> anyhow::Result<String> {
    let api = RunnerApi::from_options(&options.runner, environment)?;
    if !api.has_token() {
        bail!("WORKFLOW_RUNNER_API_TOKEN is not set: who approves must be known");
    }
    let url = api.url(&format!("runs/{}/{verdict}", path_part(&options.run)?))?;
    let body = json!({
        "environments": options.environment,
        "by": options.by,
        "comment": options.comment,
    });
    let answer = api.ask(Request::post(url).json(&body))?;
    let names = answer["environments"].as_array();
    let names: Vec<&str> = names
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let what = if names.is_empty() {
        "the run".to_owned()
    } else {
        names.join(", ")
    };
    let verdict = answer["verdict"].as_str().unwrap_or(verdict);
    Ok(format!("{}: {what}: {verdict}\n", options.run))
}

fn list(options: &WaitingOptions, environment: &Environment) -> anyhow::Result<String> {
    let api = RunnerApi::from_options(&options.runner, environment)?;
    let mut url = api.url("runs")?;
    url.set_query(Some("state=waiting&limit=1000"));
    let runs = api.ask(Request::get(url))?;
    // Those that wait for their turn go on by themselves.
    let is_for_somebody = |run: &Value| {
        let approval = &run["approval"];
        let gates = run["environments"].as_array();
        let mut gates = gates.into_iter().flatten();
        approval.is_object() && approval["review"].is_null()
            || gates.any(|gate| gate["settled"] != true)
    };
    let runs = runs.as_array().into_iter().flatten();
    let runs: Value = runs.filter(|run| is_for_somebody(run)).cloned().collect();
    if options.json {
        return Ok(format!("{runs:#}\n"));
    }
    let mut text = String::new();
    for run in runs.as_array().into_iter().flatten() {
        let field = |name: &str| run[name].as_str().unwrap_or_default();
        let _ = writeln!(
            text,
            "{}  {}  {}  {}",
            field("id"),
            field("repository"),
            field("reference"),
            field("reason")
        );
    }
    if text.is_empty() {
        text.push_str("no run waits\n");
    }
    Ok(text)
}
