//! What a program that runs a runner decides before it listens.

use std::net::SocketAddr;

use config_core::Secret;
use runner_actors::EXTENT_TABLES;
use store::StoreOptions;
use url::Url;

use crate::config::{GOOD_SECRET, RunnerConfig};

/// The schema of the runner's store in PostgreSQL, unless its address names one: the same for the
/// runner alone and within the platform.
const STORE_SCHEMA: &str = "workflow_runner";

/// How the runner's store is opened by `program`.
#[must_use]
pub fn store_options(program: &str) -> StoreOptions {
    StoreOptions::new(program)
        .schema(STORE_SCHEMA)
        .extents(EXTENT_TABLES)
}

const TOKEN_ALONE: &str = "FORGE_TOKEN is set and not used: without FORGE_URL nobody is shown it; set FORGE_URL to the forge's address";

/// What has no effect as it is. The forge's address has a default where it is GitHub.
#[must_use]
pub fn unused(config: &RunnerConfig) -> Option<&'static str> {
    let runner = &config.runner;
    let nowhere = runner.forge_url.is_none() && runner.forge != forge_core::Forge::GitHub;
    (nowhere && runner.forge_token.is_some()).then_some(TOKEN_ALONE)
}

/// Tells the operator what works and should not stay so. The contract names no least length of a
/// secret: a short one is no error.
pub fn warn(config: &RunnerConfig) {
    for problem in config.problems() {
        tracing::warn!(
            event = "config.first_push",
            problem,
            "the first push would fail"
        );
    }
    if let Some(problem) = unused(config) {
        tracing::warn!(
            event = "config.without_effect",
            problem,
            "a setting has no effect"
        );
    }
    if config.short_secret {
        tracing::warn!(
            event = "config.short_secret",
            "FORGE_WEBHOOK_SECRET has fewer than {GOOD_SECRET} characters and could be guessed; make one with `openssl rand -hex 32`"
        );
    }
}

/// The token that everything but webhooks needs, on this address. Beyond the loopback address there
/// is always one: without a configured one it is `unknown`, which nobody knows.
#[must_use]
pub fn token(
    config: &RunnerConfig,
    bound: SocketAddr,
    unknown: impl FnOnce() -> String,
) -> Option<Secret<String>> {
    if config.token.is_some() || bound.ip().is_loopback() {
        return config.token.clone();
    }
    tracing::warn!(
        event = "config.exposed",
        "the runner listens on more than this machine: only webhooks and health are answered until WORKFLOW_RUNNER_API_TOKEN is set"
    );
    Some(Secret::new(unknown()))
}

/// Puts the port that was given for port 0 into links to runs.
pub fn link_to(config: &mut RunnerConfig, bound: SocketAddr) {
    let own = config
        .runner
        .public_url
        .as_mut()
        .filter(|url| url.port() == Some(0));
    if let Some(url) = own {
        set_port(url, bound.port());
    }
}

fn set_port(url: &mut Url, port: u16) {
    // A URL with a host has a port.
    let _ = url.set_port(Some(port));
}
