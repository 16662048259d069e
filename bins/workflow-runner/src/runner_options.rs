//! Which runner a command asks.

use std::path::PathBuf;

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
pub(crate) struct DrainOptions {
    /// Also where no other runner stands by: nobody leads until one comes, or for half a minute
    #[arg(long)]
    pub(crate) force: bool,
    /// Which one
    #[command(flatten)]
    pub(crate) runner: RunnerOptions,
}
