//! The checked configuration.

use std::net::SocketAddr;
use std::path::Path;

use config_core::Secret;
use edge_web::replica::COMPARED_SECRET;
use forge_core::{Forge, SecretBook};
use runner_actors::RunnerSettings;
use store::{PostgresUrl, SettingDigests};
use url::Url;

/// Characters that a webhook's secret should have at least: shorter ones can be guessed from one
/// delivery that was seen.
pub const GOOD_SECRET: usize = 16;

/// A file: its name for messages, its text, and the folder that relative paths are meant from.
pub type ConfigFileText<'a> = (&'a str, &'a [u8], &'a Path);

/// What flags of the command line say.
#[derive(Debug, Clone, Default)]
pub struct RunnerFlags {
    /// `--listen`.
    pub listen: Option<String>,
    /// `--data`.
    pub data: Option<String>,
}

impl RunnerFlags {
    /// The values by flag.
    #[must_use]
    pub fn values(&self) -> [(&'static str, Option<&str>); 2] {
        [
            ("--listen", self.listen.as_deref()),
            ("--data", self.data.as_deref()),
        ]
    }
}

/// How a process stands beside others that share its store.
#[derive(Debug, Clone, Default)]
pub struct ReplicaSettings {
    /// It waits for the store when another has it.
    pub stands_by: bool,
    /// `host:port` at which the others reach it.
    pub advertise: Option<String>,
}

/// The checked configuration.
#[derive(Debug, Clone)]
pub struct RunnerConfig {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where the store is, if not in the data folder.
    pub store: Option<PostgresUrl>,
    /// What is done where another process has the store.
    pub replica: ReplicaSettings,
    /// Where the services of jobs listen.
    pub services_listen: Option<SocketAddr>,
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
    /// What would go wrong at the first push, though the runner could start: each with what to do.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let forge = self.runner.forge_url.as_ref();
        let insecure = forge.filter(|url| url.scheme() == "http" && !self.runner.transports.http);
        let insecure = insecure.map(|url| {
            format!("no repository of {url} could be cloned: set `allow_http = true` in the configuration file, or give the forge an https address")
        });
        let is_unknown = forge.is_none() && self.runner.forge != Forge::GitHub;
        let nameless = (is_unknown && !self.runner.watched.is_empty()).then(|| {
            "`repositories` names repositories of `forge_url`, which is not set".to_owned()
        });
        insecure.into_iter().chain(nameless).collect()
    }

    /// What tells this installation from others that could use the same database by mistake: the
    /// same on all its hosts.
    #[must_use]
    pub fn installation(&self) -> String {
        let runner = &self.runner;
        let objects = runner.objects.as_ref();
        // Without one it is this host's own, and differs from the others'.
        let public = runner.public_url.as_ref();
        let public = public.filter(|url| **url != own_url(self.listen));
        let parts = [
            Some(format!("{:?}", runner.forge)),
            runner.forge_url.as_ref().map(Url::to_string),
            public.map(Url::to_string),
            objects.map(|objects| objects.place.url()),
        ];
        parts.map(Option::unwrap_or_default).join("\n")
    }
}

impl RunnerConfig {
    /// The settings that have to be equal on all processes that share a store.
    #[must_use]
    pub fn compared(&self) -> SettingDigests {
        let runner = &self.runner;
        let hosts = runner.vm_hosts.iter();
        let hosts: Vec<_> = hosts
            .map(|host| format!("{} {} {:?}", host.name, host.url, host.labels))
            .collect();
        SettingDigests::default()
            .with(COMPARED_SECRET, &self.secrets.fingerprint())
            .with("[vm_hosts]", &hosts.join("\n"))
            .with("[machines]", &format!("{:?}", runner.machines))
    }
}

/// Where a runner that listens there is reached on its own host.
pub(super) fn own_url(listen: SocketAddr) -> Url {
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
