//! The configuration as a process began with it, and what it says later.

use config_core::{ConfigInput, Diagnostics, Environment, RowInfo, WrittenValue};

use super::checked::{ConfigFileText, RunnerConfig, RunnerFlags};
use super::file::keys;

/// Of the configuration this alone takes effect while a process works.
const TAKEN_UP: &str = "vm_hosts";

/// What a process began with: flags and variables stay as they are, the file may change.
pub struct StartConfig {
    written: WrittenValue,
    config: RunnerConfig,
    flags: RunnerFlags,
    environment: Environment,
}

/// What the file says now.
pub struct ReadAgain {
    /// As the process began, but for what takes effect while it works.
    pub config: RunnerConfig,
    /// Other settings that the file has changed, by name: they take effect at a restart.
    pub at_restart: Vec<String>,
}

impl StartConfig {
    /// The configuration that is in force.
    ///
    /// # Errors
    /// Every mistake at once.
    pub fn read(
        file: ConfigFileText<'_>,
        flags: &RunnerFlags,
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
    pub fn reload(&self, file: ConfigFileText<'_>) -> Result<ReadAgain, Diagnostics> {
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
            .any(|(name, value)| row.flag == Some(*name) && value.is_some());
        let by_variable = row.variable.and_then(|name| self.environment.text(name));
        by_flag || by_variable.is_some()
    }
}

fn written(
    (name, text, base): ConfigFileText<'_>,
    environment: &Environment,
) -> Result<WrittenValue, Diagnostics> {
    ConfigInput::toml(name, text, environment)
        .base(base)
        .written()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// What the file had at the start is compared with: a setting that was changed and changed back
    /// does not wait.
    #[test]
    fn i18_a_file_that_is_read_again_gives_its_vm_hosts_and_names_what_waits() {
        let secret = ("FORGE_WEBHOOK_SECRET", "sixteen--letters");
        let variables = Environment::from_iter([secret, ("LOG_LEVEL", "debug")]);
        let flags = RunnerFlags {
            listen: Some("127.0.0.1:0".to_owned()),
            data: None,
        };
        let begun = "max_jobs = 2\nlog_level = \"info\"\n[vm_hosts.east]\nurl = \"http://east.test\"\n[vars]\nA = \"1\"\n";
        let file = |text: &'static str| ("runner.toml", text.as_bytes(), Path::new("/etc/orrery"));
        let begun = StartConfig::read(file(begun), &flags, &variables).unwrap();
        for (text, hosts, at_restart) in [
            (
                "max_jobs = 2\n[vars]\nA = \"1\"\n[vm_hosts.west]\nurl = \"http://west.test\"\n[vm_hosts.east]\nurl = \"http://east.test\"\n",
                vec!["west", "east"],
                vec![],
            ),
            (
                "max_jobs = 4\nlisten = \"127.0.0.1:7\"\nlog_level = \"warn\"\n[vars]\nA = \"2\"\n[store]\nstandby = false\n[vm_hosts.west]\nurl = \"http://west.test\"\n",
                vec!["west"],
                vec!["max_jobs", "store", "vars.A"],
            ),
            ("max_jobs = 2\n[vars]\nA = \"1\"\n", vec!["default"], vec![]),
        ] {
            let now = begun.reload(file(text)).unwrap();
            let found = now.config.runner.vm_hosts.iter();
            let found: Vec<&str> = found.map(|host| host.name.as_str()).collect();
            assert_eq!(found, hosts, "{text}");
            assert_eq!(now.at_restart, at_restart, "{text}");
            assert_eq!(now.config.runner.max_jobs, 2, "that waits");
        }
        let wrong = begun.reload(file(
            "max_jobs = 2\n[vm_hosts.west]\nurl = \"west\"\nlabel = 1\n",
        ));
        let wrong = wrong.err().expect("two mistakes").to_string();
        for said in ["runner.toml:3:", "runner.toml:4:1: unknown key `label`"] {
            assert!(wrong.contains(said), "{wrong}");
        }
    }
}
