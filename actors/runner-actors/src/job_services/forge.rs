//! The forge's API for jobs: the runner's own token behind a placeholder of the job's, limited to
//! the run's repository and the job's `permissions`.
//!
//! ```text
//! octokit ─▶ 127.0.0.1:3128/api/v3/… (placeholder) ─▶ decide ─▶ forge (FORGE_TOKEN), no redirects
//!                                                       └─▶ 403 with what is missing
//! ```

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use config_core::Secret;
use forge_core::Forge;
use git_engine::{Mirror, Remote};
use http_clients::http::{Method, Request};
use parking_lot::Mutex;
use runner_core::gateway::{ApiAddress, is_upload, upload_base};
use runner_core::workflow::Permissions;
use tokio::sync::{OnceCell, Semaphore};
use url::Url;

use super::git_backend::GitBackend;
use crate::run_finder::RunFinder;
use crate::settings::RunnerSettings;

/// Calls of one job in an hour, as GitHub has it for a repository, and at once.
const MAX_CALLS: u32 = 1_000;
const MAX_AT_ONCE: usize = 8;
/// Documents of GraphQL of one job at once: each may hold many answers.
const MAX_DOCUMENTS_AT_ONCE: usize = 2;
/// Requests of git's of one job at once: each may hold a pack.
const MAX_GIT_AT_ONCE: usize = 2;
/// Requests of registries of one job at once: an image goes in layers.
const MAX_PACKAGES_AT_ONCE: usize = 16;
const HOUR_MS: u64 = 3_600_000;
/// Shown where the runner has no words of git's for what failed.
pub(super) const UNTOLD: &str = "the runner could not reach the forge; see its log";
/// Largest answer that is passed on.
const MAX_ANSWER: usize = 64 << 20;
/// Longest time of one call.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// The forge, and the token that is the runner's.
pub(crate) struct ForgeApi {
    kind: Forge,
    base: Url,
    token: Secret<String>,
    /// The tokens of jobs count at its own address, too.
    at_own_address: bool,
    /// Jobs may approve pull requests.
    approves: bool,
    /// Finds the runs whose artifacts jobs ask for.
    pub(super) runs: RunFinder,
    /// What git is served with.
    pub(super) git: Option<GitBackend>,
    /// Whose token it is, once it was asked for.
    pub(super) account: OnceCell<Account>,
}

/// An account: its login, and its number where it is known.
pub(super) type Account = (String, Option<u64>);

/// What a job may do there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForgePermissions {
    /// `owner/repo`
    pub(crate) repository: String,
    pub(crate) permissions: Permissions,
    /// Where the repository is cloned from.
    pub(crate) clone_url: String,
    /// The forge's own addresses, where the job's token counts there.
    pub(crate) addresses: Vec<Url>,
    /// The pull request that the run is a merge of: its number, and the commit.
    pub(crate) merged: Option<(u64, String)>,
    /// A stranger's: packages are of the owner, so it reads those that anybody may.
    pub(crate) is_strangers: bool,
}

/// The same of a job that runs, with its calls.
pub(crate) struct ForgeGrant {
    pub(super) may: ForgePermissions,
    pub(super) at_once: Arc<Semaphore>,
    /// Calls whose bodies are in memory.
    pub(super) bodies: Arc<Semaphore>,
    pub(super) git_at_once: Arc<Semaphore>,
    pub(super) packages_at_once: Arc<Semaphore>,
    pub(super) documents_at_once: Semaphore,
    /// When the hour began, and calls since then.
    calls: Mutex<(u64, u32)>,
    /// What its token for the services hashes to.
    pub(super) job: blake3::Hash,
    /// Artifacts that it was told of, by their numbers.
    pub(super) artifacts: Mutex<HashMap<u64, ArtifactPlace>>,
}

/// An artifact: its run, and its name.
pub(super) type ArtifactPlace = (String, String);

/// Why a call is not passed on: a status, and what is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayRefusal {
    /// The status code.
    pub status: u16,
    /// What is wrong or missing.
    pub message: String,
}

pub(super) fn refusal(status: u16, message: impl Into<String>) -> GatewayRefusal {
    GatewayRefusal {
        status,
        message: message.into(),
    }
}

/// Said where the runner has no words of git's for what failed, which its log has.
pub(super) fn not_served(may: &ForgePermissions, error: &dyn std::fmt::Display) -> GatewayRefusal {
    tracing::warn!(event = "run.git_not_served", repository = %may.repository, %error, "a job's git is not served");
    refusal(502, UNTOLD)
}

