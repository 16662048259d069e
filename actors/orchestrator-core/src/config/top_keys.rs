//! The keys of `orchestrator.toml` and of the files of `conf.d`, one row each. Rows without a place
//! in a struct are read by code, because other files decide about them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use config_core::{
    BOOLEAN, Choices, OBJECTS, ObjectFields, ObjectSettings, ObjectTable, SECRET, STORE_URL,
    Secret, TableInfo, TextKind, ValueError, choice, integer, list, map, map_of, opt, quoted,
    record, table,
};
use forge_core::{AgentName, BranchName, Forge, Login, ProjectId, RepoName, StatusContext};
use vmm_api_core::MachineType;
use vmm_api_core::host_keys::{VM_HOST, VmHostTable};

use super::agent_keys::{AGENT, blank_agent};
use super::machines::{MACHINE, name};
use super::model::{
    Directories, ForgeConfig, Listeners, MentionSettings, PrDispatch, Project, Provider,
    RunRetention, StoreConfig, WebhookConfig,
};
use super::secrets::WEBHOOK_SECRET;
use super::values::{ADDRESS, FOLDER, LOGINS, days, id_kind, seconds};

const DAY: i64 = 86_400;
const FORGES: &Choices<Forge> = &[
    ("gitea", Forge::Gitea),
    ("forgejo", Forge::Forgejo),
    ("github", Forge::GitHub),
];

/// What the top level says by itself.
#[derive(Debug)]
pub(super) struct TopLevel {
    pub(super) tick_interval: Duration,
    pub(super) wake_on_dispatch: bool,
    pub(super) main_project: Option<ProjectId>,
    pub(super) strict: bool,
    pub(super) listeners: Listeners,
    pub(super) directories: Directories,
    pub(super) store: StoreConfig,
    pub(super) objects: ObjectTable,
    /// What `[objects]` comes to with the keys of the environment.
    pub(super) shared: Option<ObjectSettings>,
    pub(super) forge: Option<ForgeConfig>,
    pub(super) webhook: Option<WebhookConfig>,
    pub(super) mentions: Option<MentionSettings>,
    pub(super) pr_dispatch: Option<PrDispatch>,
    pub(super) providers: BTreeMap<String, Provider>,
    pub(super) own_logins: Vec<Login>,
    pub(super) vm_hosts: Vec<(String, VmHostTable)>,
    pub(super) machines: Vec<(String, MachineType)>,
    pub(super) vm_wait: Duration,
    pub(super) max_queued: usize,
    pub(super) max_running: usize,
    pub(super) quarantine_after: u32,
    pub(super) retention: RunRetention,
    pub(super) search_url: Option<url::Url>,
    pub(super) public_url: Option<url::Url>,
    pub(super) shutdown: Duration,
}

impl TopLevel {
    /// What holds without a file, which would stand in `folder`.
    pub(super) fn defaults_for(folder: &Path) -> Self {
        Self {
            tick_interval: Duration::from_secs(300),
            wake_on_dispatch: false,
            main_project: None,
            strict: false,
            listeners: Listeners {
                webhook: "127.0.0.1:3200".to_owned(),
                admin: None,
                admin_socket: None,
                hosts: Vec::new(),
                admin_token: None,
            },
            directories: Directories::defaults_for(folder),
            store: StoreConfig::default(),
            objects: ObjectTable::default(),
            shared: None,
            forge: None,
            webhook: None,
            mentions: None,
            pr_dispatch: None,
            providers: BTreeMap::new(),
            own_logins: Vec::new(),
            vm_hosts: Vec::new(),
            machines: Vec::new(),
            vm_wait: Duration::from_secs(900),
            max_queued: 10_000,
            max_running: 64,
            quarantine_after: 3,
            retention: RunRetention::default(),
            search_url: None,
            public_url: None,
            shutdown: Duration::from_secs(20),
        }
    }
}

/// What is required of these four is replaced by what was read, or nothing is read.
pub(super) fn blank_pr_dispatch() -> PrDispatch {
    PrDispatch {
        project: unnamed(),
        agents: Vec::new(),
        allow: Vec::new(),
        forks: false,
        drafts: false,
        max_concurrent: 12,
    }
}

