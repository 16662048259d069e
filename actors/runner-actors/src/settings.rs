//! What the runner is started with.

use std::path::PathBuf;
use std::time::Duration;

use cluster_actors::vm_hosts::{MachineType, VmHostSettings};
use config_core::{ObjectSettings, Secret};
use forge_core::Forge;
use git_engine::TreeLimits;
use http_clients::forge::ForgeClient;
use http_clients::http::{AddressPolicy, AllowedAddress, HttpClient, HttpOptions};
use http_clients::vmm::{Network, NetworkTarget};
use runner_core::checkout::RepositoryPattern;
use runner_core::event::PullRequestCommit;
use runner_core::hosted_label::OtherSystems;
use runner_core::plan::WorkspaceStart;
use runner_core::workflow::PermissionLevel;
use url::Url;

use crate::artifact_room::ArtifactLimits;
use crate::kept::KeepSettings;
use crate::scopes::ScopeSettings;

/// A language-model server that explains workflows (`USE_LLM_PARSER`).
#[derive(Debug, Clone)]
pub struct ModelServer {
    /// Ollama's protocol or the OpenAI-style one.
    pub protocol: http_clients::llm::LlmProtocol,
    /// Its address.
    pub base: Url,
    /// Its key, when it wants one.
    pub key: Option<Secret<String>>,
    /// The model.
    pub model: String,
}

/// The time that schedules go by: the system's, unless a test moves its own.
#[derive(Debug, Clone, Copy)]
pub struct ScheduleTime {
    /// Milliseconds since the Unix epoch.
    pub now_ms: fn() -> u64,
    /// Time between two looks at the schedules.
    pub every: Duration,
}

impl Default for ScheduleTime {
    /// The system's time, looked at every 20 s: schedules have minutes.
    fn default() -> Self {
        Self {
            now_ms: crate::clock::now_ms,
            every: Duration::from_secs(20),
        }
    }
}

/// What commits may cost: anybody's pull request is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckoutLimits {
    /// The most that one commit may lay out.
    pub tree: TreeLimits,
    /// The most bytes that one fetch may bring.
    pub fetch_bytes: u64,
    /// The most memory of each git process.
    pub memory: u64,
    /// The longest that one call of git may take.
    pub time: Duration,
    /// Commits that are fetched, read or laid out at once.
    pub at_once: usize,
    /// Of one repository.
    pub per_repository: usize,
    /// Bytes that all checkouts on the disk may hold together; a run waits for its part.
    pub total_bytes: u64,
}

impl Default for CheckoutLimits {
    fn default() -> Self {
        Self {
            tree: TreeLimits {
                entries: 250_000,
                bytes: 4 << 30,
                depth: 100,
            },
            fetch_bytes: 4 << 30,
            memory: 1 << 30,
            time: Duration::from_secs(300),
            at_once: 4,
            per_repository: 2,
            total_bytes: 32 << 30,
        }
    }
}

/// The store of actions of other repositories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionSettings {
    /// Its folder: mirrors, trees and the lock.
    pub folder: PathBuf,
    /// Where `owner/repo` is fetched from when neither the file nor the operator names a forge.
    pub server: Url,
    /// Owners whose actions may be in it, without regard to case; none: those of all that the
    /// operator adds.
    pub owners: Vec<String>,
    /// Native actions, `owner/name`, whose originals run in their place.
    pub originals: Vec<String>,
    /// Who starts runs may read the store itself: actions of repositories that not everybody may
    /// read are for all of them.
    pub reads_all: bool,
}

/// The store of images of containers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSettings {
    /// Its folder: blobs and the lock.
    pub folder: PathBuf,
    /// Registries, or parts of them (`registry.example/team`), whose images are fetched when a job
    /// needs them.
    pub registries: Vec<String>,
    /// Addresses that may be fetched from beside public ones.
    pub addresses: AddressPolicy,
}

impl ImageSettings {
    /// Addresses that a registry may be at: its own is the operator's to say, and where it leads
    /// is checked as every address is.
    pub(crate) fn addresses_of(&self, host: &str) -> AddressPolicy {
        let own = host.parse::<AllowedAddress>().ok();
        let listed = match &self.addresses {
            AddressPolicy::Any => return AddressPolicy::Any,
            AddressPolicy::PublicOnly => Vec::new(),
            AddressPolicy::Listed(places) => places.clone(),
        };
        AddressPolicy::Listed(listed.into_iter().chain(own).collect())
    }
}

