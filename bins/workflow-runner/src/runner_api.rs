//! The API of a runner that serves, for the commands that ask it.

use anyhow::{Context as _, bail};
use config_core::{Environment, Secret};
use http_clients::http::{HttpClient, HttpError, HttpOptions, Request};
use serde_json::Value;
use url::Url;

use crate::arguments::ServeOptions;
use crate::runner_options::RunnerOptions;
use crate::serve;

/// A runner's API.
pub(crate) struct RunnerApi {
    pub(crate) base: Url,
    pub(crate) token: Option<Secret<String>>,
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
    /// That of the options, else of the configuration.
    pub(crate) fn of(options: &RunnerOptions, environment: &Environment) -> anyhow::Result<Self> {
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

    /// An address below it.
    pub(crate) fn at(&self, path: &str) -> anyhow::Result<Url> {
        Ok(self.base.join(path)?)
    }

    /// Sends a request and reads the JSON of its answer, which may be empty.
    pub(crate) fn ask(&self, request: Request) -> anyhow::Result<Value> {
        let request = match &self.token {
            Some(token) => request.authorization("Bearer", token),
            None => request,
        };
        let answer = actix_rt::System::new().block_on(async move {
            let http = HttpClient::new(HttpOptions::default());
            let response = http.call(request).await?;
            if response.is_success() {
                let empty = response.status == 204;
                return Ok(Ok(if empty { Value::Null } else { response.json()? }));
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
