//! The file `workflow-runner.toml`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use config_core::{Item, LOG_LEVELS, Secret, ValueError};
use forge_core::{Forge, RepoName};
use outbound::http::Place;
use outbound::vmm::NewVm;
use runner_actors::CheckoutLimits;
use url::Url;

use super::checkouts::{checkouts, span};
use super::machine::machine;
use super::{FORGES, address};

/// What a file says: `workflow-runner.toml`, or a table of another file.
#[derive(Debug, Default)]
pub struct File {
    pub(super) data: Option<PathBuf>,
    pub(super) listen: Option<SocketAddr>,
    pub(super) log_level: Option<&'static str>,
    pub(super) hosts: Vec<String>,
    pub(super) public_url: Option<Url>,
    pub(super) forge: Option<Forge>,
    pub(super) forge_url: Option<Url>,
    pub(super) allow_http: bool,
    pub(super) allow_addresses: Vec<Place>,
    pub(super) git: Option<PathBuf>,
    pub(super) max_jobs: Option<usize>,
    pub(super) max_jobs_per_repository: Option<usize>,
    pub(super) vm_wait: Option<Duration>,
    pub(super) keep_runs: Option<usize>,
    pub(super) cache_quota: Option<u64>,
    pub(super) catch_up: Option<Duration>,
    pub(super) repositories: Vec<String>,
    pub(super) checkouts: CheckoutLimits,
    pub(super) machines: Vec<(String, NewVm)>,
    pub(super) vars: Vec<(String, String)>,
    pub(super) secrets: Vec<(String, Secret<String>)>,
}

impl File {
    /// Reads the runner's table; relative paths are meant from `base`. Mistakes are the item's.
    #[must_use]
    pub fn read(item: &Item<'_>, base: &Path) -> Option<Self> {
        table(item, base)
    }

    /// Whether it says where runs are kept.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.data.is_some()
    }
}

fn table(item: &Item<'_>, base: &Path) -> Option<File> {
    const KEYS: [&str; 21] = [
        "data_dir",
        "listen",
        "log_level",
        "hosts",
        "public_url",
        "forge",
        "forge_url",
        "allow_http",
        "allow_addresses",
        "git",
        "max_jobs",
        "max_jobs_per_repository",
        "vm_wait",
        "keep_runs",
        "cache_quota",
        "catch_up",
        "repositories",
        "checkouts",
        "machines",
        "vars",
        "secrets",
    ];
    item.fields("the runner's configuration", &KEYS, |fields| {
        let count = |item: &Item<'_>| {
            item.integer(1..=1_000_000)
                .and_then(|number| usize::try_from(number).ok())
        };
        Some(File {
            data: fields.optional("data_dir", |item| item.string().map(|text| base.join(text))),
            listen: fields.optional("listen", |item| item.parsed(address)),
            log_level: fields.optional("log_level", |item| item.choice("log level", LOG_LEVELS)),
            hosts: fields
                .optional("hosts", |item| item.list(Item::string))
                .unwrap_or_default(),
            public_url: fields.optional("public_url", Item::http_url),
            forge: fields.optional("forge", |item| item.choice("forge", FORGES)),
            forge_url: fields.optional("forge_url", Item::http_url),
            allow_http: fields
                .optional("allow_http", Item::boolean)
                .unwrap_or(false),
            allow_addresses: fields
                .optional("allow_addresses", |item| item.list(place))
                .unwrap_or_default(),
            git: fields.optional("git", |item| item.string().map(PathBuf::from)),
            max_jobs: fields.optional("max_jobs", count),
            max_jobs_per_repository: fields.optional("max_jobs_per_repository", count),
            vm_wait: fields.optional("vm_wait", Item::duration),
            keep_runs: fields.optional("keep_runs", count),
            cache_quota: fields
                .optional("cache_quota", Item::byte_size)
                .map(config_core::ByteSize::bytes),
            catch_up: fields.optional("catch_up", |item| span(item, 10, 86_400)),
            repositories: fields
                .optional("repositories", |item| item.list(repository))
                .unwrap_or_default(),
            checkouts: fields.optional("checkouts", checkouts).unwrap_or_default(),
            machines: fields
                .optional("machines", |item| item.entries(machine))
                .unwrap_or_default(),
            vars: fields
                .optional("vars", |item| item.entries(|_, item| item.string()))
                .unwrap_or_default(),
            secrets: fields
                .optional("secrets", |item| item.entries(|_, item| item.secret()))
                .unwrap_or_default(),
        })
    })
}

fn repository(item: &Item<'_>) -> Option<String> {
    item.parsed(|text| {
        text.parse::<RepoName>()
            .map(|name| name.to_string())
            .map_err(|error| ValueError::new(error.to_string()))
    })
}

fn place(item: &Item<'_>) -> Option<Place> {
    item.parsed(|text| {
        text.parse::<Place>()
            .map_err(|error| ValueError::new(error.to_string()))
    })
}
