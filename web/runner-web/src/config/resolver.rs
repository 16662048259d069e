//! From what file, environment and flags say to the checked configuration, as far as no table does
//! it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use config_core::{
    Diagnostic, Diagnostics, Environment, ObjectKeys, ObjectSettings, Secret, ValueError,
    parse_http_url, quoted,
};
use forge_core::{Forge, SecretBook, WebhookSecrets};
use git_engine::Transports;
use http_clients::http::{AddressPolicy, AllowedAddress};
use http_clients::llm::{LlmProtocol, OPENROUTER};
use http_clients::vmm::{NetworkTarget, TargetHost};
use runner_actors::{
    ActionSettings, ArtifactLimits, ImageSettings, MachineType, ModelServer, RepositorySettings,
    RunnerSettings, ScheduleTime, ScopeSettings, VmHostSettings,
};
use store::PostgresUrl;
use url::Url;

use super::checked::{GOOD_SECRET, ReplicaSettings, RunnerConfig, RunnerFlags, own_url};
use super::file::{RUNNER, RunnerConfigFile, StoreSettings, Variables, host_and_port};
use super::kinds::ActionsUrl;
use super::scopes::{self, RepositoryTable};

/// The VM manager's usual address.
const VMM_URL: &str = "http://127.0.0.1:3100";
const ACTIONS_URL: &str = "https://github.com";
/// What names without a host mean at Forgejo.
const FORGEJO_ACTIONS_URL: &str = "https://data.forgejo.org";

/// Where git finds its helpers.
fn search_path(environment: &Environment) -> String {
    let path = environment.text("PATH");
    path.unwrap_or("/usr/local/bin:/usr/bin:/bin").to_owned()
}

/// Where the VM manager finds services that listen there: on all interfaces, they are on this
/// machine's own.
#[must_use]
pub fn services_at(listen: SocketAddr) -> NetworkTarget {
    let address = match listen.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    NetworkTarget {
        host: TargetHost::Address(address),
        port: listen.port(),
    }
}

/// What is left to do by code.
pub(super) struct Resolver<'a> {
    file: RunnerConfigFile,
    flags: &'a RunnerFlags,
    wrong: Diagnostics,
}

/// Public addresses, and those that the operator lists.
fn address_policy(listed: Vec<AllowedAddress>) -> AddressPolicy {
    if listed.is_empty() {
        AddressPolicy::PublicOnly
    } else {
        AddressPolicy::Listed(listed)
    }
}

/// The hosts that the operator lists, and that of `VMM_API_URL` where it is set or the only one.
fn vm_hosts(
    listed: Vec<(String, vmm_api_core::host_keys::VmHostTable)>,
    url: Option<Url>,
    token: Option<Secret<String>>,
) -> Vec<VmHostSettings> {
    let listed = listed.into_iter();
    let listed: Vec<_> = listed
        .filter_map(|(name, host)| host.with_name(name))
        .collect();
    let url = url.or_else(|| listed.is_empty().then(|| url_of(VMM_URL)));
    let default = url.map(|url| VmHostSettings::single(url, token));
    default.into_iter().chain(listed).collect()
}

/// The machines that the operator lists, else a `default` one of usual size.
fn machines_or_default(listed: Vec<(String, MachineType)>) -> Vec<(String, MachineType)> {
    if listed.is_empty() {
        vec![("default".to_owned(), MachineType::default())]
    } else {
        listed
    }
}

/// Where actions without a host come from. `self` without a forge is a mistake that is said
/// elsewhere.
fn actions_server(file: &RunnerConfigFile) -> Url {
    let usual = || {
        url_of(match file.forge {
            Forge::Forgejo => FORGEJO_ACTIONS_URL,
            Forge::Gitea | Forge::GitHub => ACTIONS_URL,
        })
    };
    match &file.actions_url {
        None => usual(),
        Some(ActionsUrl::At(url)) => url.clone(),
        Some(ActionsUrl::Own) => {
            let of_github = |url: &&Url| url.host_str() != Some("api.github.com");
            let own = file.forge_url.as_ref().filter(of_github);
            own.cloned().unwrap_or_else(usual)
        }
    }
}

