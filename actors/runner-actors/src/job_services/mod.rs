//! The services that clients in a job's machine talk to: artifacts and caches as GitHub's runners
//! offer them.
//!
//! ```text
//! @actions/artifact, @actions/cache ─▶ 127.0.0.1:3128 in the VM ─▶ VM manager ─▶ runner-web
//!      token of the job ─▶ JobServices ─▶ JobGrant ─▶ ArtifactStore, CacheStore
//!      signed address ───▶ JobServices ─▶ Blob (what is uploaded or downloaded)
//! ```
//! A token is of one job of one run, and nothing after the job's end. What is asked for is the
//! run's own whatever a request names, and lies where the native actions have it. Beside them the
//! forge's API, see [`forge`].

mod artifact_api;
mod artifacts;
mod authority;
mod blob;
mod cache_api;
mod caches;
mod fault;
mod forge;
mod forge_calls;
mod gateway_request;
mod git;
mod git_backend;
mod graphql;
mod identity;
mod large_files;
mod listing;
mod own_address;
mod push_checks;
mod recorded_calls;
mod release_files;
mod room;
mod run_changes;
mod run_logs;
mod run_views;
mod runs_backend;
mod targets;
mod workflow_runs;
mod zip_end;
mod zip_files;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use forge_graphql_core::GraphQl;
use parking_lot::Mutex;
use runner_core::cache_scope::CacheScope;
use runner_core::workflow::CacheMode;
use tokio::sync::Semaphore;

use crate::artifacts::{ArtifactMaker, ArtifactStore};
use crate::caches::CacheStore;
use crate::clock::now_ms;
use crate::leftovers;
use crate::run_shape::GATEWAY as BASE;

pub use artifacts::ListedArtifact;
use authority::Authorities;
pub use authority::HostIdentity;
pub(crate) use authority::NAME_HASH;
pub use blob::{BlobDownload, BlockWriter, SignedBlob};
pub use fault::ServiceFault;
use forge::ForgeGrant;
pub use forge::GatewayRefusal;
pub(crate) use forge::{ForgeApi, ForgePermissions};
pub use gateway_request::{GatewayAnswer, GatewayBody, GatewayRequest};
pub(crate) use git::git_address;
pub use git::{AdmittedGit, GitAnswer, GitFolder, GitRequest};
pub(crate) use git_backend::GitBackend;
use identity::Issuer;
pub(crate) use identity::JobIdentity;
pub use large_files::LargeFileTurn;
pub(crate) use own_address::target_of;
pub use own_address::{ForwardedRequest, PackageTurn, TokenGuard};
pub(crate) use room::TransferRoom;
pub(crate) use runs_backend::{
    BackendAnswer, JobDispatch, JobRepeat, RunControl, RunsBackend, WorkflowFile,
};
pub(crate) use zip_files::tar_of_zipped;

/// Uploads and downloads of one job that are open at once.
const MAX_BLOBS: usize = 512;
/// A signed address says when it ends; it ends with its job as well.
const ADDRESS_LIFETIME: Duration = Duration::from_secs(3600);

/// Requests of git's that are worked on at once: each may take a processor and a GiB for minutes.
const MAX_GIT_AT_ONCE: usize = 4;

/// The services of all jobs; clones share them.
#[derive(Clone)]
pub struct JobServices {
    shared: Arc<ServiceState>,
}

struct ServiceState {
    artifacts: ArtifactStore,
    caches: CacheStore,
    /// What is on its way.
    folder: PathBuf,
    /// By what their tokens hash to.
    jobs: Mutex<HashMap<blake3::Hash, Arc<JobGrant>>>,
    blobs: Mutex<HashMap<String, (blake3::Hash, Arc<SignedBlob>)>>,
    next: AtomicU64,
    issuer: Option<Issuer>,
    /// Jobs that may have identity tokens, by what those requests' tokens hash to.
    identities: Mutex<HashMap<blake3::Hash, JobIdentity>>,
    forge: Option<ForgeApi>,
    /// Runs as jobs reach them, once somebody handles runs.
    runs: OnceLock<RunsBackend>,
    authorities: Authorities,
    graphql: GraphQl,
    /// Jobs that may call the forge, by what their placeholders hash to.
    forge_jobs: Mutex<HashMap<blake3::Hash, Arc<ForgeGrant>>>,
    /// Requests of git's that are worked on, of all jobs.
    git_at_once: Arc<Semaphore>,
}

