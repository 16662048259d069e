//! The configuration as a whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use config_core::{ObjectSettings, Secret};
use forge_core::{
    AgentName, BranchName, Forge, Login, ProjectId, RepoName, SecretBook, StatusContext,
};
use url::Url;
use vmm_api_core::{MachineType, VmHostSettings};

use super::agent::{AgentSpec, DEFAULT_MACHINE};
use super::persona::Persona;
use super::routing::RoutingTables;

/// The least that a guest starts with.
const LEAST_MEMORY_MIB: u64 = 128;

/// Everything the orchestrator was told, checked together.
#[derive(Debug, Clone)]
pub struct Config {
    /// Time between two reconciliations (`tick_interval_secs`).
    pub tick_interval: Duration,
    /// Whether a received dispatch books an early tick.
    pub wake_on_dispatch: bool,
    /// The project `orchctl trigger` means when it names none.
    pub main_project: ProjectId,
    /// Whether exposed secrets and the like stop the start instead of being warned of.
    pub strict: bool,
    /// Where it listens.
    pub listeners: Listeners,
    /// Folders.
    pub directories: Directories,
    /// Where the store is.
    pub store: StoreConfig,
    /// Where logs are shared with other processes; absent: they stay in the data folder.
    pub objects: Option<ObjectSettings>,
    /// The forge; without one nothing is posted or polled.
    pub forge: Option<ForgeConfig>,
    /// The receiver's secrets and limits.
    pub webhook: WebhookConfig,
    /// What webhooks are verified with: the secrets of `[webhook]`, and those of projects that have
    /// their own.
    pub secrets: Arc<SecretBook>,
    /// Mention dispatch; absent: every webhook is dropped, and the reply says so.
    pub mentions: Option<MentionSettings>,
    /// Pull-request fan-out.
    pub pr_dispatch: Option<PrDispatch>,
    /// Projects by id.
    pub projects: BTreeMap<ProjectId, Project>,
    /// Agents, by project and name.
    pub agents: BTreeMap<(ProjectId, AgentName), AgentSpec>,
    /// Settings of providers; those of agents that are not listed have the defaults.
    pub providers: BTreeMap<String, Provider>,
    /// Forge tokens by agent name (`agent_tokens.json`).
    pub agent_tokens: BTreeMap<AgentName, Secret<String>>,
    /// Logins of the agents and of the orchestrator itself: their comments start nothing.
    pub own_logins: Vec<Login>,
    /// Most runs that wait; one more is rejected with `queue_full`.
    pub max_queued: usize,
    /// Most agent processes at a time, whatever started them.
    pub max_running: usize,
    /// An agent with so many configuration errors in a row is put into quarantine.
    pub quarantine_after: u32,
    /// Personas by name.
    pub personas: BTreeMap<String, Persona>,
    /// Skills by name; front matter removed.
    pub skills: BTreeMap<String, String>,
    /// The routing tables.
    pub routing: RoutingTables,
    /// Search roles by persona (`persona_roles_config.json`).
    pub search_roles: BTreeMap<String, String>,
    /// Hosts of VMs, for agents that run in one.
    pub vm_hosts: Vec<VmHostSettings>,
    /// What their VMs are made by, by name.
    pub machines: BTreeMap<String, MachineType>,
    /// Longest wait of an agent for its VM.
    pub vm_wait: Duration,
    /// How long the daemon waits for its parts to end.
    pub shutdown: Duration,
    /// How long an ended run and its log are kept.
    pub retention: RunRetention,
    /// URL of the search server, given to agents as `ORCH_SEARCH_URL`.
    pub search_url: Option<Url>,
    /// Base of the addresses that statuses link to; runs are at `<base>/runs/<id>`.
    pub public_url: Option<Url>,
}

impl Config {
    /// The agent `name` of `project`.
    pub fn agent(&self, project: &ProjectId, name: &AgentName) -> Option<&AgentSpec> {
        self.agents.get(&(project.clone(), name.clone()))
    }

