//! The runner's settings, one row each: keys of `workflow-runner.toml` and environment variables.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use config_core::{
    BOOLEAN, Choices, ConfigItem, FILE_PATH, LOG_LEVELS, OBJECTS, ObjectTable, SECRET, STORE_URL,
    Secret, TableInfo, TextKind, ValueError, choice, from_str, integer, list, map, map_of, opt,
    quoted, table,
};
use forge_core::{Forge, RepoName};
use http_clients::http::AllowedAddress;
use http_clients::vmm::MAX_SNAPSHOTS;
use runner_actors::{ArtifactLimits, CheckoutLimits, KeepSettings, MachineType, ScopedValues};
use runner_core::checkout::RepositoryPattern;
use runner_core::event::PullRequestCommit;
use runner_core::hosted_label::OtherSystems;
use runner_core::lost_jobs::MAX_RERUNS;
use runner_core::plan::WorkspaceStart;
use runner_core::protection::ForkApproval;
use runner_core::workflow::PermissionLevel;
use url::Url;
use vmm_api_core::host_keys::{VM_HOST, VmHostTable};
use vmm_api_core::machine_keys::mib;

use super::kinds::{
    ACTIONS_URL, ActionsUrl, BYTES, GIT_MEMORY, LONG_SPAN, SIZE, SPAN, format_size,
};
use super::machines::{MACHINE, host_name, label};
use super::scopes::{
    self, FORK_APPROVALS, LEVELS, OWNER, REPOSITORY as OF_REPOSITORY, RepositoryTable,
};

const FORGES: &Choices<Forge> = &[
    ("gitea", Forge::Gitea),
    ("forgejo", Forge::Forgejo),
    ("github", Forge::GitHub),
];
const WORKSPACES: &Choices<WorkspaceStart> = &[
    ("commit", WorkspaceStart::Commit),
    ("empty", WorkspaceStart::Empty),
];
const OTHER_SYSTEMS: &Choices<OtherSystems> = &[
    ("refuse", OtherSystems::Refuse),
    ("skip", OtherSystems::Skip),
];
const PULL_REQUEST_COMMITS: &Choices<PullRequestCommit> = &[
    ("head", PullRequestCommit::Head),
    ("merge", PullRequestCommit::Merge),
];
const ADDRESS: TextKind<SocketAddr> = TextKind::new("address", address, SocketAddr::to_string);
/// A program, or a path as it is.
const PATH: TextKind<PathBuf> = TextKind::new(
    "path",
    |text| Ok(text.into()),
    |path| path.display().to_string(),
);
const PLACE: TextKind<AllowedAddress> = TextKind::new("address", from_str, |_| String::new());
const REPOSITORY: TextKind<String> = TextKind::new("repository", repository, String::clone);
const PATTERN: TextKind<RepositoryPattern> =
    TextKind::new("repository", pattern, RepositoryPattern::to_string);
const KEPT_MEMORY: TextKind<u64> = TextKind::new(
    "size",
    |text| mib::<128, { 1 << 30 }>(text).map(u64::from),
    |mib| format_size(&(mib << 20)),
);