/// What a token stands for.
#[derive(Debug)]
pub struct JobGrant {
    /// The run's id.
    pub run: String,
    /// The copy of the job, within the run.
    pub job: String,
    /// Whose its artifacts are.
    pub(crate) maker: ArtifactMaker,
    /// Where it reads caches; the first one is where it writes.
    pub(crate) scopes: Vec<CacheScope>,
    /// What it may do with them.
    pub(crate) cache_mode: CacheMode,
    /// What its identity tokens say, where it may have some.
    pub(crate) identity: Option<JobIdentity>,
    /// What it may do at the forge.
    pub(crate) forge: ForgePermissions,
    /// What its transfers take on the host's disk.
    pub(crate) room: TransferRoom,
}

/// A job that may use the services, until this is dropped.
pub(crate) struct JobServiceGuard {
    services: JobServices,
    key: blake3::Hash,
    /// What the job may do with caches.
    cache_mode: CacheMode,
    /// What the job's programs show.
    pub(crate) token: String,
    /// What they show to get identity tokens, and what it hashes to.
    pub(crate) id_token: Option<(String, blake3::Hash)>,
    /// What stands for the forge's token, and what it hashes to.
    pub(crate) forge_token: Option<(String, blake3::Hash)>,
}

impl JobServices {
    /// Services over these stores; what was on its way when the runner ended before is removed.
    ///
    /// # Errors
    /// When the key for identity tokens cannot be made or read.
    pub(crate) fn open(
        data: &Path,
        artifacts: ArtifactStore,
        caches: CacheStore,
        issuer: Option<&str>,
        forge: Option<ForgeApi>,
    ) -> std::io::Result<Self> {
        let folder = data.join("transfers");
        leftovers::clear(&folder);
        let issuer = issuer.map(|url| Issuer::open(data, url)).transpose()?;
        Ok(Self {
            shared: Arc::new(ServiceState {
                artifacts,
                caches,
                folder,
                jobs: Mutex::default(),
                blobs: Mutex::default(),
                next: AtomicU64::new(1),
                issuer,
                identities: Mutex::default(),
                forge,
                runs: OnceLock::new(),
                authorities: Authorities::default(),
                graphql: GraphQl::new(),
                forge_jobs: Mutex::default(),
                git_at_once: Arc::new(Semaphore::new(MAX_GIT_AT_ONCE)),
            }),
        })
    }

    /// What the transfers of a job may take on the host's disk.
    pub(crate) fn room(&self) -> TransferRoom {
        let (artifacts, caches) = (&self.shared.artifacts, &self.shared.caches);
        TransferRoom::for_largest(artifacts.most().max(caches.most()))
    }

    /// From here on jobs reach runs by this.
    pub(crate) fn reach_runs(&self, runs: RunsBackend) {
        // It is said once.
        let _ = self.shared.runs.set(runs);
    }

    /// Lets a job use them for so long, or until the admission is dropped.
    #[cfg(test)]
    pub(crate) fn admit(&self, grant: JobGrant, lifetime: Duration) -> JobServiceGuard {
        self.admit_with(grant, lifetime, None)
    }