    /// The machine of an agent that runs in a VM: its entry of `machines`, with its own memory.
    #[must_use]
    pub fn machine(&self, agent: &AgentSpec) -> MachineType {
        let name = agent.machine.as_deref().unwrap_or(DEFAULT_MACHINE);
        let mut machine = self.machines.get(name).cloned().unwrap_or_default();
        if let Some(bytes) = agent.limits.memory_bytes {
            let mib = bytes.div_ceil(1 << 20).max(LEAST_MEMORY_MIB);
            machine.vm.mem_mib = Some(u32::try_from(mib).unwrap_or(u32::MAX));
        }
        machine
    }

    /// The names the receiver answers for beside its addresses: those of `hosts`, and that of
    /// `public_url`, which it gives out itself.
    pub fn own_names(&self) -> impl Iterator<Item = &str> {
        let public = self.public_url.as_ref().and_then(url::Url::host_str);
        let listed = self.listeners.hosts.iter().map(String::as_str);
        listed.chain(public)
    }

    /// Keeps what a process cannot change while it runs as it is `in_force`; the keys that were to
    /// change it. They take effect at the next start.
    pub fn keep_fixed(&mut self, in_force: &Self) -> Vec<&'static str> {
        fn keep<T: Clone + PartialEq>(
            wanted: &mut T,
            now: &T,
            key: &'static str,
        ) -> Option<&'static str> {
            let other = wanted != now;
            wanted.clone_from(now);
            other.then_some(key)
        }
        let (own, now) = (&mut self.listeners, &in_force.listeners);
        let kept = [
            keep(&mut own.webhook, &now.webhook, "listen"),
            keep(&mut own.hosts, &now.hosts, "hosts"),
            keep(&mut own.admin, &now.admin, "admin_listen"),
            keep(&mut own.admin_socket, &now.admin_socket, "admin_socket"),
            keep(
                &mut self.directories.data,
                &in_force.directories.data,
                "data_dir",
            ),
            keep(&mut self.store, &in_force.store, "store"),
            keep(&mut self.objects, &in_force.objects, "objects"),
            keep(
                &mut self.webhook.max_body_bytes,
                &in_force.webhook.max_body_bytes,
                "webhook.max_body_bytes",
            ),
        ];
        kept.into_iter().flatten().collect()
    }

    /// The project of a repository.
    pub fn project_of(&self, repository: &RepoName) -> Option<&Project> {
        self.projects
            .values()
            .find(|project| project.repository == *repository)
    }
}

/// Where the orchestrator listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listeners {
    /// The webhook receiver, `<host>:<port>`.
    pub webhook: String,
    /// The admin bridge on loopback, `<host>:<port>`; absent: the socket only.
    pub admin: Option<String>,
    /// The admin bridge's Unix socket.
    pub admin_socket: Option<PathBuf>,
    /// Further names it answers for, behind a proxy for instance.
    pub hosts: Vec<String>,
    /// Bearer token of the admin bridge on loopback.
    pub admin_token: Option<Secret<String>>,
}

/// Where the store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreConfig {
    /// The address of one in PostgreSQL; absent: in the data folder.
    pub url: Option<Secret<String>>,
    /// The process waits for the store when another has it.
    pub standby: bool,
    /// `host:port` at which the others that share the store reach this process.
    pub advertise: Option<String>,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            url: None,
            standby: true,
            advertise: None,
        }
    }
}

/// Folders; relative ones in the file stand for ones beside `orchestrator.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directories {
    /// Where `orchestrator.toml` stands.
    pub config: PathBuf,
    /// The store and the logs of runs.
    pub data: PathBuf,
    /// Personas.
    pub personas: PathBuf,
    /// Skills.
    pub skills: PathBuf,
    /// Routing tables.
    pub routing: PathBuf,
    /// Scenarios of the browser agent.
    pub scenarios: PathBuf,
    /// Where agents leave reports.
    pub reports: PathBuf,
    /// The forge tokens of agents.
    pub agent_tokens: PathBuf,
    /// The search roles of personas.
    pub persona_roles: PathBuf,
}

impl Directories {
    /// The default places.
    pub fn defaults_for(config: &Path) -> Self {
        let place = |name: &str| config.join(name);
        Self {
            config: config.to_owned(),
            data: place("data"),
            personas: place("personas"),
            skills: place("skills"),
            routing: place("routing"),
            scenarios: place("scenarios"),
            reports: place("reports"),
            agent_tokens: place("agent_tokens.json"),
            persona_roles: place("persona_roles_config.json"),
        }
    }
}

