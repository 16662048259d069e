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
    /// As it was before this step, where snapshots were taken: what was done in the VM since is
    /// lost
    #[arg(long, value_name = "N")]
    pub(crate) before_step: Option<u32>,
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

/// Which run to run again, and how.
#[derive(Debug, Args)]
pub(crate) struct RerunOptions {
    /// The run's id
    pub(crate) run: String,
    /// Only the jobs that did not succeed, and what needs them
    #[arg(long)]
    pub(crate) failed: bool,
    /// Keep the VMs of jobs that fail for a while, so that a shell can be opened in them
    #[arg(long)]
    pub(crate) keep: bool,
    /// Take snapshots between steps as well, to go back to; `--keep` is part of it
    #[arg(long)]
    pub(crate) snapshots: bool,
    /// Begin a failed job before this step, in the VM that is kept of it; other jobs that failed
    /// begin at their first steps
    #[arg(long, value_name = "N")]
    pub(crate) from_step: Option<u32>,
    /// Only this job, by its name or key, however it ended, and what needs it; with `--from-step`
    /// the job whose step it is, the only one that is kept without it
    #[arg(long, value_name = "NAME")]
    pub(crate) job: Option<String>,
    #[command(flatten)]
    pub(crate) runner: RunnerOptions,
}
