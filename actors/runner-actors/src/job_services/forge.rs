//! The forge's API for jobs: the runner's own token behind a placeholder of the job's, limited to
//! the run's repository and the job's `permissions`.
//!
//! ```text
//! octokit ─▶ 127.0.0.1:3128/api/v3/… (placeholder) ─▶ decide ─▶ forge (FORGE_TOKEN), no redirects
//!                                                       └─▶ 403 with what is missing
//! ```

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use config_core::Secret;
use forge_core::Forge;
use http_clients::http::{HttpClient, Method, Request, Response};
use parking_lot::Mutex;
use runner_core::gateway::{ApiAddress, ForgeCall, PullCheck, check_body, decide, rewritten_link};
use runner_core::workflow::Permissions;
use tokio::sync::Semaphore;
use url::Url;

use super::{BASE, JobServices};
use crate::clock::now_ms;
use crate::settings::RunnerSettings;

/// Calls of one job in an hour, as GitHub has it for a repository, and at once.
const MAX_CALLS: u32 = 1_000;
const MAX_AT_ONCE: usize = 8;
const HOUR_MS: u64 = 3_600_000;
/// Largest answer that is passed on.
const MAX_ANSWER: usize = 64 << 20;
/// Longest time of one call.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// Headers of an answer that a job sees.
const SHOWN: [&str; 13] = [
    "content-type",
    "content-disposition",
    "etag",
    "last-modified",
    "retry-after",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-used",
    "x-ratelimit-resource",
    "x-github-request-id",
    "x-github-media-type",
    "x-total-count",
];
/// Parts of a query by which Gitea and Forgejo take another token or another user.
const CREDENTIALS: [&str; 3] = ["access_token", "token", "sudo"];

/// The forge, and the token that is the runner's.
pub(crate) struct ForgeApi {
    kind: Forge,
    base: Url,
    token: Secret<String>,
}

/// What a job may do there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForgePermissions {
    /// `owner/repo`
    pub(crate) repository: String,
    pub(crate) permissions: Permissions,
}

/// The same of a job that runs, with its calls.
pub(crate) struct ForgeGrant {
    may: ForgePermissions,
    at_once: Semaphore,
    /// When the hour began, and calls since then.
    calls: Mutex<(u64, u32)>,
}

/// A call as a job makes it.
#[derive(Debug, Clone)]
pub struct GatewayRequest {
    /// What it shows as its token.
    pub token: String,
    /// The method's word.
    pub method: String,
    /// The path below the API, as it stands in the request line.
    pub path: String,
    /// The query, as it stands there.
    pub query: Option<String>,
    /// Headers that are passed on.
    pub headers: Vec<(&'static str, String)>,
    /// The body; empty: none.
    pub body: Bytes,
}

/// The forge's answer, or the gateway's own.
#[derive(Debug, Clone)]
pub struct GatewayAnswer {
    /// The status code.
    pub status: u16,
    /// Headers that a job sees.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Bytes,
}

/// Why a call is not passed on: a status, and what is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayRefusal {
    /// The status code.
    pub status: u16,
    /// What is wrong or missing.
    pub message: String,
}

fn refusal(status: u16, message: impl Into<String>) -> GatewayRefusal {
    GatewayRefusal {
        status,
        message: message.into(),
    }
}

impl ForgeApi {
    /// As the settings say; nothing without a token or a known forge.
    pub(crate) fn of(settings: &RunnerSettings) -> Option<Self> {
        let token = settings.forge_token.clone()?;
        let base = match (&settings.forge_url, settings.forge) {
            (Some(url), _) => url.clone(),
            (None, Forge::GitHub) => Url::parse("https://api.github.com").ok()?,
            (None, _) => return None,
        };
        Some(Self {
            kind: settings.forge,
            base,
            token,
        })
    }

    fn version(&self) -> &'static str {
        match self.kind {
            Forge::GitHub => "v3",
            Forge::Gitea | Forge::Forgejo => "v1",
        }
    }

    /// Where the API is, and where a job finds it.
    fn address(&self) -> ApiAddress {
        let below = match self.kind {
            Forge::GitHub => "",
            Forge::Gitea | Forge::Forgejo => "/api/v1",
        };
        let base = self.base.as_str().trim_end_matches('/');
        ApiAddress {
            forge: format!("{base}{below}"),
            gateway: format!("{BASE}api/{}", self.version()),
        }
    }

    fn request(&self, method: Method, path: &str, query: Option<&str>) -> Option<Request> {
        let mut url = Url::parse(&format!("{}{path}", self.address().forge)).ok()?;
        url.set_query(query);
        // Nothing of the path leads elsewhere, however it is read.
        if url.origin() != self.base.origin() {
            return None;
        }
        let scheme = match self.kind {
            Forge::GitHub => "Bearer",
            Forge::Gitea | Forge::Forgejo => "token",
        };
        let request = Request::new(method, url).authorization(scheme, &self.token);
        Some(request.within(CALL_TIMEOUT).at_most(MAX_ANSWER))
    }
}

impl ForgeGrant {
    pub(crate) fn new(may: ForgePermissions) -> Self {
        Self {
            may,
            at_once: Semaphore::new(MAX_AT_ONCE),
            calls: Mutex::default(),
        }
    }

    /// Counts a call.
    fn count(&self, now: u64) -> Result<(), GatewayRefusal> {
        let mut calls = self.calls.lock();
        if now.saturating_sub(calls.0) >= HOUR_MS {
            *calls = (now, 0);
        }
        if calls.1 >= MAX_CALLS {
            let message =
                format!("API rate limit exceeded: a job has {MAX_CALLS} calls in an hour");
            return Err(refusal(429, message));
        }
        calls.1 += 1;
        Ok(())
    }
}

