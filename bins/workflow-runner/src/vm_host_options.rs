//! The command line of the hosts of VMs.

use std::time::Duration;

use clap::{Args, Subcommand};

use crate::runner_options::{RunnerOptions, time};

/// What to do with the hosts of VMs.
#[derive(Debug, Subcommand)]
pub(crate) enum VmHostsCommand {
    /// Print the hosts, how they are, and what is free there
    #[command(
        after_help = "Environment: WORKFLOW_RUNNER_API_TOKEN.\n\nExamples:\n  workflow-runner hosts list\n  workflow-runner hosts list --json"
    )]
    List(ListOptions),
    /// Give a host no new jobs; those that run there go on
    #[command(
        after_help = "Environment: WORKFLOW_RUNNER_API_TOKEN.\n\nExamples:\n  workflow-runner hosts cordon east"
    )]
    Cordon(HostOptions),
    /// Give a host new jobs again
    #[command(
        after_help = "Environment: WORKFLOW_RUNNER_API_TOKEN.\n\nExamples:\n  workflow-runner hosts uncordon east"
    )]
    Uncordon(HostOptions),
    /// Give a host no new jobs, and wait until none runs there
    #[command(
        after_help = "Environment: WORKFLOW_RUNNER_API_TOKEN.\n\nExamples:\n  workflow-runner hosts drain east --timeout 30m"
    )]
    Drain(HostDrainOptions),
}

/// How to print the hosts.
#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// As the API gives them
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) runner: RunnerOptions,
}

/// Which host.
#[derive(Debug, Args)]
pub(crate) struct HostOptions {
    /// The host's name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) runner: RunnerOptions,
}

/// Which host, and how long.
#[derive(Debug, Args)]
pub(crate) struct HostDrainOptions {
    /// The host's name
    pub(crate) name: String,
    /// The longest that it waits, as `30m`; 0s: it does not wait
    #[arg(long, value_name = "TIME", default_value = "6h", value_parser = time)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) runner: RunnerOptions,
}
