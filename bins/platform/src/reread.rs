//! The runner's settings, read again from the platform's file while it works.

use std::path::PathBuf;
use std::sync::Arc;

use config_core::{Environment, TableInfo, WrittenValue};
use parking_lot::Mutex;
use runner_actors::{
    ReloadSettings, SettingsNow, SettingsReloader, SettingsSource, VmHostSettings,
};
use supervision::ChildRef;

use crate::check::{self, PlanFile};
use crate::settings;

/// Of the platform's file this alone takes effect while it works.
const TAKEN_UP: &str = "runner.vm_hosts";

/// The platform's file as the process began with it.
pub(crate) struct RunnerFile {
    path: PathBuf,
    written: WrittenValue,
    environment: Environment,
    /// The platform's own VM manager, which no file names.
    own: Option<VmHostSettings>,
    /// The hosts as they were read last.
    hosts: Mutex<Vec<VmHostSettings>>,
}

impl RunnerFile {
    /// `hosts`: those of the file.
    pub(crate) fn new(
        file: PlanFile,
        environment: &Environment,
        own: Option<VmHostSettings>,
        hosts: &[VmHostSettings],
    ) -> Self {
        let hosts = with_own(own.as_ref(), hosts.to_vec());
        Self {
            path: file.path,
            written: file.written,
            environment: environment.clone(),
            own,
            hosts: Mutex::new(hosts),
        }
    }

    /// The runner's VM hosts, the platform's own first.
    pub(crate) fn vm_hosts(&self) -> Vec<VmHostSettings> {
        self.hosts.lock().clone()
    }

    /// For the actor that puts in force what may change.
    pub(crate) fn source(self: Arc<Self>) -> SettingsSource {
        Arc::new(move || self.reload())
    }

    /// Reads the file again. The runner of a file that has none any more goes on as it is.
    fn reload(&self) -> Result<SettingsNow, String> {
        let read = check::runner_again(&self.path, &self.environment);
        let (runner, written) = read.map_err(|wrong| wrong.to_string())?;
        if let Some(config) = runner {
            *self.hosts.lock() = with_own(self.own.as_ref(), config.runner.vm_hosts);
        }
        let changed = self.written.differing(&written).into_iter();
        Ok(SettingsNow {
            vm_hosts: self.vm_hosts(),
            at_restart: changed.filter(|path| self.has_effect(path)).collect(),
        })
    }

    /// Whether a change of the file at this path waits for a restart: no variable wins over it, and
    /// it is not in force by now.
    fn has_effect(&self, path: &str) -> bool {
        let below = path.strip_prefix(TAKEN_UP);
        let is_taken_up = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        !is_taken_up && !self.is_overridden(path)
    }

    fn is_overridden(&self, path: &str) -> bool {
        let mut parts = path.splitn(3, '.');
        let first = parts.next().unwrap_or_default();
        let below = parts.next();
        let variable = match (first, below) {
            ("runner", Some(key)) => variable_of(&runner_web::config::keys(), key),
            ("vm_manager", Some(key)) => variable_of(&vm_web::config::keys(), key),
            _ => variable_of(&settings::keys(), first),
        };
        variable.is_some_and(|name| self.environment.text(name).is_some())
    }
}

fn variable_of(table: &TableInfo, key: &str) -> Option<&'static str> {
    let row = table.rows.iter().find(|row| row.key == key)?;
    row.variable
}

/// The platform's own VM manager before the others; its name is nobody else's.
fn with_own(own: Option<&VmHostSettings>, mut hosts: Vec<VmHostSettings>) -> Vec<VmHostSettings> {
    if let Some(own) = own {
        hosts.retain(|host| host.name != own.name);
        hosts.insert(0, own.clone());
    }
    hosts
}

/// Has the actor read the file again, which says itself what came of it.
pub(crate) async fn reload(reloader: ChildRef<SettingsReloader>) {
    if let Err(error) = reloader.ask(ReloadSettings).await {
        tracing::error!(event = "config.refused", %error, "the settings cannot be read again now");
    }
}
