//! The forge's own address in a job's machine: the VM manager leads it here, and what shows the
//! job's token is answered as at the gateway's address. Everything else goes on to the forge.
//!
//! ```text
//! curl https://forge/… ─▶ 127.0.0.1:3128 ─▶ VM manager ─▶ TLS ends (HostIdentity)
//!                             shows the job's token ─▶ API, git: the gateway
//!                                                   ─▶ registries: decide_packages ─▶ forge (FORGE_TOKEN)
//!                             anything else ─────────▶ forge, as it came, where the machine reaches it
//! ```

use std::sync::Arc;

use base64::Engine as _;
use config_core::Secret;
use forge_core::Forge;
use http_clients::http::{HttpClient, Method, Request};
use http_clients::vmm::NetworkTarget;
use memchr::memmem;
use runner_core::gateway::{
    PackageCall, decide_download, decide_packages, own_addresses, page_base,
};
use runner_core::workflow::PermissionLevel;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

use super::JobServices;
use super::authority::{HostAuthority, HostIdentity};
use super::forge::{CALL_TIMEOUT, ForgeApi, GatewayRefusal, refusal};
use super::gateway_request::send;
use crate::clock::now_ms;

/// A request of a registry that a job may make.
pub enum PackageTurn {
    /// The client may come in.
    Welcome,
    /// It gets the job's token again; as JSON, or as a text.
    OwnToken(bool),
    /// It is passed on without any token: what anybody may read.
    Anybody,
    /// It is passed on.
    Pass(ForwardedRequest),
}

/// How a request is passed on with the runner's token: of a registry, or of a file.
pub struct ForwardedRequest {
    /// The forge; the job's answers name it so.
    pub base: Url,
    /// Path and query there.
    pub target: String,
    /// The value of `Authorization`.
    pub authorization: Secret<String>,
    /// What no answer may hold.
    pub guard: TokenGuard,
    /// The job's turn, until the answer has ended.
    pub turn: OwnedSemaphorePermit,
    /// It is of a file: what the forge says where it gives none is of the runner's account.
    pub is_file: bool,
}

/// Finds the runner's token in what comes back.
#[derive(Clone)]
pub struct TokenGuard(Arc<[Vec<u8>]>);

impl TokenGuard {
    fn new(token: &str) -> Self {
        let engine = &base64::engine::general_purpose::STANDARD;
        Self(Arc::new([
            token.as_bytes().to_vec(),
            engine.encode(credentials(token)).into_bytes(),
        ]))
    }

    /// Whether it is in there.
    #[must_use]
    pub fn finds(&self, bytes: &[u8]) -> bool {
        let mut needles = self.0.iter().filter(|needle| !needle.is_empty());
        needles.any(|needle| memmem::find(bytes, needle).is_some())
    }

    /// How much of a stream has to be kept so that nothing is missed between two pieces.
    #[must_use]
    pub fn overlap(&self) -> usize {
        let longest = self.0.iter().map(Vec::len).max();
        longest.unwrap_or_default().saturating_sub(1)
    }
}

/// Registries take a token as the password of anybody.
fn credentials(token: &str) -> String {
    format!("x-access-token:{token}")
}

impl ForgeApi {
    pub(super) fn guard(&self) -> TokenGuard {
        TokenGuard::new(self.token().expose())
    }
}

impl JobServices {
    /// The addresses of the forge at which the token of a job counts; none where that is not
    /// wanted, or jobs have none.
    pub(crate) fn own_addresses(
        &self,
        clone_url: &str,
        server_url: &str,
        repository: &str,
    ) -> Vec<Url> {
        let forge = self.shared.forge.as_ref();
        let Some(forge) = forge.filter(|forge| forge.counts_at_own_address()) else {
            return Vec::new();
        };
        own_addresses(Some(forge.base()), clone_url, server_url, repository)
    }

    /// The forge's address at a place that is led here; nothing where no job that runs has it.
    #[must_use]
    pub fn forwarded_address(&self, target: &NetworkTarget) -> Option<Url> {
        let jobs = self.shared.forge_jobs.lock();
        let mut addresses = jobs.values().flat_map(|grant| &grant.may.addresses);
        let found = addresses.find(|url| target_of(url).as_ref() == Some(target));
        found.cloned()
    }

    /// What is shown to a machine that asks for this host by TLS.
    #[must_use]
    pub fn identity_of(&self, host: &str) -> Option<Arc<HostIdentity>> {
        let authority = self.authority_of(host)?;
        Some(Arc::clone(&authority.identity))
    }

    pub(crate) fn authority_of(&self, host: &str) -> Option<Arc<HostAuthority>> {
        self.shared.authorities.for_host(host)
    }

    /// The one of these that is the token of a job that runs.
    #[must_use]
    pub fn known_token(&self, shown: &[String]) -> Option<String> {
        let jobs = self.shared.forge_jobs.lock();
        let is_known = |token: &&String| jobs.contains_key(&blake3::hash(token.as_bytes()));
        shown.iter().find(is_known).cloned()
    }

    /// Whether a path below the API is of another repository than the token's job: anybody may ask
    /// for that, and the token adds nothing.
    #[must_use]
    pub fn is_of_other_repository(&self, token: &str, path: &str) -> bool {
        let Ok(grant) = self.forge_grant(token) else {
            return false;
        };
        let Some(rest) = path.strip_prefix("/repos/") else {
            return false;
        };
        let own = &grant.may.repository;
        let begins = rest.get(..own.len());
        let is_own = begins.is_some_and(|begins| begins.eq_ignore_ascii_case(own));
        let behind = rest.get(own.len()..).unwrap_or_default();
        let behind = behind.strip_prefix(".git").unwrap_or(behind);
        !(is_own && (behind.is_empty() || behind.starts_with('/')))
    }

