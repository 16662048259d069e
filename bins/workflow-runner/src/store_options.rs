//! Which runner's stores a command works on.

use std::path::PathBuf;

use clap::Args;

/// Whose stores of actions and images.
#[derive(Debug, Args)]
pub(crate) struct ActionsStoreOptions {
    /// The runner's configuration file
    #[arg(long)]
    pub(crate) config: Option<PathBuf>,
    /// The runner's data folder; that of the configuration without it
    #[arg(long)]
    pub(crate) data: Option<String>,
}