/// What a file says, `workflow-runner.toml` or a table of another file, and then the variables.
#[derive(Debug)]
pub struct RunnerConfigFile {
    pub(super) data: Option<PathBuf>,
    pub(super) listen: Option<SocketAddr>,
    pub(super) services_listen: Option<SocketAddr>,
    pub(super) store: StoreSettings,
    pub(super) objects: ObjectTable,
    pub(super) log_level: &'static str,
    pub(super) hosts: Vec<String>,
    pub(super) public_url: Option<Url>,
    pub(super) forge: Forge,
    pub(super) forge_url: Option<Url>,
    pub(super) allow_http: bool,
    pub(super) allow_addresses: Vec<AllowedAddress>,
    pub(super) actions_url: Option<ActionsUrl>,
    pub(super) actions_owners: Vec<String>,
    pub(super) image_registries: Vec<String>,
    pub(super) original_actions: Vec<String>,
    pub(super) git: PathBuf,
    pub(super) max_jobs: usize,
    pub(super) max_jobs_per_repository: usize,
    pub(super) vm_wait: Duration,
    pub(super) rerun_lost: u32,
    pub(super) keep_runs: usize,
    pub(super) keep: KeepSettings,
    pub(super) log_step_max: u64,
    pub(super) artifact_days: u64,
    pub(super) artifact_quota: u64,
    pub(super) artifact_max: u64,
    pub(super) cache_quota: u64,
    pub(super) cache_max: u64,
    pub(super) catch_up: Duration,
    pub(super) repositories: Vec<String>,
    pub(super) checkout_repositories: Vec<RepositoryPattern>,
    pub(super) workspace: WorkspaceStart,
    pub(super) other_systems: OtherSystems,
    pub(super) pull_request_commit: PullRequestCommit,
    pub(super) checkouts: CheckoutLimits,
    pub(super) vm_hosts: Vec<(String, VmHostTable)>,
    pub(super) machines: Vec<(String, MachineType)>,
    pub(super) token_permissions: Option<PermissionLevel>,
    pub(super) token_at_forge: Option<bool>,
    pub(super) token_approves: bool,
    pub(super) cancel_previous: Option<bool>,
    pub(super) vars: Vec<(String, String)>,
    pub(super) secrets: Vec<(String, Secret<String>)>,
    pub(super) owners: Vec<(String, ScopedValues)>,
    pub(super) repository_tables: Vec<(String, RepositoryTable)>,
    pub(super) fork_approval: ForkApproval,
    pub(super) variables: Variables,
}

/// Where the store is.
#[derive(Debug)]
pub(super) struct StoreSettings {
    pub(super) url: Option<Secret<String>>,
    pub(super) standby: bool,
    pub(super) advertise: Option<String>,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            url: None,
            standby: true,
            advertise: None,
        }
    }
}

/// What only the environment says.
#[derive(Debug, Default)]
pub(super) struct Variables {
    pub(super) host: Option<String>,
    pub(super) port: Option<String>,
    pub(super) mirrors: Option<PathBuf>,
    pub(super) store_url: Option<Secret<String>>,
    pub(super) webhook_secret: Option<Secret<String>>,
    pub(super) previous_webhook_secret: Option<Secret<String>>,
    pub(super) forge_token: Option<Secret<String>>,
    pub(super) vmm_url: Option<Url>,
    pub(super) vmm_token: Option<Secret<String>>,
    pub(super) token: Option<Secret<String>>,
    pub(super) use_model: bool,
    pub(super) local_url: Option<String>,
    pub(super) local_model: Option<String>,
    pub(super) cloud_key: Option<Secret<String>>,
    pub(super) cloud_model: Option<String>,
    pub(super) cloud_url: Option<String>,
    pub(super) access_key: Option<Secret<String>>,
    pub(super) secret_key: Option<Secret<String>>,
    pub(super) session_token: Option<Secret<String>>,
}

impl Default for RunnerConfigFile {
    fn default() -> Self {
        Self {
            data: None,
            listen: None,
            services_listen: None,
            store: StoreSettings::default(),
            objects: ObjectTable::default(),
            log_level: "info",
            hosts: Vec::new(),
            public_url: None,
            forge: Forge::Gitea,
            forge_url: None,
            allow_http: false,
            allow_addresses: Vec::new(),
            actions_url: None,
            actions_owners: Vec::new(),
            image_registries: Vec::new(),
            original_actions: Vec::new(),
            git: "git".into(),
            max_jobs: 8,
            max_jobs_per_repository: 4,
            vm_wait: Duration::from_secs(900),
            rerun_lost: 0,
            keep_runs: 10_000,
            keep: KeepSettings::default(),
            log_step_max: 64 << 20,
            artifact_days: ArtifactLimits::default().days,
            artifact_quota: ArtifactLimits::default().of_repository,
            artifact_max: ArtifactLimits::default().one,
            // As much as GitHub gives.
            cache_quota: 10 << 30,
            cache_max: 10 << 30,
            catch_up: Duration::from_secs(300),
            repositories: Vec::new(),
            checkout_repositories: Vec::new(),
            workspace: WorkspaceStart::Commit,
            other_systems: OtherSystems::Refuse,
            pull_request_commit: PullRequestCommit::Head,
            checkouts: CheckoutLimits::default(),
            vm_hosts: Vec::new(),
            machines: Vec::new(),
            token_permissions: None,
            token_at_forge: None,
            token_approves: false,
            cancel_previous: None,
            vars: Vec::new(),
            secrets: Vec::new(),
            owners: Vec::new(),
            repository_tables: Vec::new(),
            fork_approval: ForkApproval::default(),
            variables: Variables::default(),
        }
    }
}

