//! Which runner a command asks.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// Which runner to ask.
#[derive(Debug, Args)]
pub(crate) struct RunnerOptions {
    /// The runner's address; that of the configuration without it
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The runner's configuration file
    #[arg(long)]
    pub(crate) config: Option<PathBuf>,
}

/// Which runner hands over.
#[derive(Debug, Args)]
pub(crate) struct RunnerDrainOptions {
    /// Also where no other runner stands by: nobody leads until one comes, or for half a minute
    #[arg(long)]
    pub(crate) force: bool,
    /// Wait for the jobs that have a machine, so long at most, as `1h`: meanwhile none begins
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) wait: Option<Duration>,
    /// Which one
    #[command(flatten)]
    pub(crate) runner: RunnerOptions,
}

/// A time of the command line.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    config_core::parse_duration(text).map_err(|error| error.to_string())
}
