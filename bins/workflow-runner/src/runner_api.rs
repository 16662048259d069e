//! The API of a runner that serves, for commands.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use config_core::{Environment, Secret};
use http_clients::http::{HttpClient, HttpError, HttpOptions, Request};
use serde_json::Value;
use url::Url;

use crate::arguments::{RunnerServeOptions, exit_code, print};
use crate::runner_options::RunnerOptions;
use crate::serve;

/// A runner's API.
pub(crate) struct RunnerApi {
    base: Url,
    token: Option<Secret<String>>,
}

/// That a runner does not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[error("the runner says {status}: {detail}")]
pub(crate) struct RunnerRefusal {
    /// The status of its answer.
    pub(crate) status: u16,
    detail: String,
}

/// Prints what came of it, and ends with the exit code that says so.
pub(crate) fn print_result(result: anyhow::Result<String>) -> ExitCode {
    exit_code(result.map(|text| {
        print(&text);
        true
    }))
}

/// An id is one part of a path.
pub(crate) fn path_part(run: &str) -> anyhow::Result<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if run.is_empty() || !run.chars().all(is_part) {
        bail!("`{run}` is no id of a run: `workflow-runner waiting` shows those that wait");
    }
    Ok(run)
}

impl RunnerApi {
    /// That of the configuration, or of `--url`.
    pub(crate) fn from_options(
        options: &RunnerOptions,
        environment: &Environment,
    ) -> anyhow::Result<Self> {
        let serve = RunnerServeOptions {
            config: options.config.clone(),
            ..RunnerServeOptions::default()
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

    /// The address of something of it.
    pub(crate) fn url(&self, path: &str) -> anyhow::Result<Url> {
        Ok(self.base.join(path)?)
    }

    /// Whether there is a token to be known by.
    pub(crate) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// The token, if there is one.
    pub(crate) fn token(&self) -> Option<&Secret<String>> {
        self.token.as_ref()
    }

    /// Asks, and gives the JSON of the answer, which may be empty.
    pub(crate) fn ask(&self, request: Request) -> anyhow::Result<Value> {
        Ok(self.ask_page(request)?.0)
    }

    /// The same of a page of a list, with the address of the next one, where there is one.
    pub(crate) fn ask_page(&self, request: Request) -> anyhow::Result<(Value, Option<Url>)> {
        let request = match &self.token {
            Some(token) => request.authorization("Bearer", token),
            None => request,
        };
        let answer = actix_rt::System::new().block_on(async move {
            let http = HttpClient::new(HttpOptions::default());
            let response = http.call(request).await?;
            if response.is_success() {
                let empty = response.status == 204;
                let answer = if empty { Value::Null } else { response.json()? };
                let link = response.headers.get("link").and_then(next_page);
                let next = link.and_then(|query| response.url.join(query).ok());
                return Ok(Ok((answer, next)));
            }
            Ok::<_, HttpError>(Err((response.status, response.text())))
        });
        let answer = answer.with_context(|| format!("the runner at {} does not answer", self.base));
        answer?.map_err(|(status, text)| {
            let problem: Value = serde_json::from_str(&text).unwrap_or_default();
            let detail = problem["detail"].as_str();
            let detail = detail.unwrap_or("no reason is given").to_owned();
            RunnerRefusal { status, detail }.into()
        })
    }
}

/// The address in `Link: <…>; rel="next"`.
fn next_page(link: &str) -> Option<&str> {
    let (address, rest) = link.strip_prefix('<')?.split_once('>')?;
    rest.contains("rel=\"next\"").then_some(address)
}
