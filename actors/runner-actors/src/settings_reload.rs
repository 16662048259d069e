//! The settings are read again while the runner works: what may change takes effect, and of the
//! rest it is said that it waits for a restart.
//!
//! ```text
//! SIGHUP, POST /admin/reload ── ReloadSettings ──▶ SettingsReloader ── reads ──▶ file
//!                                                        └── another list ──▶ VmHosts
//! ```

use std::sync::Arc;

use actix::{
    Actor, ActorFutureExt as _, AtomicResponse, Context, Handler, Message, WrapFuture as _,
};
use cluster_actors::vm_hosts::{HostChanges, VmHostSettings, VmHosts};
use serde::{Deserialize, Serialize};
use store::StoreError;
use utoipa::ToSchema;

/// What the settings say now.
#[derive(Debug, Clone)]
pub struct SettingsNow {
    /// The hosts of VMs.
    pub vm_hosts: Vec<VmHostSettings>,
    /// Other settings that are not as they were at the start, by name.
    pub at_restart: Vec<String>,
}

/// Reads and checks the settings, whole; what is wrong with them, and where. Blocks.
pub type SettingsSource = Arc<dyn Fn() -> Result<SettingsNow, String> + Send + Sync>;

/// Reads the settings again, and puts in force what may change.
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Result<SettingsReport, ReloadError>")]
pub struct ReloadSettings;

/// What was put in force.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SettingsReport {
    /// Which hosts of VMs are other ones.
    pub vm_hosts: HostChanges,
    /// Settings that were changed and take effect at a restart, by name.
    pub at_restart: Vec<String>,
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The settings are wrong.
    #[error("{0}")]
    Wrong(String),
    /// Which hosts take no jobs cannot be known.
    #[error("the store cannot be read: {0}")]
    Store(#[from] StoreError),
    /// The process ends.
    #[error("the runner stops")]
    Stopping,
}

/// The actor.
#[derive(Clone)]
pub struct SettingsReloader {
    hosts: VmHosts,
    source: SettingsSource,
}

impl SettingsReloader {
    pub(crate) fn new(hosts: VmHosts, source: SettingsSource) -> Self {
        Self { hosts, source }
    }

    fn reload(&self) -> Result<SettingsReport, ReloadError> {
        let now = (self.source)().map_err(ReloadError::Wrong)?;
        let vm_hosts = self.hosts.renew(&now.vm_hosts)?;
        Ok(SettingsReport {
            vm_hosts,
            at_restart: now.at_restart,
        })
    }
}

impl Actor for SettingsReloader {
    type Context = Context<Self>;
}

impl Handler<ReloadSettings> for SettingsReloader {
    type Result = AtomicResponse<Self, Result<SettingsReport, ReloadError>>;

    /// One after the other: what was read last is in force.
    fn handle(&mut self, ReloadSettings: ReloadSettings, _: &mut Self::Context) -> Self::Result {
        let reloader = self.clone();
        let reloaded = async move {
            let reloaded = tokio::task::spawn_blocking(move || reloader.reload()).await;
            let reloaded = reloaded.unwrap_or(Err(ReloadError::Stopping));
            log_reload(&reloaded);
            reloaded
        };
        AtomicResponse::new(Box::pin(
            reloaded.into_actor(self).map(|reloaded, _, _| reloaded),
        ))
    }
}

/// Writes into the log what came of settings that were read again.
pub fn log_reload(reloaded: &Result<SettingsReport, ReloadError>) {
    match reloaded {
        Ok(report) => {
            for key in &report.at_restart {
                tracing::warn!(
                    event = "config.needs_restart",
                    key,
                    "it takes effect at the next start"
                );
            }
            tracing::info!(event = "config.reloaded", "the settings were read again");
        }
        Err(error) => {
            tracing::error!(event = "config.refused", %error, "the settings were not read again; what was in force stays");
        }
    }
}

#[cfg(test)]
mod tests {
    use cluster_actors::vm_hosts::CordonTable;
    use parking_lot::Mutex;
    use store::{Store, StoreOptions};

    use super::*;

    fn host(name: &str) -> VmHostSettings {
        VmHostSettings {
            name: name.to_owned(),
            ..VmHostSettings::single("http://127.0.0.1:9".parse().expect("an address"), None)
        }
    }

    #[actix_rt::test]
    async fn i18_wrong_settings_change_nothing_and_right_ones_say_what_waits() {
        let store = Store::in_memory(&StoreOptions::new("test")).expect("memory");
        let hosts = VmHosts::open(&[host("east")], &store, CordonTable::new("cordons"));
        let hosts = hosts.expect("memory");
        let file = Arc::new(Mutex::new(Err(
            "runner.toml:3:1: unknown key `ulr`".to_owned()
        )));
        let source = Arc::clone(&file);
        let source: SettingsSource = Arc::new(move || source.lock().clone());
        let reloader = SettingsReloader::new(hosts.clone(), source).start();
        let refused = reloader.send(ReloadSettings).await.expect("it answers");
        let said = refused.expect_err("the file is wrong").to_string();
        assert_eq!(said, "runner.toml:3:1: unknown key `ulr`");
        assert_eq!(hosts.list()[0].name, "east");
        *file.lock() = Ok(SettingsNow {
            vm_hosts: vec![host("west")],
            at_restart: vec!["max_jobs".to_owned()],
        });
        let report = reloader.send(ReloadSettings).await.expect("it answers");
        let report = report.expect("it is right");
        let one = |name: &str| vec![name.to_owned()];
        assert_eq!(report.at_restart, one("max_jobs"));
        assert_eq!(
            (report.vm_hosts.added, report.vm_hosts.removed),
            (one("west"), one("east"))
        );
        assert_eq!(hosts.list()[0].name, "west");
        // Nobody leads any more.
        store.close();
        let refused = reloader.send(ReloadSettings).await.expect("it answers");
        assert!(matches!(refused, Err(ReloadError::Store(_))), "{refused:?}");
    }
}