impl ForgeApi {
    /// As the settings say; nothing without a token or a known forge.
    pub(crate) fn from_settings(settings: &RunnerSettings, runs: RunFinder) -> Option<Self> {
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
            at_own_address: settings.counts_at_forge(),
            approves: settings.token_approves,
            runs,
            git: None,
            account: OnceCell::new(),
        })
    }

    /// With git beside the API.
    pub(crate) fn with_git(mut self, git: GitBackend) -> Self {
        self.git = Some(git);
        self
    }

    /// What git is served with, the mirror of a job's repository, and where that is.
    ///
    /// # Errors
    /// Git is not served, or not for this repository.
    pub(super) fn git_places(
        &self,
        may: &ForgePermissions,
    ) -> Result<(&GitBackend, Mirror, Remote), GatewayRefusal> {
        let backend = self.git.as_ref();
        let backend = backend.ok_or_else(|| refusal(404, "git is not served here"))?;
        let repository = may.repository.parse();
        let repository = repository.map_err(|_| refusal(404, "there is no such repository"))?;
        let remote = backend.repositories.remote(&may.clone_url, &may.repository);
        let remote = remote.map_err(|error| not_served(may, &error))?;
        let mirror = backend.repositories.mirror(&repository);
        let mirror = mirror.map_err(|error| not_served(may, &error))?;
        Ok((backend, mirror, remote))
    }

    pub(super) fn base(&self) -> &Url {
        &self.base
    }

    pub(super) fn token(&self) -> &Secret<String> {
        &self.token
    }

    pub(super) fn counts_at_own_address(&self) -> bool {
        self.at_own_address
    }

    pub(super) fn approves(&self) -> bool {
        self.approves
    }

    pub(super) fn kind(&self) -> Forge {
        self.kind
    }

    fn version(&self) -> &'static str {
        match self.kind {
            Forge::GitHub => "v3",
            Forge::Gitea | Forge::Forgejo => "v1",
        }
    }

    /// Where the API is, and where a job finds it.
    pub(super) fn address(&self, gateway: &str) -> ApiAddress {
        let below = match self.kind {
            Forge::GitHub => "",
            Forge::Gitea | Forge::Forgejo => "/api/v1",
        };
        let base = self.base.as_str().trim_end_matches('/');
        ApiAddress {
            forge: format!("{base}{below}"),
            gateway: format!("{gateway}api/{}", self.version()),
        }
    }

    /// A call with the runner's token; nothing where the path leads elsewhere.
    pub(super) fn request(
        &self,
        method: Method,
        path: &str,
        query: Option<&str>,
    ) -> Option<Request> {
        let mut base = self.address("").forge;
        if self.kind == Forge::GitHub && method == Method::Post && is_upload("POST", path) {
            base = upload_base(&base);
        }
        let mut url = Url::parse(&format!("{base}{path}")).ok()?;
        url.set_query(query);
        // Nothing of the path leads elsewhere, however it is read.
        if url.origin() != Url::parse(&base).ok()?.origin() {
            return None;
        }
        Some(self.authorized(method, url))
    }

    /// A call with the runner's token: what is asked for at `url` must be known.
    pub(super) fn authorized(&self, method: Method, url: Url) -> Request {
        let scheme = match self.kind {
            Forge::GitHub => "Bearer",
            Forge::Gitea | Forge::Forgejo => "token",
        };
        let request = Request::new(method, url).authorization(scheme, &self.token);
        request
            .with_deadline(CALL_TIMEOUT)
            .with_max_body(MAX_ANSWER)
    }

    /// Whether files of releases are fetched for a job: where the forge answers with what the
    /// client cannot follow.
    pub(super) fn serves_files(&self, is_gh: bool) -> bool {
        is_gh || self.kind != Forge::GitHub
    }

    /// What the forge keeps elsewhere, by the address that it gave: without the token.
    pub(super) fn stored(&self, address: &str) -> Option<Request> {
        let url = self.base.join(address).ok()?;
        let request = Request::get(url).with_deadline(CALL_TIMEOUT);
        Some(request.with_max_body(MAX_ANSWER))
    }
}

impl ForgeGrant {
    pub(crate) fn new(may: ForgePermissions, job: blake3::Hash) -> Self {
        Self {
            may,
            at_once: Arc::new(Semaphore::new(MAX_AT_ONCE)),
            bodies: Arc::new(Semaphore::new(MAX_AT_ONCE)),
            git_at_once: Arc::new(Semaphore::new(MAX_GIT_AT_ONCE)),
            packages_at_once: Arc::new(Semaphore::new(MAX_PACKAGES_AT_ONCE)),
            documents_at_once: Semaphore::new(MAX_DOCUMENTS_AT_ONCE),
            calls: Mutex::default(),
            job,
            artifacts: Mutex::default(),
        }
    }

    /// Counts a call.
    pub(super) fn count(&self, now: u64) -> Result<(), GatewayRefusal> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_a_job_s_calls_are_counted_by_the_hour() {
        let may = ForgePermissions {
            repository: "acme/rocket".to_owned(),
            permissions: Permissions::restricted(),
            clone_url: String::new(),
            addresses: Vec::new(),
            merged: None,
            is_strangers: false,
        };
        let grant = ForgeGrant::new(may, blake3::hash(b"a job"));
        for _ in 0..MAX_CALLS {
            assert_eq!(grant.count(5 * HOUR_MS), Ok(()));
        }
        let refused = grant.count(6 * HOUR_MS - 1).unwrap_err();
        assert_eq!(refused.status, 429);
        assert_eq!(grant.count(6 * HOUR_MS), Ok(()));
    }
}