/// The store of actions, and what is set for some repositories only.
fn actions_and_scopes(file: &mut RunnerConfigFile, data: &Path) -> (ActionSettings, ScopeSettings) {
    let actions = ActionSettings {
        folder: data.join("actions"),
        server: actions_server(file),
        owners: std::mem::take(&mut file.actions_owners),
        originals: std::mem::take(&mut file.original_actions),
        reads_all: false,
    };
    let scopes = ScopeSettings {
        owners: std::mem::take(&mut file.owners),
        repositories: of_repositories(std::mem::take(&mut file.repository_tables)),
        fork_approval: file.fork_approval,
    };
    (actions, scopes)
}

fn limits(file: &RunnerConfigFile) -> ArtifactLimits {
    ArtifactLimits {
        one: file.artifact_max,
        of_repository: file.artifact_quota,
        days: file.artifact_days,
    }
}

fn replica(store: StoreSettings) -> ReplicaSettings {
    ReplicaSettings {
        stands_by: store.standby,
        advertise: store.advertise,
    }
}

impl<'a> Resolver<'a> {
    /// What flags and environment say wins over the file.
    pub(super) fn new(
        mut file: RunnerConfigFile,
        flags: &'a RunnerFlags,
        environment: &Environment,
    ) -> Self {
        let mut wrong = Diagnostics::default();
        RUNNER.override_with(&mut file, &flags.values(), environment, &mut wrong);
        Self { file, flags, wrong }
    }

    /// The configuration, or every mistake at once.
    pub(super) fn resolve(
        mut self,
        environment: &Environment,
    ) -> Result<RunnerConfig, Diagnostics> {
        match self.config(environment) {
            Some(config) if self.wrong.is_empty() => Ok(config),
            _ => Err(self.wrong),
        }
    }

    fn config(&mut self, environment: &Environment) -> Option<RunnerConfig> {
        let listen = self.listen();
        let secrets = self.webhook_secrets();
        let short_secret = self.has_short_secret();
        let model = self.model();
        let store = self.store();
        let objects = self.objects();
        self.check_actions_url();
        let listen = listen?;
        let secrets = self.own_secrets(secrets?)?;
        let mut file = std::mem::take(&mut self.file);
        let usual = || environment.data_home().join("orrery/workflow-runner");
        let data = file.data.take().unwrap_or_else(usual);
        let (actions, scopes) = actions_and_scopes(&mut file, &data);
        let (hosts, artifacts, variables) = (file.own_names(), limits(&file), file.variables);
        let addresses = address_policy(file.allow_addresses);
        let mirrors = variables.mirrors;
        let runner = RunnerSettings {
            repositories: mirrors.unwrap_or_else(|| data.join("repositories")),
            actions,
            images: ImageSettings {
                folder: data.join("images"),
                registries: file.image_registries,
                addresses: addresses.clone(),
            },
            git: (file.git, search_path(environment)),
            forge: file.forge,
            forge_url: file.forge_url,
            forge_token: variables.forge_token,
            addresses,
            transports: Transports {
                http: file.allow_http,
                file: false,
            },
            vm_hosts: vm_hosts(file.vm_hosts, variables.vmm_url, variables.vmm_token),
            machines: machines_or_default(file.machines),
            services: file.services_listen.map(services_at),
            vm_timeout: file.vm_wait,
            checkout_repositories: file.checkout_repositories,
            workspace: file.workspace,
            other_systems: file.other_systems,
            pull_request_commit: file.pull_request_commit,
            checkouts: file.checkouts,
            log_step_max: file.log_step_max,
            artifacts,
            cache_max: file.cache_max,
            cache_bytes: file.cache_quota,
            catch_up_every: file.catch_up,
            watched: file.repositories,
            max_waiting: 10_000,
            gc_interval: None,
            schedules: ScheduleTime::default(),
            max_jobs: file.max_jobs,
            max_jobs_per_repository: file.max_jobs_per_repository,
            model,
            public_url: Some(file.public_url.unwrap_or_else(|| own_url(listen))),
            token_permissions: file.token_permissions,
            token_at_forge: file.token_at_forge,
            token_approves: file.token_approves,
            cancel_previous: file.cancel_previous,
            vars: file.vars,
            secrets: file.secrets,
            scopes,
            keep: file.keep,
            objects: objects?,
            rerun_lost: file.rerun_lost,
            keep_runs: file.keep_runs,
            data,
        };
        Some(RunnerConfig {
            listen,
            store: store?,
            replica: replica(file.store),
            services_listen: file.services_listen,
            log_level: file.log_level,
            secrets,
            short_secret,
            hosts,
            token: variables.token,
            runner,
        })
    }