    /// Lets a job use them for so long, or until the admission is dropped. `forge_token` stands for
    /// the forge's token again, when the job goes on in a VM in which it lies.
    pub(crate) fn admit_with(
        &self,
        grant: JobGrant,
        lifetime: Duration,
        forge_token: Option<&str>,
    ) -> JobServiceGuard {
        let token = token(&grant, lifetime);
        let key = blake3::hash(token.as_bytes());
        let id_token = grant.identity.clone().map(|identity| {
            let own = random();
            let key = blake3::hash(own.as_bytes());
            self.shared.identities.lock().insert(key, identity);
            (own, key)
        });
        let forge_token = self.shared.forge.is_some().then(|| {
            let own = forge_token.map_or_else(random, str::to_owned);
            let services_key = key;
            let key = blake3::hash(own.as_bytes());
            let grant = ForgeGrant::new(grant.forge.clone(), services_key);
            self.shared.forge_jobs.lock().insert(key, Arc::new(grant));
            (own, key)
        });
        let cache_mode = grant.cache_mode;
        self.shared.jobs.lock().insert(key, Arc::new(grant));
        JobServiceGuard {
            cache_mode,
            services: self.clone(),
            key,
            token,
            id_token,
            forge_token,
        }
    }

    /// The job whose token this is, while it runs.
    ///
    /// # Errors
    /// [`ServiceFault::NoJob`] for every other.
    pub fn job(&self, token: &str) -> Result<JobSession, ServiceFault> {
        let key = blake3::hash(token.as_bytes());
        let grant = self.shared.jobs.lock().get(&key).cloned();
        let grant = grant.ok_or(ServiceFault::NoJob)?;
        Ok(JobSession {
            services: self.clone(),
            key,
            grant,
        })
    }

    /// An identity token for an audience, for who shows the token for such requests.
    ///
    /// # Errors
    /// [`ServiceFault::NoJob`] when it is of no job that runs and may have one.
    pub fn id_token(&self, token: &str, audience: Option<&str>) -> Result<String, ServiceFault> {
        let key = blake3::hash(token.as_bytes());
        let identity = self.shared.identities.lock().get(&key).cloned();
        let (Some(identity), Some(issuer)) = (identity, &self.shared.issuer) else {
            return Err(ServiceFault::NoJob);
        };
        issuer.token(&identity, audience)
    }

    /// What verifiers of identity tokens read first; `None`: none are given.
    #[must_use]
    pub fn openid_configuration(&self) -> Option<serde_json::Value> {
        self.shared.issuer.as_ref().map(Issuer::configuration)
    }

    /// The keys that identity tokens are signed with.
    #[must_use]
    pub fn key_set(&self) -> Option<serde_json::Value> {
        self.shared.issuer.as_ref().map(Issuer::keys)
    }

    /// What lies at a signed address, while its job runs.
    ///
    /// # Errors
    /// [`ServiceFault::NoJob`] when there is none, or the signature is another.
    pub fn blob(&self, id: &str, signature: &str) -> Result<Arc<SignedBlob>, ServiceFault> {
        let found = self.shared.blobs.lock().get(id).cloned();
        let found = found.filter(|(_, blob)| blob.is_signed(signature));
        found.map(|(_, blob)| blob).ok_or(ServiceFault::NoJob)
    }
}

/// One job's view of the services.
#[derive(Clone)]
pub struct JobSession {
    services: JobServices,
    key: blake3::Hash,
    grant: Arc<JobGrant>,
}

impl JobSession {
    /// Whose they are.
    #[must_use]
    pub fn grant(&self) -> &JobGrant {
        &self.grant
    }

    fn artifacts(&self) -> &ArtifactStore {
        &self.services.shared.artifacts
    }

    fn caches(&self) -> &CacheStore {
        &self.services.shared.caches
    }

    /// Opens a blob, and says where; a job has so many at once.
    fn open(&self, blob: SignedBlob) -> Result<String, ServiceFault> {
        let mut blobs = self.services.shared.blobs.lock();
        let own = blobs.values().filter(|(key, _)| *key == self.key).count();
        if own >= MAX_BLOBS {
            return Err(ServiceFault::Full(format!(
                "the job has {MAX_BLOBS} transfers open already"
            )));
        }
        let ends = now_ms() / 1000 + ADDRESS_LIFETIME.as_secs();
        let (id, address) = (blob.id().to_owned(), blob.address(BASE, ends));
        blobs.insert(id, (self.key, Arc::new(blob)));
        Ok(address)
    }

