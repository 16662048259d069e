//! The runner's settings: the contract's environment variables, and an optional `workflow-runner.toml`. Flags win over the environment,
//! that over the file.

mod checkouts;
mod file;
mod machine;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use config_core::{
    Choices, Diagnostic, Diagnostics, Environment, Input, LOG_LEVELS, Layered, Secret, Setting,
    ValueError, choose, parse_http_url,
};
use forge_core::{Forge, SecretBook, WebhookSecrets};
use git_engine::Transports;
use outbound::http::AddressPolicy;
use outbound::llm::{LlmProtocol, OPENROUTER};
use outbound::vmm::{Isolation, NewVm};
use runner_actors::{ModelServer, RunnerSettings, ScheduleTime};
use url::Url;

pub use file::File;

const FORGES: &Choices<Forge> = &[
    ("gitea", Forge::Gitea),
    ("forgejo", Forge::Forgejo),
    ("github", Forge::GitHub),
];
const ISOLATIONS: &Choices<Isolation> = &[
    ("namespace-sandbox", Isolation::NamespaceSandbox),
    ("emulated-vm", Isolation::EmulatedVm),
    ("hardware-vm", Isolation::HardwareVm),
];

/// Characters that a webhook's secret should have at least: shorter ones can be guessed from one delivery that was seen.
pub const GOOD_SECRET: usize = 16;

/// Bytes of caches of a repository: as much as GitHub gives.
const CACHE_QUOTA: u64 = 10 << 30;
/// The slow tick.
const CATCH_UP: Duration = Duration::from_secs(300);

/// What flags of the command line say.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `--listen`.
    pub listen: Option<String>,
    /// `--data`.
    pub data: Option<String>,
}

/// The checked configuration.
#[derive(Debug, Clone)]
pub struct RunnerConfig {
    /// Where it listens.
    pub listen: SocketAddr,
    /// How much is logged.
    pub log_level: &'static str,
    /// Secrets that webhooks are signed with.
    pub secrets: SecretBook,
    /// Further names it answers for.
    pub hosts: Vec<String>,
    /// The secret is shorter than [`GOOD_SECRET`].
    pub short_secret: bool,
    /// Needed beyond the loopback address, by everything but webhooks.
    pub token: Option<Secret<String>>,
    /// The actors' settings.
    pub runner: RunnerSettings,
}

impl RunnerConfig {
    /// The configuration in force. Relative paths of the file are meant from `base`.
    ///
    /// # Errors
    /// Every mistake at once.
    pub fn parse(
        file: Option<(&str, &[u8], &Path)>,
        flags: &Flags,
        environment: &Environment,
    ) -> Result<Self, Diagnostics> {
        let file = match file {
            Some((name, text, base)) => {
                Input::toml(name, text, environment)
                    .decode(|item| File::read(item, base))?
                    .value
            }
            None => File::default(),
        };
        Self::of(file, flags, environment)
    }

    /// What would go wrong at the first push, though the runner could start: each with what to do.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let forge = self.runner.forge_url.as_ref();
        let insecure = forge.filter(|url| url.scheme() == "http" && !self.runner.transports.http);
        let insecure = insecure.map(|url| {
            format!("no repository of {url} could be cloned: set `allow_http = true` in the configuration file, or give the forge an https address")
        });
        let nameless = (forge.is_none() && !self.runner.watched.is_empty()).then(|| {
            "`repositories` names repositories of `forge_url`, which is not set".to_owned()
        });
        insecure.into_iter().chain(nameless).collect()
    }

    /// The configuration in force, with what a file says read already.
    ///
    /// # Errors
    /// Every mistake of the flags and the environment at once.
    pub fn of(file: File, flags: &Flags, environment: &Environment) -> Result<Self, Diagnostics> {
        let mut reader = Reader {
            environment,
            wrong: Diagnostics::default(),
        };
        let config = reader.config(file, flags);
        match config {
            Some(config) if reader.wrong.is_empty() => Ok(config),
            _ => Err(reader.wrong),
        }
    }
}

struct Reader<'e> {
    environment: &'e Environment,
    wrong: Diagnostics,
}

