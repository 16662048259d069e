//! The runner's settings: the contract's environment variables, and an optional
//! `workflow-runner.toml`. Flags win over the environment, that over the file.

mod checked;
mod file;
mod kinds;
mod machines;
mod reread;
mod resolver;
mod scopes;

use config_core::{ConfigInput, Diagnostics, Environment};

pub use checked::{ConfigFileText, GOOD_SECRET, ReplicaSettings, RunnerConfig, RunnerFlags};
pub use file::{RunnerConfigFile, keys};
pub use reread::{ReadAgain, StartConfig};
use resolver::Resolver;
pub use resolver::services_at;

impl RunnerConfig {
    /// The configuration in force. Relative paths of the file are meant from `base`.
    ///
    /// # Errors
    /// Every mistake at once.
    pub fn parse(
        file: Option<ConfigFileText<'_>>,
        flags: &RunnerFlags,
        environment: &Environment,
    ) -> Result<Self, Diagnostics> {
        let file = match file {
            Some((name, text, base)) => {
                let input = ConfigInput::toml(name, text, environment).base(base);
                input.decode(RunnerConfigFile::read)?.value
            }
            None => RunnerConfigFile::default(),
        };
        Self::from_file(file, flags, environment)
    }

    /// The configuration in force, with what a file says read already.
    ///
    /// # Errors
    /// Every mistake of the flags and the environment at once.
    pub fn from_file(
        file: RunnerConfigFile,
        flags: &RunnerFlags,
        environment: &Environment,
    ) -> Result<Self, Diagnostics> {
        Resolver::new(file, flags, environment).resolve(environment)
    }
}

#[cfg(test)]
mod tests;
