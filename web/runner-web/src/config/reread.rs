//! The configuration as a process began with it, and what it says later.

use config_core::{Diagnostics, Environment, Input, RowInfo, Written};

use super::ConfigFile;
use super::checked::{Flags, RunnerConfig};
use super::file::keys;

/// Of the configuration this alone takes effect while a process works.
const TAKEN_UP: &str = "vm_hosts";

/// What a process began with: flags and variables stay as they are, the file may change.
pub struct BegunWith {
    written: Written,
    config: RunnerConfig,
    flags: Flags,
    environment: Environment,
}

/// What the file says now.
pub struct ReadAgain {
    /// As the process began, but for what takes effect while it works.
    pub config: RunnerConfig,
    /// Other settings that the file has changed, by name: they take effect at a restart.
    pub at_restart: Vec<String>,
}

impl BegunWith {
    /// The configuration that is in force.
    ///
    /// # Errors
    /// Every mistake at once.
    pub fn read(
        file: ConfigFile<'_>,
        flags: &Flags,
        environment: &Environment,
    ) -> Result<Self, Diagnostics> {
        let config = RunnerConfig::parse(Some(file), flags, environment)?;
        Ok(Self {
            written: written(file, environment)?,
            config,
            flags: flags.clone(),
            environment: environment.clone(),
        })
    }

    /// As the process began.
    #[must_use]
    pub fn config(&self) -> &RunnerConfig {
        &self.config
    }

    /// Reads the file again, and checks all of it.
    ///
    /// # Errors
    /// Every mistake at once.
    pub fn again(&self, file: ConfigFile<'_>) -> Result<ReadAgain, Diagnostics> {
        let now = RunnerConfig::parse(Some(file), &self.flags, &self.environment)?;
        let changed = self.written.differing(&written(file, &self.environment)?);
        let changed = changed.into_iter().filter(|path| self.has_effect(path));
        let mut config = self.config.clone();
        config.runner.vm_hosts = now.runner.vm_hosts;
        Ok(ReadAgain {
            config,
            at_restart: changed.collect(),
        })
    }

    /// Whether a change of the file at this path waits for a restart: no flag and no variable wins
    /// over it, and it is not in force by now.
    fn has_effect(&self, path: &str) -> bool {
        let key = path.split('.').next().unwrap_or(path);
        let keys = keys();
        let row = keys.rows.iter().find(|row| row.key == key);
        key != TAKEN_UP && !row.is_some_and(|row| self.is_overridden(row))
    }

    fn is_overridden(&self, row: &RowInfo) -> bool {
        let flags = self.flags.values();
        let by_flag = flags
            .iter()
            .any(|(name, value)| row.flag == Some(name) && value.is_some());
        let by_variable = row.variable.and_then(|name| self.environment.text(name));
        by_flag || by_variable.is_some()
    }
}

fn written(
    (name, text, base): ConfigFile<'_>,
    environment: &Environment,
) -> Result<Written, Diagnostics> {
    Input::toml(name, text, environment).base(base).written()
}