impl RunnerConfigFile {
    /// Reads the runner's table. Mistakes are the item's.
    #[must_use]
    pub fn read(item: &ConfigItem<'_>) -> Option<Self> {
        RUNNER.read_new(item)
    }

    /// The names to answer for: those of `hosts`, and that of `public_url`, which is given out.
    pub(super) fn own_names(&self) -> Vec<String> {
        let public = self.public_url.as_ref().and_then(Url::host_str);
        let listed = self.hosts.iter().cloned();
        listed.chain(public.map(str::to_owned)).collect()
    }

    /// Whether it says where runs are kept.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.data.is_some()
    }
}

/// The settings, for documents.
#[must_use]
pub fn keys() -> TableInfo {
    RUNNER.describe(&RunnerConfigFile::default())
}

table! {
    /// The workflow runner.
    pub(super) static RUNNER: RunnerConfigFile = "the runner's configuration" {
        /// runs, logs, artifacts, caches
        "data_dir" (variable "WORKFLOW_RUNNER_DATA", flag "--data", documented_default "~/.local/share/orrery/workflow-runner") = opt(FILE_PATH) => data;
        /// where deliveries, runs and statuses owed are kept
        "store" { STORE } => store;
        /// where logs, artifacts and caches are that every process can read
        "objects" { OBJECTS } => objects;
        /// listen address; `HOST` and `PORT` win over it
        "listen" (flag "--listen", documented_default "127.0.0.1:3000") = opt(ADDRESS) => listen;
        /// where artifacts and caches are for programs in the VMs of jobs, as `127.0.0.1:3002`: the
        /// VM manager connects to it, and names it in [network] `services`; without it JavaScript
        /// actions have no such services, unless runner and manager are one process
        "services_listen" = opt(ADDRESS) => services_listen;
        /// how much is logged
        "log_level" (variable "LOG_LEVEL") = choice("log level", LOG_LEVELS) => log_level;
        /// further names it answers for
        "hosts" = list(TextKind::STRING) => hosts;
        /// where people read runs: links of commit statuses
        "public_url" (variable "WORKFLOW_RUNNER_PUBLIC_URL", documented_default "the listen address") = opt(TextKind::HTTP_URL) => public_url;
        /// the kind of forge
        "forge" = choice("forge", FORGES) => forge;
        /// the forge's address; repositories there may be fetched whatever its address
        "forge_url" (variable "FORGE_URL") = opt(TextKind::HTTP_URL) => forge_url;
        /// whether clone URLs may be unencrypted
        "allow_http" = BOOLEAN => allow_http;
        /// addresses, networks and hosts beyond the public ones that are cloned from
        "allow_addresses" = list(PLACE) => allow_addresses;
        /// where `workflow-runner actions add` fetches `owner/repo` from; `self`: from `forge_url`
        "actions_url" (documented_default "https://github.com; https://data.forgejo.org where `forge` is `forgejo`") = opt(ACTIONS_URL) => actions_url;
        /// owners whose actions may be in the store of actions; without any those of all that the
        /// operator adds
        "actions_owners" = list(TextKind::STRING) => actions_owners;
        /// registries, or parts of one as `registry.example/team`, whose images are fetched when a
        /// job names one; without any only images that `workflow-runner images add` has added
        "image_registries" = list(TextKind::STRING) => image_registries;
        /// native actions whose originals run in their place, as `actions/setup-node`: from the
        /// store of actions
        "original_actions" = list(TextKind::STRING) => original_actions;
        /// the git program
        "git" = PATH => git;
        /// jobs at once
        "max_jobs" = integer(1..=1_000_000) => max_jobs;
        /// jobs of one repository at once while another repository's wait; a repository alone uses
        /// all of `max_jobs`, and what becomes free goes to another one as soon as that waits
        "max_jobs_per_repository" = integer(1..=1_000_000) => max_jobs_per_repository;
        /// longest wait of a job for its VM
        "vm_wait" = TextKind::DURATION => vm_wait;
        /// how often a job that was lost (its VM, the VM manager or the runner went away) runs
        /// again by itself; a workflow or job says otherwise by `env: ORRERY_RERUN_LOST`; one of
        /// which no step had begun runs again twice in any case
        "rerun_lost" (variable "WORKFLOW_RUNNER_RERUN_LOST") = integer(0..=MAX_RERUNS as i64) => rerun_lost;
        /// ended runs that are kept, with their logs and artifacts
        "keep_runs" = integer(1..=1_000_000) => keep_runs;
        /// VMs of failed jobs that are kept for a while, so that a shell can be opened in them
        "keep" { KEEP } => keep;
        /// bytes of its output that are in the log of a step: so many of the beginning, and 256 KiB
        /// of the end
        "log_step_max" = SIZE => log_step_max;
        /// days that artifacts stay whose step does not say (`retention-days`); 0: as long as their
        /// runs are kept, with which all go
        "artifact_days" = integer(0..=36_500) => artifact_days;
        /// bytes of artifacts of one repository; beyond it no more are stored. Those of pull
        /// requests from forks have a quarter of it of their own
        "artifact_quota" = SIZE => artifact_quota;
        /// bytes of one artifact
        "artifact_max" = SIZE => artifact_max;
        /// bytes of caches of one repository; beyond it the least lately used go. Those of pull
        /// requests from forks have a quarter of it of their own
        "cache_quota" = SIZE => cache_quota;
        /// bytes of one cache
        "cache_max" = SIZE => cache_max;
        /// how often the heads of branches and open pull requests are compared with what was run,
        /// 10 s to a day
        "catch_up" = LONG_SPAN => catch_up;
        /// repositories (`owner/repo` at `forge_url`) that are compared although they have not
        /// pushed yet
        "repositories" = list(REPOSITORY) => repositories;
        /// repositories of the forge (`owner/name`, `owner/*`) that steps may check out with the
        /// runner's token, beside their run's own; pull requests from forks may not
        "checkout_repositories" = list(PATTERN) => checkout_repositories;
        /// what the workspace of a job has that checks nothing out: the event's `commit`, or
        /// nothing (`empty`, as on GitHub)
        "workspace" = choice("workspace", WORKSPACES) => workspace;
        /// what becomes of jobs, and copies of them, for Windows and macOS: they fail (`refuse`),
        /// or are left out as if their `if` did not hold (`skip`)
        "other_systems" = choice("other_systems", OTHER_SYSTEMS) => other_systems;
        /// what runs of pull requests have checked out: the `head`, or the `merge` of it into its
        /// base as on GitHub; one that conflicts is not run then
        "pull_request_commit" = choice("pull_request_commit", PULL_REQUEST_COMMITS) => pull_request_commit;
        /// what commits may cost: anybody's pull request is one
        "checkouts" { CHECKOUTS } => checkouts;
        /// hosts whose VM managers give VMs, beside that of `VMM_API_URL` where it is set; a job's
        /// VM is asked of the one that fits best
        "vm_hosts" (documented_default "that of `VMM_API_URL`") = map_of(host_name, &VM_HOST) => vm_hosts;
        /// what a job with this label in `runs-on` runs on; `default` is for labels not listed,
        /// which are refused where there are machines but no `default`
        "machines" (documented_default "one `default`, as the manager makes it") = map_of(label, &MACHINE) => machines;
        /// what the token of a job may do whose workflow names no `permissions`: `read` contents
        /// and packages, or `write` everything but identity tokens; what forks and strangers cause
        /// only reads
        "token_permissions" (documented_default "read") = opt(choice("level", LEVELS)) => token_permissions;
        /// whether the token of a job counts at the forge's own address, too, as at its runners:
        /// API, git and registries; at Gitea and Forgejo alone
        "token_at_forge" (documented_default "true at Gitea and Forgejo") = opt(BOOLEAN) => token_at_forge;
        /// whether the token of a job may approve pull requests, and take reviews away at Gitea
        /// and Forgejo; it merges past the rules of a branch never
        "token_approves" = BOOLEAN => token_approves;
        /// whether a push ends the runs of the one before it, of the same workflow and branch,
        /// where the workflow has no `concurrency`
        "cancel_previous" (documented_default "false") = opt(BOOLEAN) => cancel_previous;
        /// the context `vars`
        "vars" = map(TextKind::STRING) => vars;
        /// the context `secrets`: masked, and no pull request from a fork sees them
        "secrets" = map(SECRET) => secrets;
        /// whose pull requests from forks run only when somebody with the API token has approved
        /// that: `first-time` of those who contribute for the first time, `all`, `never`
        "fork_approval" = choice("rule", FORK_APPROVALS) => fork_approval;
        /// vars and secrets of the repositories of an owner
        "owner" = map_of(scopes::owner, &OWNER) => owners;
        /// vars, secrets, environments and rules of a repository (`[repository."owner/repo"]`)
        "repository" = map_of(scopes::repository, &OF_REPOSITORY) => repository_tables;
        /// the host of the listen address
        "HOST" (variable "HOST", no_key, documented_default "127.0.0.1") = opt(TextKind::STRING) => variables.host;
        /// the port of the listen address
        "PORT" (variable "PORT", no_key, documented_default "3000") = opt(TextKind::STRING) => variables.port;
        /// mirrors of repositories
        "REPOSITORY_PATH" (variable "REPOSITORY_PATH", no_key, documented_default "`repositories` in the data folder") = opt(FILE_PATH) => variables.mirrors;
        /// the address of the store; wins over [store] `url`
        "WORKFLOW_RUNNER_STORE_URL" (variable "WORKFLOW_RUNNER_STORE_URL", no_key) = opt(STORE_URL) => variables.store_url;
        /// what webhooks are signed with; without it nothing starts; one of fewer than 16
        /// characters is warned of
        "FORGE_WEBHOOK_SECRET" (variable "FORGE_WEBHOOK_SECRET", no_key) = opt(SECRET) => variables.webhook_secret;
        /// the one before it, while forges are told the new one
        "FORGE_WEBHOOK_SECRET_PREVIOUS" (variable "FORGE_WEBHOOK_SECRET_PREVIOUS", no_key) = opt(SECRET) => variables.previous_webhook_secret;
        /// for commit statuses and private repositories of the forge; enters no VM and no URL
        "FORGE_TOKEN" (variable "FORGE_TOKEN", no_key) = opt(SECRET) => variables.forge_token;
        /// the VM manager
        "VMM_API_URL" (variable "VMM_API_URL", no_key, documented_default "http://127.0.0.1:3100") = opt(TextKind::HTTP_URL) => variables.vmm_url;
        /// a token of the VM manager
        "VMM_AUTH_TOKEN" (variable "VMM_AUTH_TOKEN", no_key) = opt(SECRET) => variables.vmm_token;
        /// what everything but webhooks and health needs; people enter it in a browser and get a
        /// session; without it only this machine is answered, and nobody starts runs by hand
        "WORKFLOW_RUNNER_API_TOKEN" (variable "WORKFLOW_RUNNER_API_TOKEN", no_key) = opt(SECRET) => variables.token;
        /// `true`: a language model reads workflows too; its plan must be the file's
        "USE_LLM_PARSER" (variable "USE_LLM_PARSER", no_key) = BOOLEAN => variables.use_model;
        /// a model of one's own: Ollama's protocol; the OpenAI-style one when the address ends in
        /// `/v1`
        "LOCALLLM_BASE_URL" (variable "LOCALLLM_BASE_URL", no_key) = opt(TextKind::STRING) => variables.local_url;
        /// its name
        "LOCALLLM_MODEL" (variable "LOCALLLM_MODEL", no_key) = opt(TextKind::STRING) => variables.local_model;
        /// a hosted model, when no local one is named
        "CLOUDLLM_API_KEY" (variable "CLOUDLLM_API_KEY", no_key) = opt(SECRET) => variables.cloud_key;
        /// its name
        "CLOUDLLM_MODEL" (variable "CLOUDLLM_MODEL", no_key) = opt(TextKind::STRING) => variables.cloud_model;
        /// its address
        "CLOUDLLM_BASE_URL" (variable "CLOUDLLM_BASE_URL", no_key) = opt(TextKind::STRING) => variables.cloud_url;
        /// keys of the bucket of [objects]; they are written into no file
        "AWS_ACCESS_KEY_ID" (variable "AWS_ACCESS_KEY_ID", no_key) = opt(SECRET) => variables.access_key;
        /// their secret half
        "AWS_SECRET_ACCESS_KEY" (variable "AWS_SECRET_ACCESS_KEY", no_key) = opt(SECRET) => variables.secret_key;
        /// of keys that end
        "AWS_SESSION_TOKEN" (variable "AWS_SESSION_TOKEN", no_key) = opt(SECRET) => variables.session_token;
    }

    static STORE: StoreSettings = "[store]" {
        /// a PostgreSQL server, 15 or newer, as `postgresql://user:password@host/database`, in
        /// place of `store.redb` in the data folder; `schema=` names the schema
        "url" = opt(STORE_URL) => url;
        /// whether this process, when another has the store, stands by, takes deliveries for it,
        /// and takes over when it is gone; `false`: it ends, and says who has it
        "standby" = BOOLEAN => standby;
        /// where the other processes that share the store reach this one while it leads, as
        /// `<host>:<port>` (the listen address, unless that is all addresses)
        "advertise" = opt(TextKind::HOST_PORT) => advertise;
    }

    static KEEP: KeepSettings = "[keep]" {
        /// whether the VM of every failed job is kept, not only where a run asks for it
        "failed" = BOOLEAN => failed;
        /// VMs that are kept at once; 0: none is
        "vms" = integer(0..=1000) => limits.vms;
        /// memory of all of them
        "memory" = KEPT_MEMORY => limits.memory_mib;
        /// how long each is kept, a day at most
        "time" = LONG_SPAN => time;
        /// whether a shell has the variables whose values hold secrets, as the job's steps had
        "secrets" = BOOLEAN => secrets;
        /// whether snapshots are taken between the steps of jobs whose VMs would be kept, not only
        /// where a run asks for them: a shell or a re-run can begin before a step
        "snapshots" = BOOLEAN => snapshots;
        /// snapshots of one job; the oldest go first
        "snapshots_per_job" = integer(1..=MAX_SNAPSHOTS as i64) => snapshot_limits.most;
        /// the host's disk that the snapshots of one job may take together; the oldest go first
        "snapshot_disk" = BYTES => snapshot_limits.bytes;
    }

    static CHECKOUTS: CheckoutLimits = "the limits of checkouts" {
        /// most files and folders of one commit; more is refused before the checkout
        "entries" = integer(1..=100_000_000) => tree.entries;
        /// most bytes of one commit
        "bytes" = BYTES => tree.bytes;
        /// deepest folder of one commit
        "depth" = integer(1..=4096) => tree.depth;
        /// most bytes that one fetch may bring
        "fetch" = BYTES => fetch_bytes;
        /// memory of each git process
        "memory" = GIT_MEMORY => memory;
        /// time of one call of git
        "time" = SPAN => time;
        /// commits that are fetched and laid out at once
        "at_once" = integer(1..=256) => at_once;
        /// those of one repository
        "per_repository" = integer(1..=256) => per_repository;
        /// the disk that all checkouts may take together
        "total" = BYTES => total_bytes;
    }

}

