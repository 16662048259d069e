//! The command line of shells in kept VMs.

use clap::Args;

use crate::runner_options::RunnerOptions;

/// Where to open a shell.
#[derive(Debug, Args)]
pub(crate) struct ShellOptions {
    /// The run's id
    pub(crate) run: String,
    /// The job's name or key; the only one that is kept without it
    pub(crate) job: Option<String>,
    /// Who opens it, for the run's log; the name of the user without it
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) runner: RunnerOptions,
}

/// How to print the VMs that are kept.
#[derive(Debug, Args)]
pub(crate) struct KeptOptions {
    /// As the API gives them
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) runner: RunnerOptions,
}

/// Which VM to give back.
#[derive(Debug, Args)]
pub(crate) struct ReleaseOptions {
    /// The run's id
    pub(crate) run: String,
    /// The job's name or key; the only one that is kept without it
    pub(crate) job: Option<String>,
    #[command(flatten)]
    pub(crate) runner: RunnerOptions,
}