    /// Decides on a request of a registry; `path` is below the forge's own.
    ///
    /// # Errors
    /// Why it is not passed on.
    pub async fn package_turn(
        &self,
        token: &str,
        method: &str,
        (path, query): (&str, Option<&str>),
    ) -> Result<PackageTurn, GatewayRefusal> {
        let grant = self.forge_grant(token)?;
        let Some(forge) = &self.shared.forge else {
            return Err(refusal(404, "there is no registry here"));
        };
        let may = &grant.may;
        // Packages are the owner's, of all its repositories, and private ones among them.
        if may.is_strangers && matches!(method, "GET" | "HEAD") {
            return Ok(PackageTurn::Anybody);
        }
        let call = decide_packages(method, path, query, &may.repository, &may.permissions);
        match call.map_err(|refused| refusal(403, refused.to_string()))? {
            PackageCall::Welcome => Ok(PackageTurn::Welcome),
            PackageCall::OwnToken { json } => Ok(PackageTurn::OwnToken(json)),
            PackageCall::Pass => {
                let turn = Arc::clone(&grant.packages_at_once).acquire_owned().await;
                let turn = turn.map_err(|_| refusal(503, "the job ends"))?;
                Ok(PackageTurn::Pass(forge.package_passage(path, query, turn)))
            }
        }
    }
}

impl JobServices {
    /// A file of the run's repository at a page's address, which is passed on; nothing where it is
    /// no such file.
    ///
    /// # Errors
    /// Why it is not passed on.
    pub async fn download_turn(
        &self,
        http: &HttpClient,
        token: &str,
        (path, query): (&str, Option<&str>),
    ) -> Result<Option<ForwardedRequest>, GatewayRefusal> {
        let grant = self.forge_grant(token)?;
        let Some(forge) = &self.shared.forge else {
            return Ok(None);
        };
        let may = &grant.may;
        let Some(file) = decide_download(path, query, &may.repository, &may.permissions) else {
            return Ok(None);
        };
        let file = file.map_err(|refused| refusal(403, refused.to_string()))?;
        let writes = may.permissions.allows("contents", PermissionLevel::Write);
        // What is not published is as if it was not there, for a job that may not write.
        if let Some(tag) = file.release.filter(|tag| *tag != "latest" && !writes) {
            grant.count(now_ms())?;
            let about = format!("/repos/{}/releases/tags/{tag}", may.repository);
            let request = forge.request(Method::Get, &about, None);
            let request = request.ok_or_else(|| refusal(404, "Not Found"))?;
            let answer = send(http, request).await?;
            let about: Value = answer.json().unwrap_or_default();
            if !answer.is_success() || about["draft"] != false {
                return Err(refusal(404, "Not Found"));
            }
        }
        let turn = Arc::clone(&grant.packages_at_once).acquire_owned().await;
        let turn = turn.map_err(|_| refusal(503, "the job ends"))?;
        Ok(Some(forge.file_passage(path, query, turn)))
    }
}

impl ForgeApi {
    fn package_passage(
        &self,
        path: &str,
        query: Option<&str>,
        turn: OwnedSemaphorePermit,
    ) -> ForwardedRequest {
        let token = self.token().expose();
        let engine = &base64::engine::general_purpose::STANDARD;
        let authorization = format!("Basic {}", engine.encode(credentials(token)));
        // Registries of images are at the top of a host.
        let mount = match path.starts_with("/v2") {
            true => "",
            false => self.base().path().trim_end_matches('/'),
        };
        let query = query.map(|query| format!("?{query}"));
        ForwardedRequest {
            target: format!("{mount}{path}{}", query.unwrap_or_default()),
            base: self.base().clone(),
            authorization: Secret::new(authorization),
            guard: self.guard(),
            turn,
            is_file: false,
        }
    }

    /// The same of a file, by its path behind the forge's own.
    pub(super) fn file_passage(
        &self,
        path: &str,
        query: Option<&str>,
        turn: OwnedSemaphorePermit,
    ) -> ForwardedRequest {
        ForwardedRequest {
            is_file: true,
            ..self.package_passage(path, query, turn)
        }
    }

    /// A call of a path behind the forge's own, with the runner's token as git shows it.
    pub(super) fn file_request(&self, method: Method, path: &str) -> Option<Request> {
        let base = self.base().as_str().trim_end_matches('/');
        let base = match self.kind() {
            Forge::GitHub => page_base(base),
            Forge::Gitea | Forge::Forgejo => base.to_owned(),
        };
        let url = Url::parse(&format!("{base}{path}")).ok()?;
        let engine = &base64::engine::general_purpose::STANDARD;
        let pair = Secret::new(engine.encode(credentials(self.token().expose())));
        let request = Request::new(method, url).authorization("Basic", &pair);
        Some(
            request
                .with_deadline(CALL_TIMEOUT)
                .with_max_body(MAX_ABOUT_FILES),
        )
    }
}

/// Largest answer about files.
const MAX_ABOUT_FILES: usize = 4 << 20;

/// A place as the VM manager names it.
pub(crate) fn target_of(url: &Url) -> Option<NetworkTarget> {
    let (host, port) = (url.host_str()?, url.port_or_known_default()?);
    format!("{host}:{port}").parse().ok()
}