pub(super) fn blank_project() -> Project {
    Project {
        id: unnamed(),
        repository: "un/named".parse().expect("it is a name"),
        working_dir: PathBuf::new(),
        worktree_root: PathBuf::new(),
        default_branch: "main".parse().expect("`main` is a branch name"),
        max_concurrent_agents: 16,
        mentions: true,
        allow: Vec::new(),
        webhook: None,
    }
}

fn unnamed() -> ProjectId {
    "unnamed".parse().expect("it is an id")
}

fn no_secret() -> Secret<String> {
    Secret::new(String::new())
}

fn blank_forge() -> ForgeConfig {
    ForgeConfig {
        kind: Forge::Gitea,
        url: url::Url::parse("http://localhost").expect("it is a URL"),
        token: no_secret(),
        allow_http: false,
    }
}

fn blank_webhook() -> WebhookConfig {
    WebhookConfig {
        secret: no_secret(),
        previous_secret: None,
        max_body_bytes: 1 << 20,
    }
}

/// The keys of `orchestrator.toml`, for documents.
pub fn keys() -> TableInfo {
    TOP.describe(&TopLevel::defaults_for(Path::new("")))
}

/// The keys of a file of `conf.d`, for documents.
pub fn fragment_keys() -> TableInfo {
    FRAGMENT.describe(&())
}