pub(super) fn address(text: &str) -> Result<SocketAddr, ValueError> {
    let wrong = |_| ValueError::new(format!("`{text}` is not an address and a port"));
    text.parse().map_err(wrong)
}

/// What `HOST` and `PORT` say: an address of this machine, or a name of it.
pub(super) fn host_and_port(host: &str, port: &str) -> Result<SocketAddr, ValueError> {
    let host = match host {
        "localhost" => "127.0.0.1".to_owned(),
        host if host.contains(':') && !host.starts_with('[') => format!("[{host}]"),
        host => host.to_owned(),
    };
    address(&format!("{host}:{port}")).or_else(|error| {
        let port = port.parse::<u16>().ok();
        let named = port.and_then(|port| (&*host, port).to_socket_addrs().ok()?.next());
        let help = "HOST is an address such as 0.0.0.0 or a name of this machine, PORT a number from 0 to 65535";
        named.ok_or_else(|| error.help(help))
    })
}

fn repository(text: &str) -> Result<String, ValueError> {
    from_str::<RepoName>(text).map(|name| name.to_string())
}

fn pattern(text: &str) -> Result<RepositoryPattern, ValueError> {
    RepositoryPattern::parse(text).ok_or_else(|| {
        ValueError::new(format!("{} names no repositories", quoted(text)))
            .help("write owner/name, or owner/* for all of an owner")
    })
}