    fn kept<T>(&mut self, name: &str, found: Result<T, ValueError>) -> Option<T> {
        let wrong = |error| self.wrong.push(Diagnostic::for_setting(name, error));
        found.map_err(wrong).ok()
    }

    /// `--listen`, else `HOST` and `PORT`, else the file, else the loopback address.
    fn listen(&mut self) -> Option<SocketAddr> {
        let variables = &self.file.variables;
        let (host, port) = (variables.host.as_deref(), variables.port.as_deref());
        if self.flags.listen.is_some() || (host.is_none() && port.is_none()) {
            let listen = self.file.listen;
            return Some(listen.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 3000))));
        }
        let found = host_and_port(host.unwrap_or("127.0.0.1"), port.unwrap_or("3000"));
        self.kept("HOST and PORT", found)
    }

    /// The variable, else `url` of `[store]`, else none. What is wrong says nothing of the
    /// password.
    fn store(&mut self) -> Option<Option<PostgresUrl>> {
        const NAME: &str = "WORKFLOW_RUNNER_STORE_URL or `url` in [store]";
        let variable = self.file.variables.store_url.take();
        let Some(url) = variable.or_else(|| self.file.store.url.take()) else {
            if self.file.store.advertise.is_none() {
                return Some(None);
            }
            // A runner of several that lost its variable would start alone, on a store of its own.
            let lone = "`advertise` in [store] is of a runner that shares its store: name the \
                        store in WORKFLOW_RUNNER_STORE_URL or `url`, or take `advertise` away";
            return self.kept(NAME, Err(ValueError::new(lone)));
        };
        let parsed = url.expose().parse::<PostgresUrl>();
        let parsed = parsed.map_err(|error| ValueError::new(error.to_string()));
        self.kept(NAME, parsed).map(Some)
    }

    /// Where files are shared, and with whose keys.
    fn objects(&mut self) -> Option<Option<ObjectSettings>> {
        let variables = &self.file.variables;
        let (access, secret) = (variables.access_key.clone(), variables.secret_key.clone());
        let keys = access.zip(secret).map(|(access, secret)| ObjectKeys {
            access,
            secret,
            session: variables.session_token.clone(),
        });
        let found = self.file.objects.settings(keys);
        self.kept("[objects]", found)
    }

    /// `FORGE_WEBHOOK_SECRET`, and the one before it while forges are told the new one.
    fn webhook_secrets(&mut self) -> Option<SecretBook> {
        const NAME: &str = "FORGE_WEBHOOK_SECRET";
        let variables = &self.file.variables;
        let previous = variables.previous_webhook_secret.clone();
        let secrets = match &variables.webhook_secret {
            Some(secret) => WebhookSecrets::new(secret.expose())
                .map_err(|error| ValueError::new(error.to_string())),
            None => Err(ValueError::new(format!(
                "{NAME} is not set: without a secret anybody could start runs"
            ))
            .help("set it to the secret of the forge's webhook")),
        };
        let secrets = self.kept(NAME, secrets)?;
        let secrets = match previous {
            Some(previous) => secrets.with_previous(previous.expose()).ok()?,
            None => secrets,
        };
        Some(SecretBook::shared(secrets))
    }

    /// Secrets of single repositories; names that are there twice are a mistake.
    fn own_secrets(&mut self, shared: SecretBook) -> Option<SecretBook> {
        let (owners, repositories) = (&self.file.owners, &self.file.repository_tables);
        for (key, found) in [
            ("owner", scopes::repeated(owners)),
            ("repository", scopes::repeated(repositories)),
            ("environment", scopes::repeated_environment(repositories)),
        ] {
            if let Some(name) = found {
                let text = format!(
                    "{} stands there twice: upper and lower case are alike",
                    quoted(name)
                );
                self.wrong
                    .push(Diagnostic::for_setting(key, ValueError::new(text)));
                return None;
            }
        }
        match scopes::with_own_secrets(shared, repositories) {
            Ok(book) => Some(book),
            Err(wrong) => {
                self.wrong.push(wrong);
                None
            }
        }
    }

    /// `self` is the forge, whose address has to be known.
    fn check_actions_url(&mut self) {
        let file = &self.file;
        let is_own = file.actions_url == Some(ActionsUrl::Own);
        if is_own && file.forge_url.is_none() && file.forge != Forge::GitHub {
            let text = "`self` is the configured forge, whose address is not known";
            let error = ValueError::new(text).help("set `forge_url`");
            self.wrong
                .push(Diagnostic::for_setting("actions_url", error));
        }
    }

    fn has_short_secret(&self) -> bool {
        let Variables {
            webhook_secret,
            previous_webhook_secret,
            ..
        } = &self.file.variables;
        let mut given = [webhook_secret, previous_webhook_secret]
            .into_iter()
            .flatten();
        given.any(|secret| secret.expose().trim().len() < GOOD_SECRET)
    }

    /// The model, when `USE_LLM_PARSER` is `true`: the local one, else the hosted one.
    fn model(&mut self) -> Option<ModelServer> {
        let variables = std::mem::take(&mut self.file.variables);
        let found = self.model_of(&variables);
        self.file.variables = variables;
        found
    }

    fn model_of(&mut self, variables: &Variables) -> Option<ModelServer> {
        if !variables.use_model {
            return None;
        }
        if let (Some(base), Some(model)) = (&variables.local_url, &variables.local_model) {
            let base = self.kept("LOCALLLM_BASE_URL", parse_http_url(base))?;
            // Its address tells: the OpenAI-style protocol has its version in the path.
            let versioned = base.path().trim_end_matches('/').ends_with("/v1");
            return Some(ModelServer {
                protocol: if versioned {
                    LlmProtocol::OpenAi
                } else {
                    LlmProtocol::Ollama
                },
                base,
                key: None,
                model: model.clone(),
            });
        }
        if let (Some(key), Some(model)) = (&variables.cloud_key, &variables.cloud_model) {
            let own = variables.cloud_url.as_deref();
            let own = own.and_then(|url| self.kept("CLOUDLLM_BASE_URL", parse_http_url(url)));
            return Some(ModelServer {
                protocol: LlmProtocol::OpenAi,
                base: own.unwrap_or_else(|| url_of(OPENROUTER)),
                key: Some(key.clone()),
                model: model.clone(),
            });
        }
        let error = ValueError::new("USE_LLM_PARSER is `true`, but no model is named").help(
            "set LOCALLLM_BASE_URL and LOCALLLM_MODEL, or CLOUDLLM_API_KEY and CLOUDLLM_MODEL",
        );
        self.kept("USE_LLM_PARSER", Err(error))
    }
}

fn of_repositories(tables: Vec<(String, RepositoryTable)>) -> Vec<(String, RepositorySettings)> {
    let tables = tables.into_iter();
    tables.map(|(name, table)| (name, table.settings)).collect()
}

fn url_of(default: &str) -> Url {
    Url::parse(default).expect("the default is a URL")
}