table! {
    /// The orchestrator.
    pub(super) static TOP: TopLevel = "orchestrator.toml" {
        /// time between ticks, in seconds
        "tick_interval_secs" = seconds(1, DAY) => tick_interval;
        /// whether a dispatch books an early tick
        "wake_on_dispatch" = BOOLEAN => wake_on_dispatch;
        /// what `orchctl trigger` means
        "main_project" (documented_default "that of `[pr_dispatch]`, else the first") = id_kind::<ProjectId>();
        /// whether warnings stop the start
        "strict" = BOOLEAN => strict;
        /// the receiver of webhooks
        "listen" = ADDRESS => listeners.webhook;
        /// the admin bridge on a port of loopback; it needs `admin_token`
        "admin_listen" = opt(ADDRESS) => listeners.admin;
        /// the admin bridge on a Unix socket
        "admin_socket" = opt(FOLDER) => listeners.admin_socket;
        /// what requests to the admin bridge on a port carry
        "admin_token" = opt(SECRET) => listeners.admin_token;
        /// further names the receiver answers for
        "hosts" = list(TextKind::STRING) => listeners.hosts;
        /// the store and the logs of runs
        "data_dir" = FOLDER => directories.data;
        /// where runs, queue and statuses owed are kept
        "store" { STORE } => store;
        /// where logs of ended runs are that every process can read
        "objects" { OBJECTS } => objects;
        /// personas
        "persona_data_dir" = FOLDER => directories.personas;
        /// skills
        "skills_dir" = FOLDER => directories.skills;
        /// routing tables
        "routing_tables_dir" = FOLDER => directories.routing;
        /// scenarios of the browser agent
        "scenarios_dir" = FOLDER => directories.scenarios;
        /// where agents leave reports
        "reports_dir" = FOLDER => directories.reports;
        /// forge tokens by agent
        "agent_tokens_file" = FOLDER => directories.agent_tokens;
        /// search roles by persona
        "persona_roles_file" = FOLDER => directories.persona_roles;
        /// accounts whose comments start nothing, beside those of the tokens
        "own_logins" = LOGINS => own_logins;
        /// runs that may wait
        "max_queued" = integer(1..=1_000_000) => max_queued;
        /// agent processes at a time
        "max_running" = integer(1..=10_000) => max_running;
        /// configuration errors of an agent in a row that put it into quarantine
        "quarantine_after" = integer(1..=1000) => quarantine_after;
        /// ended runs that are kept, with their logs
        "keep_runs" = integer(100..=10_000_000) => retention.runs;
        /// how long; where the wall clock jumps ahead they age at most 24 times as fast as time
        /// goes
        "keep_days" = days(3650) => retention.age;
        /// URL of the search server, given to agents
        "search_url" = opt(TextKind::HTTP_URL) => search_url;
        /// base of `target_url`: statuses link to `<public_url>/runs/<id>`, a page beside the
        /// receiver
        "public_url" = opt(TextKind::HTTP_URL) => public_url;
        /// the forge; without it nothing is posted or polled ([FORGES.md](FORGES.md))
        "forge" = opt(record(&FORGE, blank_forge)) => forge;
        /// the receiver's secrets and limits
        "webhook" (required) = opt(record(&WEBHOOK, blank_webhook)) => webhook;
        /// mentions; without it every mention is refused
        "mentions" = opt(&MENTIONS) => mentions;
        /// the fan-out of pull requests
        "pr_dispatch" = record(&PR_DISPATCH, blank_pr_dispatch);
        /// circuit breakers by provider
        "providers" = map(&PROVIDER) => providers;
        /// hosts whose VM managers give VMs, for agents with `isolation = "vm"`; a VM is asked of
        /// the one that fits best
        "vm_hosts" = map_of(name, &VM_HOST) => vm_hosts;
        /// what VMs of agents are made by; `default` is for agents that name no `machine`
        "machines" (documented_default "one `default`, as the manager makes it") = map_of(name, &MACHINE) => machines;
        /// longest wait of an agent for its VM, in seconds
        "vm_wait_secs" = seconds(0, DAY) => vm_wait;
        /// refused here: it belongs into a file of `conf.d`
        "project" (brief) = record(&PROJECT, blank_project);
        /// projects
        "projects" = list(record(&PROJECT, blank_project));
        /// agents
        "agents" = list(record(&AGENT, blank_agent));
        /// `skills_dir` by another name
        "skill_dir" = FOLDER => directories.skills;
        /// how long the daemon waits for its parts to end, in seconds
        "shutdown_secs" = seconds(1, 3600) => shutdown;
    } then check;

    static STORE: StoreConfig = "[store]" {
        /// a PostgreSQL server, 15 or newer, as `postgresql://user:password@host/database`, in
        /// place of `store.redb` in `data_dir`; `schema=` names the schema
        "url" = opt(STORE_URL) => url;
        /// whether this process, when another has the store, stands by, takes deliveries for it,
        /// and takes over when it is gone; `false`: it ends, and says who has it
        "standby" = BOOLEAN => standby;
        /// where the other processes that share the store reach this one while it leads, as
        /// `<host>:<port>` (`listen`, unless that is all addresses)
        "advertise" = opt(TextKind::HOST_PORT) => advertise;
    }

    static FORGE: ForgeConfig = "[forge]" {
        /// which kind
        "kind" (required) = choice("forge", FORGES) => kind;
        /// its address, without `/api/v1`
        "url" (required) = TextKind::HTTP_URL => url;
        /// the orchestrator's own token
        "token" (required) = SECRET => token;
        /// whether tokens may go to another machine over `http://` without a warning
        "allow_http" = BOOLEAN => allow_http;
    }

    static WEBHOOK: WebhookConfig = "[webhook]" {
        /// what webhooks are signed with, 16 characters at least
        "secret" (required) = WEBHOOK_SECRET => secret;
        /// the one it replaces
        "previous_secret" = opt(WEBHOOK_SECRET) => previous_secret;
        /// largest body of a webhook
        "max_body_bytes" = integer(1024..=32 << 20) => max_body_bytes;
    }

    static MENTIONS: MentionSettings = "[mentions]" {
        /// every so many ticks the forge is asked for what was missed
        "poll_modulo" = integer(1..=10_000) => poll_modulo;
        /// most mention runs started by one tick
        "max_dispatches_per_tick" = integer(1..=10_000) => max_dispatches_per_tick;
        /// most mention runs at a time
        "max_concurrent_mention_agents" = integer(1..=10_000) => max_concurrent_mention_agents;
        /// longest chain of runs that ask for runs
        "max_mention_depth" = integer(1..=100) => limits.max_depth;
        /// most dispatches of one issue within an hour
        "max_per_issue_per_hour" = integer(1..=10_000) => limits.per_issue_per_hour;
        /// most agents asked by one comment
        "max_per_comment" = integer(1..=100) => limits.per_comment;
        /// who may mention agents
        "allow" (documented_default "as `require_write` says") = LOGINS => allow;
        /// whether authors on no allow-list must be able to write to the repository: as the event
        /// says, else as the forge says when asked (which needs a token of an administrator of the
        /// repository on Gitea and Forgejo)
        "require_write" = BOOLEAN => require_write;
        /// whether a refused mention gets a short answer at its issue, once for each reason
        "answer_refusals" = BOOLEAN => answer_refusals;
    }

    pub(super) static PR_DISPATCH: PrDispatch = "[pr_dispatch]" {
        /// the project whose pull requests fan out
        "project" (required) = id_kind::<ProjectId>();
        /// the checks of each pull request
        "agents" (required) = list(record(&PR_AGENT, || ()));
        /// whose pull requests fan out
        "allow" (documented_default "everybody") = LOGINS => allow;
        /// whether those from forks do
        "forks" = BOOLEAN => forks;
        /// whether drafts do
        "drafts" = BOOLEAN => drafts;
        /// most of these runs at a time
        "max_concurrent" = integer(1..=10_000) => max_concurrent;
    }

    pub(super) static PR_AGENT: () = "an entry of `pr_dispatch.agents`" {
        /// who makes it
        "agent" (required) = id_kind::<AgentName>();
        /// the context of its commit status
        "context" (required) = id_kind::<StatusContext>();
    }

    static PROVIDER: Provider = "a provider" {
        /// failures in a row that open the circuit
        "failures" = integer(1..=1000) => failures;
        /// how long it stays open, in seconds
        "cool_down_secs" = seconds(1, DAY) => cool_down;
    }

    /// A file of `conf.d`.
    pub(super) static FRAGMENT: () = "a file of conf.d" {
        /// the project of the file
        "project" = record(&PROJECT, blank_project);
        /// mentions in it
        "mentions" = record(&PROJECT_MENTIONS, blank_project);
        /// its agents
        "agents" = list(record(&AGENT, blank_agent));
        /// refused here: it belongs into `orchestrator.toml`
        "pr_dispatch" = record(&PR_DISPATCH, blank_pr_dispatch);
    }

    pub(super) static PROJECT_MENTIONS: Project = "[mentions] of a project" {
        /// whether comments in it start agents
        "enabled" = BOOLEAN => mentions;
        /// who may mention its agents
        "allow" (documented_default "as `[mentions]` says") = LOGINS => allow;
    }

    pub(super) static PROJECT: Project = "a project" {
        /// its id
        "id" (required) = id_kind::<ProjectId>();
        /// its repository on the forge
        "repository" (required) = id_kind::<RepoName>();
        /// the main checkout
        "working_dir" (required) = FOLDER;
        /// where worktrees of its agents are made
        "worktree_root" (documented_default "worktrees/<id>") = FOLDER;
        /// the branch that worktrees start from
        "default_branch" = id_kind::<BranchName>() => default_branch;
        /// most of its runs at a time
        "max_concurrent_agents" = integer(1..=10_000) => max_concurrent_agents;
        /// whether comments in it start agents
        "mentions" = BOOLEAN => mentions;
        /// who may mention its agents
        "allow" (documented_default "as `[mentions]` says") = LOGINS => allow;
        /// the secret of its repository's own webhook: no other speaks for that repository, and it
        /// for no other
        "webhook_secret" (documented_default "that of `[webhook]`") = WEBHOOK_SECRET;
        /// the one it replaces
        "previous_webhook_secret" = WEBHOOK_SECRET;
    }
}

