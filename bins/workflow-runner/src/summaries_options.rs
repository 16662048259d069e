//! The command line of `summaries`.

use clap::Args;

use crate::runner_options::RunnerOptions;

/// Which summaries to print, and how.
#[derive(Debug, Args)]
pub(crate) struct SummariesOptions {
    /// The run's id
    pub(crate) run: String,
    /// Only those of the jobs of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) job: Option<String>,
    /// What the API answers, of all pages
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) runner: RunnerOptions,
}
