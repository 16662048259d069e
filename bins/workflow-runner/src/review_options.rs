//! The command line of reviews: what waits for one, and giving it.

use clap::Args;

use crate::runner_options::RunnerOptions;

/// What to say to a run that waits.
#[derive(Debug, Args)]
pub(crate) struct ReviewOptions {
    /// The run's id
    pub(crate) run: String,
    /// Only this environment; all that the run waits for without any
    #[arg(long, value_name = "NAME")]
    pub(crate) environment: Vec<String>,
    /// Who says it, for the record
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    pub(crate) comment: Option<String>,
    #[command(flatten)]
    pub(crate) runner: RunnerOptions,
}

/// How to print the runs that wait.
#[derive(Debug, Args)]
pub(crate) struct WaitingOptions {
    /// The runs as the API gives them
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) runner: RunnerOptions,
}