/// How the forge is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeConfig {
    /// Its kind.
    pub kind: Forge,
    /// Base of its API, without `/api/v1`.
    pub url: Url,
    /// The orchestrator's own token.
    pub token: Secret<String>,
    /// Whether tokens may go to another machine without encryption, unmentioned.
    pub allow_http: bool,
}

/// Secrets and limits of the receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookConfig {
    /// The secret in use.
    pub secret: Secret<String>,
    /// The one it replaces.
    pub previous_secret: Option<Secret<String>>,
    /// Largest body, in bytes.
    pub max_body_bytes: usize,
}

/// `[mentions]` of the top level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MentionSettings {
    /// Every so many ticks the forge is asked for what was missed.
    pub poll_modulo: u32,
    /// Most mention runs started by one tick.
    pub max_dispatches_per_tick: u32,
    /// Most mention runs at a time.
    pub max_concurrent_mention_agents: u32,
    /// Bounds against loops.
    pub limits: MentionLimits,
    /// Who may mention agents at all; empty: whom `require_write` lets.
    pub allow: Vec<Login>,
    /// Whether an author that is on no allow-list must be able to write to the repository, as the
    /// forge says.
    pub require_write: bool,
    /// Whether a refused mention is answered at its issue, once for each reason.
    pub answer_refusals: bool,
}

impl Default for MentionSettings {
    fn default() -> Self {
        Self {
            poll_modulo: 2,
            max_dispatches_per_tick: 3,
            max_concurrent_mention_agents: 8,
            limits: MentionLimits {
                max_depth: 3,
                per_issue_per_hour: 20,
                per_comment: 10,
            },
            allow: Vec::new(),
            require_write: true,
            answer_refusals: true,
        }
    }
}

/// Bounds against loops and floods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MentionLimits {
    /// Longest chain of runs that ask for runs.
    pub max_depth: u16,
    /// Most dispatches of one issue within an hour.
    pub per_issue_per_hour: u32,
    /// Most agents asked by one comment.
    pub per_comment: usize,
}

/// `[pr_dispatch]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrDispatch {
    /// The project whose pull requests fan out.
    pub project: ProjectId,
    /// One run and one status each.
    pub agents: Vec<PrAgent>,
    /// Whose pull requests fan out; empty: everybody's.
    pub allow: Vec<Login>,
    /// Whether pull requests from forks do.
    pub forks: bool,
    /// Whether drafts do.
    pub drafts: bool,
    /// Most fan-out runs at a time.
    pub max_concurrent: u32,
}

/// One check of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrAgent {
    /// Who makes it.
    pub agent: AgentName,
    /// The status context.
    pub context: StatusContext,
}

/// One project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// Its repository on the forge.
    pub repository: RepoName,
    /// The main checkout.
    pub working_dir: PathBuf,
    /// Where worktrees of its agents are made.
    pub worktree_root: PathBuf,
    /// The branch worktrees start from.
    pub default_branch: BranchName,
    /// Most of its runs at a time.
    pub max_concurrent_agents: u32,
    /// Whether comments in it start agents.
    pub mentions: bool,
    /// Who may mention its agents; empty: whom `[mentions]` allows.
    pub allow: Vec<Login>,
    /// The secret of its repository's webhook; absent: that of `[webhook]`.
    pub webhook: Option<ProjectSecrets>,
}

/// Secrets of one project's webhook; no other secret speaks for its repository, nor these for
/// another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectSecrets {
    /// The secret in use.
    pub secret: Secret<String>,
    /// The one it replaces.
    pub previous: Option<Secret<String>>,
}

/// A model provider, as far as its circuit breaker is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Provider {
    /// Failures in a row that open the circuit.
    pub failures: u32,
    /// How long it stays open before one run is let through.
    pub cool_down: Duration,
}

impl Default for Provider {
    fn default() -> Self {
        Self {
            failures: 5,
            cool_down: Duration::from_secs(300),
        }
    }
}

/// How long ended things are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunRetention {
    /// Most ended runs.
    pub runs: u64,
    /// Longest, whatever their number.
    pub age: Duration,
}

impl Default for RunRetention {
    fn default() -> Self {
        Self {
            runs: 20_000,
            age: Duration::from_secs(90 * 24 * 3600),
        }
    }
}
