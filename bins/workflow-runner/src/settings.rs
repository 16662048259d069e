//! The settings of a runner that serves, and how they are read again.

use std::path::Path;
use std::sync::Arc;

use config_core::Environment;
use daemon::notify;
use daemon::settings::ConfigText;
use runner_actors::{ReloadSettings, SettingsNow, SettingsReloader, SettingsSource};
use runner_web::config::{ConfigFileText, ReadAgain, RunnerConfig, RunnerFlags, StartConfig};
use supervision::ChildRef;

use crate::arguments::RunnerServeOptions;

/// Where the settings are, and what the process began with.
pub(crate) struct RunnerSettingsSource {
    arguments: RunnerServeOptions,
    environment: Environment,
    at_start: StartConfig,
}

impl RunnerSettingsSource {
    /// Reads them.
    ///
    /// # Errors
    /// Every mistake at once.
    pub(crate) fn read(
        arguments: &RunnerServeOptions,
        environment: &Environment,
    ) -> Result<Self, String> {
        let file = file(arguments, environment)?;
        let begun = StartConfig::read(parts(&file), &flags(arguments), environment);
        Ok(Self {
            arguments: arguments.clone(),
            environment: environment.clone(),
            at_start: begun.map_err(|wrong| wrong.to_string())?,
        })
    }

    /// As the process began.
    pub(crate) fn config(&self) -> &RunnerConfig {
        self.at_start.config()
    }

    /// Reads the file again, and checks all of it.
    ///
    /// # Errors
    /// Every mistake at once.
    pub(crate) fn reload(&self) -> Result<ReadAgain, String> {
        let file = file(&self.arguments, &self.environment)?;
        let now = self.at_start.reload(parts(&file));
        now.map_err(|wrong| wrong.to_string())
    }

    /// The same for the actor that puts in force what may change.
    pub(crate) fn source(self: &Arc<Self>) -> SettingsSource {
        let settings = Arc::clone(self);
        Arc::new(move || settings.reload().map(now))
    }
}

/// Has the actor read them again, which says itself what came of it.
pub(crate) async fn reload(reloader: Option<ChildRef<SettingsReloader>>) {
    let Some(reloader) = reloader else {
        return;
    };
    match reloader.ask(ReloadSettings).await {
        Ok(Ok(_)) => notify::status("the settings were read again"),
        Ok(Err(_)) => notify::status("the settings are wrong: what was in force stays"),
        Err(error) => {
            tracing::error!(event = "config.refused", %error, "the settings cannot be read again now");
        }
    }
}

/// What an actor is told of settings that were read again.
pub(crate) fn now(read: ReadAgain) -> SettingsNow {
    SettingsNow {
        vm_hosts: read.config.runner.vm_hosts,
        at_restart: read.at_restart,
    }
}

/// The file that the command line or the environment names.
pub(crate) fn file(
    arguments: &RunnerServeOptions,
    environment: &Environment,
) -> Result<ConfigText, String> {
    let path = arguments.config.as_deref();
    ConfigText::read(path, "WORKFLOW_RUNNER_CONFIG", environment)
}

/// What the command line says.
pub(crate) fn flags(arguments: &RunnerServeOptions) -> RunnerFlags {
    RunnerFlags {
        listen: arguments.listen.clone(),
        data: arguments.data.clone(),
    }
}

fn parts(file: &ConfigText) -> ConfigFileText<'_> {
    let base: &Path = &file.base;
    (&file.name, &file.text, base)
}