impl JobServices {
    /// Where jobs find the forge's API and its GraphQL; nothing where they have no token.
    pub(crate) fn forge_addresses(&self) -> Option<(String, String)> {
        let forge = self.shared.forge.as_ref()?;
        Some((forge.address().gateway, format!("{BASE}api/graphql")))
    }

    /// Passes a call on, as far as the job may make it.
    ///
    /// # Errors
    /// Why it is not passed on, or that the forge gives no answer.
    pub async fn call_forge(
        &self,
        http: &HttpClient,
        asked: GatewayRequest,
    ) -> Result<GatewayAnswer, GatewayRefusal> {
        let key = blake3::hash(asked.token.as_bytes());
        let grant = self.shared.forge_jobs.lock().get(&key).cloned();
        let (Some(grant), Some(forge)) = (grant, &self.shared.forge) else {
            return Err(refusal(
                401,
                "Bad credentials: the token is of no job that runs",
            ));
        };
        let method = method(&asked.method)
            .ok_or_else(|| refusal(405, "GET, HEAD, POST, PUT, PATCH and DELETE are passed on"))?;
        let call = permitted(&grant, &asked).map_err(|message| refusal(403, message))?;
        grant.count(now_ms())?;
        let _turn = grant.at_once.acquire().await;
        if let Some(check) = &call.check {
            check_pull(forge, http, check).await?;
        }
        let request = forge.request(method, &call.path, asked.query.as_deref());
        let mut request =
            request.ok_or_else(|| refusal(400, "the address of the call is wrong"))?;
        for (name, value) in asked.headers {
            request = request.header(name, value);
        }
        if !asked.body.is_empty() {
            request = request.body(asked.body);
        }
        let response = send(http, request).await?;
        Ok(shown(response, &forge.address(), &grant.may.repository))
    }
}

/// The call as it is passed on, or why it is not.
fn permitted(grant: &Arc<ForgeGrant>, asked: &GatewayRequest) -> Result<ForgeCall, String> {
    let ForgePermissions {
        repository,
        permissions,
    } = &grant.may;
    let call = decide(&asked.method, &asked.path, repository, permissions);
    let call = call.map_err(|refused| refused.to_string())?;
    let query = asked.query.as_deref().unwrap_or_default();
    let mut names = url::form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name);
    if let Some(name) =
        names.find(|name| CREDENTIALS.iter().any(|one| one.eq_ignore_ascii_case(name)))
    {
        return Err(format!(
            "the query names `{name}`: the token of the job is a header"
        ));
    }
    if !asked.body.is_empty() {
        check_body(&asked.path, &asked.body).map_err(|refused| refused.to_string())?;
    }
    Ok(call)
}

/// Whether it belongs to a pull request, where only those are permitted.
async fn check_pull(
    forge: &ForgeApi,
    http: &HttpClient,
    check: &PullCheck,
) -> Result<(), GatewayRefusal> {
    let (PullCheck::Number(path) | PullCheck::Comment(path)) = check;
    let request = forge.request(Method::Get, path, None);
    let request = request.ok_or_else(|| refusal(400, "the address of the call is wrong"))?;
    let answer = send(http, request).await?;
    let holds = answer.is_success()
        && match check {
            PullCheck::Number(_) => true,
            PullCheck::Comment(_) => is_of_pull(&answer),
        };
    if holds {
        return Ok(());
    }
    let message = "Resource not accessible by integration: the job's `permissions` have `pull-requests`, and this is none; they lack `issues`";
    Err(refusal(403, message))
}

/// Whether a comment is of a pull request, as its forge says.
fn is_of_pull(answer: &Response) -> bool {
    let Ok(comment) = answer.json::<serde_json::Value>() else {
        return false;
    };
    let text = |name: &str| comment[name].as_str().unwrap_or_default();
    !text("pull_request_url").is_empty() || text("html_url").contains("/pull/")
}

async fn send(http: &HttpClient, request: Request) -> Result<Response, GatewayRefusal> {
    http.call(request).await.map_err(|error| {
        tracing::debug!(event = "run.forge_unreached", %error, "a job's call of the forge has no answer");
        refusal(502, "the forge gives no answer that could be passed on")
    })
}

fn shown(response: Response, api: &ApiAddress, repository: &str) -> GatewayAnswer {
    let known = SHOWN.iter().filter_map(|name| {
        let value = response.headers.get(name)?;
        Some((*name, value.to_owned()))
    });
    let mut headers: Vec<(&'static str, String)> = known.collect();
    if let Some(link) = response.headers.get("link") {
        headers.push(("link", rewritten_link(link, api, repository)));
    }
    if let Some(location) = response.headers.get("location") {
        headers.push(("location", api.for_job(location, repository)));
    }
    GatewayAnswer {
        status: response.status,
        headers,
        body: response.body,
    }
}

fn method(word: &str) -> Option<Method> {
    Some(match word {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "PATCH" => Method::Patch,
        "DELETE" => Method::Delete,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_a_job_s_calls_are_counted_by_the_hour() {
        let grant = ForgeGrant::new(ForgePermissions {
            repository: "acme/rocket".to_owned(),
            permissions: Permissions::restricted(),
        });
        for _ in 0..MAX_CALLS {
            assert_eq!(grant.count(5 * HOUR_MS), Ok(()));
        }
        let refused = grant.count(6 * HOUR_MS - 1).unwrap_err();
        assert_eq!(refused.status, 429);
        assert_eq!(grant.count(6 * HOUR_MS), Ok(()));
    }
}
