//! `approve`, `reject` and `waiting`: runs that wait for somebody, over the API of a runner that
//! serves.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use config_core::{Environment, Secret};
use http_clients::http::{HttpClient, HttpError, HttpOptions, Request};
use serde_json::{Value, json};
use url::Url;

use crate::arguments::{ReviewOptions, RunnerOptions, ServeOptions, WaitingOptions, print, say};
use crate::serve;

/// A runner's API.
struct RunnerApi {
    base: Url,
    token: Option<Secret<String>>,
}

/// Says something to a run that waits; `verdict` is `approve` or `reject`.
pub(crate) fn review(
    options: &ReviewOptions,
    verdict: &str,
    environment: &Environment,
) -> ExitCode {
    done(send(options, verdict, environment))
}

/// Prints the runs that wait.
pub(crate) fn waiting(options: &WaitingOptions, environment: &Environment) -> ExitCode {
    done(list(options, environment))
}

fn done(result: anyhow::Result<String>) -> ExitCode {
    match result {
        Ok(text) => {
            print(&text);
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&daemon::error_chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn send(
    options: &ReviewOptions,
    verdict: &str,
    environment: &Environment,
) -> anyhow::Result<String> {
    let api = RunnerApi::of(&options.runner, environment)?;
    if api.token.is_none() {
        bail!("WORKFLOW_RUNNER_API_TOKEN is not set: who approves must be known");
    }
    let url = api.at(&format!("runs/{}/{verdict}", path_part(&options.run)?))?;
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
    let api = RunnerApi::of(&options.runner, environment)?;
    let mut url = api.at("runs")?;
    url.set_query(Some("state=waiting&limit=1000"));
    let runs = api.ask(Request::get(url))?;
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

/// An id is one part of a path.
fn path_part(run: &str) -> anyhow::Result<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if run.is_empty() || !run.chars().all(is_part) {
        bail!("`{run}` is no id of a run: `workflow-runner waiting` shows those that wait");
    }
    Ok(run)
}

impl RunnerApi {
    fn of(options: &RunnerOptions, environment: &Environment) -> anyhow::Result<Self> {
        let serve = ServeOptions {
            config: options.config.clone(),
            listen: None,
            data: None,
            log_format: None,
            check: false,
        };
        let config = serve::read(&serve, &serve::without_webhooks(environment));
        let config = config.map_err(anyhow::Error::msg)?;
        let base = match &options.url {
            Some(url) => url.clone(),
            None => format!("http://{}/", config.listen),
        };
        let mut base = Url::parse(&base).with_context(|| format!("--url `{base}`"))?;
        if !matches!(base.scheme(), "http" | "https") {
            bail!("--url `{base}`: give an http or https address, such as http://127.0.0.1:3000");
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        Ok(Self {
            base,
            token: config.token,
        })
    }

    fn at(&self, path: &str) -> anyhow::Result<Url> {
        Ok(self.base.join(path)?)
    }

    fn ask(&self, request: Request) -> anyhow::Result<Value> {
        let request = match &self.token {
            Some(token) => request.authorization("Bearer", token),
            None => request,
        };
        let answer = actix_rt::System::new().block_on(async move {
            let http = HttpClient::new(HttpOptions::default());
            let response = http.call(request).await?;
            if response.is_success() {
                return Ok(Ok(response.json()?));
            }
            Ok::<_, HttpError>(Err((response.status, response.text())))
        });
        let answer = answer.with_context(|| format!("the runner at {} does not answer", self.base));
        answer?.map_err(|(status, text)| {
            let problem: Value = serde_json::from_str(&text).unwrap_or_default();
            let detail = problem["detail"].as_str().unwrap_or("no reason is given");
            anyhow::anyhow!("the runner says {status}: {detail}")
        })
    }
}