/// Settings of the runner.
#[derive(Debug, Clone)]
pub struct RunnerSettings {
    /// Directory of logs, artifacts, caches and checkouts.
    pub data: PathBuf,
    /// Directory of mirrors (`REPOSITORY_PATH`).
    pub repositories: PathBuf,
    /// Where actions of other repositories are kept, and which may be.
    pub actions: ActionSettings,
    /// Where images of containers are kept, and where they come from.
    pub images: ImageSettings,
    /// The git program, and the `PATH` its helpers are found in.
    pub git: (PathBuf, String),
    /// Which kind of forge statuses are posted to.
    pub forge: Forge,
    /// Its address; `None`: of each event's repository (Gitea, Forgejo) or GitHub's API.
    pub forge_url: Option<Url>,
    /// The token for statuses and private repositories.
    pub forge_token: Option<Secret<String>>,
    /// Addresses that repositories may be fetched from beside the forge's own.
    pub addresses: AddressPolicy,
    /// Repositories of the forge that steps may check out with the runner's token, beside their
    /// run's own.
    pub checkout_repositories: Vec<RepositoryPattern>,
    /// What the workspace of a job has that checks nothing out.
    pub workspace: WorkspaceStart,
    /// What becomes of copies for Windows and macOS.
    pub other_systems: OtherSystems,
    /// What runs of pull requests have checked out.
    pub pull_request_commit: PullRequestCommit,
    /// Unencrypted `http` and directories as clone URLs.
    pub transports: git_engine::Transports,
    /// The hosts whose VM managers give VMs; at least one.
    pub vm_hosts: Vec<VmHostSettings>,
    /// What every VM is asked for, by label (`runs-on`); the entry `default` is for labels not
    /// listed, which are refused without it.
    pub machines: Vec<(String, MachineType)>,
    /// Where VM managers reach the services of jobs; `None`: jobs have none.
    pub services: Option<NetworkTarget>,
    /// Longest wait for a VM.
    pub vm_timeout: Duration,
    /// Copies of jobs that run at once; of one repository.
    pub max_jobs: usize,
    /// Of one repository.
    pub max_jobs_per_repository: usize,
    /// Runs that wait to be started; beyond it deliveries are refused (503), and come again.
    pub max_waiting: usize,
    /// The model that parses too, when that is asked for.
    pub model: Option<ModelServer>,
    /// Where people read runs: the base of `target_url`.
    pub public_url: Option<Url>,
    /// What the tokens of jobs may do whose workflows name no permissions: to read, or to write;
    /// `None`: to write at Gitea and Forgejo, to read at GitHub.
    pub token_permissions: Option<PermissionLevel>,
    /// Whether the token of a job counts at the forge's own address, too; `None`: at Gitea and
    /// Forgejo.
    pub token_at_forge: Option<bool>,
    /// Whether the tokens of jobs may approve pull requests.
    pub token_approves: bool,
    /// Whether a push ends the runs of the one before it where a workflow does not say; `None`: at
    /// Gitea and Forgejo.
    pub cancel_previous: Option<bool>,
    /// Variables (`vars`) and secrets, for trusted events.
    pub vars: Vec<(String, String)>,
    /// Secrets.
    pub secrets: Vec<(String, Secret<String>)>,
    /// What is set for some owners, repositories and environments only.
    pub scopes: ScopeSettings,
    /// What commits may cost.
    pub checkouts: CheckoutLimits,
    /// Bytes of its output that are kept of a step, from the beginning; 256 KiB of the end beside.
    pub log_step_max: u64,
    /// How much of artifacts there may be, and for how long.
    pub artifacts: ArtifactLimits,
    /// Bytes of one cache.
    pub cache_max: u64,
    /// Bytes of caches that a repository may have; the least lately used go. Those of forks have a
    /// quarter of it beside.
    pub cache_bytes: u64,
    /// How often branches and open pull requests are compared with what was run.
    pub catch_up_every: Duration,
    /// Repositories (`owner/repo` at `forge_url`) that are compared although they have not pushed
    /// yet.
    pub watched: Vec<String>,
    /// Time between two runs of the garbage collector; `None`: every minute.
    pub gc_interval: Option<Duration>,
    /// What schedules go by.
    pub schedules: ScheduleTime,
    /// What is kept of failed jobs.
    pub keep: KeepSettings,
    /// Where logs, artifacts and caches are shared with other processes; `None`: they stay in
    /// `data`.
    pub objects: Option<ObjectSettings>,
    /// How often a job that was lost runs again by itself, where its workflow does not say.
    pub rerun_lost: u32,
    /// Runs kept; older ones are forgotten with their logs and artifacts.
    pub keep_runs: usize,
}

impl RunnerSettings {
    /// Whether a machine with these labels has a network.
    #[must_use]
    pub fn has_network(&self, labels: &[String]) -> bool {
        let network = self.machine_of(labels);
        let network = network.and_then(|machine| machine.vm.network);
        network.unwrap_or_default() != Network::None
    }

    /// Whether steps on a machine with these labels are a user of its image.
    #[must_use]
    pub fn has_user(&self, labels: &[String]) -> bool {
        let user = self.machine_of(labels);
        let user = user.and_then(|machine| machine.user.as_deref());
        user.is_some_and(|name| name != "root")
    }

    fn machine_of(&self, labels: &[String]) -> Option<&MachineType> {
        let named = |wanted: &str| {
            let mut machines = self.machines.iter();
            machines.find(|(name, _)| name.eq_ignore_ascii_case(wanted))
        };
        let machine = labels.iter().find_map(|label| named(label));
        let machine = machine.or_else(|| named("default"));
        machine.map(|(_, machine)| machine)
    }

    /// Whether the token of a job counts at the forge's own address: at Gitea and Forgejo, where
    /// nobody has said otherwise. At GitHub, whose actions ask at the API's address, never.
    #[must_use]
    pub fn counts_at_forge(&self) -> bool {
        self.forge != Forge::GitHub && self.token_at_forge.unwrap_or(true)
    }

    /// The forge's API on this thread, where it is known.
    pub(crate) fn forge_client(&self) -> Option<ForgeClient> {
        self.forge_client_over(HttpClient::new(HttpOptions::default()))
    }

    /// The forge's API over this HTTP client, where it is known.
    pub(crate) fn forge_client_over(&self, http: HttpClient) -> Option<ForgeClient> {
        let base = match (&self.forge_url, self.forge) {
            (Some(url), _) => url.clone(),
            (None, Forge::GitHub) => Url::parse("https://api.github.com").ok()?,
            (None, _) => return None,
        };
        Some(ForgeClient::new(
            http,
            self.forge,
            base,
            self.forge_token.clone(),
        ))
    }
}