/// What is wrong only together.
fn check(fields: &ObjectFields<'_>, top: &mut TopLevel) {
    let listeners = &top.listeners;
    if fields.contains("admin_listen") && fields.is_absent("admin_token") {
        let error = ValueError::new("the admin bridge on a port needs `admin_token`");
        let help = "add `admin_token = \"${ORCH_ADMIN_TOKEN}\"`, or use `admin_socket` alone";
        fields.error_at("admin_listen", error.help(help));
    }
    if fields.contains("skill_dir") && fields.contains("skills_dir") {
        let message = "`skill_dir` and `skills_dir` are the same setting";
        fields.error_at("skill_dir", message);
    }
    let Some(admin) = &listeners.admin else {
        return;
    };
    if *admin == listeners.webhook && !admin.ends_with(":0") {
        let error = ValueError::new(format!("`listen` is {} as well", quoted(admin)));
        let help = "the receiver and the admin bridge need an address each; 127.0.0.1:3201 is the bridge's usual one";
        fields.error_at("admin_listen", error.help(help));
    }
    if !is_loopback(admin) {
        let message = format!("{} can be reached by other machines", quoted(admin));
        let help = "the admin bridge listens on loopback only; reach it over SSH";
        fields.error_at("admin_listen", ValueError::new(message).help(help));
    }
}

/// Whether `<host>:<port>` or `<host>` is this machine.
pub(super) fn is_loopback(address: &str) -> bool {
    let host = match address.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => address,
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}
