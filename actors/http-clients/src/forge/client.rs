//! The client and what its calls have in common.

use std::time::{Duration, SystemTime};

use config_core::Secret;
use forge_core::{Forge, Login, RepoName};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::wire;
use crate::forge::{ForgeError, ForgeRefusal};
use crate::http::{HttpClient, HttpError, Method, Request, Response, RetryPolicy};

/// Reads are repeated so often, and never for long: who asks has a deadline of its own.
const READS: RetryPolicy = RetryPolicy {
    attempts: 3,
    first: Duration::from_millis(200),
    longest: Duration::from_secs(5),
};

/// A forge, spoken to with one token. Clones share the connections.
#[derive(Clone)]
pub struct ForgeClient {
    http: HttpClient,
    kind: Forge,
    base: Url,
    token: Option<Secret<String>>,
}

impl ForgeClient {
    /// A client of the forge at `base`: `https://gitea.example`, a path in it is kept; for GitHub
    /// `https://api.github.com`.
    #[must_use]
    pub fn new(http: HttpClient, kind: Forge, base: Url, token: Option<Secret<String>>) -> Self {
        Self {
            http,
            kind,
            base,
            token,
        }
    }

    /// The same forge with another token: what an agent posts carries its own name.
    #[must_use]
    pub fn with_token(&self, token: Secret<String>) -> Self {
        Self {
            token: Some(token),
            ..self.clone()
        }
    }

    /// Which kind of forge it is.
    #[must_use]
    pub fn kind(&self) -> Forge {
        self.kind
    }

    /// Whose token it is.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn whoami(&self) -> Result<Login, ForgeError> {
        let user: wire::User = self.read(self.request(Method::Get, "/user", &[])).await?;
        login(&user.login)
    }

    /// The address of an API call.
    pub(super) fn address(&self, path: &str, query: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        let prefix = match self.kind {
            Forge::GitHub => "",
            Forge::Gitea | Forge::Forgejo => "/api/v1",
        };
        url.set_path(&format!(
            "{}{prefix}{path}",
            self.base.path().trim_end_matches('/')
        ));
        url.set_query(None);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    pub(super) fn request(&self, method: Method, path: &str, query: &[(&str, &str)]) -> Request {
        let request = Request::new(method, self.address(path, query));
        let request = match self.kind {
            Forge::GitHub => request
                .header("accept", "application/vnd.github+json")
                .header("x-github-api-version", "2022-11-28"),
            Forge::Gitea | Forge::Forgejo => request.header("accept", "application/json"),
        };
        let scheme = match self.kind {
            Forge::GitHub => "Bearer",
            Forge::Gitea | Forge::Forgejo => "token",
        };
        match &self.token {
            Some(token) => request.authorization(scheme, token),
            None => request,
        }
    }

    /// A call that changes something: sent once.
    pub(super) async fn write<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ForgeError> {
        let request = self.request(method, path, &[]).json(body);
        let response = self.http.call(request).await?;
        Ok(checked(response)?.json()?)
    }

    /// A call that changes something, has no body and wants none: sent once.
    pub(super) async fn send(&self, method: Method, path: &str) -> Result<(), ForgeError> {
        let request = self.request(method, path, &[]);
        checked(self.http.call(request).await?).map(drop)
    }

    /// A call that reads.
    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        request: Request,
    ) -> Result<T, ForgeError> {
        Ok(self.fetch(request).await?.json()?)
    }

    pub(super) async fn fetch(&self, request: Request) -> Result<Response, ForgeError> {
        let response = self.http.call_retrying(request, &READS).await?;
        checked(response)
    }
}

/// An answer of status 2xx; GitHub's way of saying "too many calls" is read from its headers.
fn checked(response: Response) -> Result<Response, ForgeError> {
    if response.is_success() {
        return Ok(response);
    }
    let exhausted = response.headers.get("x-ratelimit-remaining") == Some("0");
    let reset = response.headers.number("x-ratelimit-reset");
    let error = response.into_error();
    if exhausted && matches!(error.status(), Some(403 | 429)) {
        let after = match &error {
            HttpError::Status { retry_after, .. } => *retry_after,
            _ => None,
        };
        return Err(ForgeError::RateLimited {
            reason: error.to_string(),
            after: after.or_else(|| reset.map(|at| time_until(at, SystemTime::now()))),
        });
    }
    Err(error.into())
}

/// The time until a Unix time in seconds.
fn time_until(at: u64, now: SystemTime) -> Duration {
    let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(at));
    at.and_then(|at| at.duration_since(now).ok())
        .unwrap_or(Duration::ZERO)
}

/// A name as the forge gave it, checked.
pub(super) fn login(text: &str) -> Result<Login, ForgeError> {
    text.parse().map_err(|error| {
        ForgeError::permanent(ForgeRefusal::BadReply, format!("the forge gave a {error}"))
    })
}

/// The path of a repository's calls.
pub(super) fn repo_path(repo: &RepoName, rest: &str) -> String {
    format!("/repos/{}/{}{rest}", repo.owner(), repo.repo())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_a_path_of_the_base() {
        let client = |kind, base: &str| {
            ForgeClient::new(HttpClient::default(), kind, base.parse().unwrap(), None)
        };
        actix_rt::System::new().block_on(async {
            let table = [
                (
                    Forge::Gitea,
                    "https://g.example",
                    "https://g.example/api/v1/user",
                ),
                (
                    Forge::Gitea,
                    "https://x.example/git/",
                    "https://x.example/git/api/v1/user",
                ),
                (
                    Forge::GitHub,
                    "https://api.github.com",
                    "https://api.github.com/user",
                ),
                (
                    Forge::GitHub,
                    "https://gh.example/api/v3",
                    "https://gh.example/api/v3/user",
                ),
            ];
            for (kind, base, expected) in table {
                assert_eq!(client(kind, base).address("/user", &[]).as_str(), expected);
            }
            let url = client(Forge::Forgejo, "https://g.example").address("/x", &[("q", "a&b c")]);
            assert_eq!(url.query(), Some("q=a%26b+c"));
        });
    }
}