    /// The job's upload that `wanted` says; it is closed, so that nothing is added to it.
    fn take(&self, wanted: impl Fn(&SignedBlob) -> bool) -> Result<Arc<SignedBlob>, ServiceFault> {
        let mut blobs = self.services.shared.blobs.lock();
        let found = blobs
            .iter()
            .find(|(_, (key, blob))| *key == self.key && wanted(blob))
            .map(|(id, _)| id.clone());
        let taken = found.and_then(|id| blobs.remove(&id));
        let (_, blob) = taken.ok_or_else(|| {
            ServiceFault::NotFound("there is no such upload of this job".to_owned())
        })?;
        Ok(blob)
    }

    /// The job's upload that `wanted` says, which stays open.
    fn find_upload(
        &self,
        wanted: impl Fn(&SignedBlob) -> bool,
    ) -> Result<Arc<SignedBlob>, ServiceFault> {
        let blobs = self.services.shared.blobs.lock();
        let mut own = blobs.values().filter(|(key, _)| *key == self.key);
        let found = own.find(|(_, blob)| wanted(blob));
        found
            .map(|(_, blob)| Arc::clone(blob))
            .ok_or_else(|| ServiceFault::NotFound("there is no such upload of this job".to_owned()))
    }

    /// A folder for something on its way.
    fn folder(&self) -> PathBuf {
        let name = uuid::Uuid::new_v4().simple().to_string();
        self.services.shared.folder.join(name)
    }

    /// A number that no other has.
    fn number(&self) -> u64 {
        self.services.shared.next.fetch_add(1, Ordering::Relaxed)
    }
}

impl JobServiceGuard {
    /// The variables by which the clients of actions find the services.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        [
            ("ACTIONS_RUNTIME_URL", BASE),
            ("ACTIONS_RESULTS_URL", BASE),
            ("ACTIONS_CACHE_URL", BASE),
            ("ACTIONS_CACHE_SERVICE_V2", "True"),
            ("ACTIONS_CACHE_MODE", self.cache_mode.name()),
            ("ACTIONS_RUNTIME_TOKEN", &self.token),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec()
    }
}

impl JobServiceGuard {
    /// The variables by which steps ask for identity tokens.
    pub(crate) fn id_token_variables(&self) -> Vec<(String, String)> {
        let Some((token, _)) = &self.id_token else {
            return Vec::new();
        };
        // Clients add `&audience=`.
        let url = format!("{BASE}id-token?api-version=2.0");
        vec![
            ("ACTIONS_ID_TOKEN_REQUEST_URL".to_owned(), url),
            ("ACTIONS_ID_TOKEN_REQUEST_TOKEN".to_owned(), token.clone()),
        ]
    }
}

impl Drop for JobServiceGuard {
    fn drop(&mut self) {
        let shared = &self.services.shared;
        if let Some((_, key)) = &self.id_token {
            shared.identities.lock().remove(key);
        }
        if let Some((_, key)) = &self.forge_token {
            shared.forge_jobs.lock().remove(key);
        }
        shared.jobs.lock().remove(&self.key);
        shared.blobs.lock().retain(|_, (key, _)| *key != self.key);
    }
}

/// As clients take it apart: a JSON web token whose `scp` names run and job. Nobody but the runner
/// checks it, and the runner looks it up as a whole: what stands for the signature is random.
fn token(grant: &JobGrant, lifetime: Duration) -> String {
    let now = now_ms() / 1000;
    let header = serde_json::json!({"alg": "HS256", "typ": "JWT"});
    let claims = serde_json::json!({
        "iss": "orrery",
        "scp": format!("Actions.Results:{}:{}", grant.run, grant.job),
        "nbf": now,
        "iat": now,
        "exp": now + lifetime.as_secs(),
    });
    let (header, claims) = (header.to_string(), claims.to_string());
    format!(
        "{}.{}.{}",
        encode(header.as_bytes()),
        encode(claims.as_bytes()),
        random()
    )
}

fn encode(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

/// What nobody guesses.
fn random() -> String {
    let random = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()].map(uuid::Uuid::into_bytes);
    encode(random.as_flattened())
}

#[cfg(test)]
mod tests;