impl Reader<'_> {
    fn config(&mut self, mut file: File, flags: &Flags) -> Option<RunnerConfig> {
        let listen = self.listen(flags, file.listen);
        let level = Layered::default()
            .variable("LOG_LEVEL", self.environment)
            .file(file.log_level);
        let level =
            self.kept(level.resolve_or("info", |text| choose("log level", text, LOG_LEVELS)));
        let data = Layered::default()
            .flag("--data", flags.data.as_deref())
            .variable("WORKFLOW_RUNNER_DATA", self.environment);
        let data = data.file(file.data.take()).resolve_or(
            self.environment.data_home().join("orrery/workflow-runner"),
            |text| Ok(PathBuf::from(text)),
        );
        let data = self.kept(data);
        let secrets = self.webhook_secrets();
        let token = self.secret("WORKFLOW_RUNNER_API_TOKEN");
        let vmm_url = self.url("VMM_API_URL", "http://127.0.0.1:3100");
        let model = self.model();
        let public_url = self
            .optional_url("WORKFLOW_RUNNER_PUBLIC_URL")
            .or(file.public_url.take());
        let (listen, data) = (listen?, data?);
        let repositories = self
            .text("REPOSITORY_PATH")
            .map_or_else(|| data.join("repositories"), PathBuf::from);
        let forge_url = self.optional_url("FORGE_URL").or(file.forge_url.take());
        let path = self
            .text("PATH")
            .unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".to_owned());
        let runner = RunnerSettings {
            repositories,
            git: (file.git.take().unwrap_or_else(|| "git".into()), path),
            forge: file.forge.unwrap_or(Forge::Gitea),
            forge_url,
            forge_token: self.secret("FORGE_TOKEN"),
            addresses: match file.allow_addresses {
                listed if listed.is_empty() => AddressPolicy::PublicOnly,
                listed => AddressPolicy::Listed(listed),
            },
            transports: Transports {
                http: file.allow_http,
                file: false,
            },
            vmm_url: vmm_url?,
            vmm_token: self.secret("VMM_AUTH_TOKEN"),
            machines: if file.machines.is_empty() {
                vec![("default".to_owned(), NewVm::default())]
            } else {
                file.machines
            },
            vm_patience: file.vm_wait.unwrap_or(Duration::from_secs(900)),
            checkouts: file.checkouts,
            cache_bytes: file.cache_quota.unwrap_or(CACHE_QUOTA),
            catch_up_every: file.catch_up.unwrap_or(CATCH_UP),
            watched: file.repositories,
            max_waiting: 10_000,
            caretaker_every: None,
            schedules: ScheduleTime::default(),
            max_jobs: file.max_jobs.unwrap_or(8),
            max_jobs_per_repository: file.max_jobs_per_repository.unwrap_or(4),
            model,
            public_url: Some(public_url.unwrap_or_else(|| own_url(listen))),
            vars: file.vars,
            secrets: file.secrets,
            keep_runs: file.keep_runs.unwrap_or(10_000),
            data,
        };
        Some(RunnerConfig {
            listen,
            log_level: level?,
            secrets: secrets?,
            short_secret: self.has_short_secret(),
            hosts: file.hosts,
            token,
            runner,
        })
    }

    fn kept<T>(&mut self, found: Result<Setting<T>, Diagnostic>) -> Option<T> {
        match found {
            Ok(setting) => Some(setting.value),
            Err(diagnostic) => {
                self.wrong.push(diagnostic);
                None
            }
        }
    }

    fn text(&self, name: &str) -> Option<String> {
        let found = self.environment.text(name);
        found.filter(|text| !text.is_empty()).map(str::to_owned)
    }

    fn secret(&self, name: &str) -> Option<Secret<String>> {
        self.text(name).map(Secret::new)
    }

    /// `--listen`, else `HOST` and `PORT`, else the file, else the loopback address.
    fn listen(&mut self, flags: &Flags, file: Option<SocketAddr>) -> Option<SocketAddr> {
        let (host, port) = (self.text("HOST"), self.text("PORT"));
        let both = (host.is_some() || port.is_some()).then(|| {
            let host = host.unwrap_or_else(|| "127.0.0.1".to_owned());
            let host = if host.contains(':') && !host.starts_with('[') {
                format!("[{host}]")
            } else {
                host
            };
            format!(
                "{}:{}",
                host.replace("localhost", "127.0.0.1"),
                port.unwrap_or_else(|| "3000".to_owned())
            )
        });
        let default: SocketAddr = "127.0.0.1:3000".parse().expect("the default is an address");
        let flag = Layered::default().flag("--listen", flags.listen.as_deref());
        let from_environment = both.as_deref().map(|text| {
            address(text).map_err(|error| {
                error.help("HOST is an address such as 0.0.0.0, PORT a number from 0 to 65535")
            })
        });
        match (flags.listen.is_some(), from_environment) {
            (false, Some(Ok(found))) => Some(found),
            (false, Some(Err(error))) => {
                let wrong = Layered::<SocketAddr>::default()
                    .flag("HOST and PORT", both.as_deref())
                    .resolve_or(default, |_| Err(error));
                self.kept(wrong)
            }
            _ => self.kept(flag.file(file).resolve_or(default, address)),
        }
    }

    fn url(&mut self, name: &'static str, default: &str) -> Option<Url> {
        let default = parse_http_url(default).expect("the default is a URL");
        let found = Layered::default()
            .variable(name, self.environment)
            .resolve_or(default, parse_http_url);
        self.kept(found)
    }

    fn optional_url(&mut self, name: &'static str) -> Option<Url> {
        self.text(name)?;
        self.url(name, "http://localhost")
    }

    /// `FORGE_WEBHOOK_SECRET`, and the one before it while forges are told the new one.
    fn webhook_secrets(&mut self) -> Option<SecretBook> {
        let needed = |text: &str| {
            let secrets =
                WebhookSecrets::new(text).map_err(|error| ValueError::new(error.to_string()))?;
            Ok(secrets)
        };
        let missing = ValueError::new(
            "FORGE_WEBHOOK_SECRET is not set: without a secret anybody could start runs",
        )
        .help("set it to the secret of the forge's webhook".to_owned());
        let text = self.text("FORGE_WEBHOOK_SECRET");
        let found = match text.as_deref().map(needed) {
            Some(Ok(found)) => Ok(found),
            Some(Err(error)) => Err(error),
            None => Err(missing),
        };
        let secrets = match found {
            Ok(secrets) => secrets,
            Err(error) => {
                let wrong = Layered::<()>::default()
                    .flag("FORGE_WEBHOOK_SECRET", Some(""))
                    .resolve_or((), |_| Err(error));
                self.kept(wrong);
                return None;
            }
        };
        let secrets = match self.text("FORGE_WEBHOOK_SECRET_PREVIOUS") {
            Some(previous) => secrets.with_previous(previous).ok()?,
            None => secrets,
        };
        Some(SecretBook::shared(secrets))
    }

    fn has_short_secret(&self) -> bool {
        let names = ["FORGE_WEBHOOK_SECRET", "FORGE_WEBHOOK_SECRET_PREVIOUS"];
        let mut given = names.into_iter().filter_map(|name| self.text(name));
        given.any(|secret| secret.trim().len() < GOOD_SECRET)
    }

    /// The model, when `USE_LLM_PARSER` is `true`: the local one, else the hosted one.
    fn model(&mut self) -> Option<ModelServer> {
        let wanted = Layered::default().variable("USE_LLM_PARSER", self.environment);
        let wanted = self.kept(wanted.resolve_or(false, |text| match text {
            "true" => Ok(true),
            "false" | "" => Ok(false),
            other => Err(ValueError::new(format!(
                "`{other}` is neither `true` nor `false`"
            ))),
        }))?;
        if !wanted {
            return None;
        }
        if let (Some(_), Some(model)) =
            (self.text("LOCALLLM_BASE_URL"), self.text("LOCALLLM_MODEL"))
        {
            let base = self.url("LOCALLLM_BASE_URL", "http://localhost")?;
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
                model,
            });
        }
        if let (Some(key), Some(model)) =
            (self.secret("CLOUDLLM_API_KEY"), self.text("CLOUDLLM_MODEL"))
        {
            let base = Url::parse(OPENROUTER).expect("the default is a URL");
            return Some(ModelServer {
                protocol: LlmProtocol::OpenAi,
                base: self.optional_url("CLOUDLLM_BASE_URL").unwrap_or(base),
                key: Some(key),
                model,
            });
        }
        let error = ValueError::new("USE_LLM_PARSER is `true`, but no model is named").help(
            "set LOCALLLM_BASE_URL and LOCALLLM_MODEL, or CLOUDLLM_API_KEY and CLOUDLLM_MODEL"
                .to_owned(),
        );
        let wrong = Layered::<()>::default()
            .flag("USE_LLM_PARSER", Some("true"))
            .resolve_or((), |_| Err(error));
        self.kept(wrong);
        None
    }
}

fn own_url(listen: SocketAddr) -> Url {
    let host = if listen.ip().is_unspecified() {
        "127.0.0.1".to_owned()
    } else {
        listen.ip().to_string()
    };
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host
    };
    Url::parse(&format!("http://{host}:{}/", listen.port()))
        .expect("an address and a port make a URL")
}

fn address(text: &str) -> Result<SocketAddr, ValueError> {
    let wrong = |_| ValueError::new(format!("`{text}` is not an address and a port"));
    text.parse().map_err(wrong)
}

#[cfg(test)]
mod tests;
