//! The command line of `labels`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) const LABELS_HELP: &str = "Examples:\n  workflow-runner labels import config.yaml\n  workflow-runner labels import /var/lib/act_runner/.runner";

/// What to do with labels.
#[derive(Debug, Subcommand)]
pub(crate) enum LabelsCommand {
    /// Print the machines that the labels of act_runner or forgejo-runner are, for the runner's
    /// configuration; what cannot be carried over is said by line on standard error
    #[command(
        after_help = "Exit codes: 0 it was read, 1 it is no file of such a runner, 2 usage.\n\nExamples:\n  workflow-runner labels import config.yaml >> workflow-runner.toml\n  workflow-runner labels import /var/lib/act_runner/.runner"
    )]
    Import(LabelsImportOptions),
}

/// What to read.
#[derive(Debug, Args)]
pub(crate) struct LabelsImportOptions {
    /// Its `config.yaml`, or its registration `.runner`
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}
