//! The command line of `actions`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::store_options::ActionsStoreOptions;

/// What to do with the store of actions.
#[derive(Debug, Subcommand)]
pub(crate) enum ActionsCommand {
    /// Fetch actions and lock each to its commit and the digest of its files
    #[command(
        after_help = "Exit codes: 0 all are in the store, 1 one is not, 2 usage.\n\nExamples:\n  workflow-runner actions add actions/github-script@v7 acme/tools/lint@v2\n  workflow-runner actions add acme/tools@v2 --from ~/src/tools"
    )]
    Add(ActionsAddOptions),
    /// Add everything that the workflows below a folder use and that is not in the store
    #[command(
        after_help = "Exit codes: 0 all of it is in the store, 1 something is not, 2 usage.\n\nExamples:\n  workflow-runner actions vendor .\n  workflow-runner actions vendor ~/src --from /srv/mirrors"
    )]
    Vendor(ActionsVendorOptions),
    /// Ask what the names mean now, and lock those that have moved anew
    #[command(
        after_help = "Exit codes: 0 all are up to date, 1 one could not be brought up to date, 2 usage.\n\nExamples:\n  workflow-runner actions update\n  workflow-runner actions update acme/tools@v2"
    )]
    Update(ActionsUpdateOptions),
    /// Print what is in the store
    #[command(
        after_help = "Examples:\n  workflow-runner actions list\n  workflow-runner actions list --json"
    )]
    List(ActionsListOptions),
    /// Compute the digest of every action anew and compare it with the lock
    #[command(
        after_help = "Exit codes: 0 the store holds what its lock says, 1 it does not, 2 usage.\n\nExamples:\n  workflow-runner actions verify\n  workflow-runner actions verify --config runner.toml"
    )]
    Verify(ActionsStoreOptions),
    /// Write actions to one archive, for a host that reaches no forge
    #[command(
        after_help = "Exit codes: 0 they are written, 1 one is not in the store or not as it was locked, 2 usage.\n\nExamples:\n  workflow-runner actions export actions.tar\n  workflow-runner actions export tools.tar acme/tools@v2"
    )]
    Export(ActionsExportOptions),
    /// Add all that an archive of `actions export` holds, each compared with the archive's lock
    #[command(
        after_help = "Exit codes: 0 all are in the store, 1 one is not, 2 usage.\n\nExamples:\n  workflow-runner actions import actions.tar"
    )]
    Import(ActionsImportOptions),
    /// Forget actions, and the files that no other one needs
    #[command(
        after_help = "Exit codes: 0 they are gone, 1 one was not there, 2 usage.\n\nExamples:\n  workflow-runner actions remove acme/tools@v1"
    )]
    Remove(ActionsRemoveOptions),
}

/// What to write to an archive.
#[derive(Debug, Args)]
pub(crate) struct ActionsExportOptions {
    /// The archive, a tar file
    #[arg(value_name = "FILE")]
    pub(crate) to: PathBuf,
    /// Only these; all without any
    #[arg(value_name = "OWNER/REPO@REF")]
    pub(crate) actions: Vec<String>,
    #[command(flatten)]
    pub(crate) store: ActionsStoreOptions,
}

/// The archive.
#[derive(Debug, Args)]
pub(crate) struct ActionsImportOptions {
    /// What `actions export` wrote
    #[arg(value_name = "FILE")]
    pub(crate) from: PathBuf,
    #[command(flatten)]
    pub(crate) store: ActionsStoreOptions,
}

/// What to forget.
#[derive(Debug, Args)]
pub(crate) struct ActionsRemoveOptions {
    /// Actions, as a step's `uses` names them
    #[arg(required = true, value_name = "OWNER/REPO@REF")]
    pub(crate) actions: Vec<String>,
    #[command(flatten)]
    pub(crate) store: ActionsStoreOptions,
}

/// What to add.
#[derive(Debug, Args)]
pub(crate) struct ActionsAddOptions {
    /// Actions, as a step's `uses` names them
    #[arg(required = true, value_name = "OWNER/REPO[/PATH]@REF")]
    pub(crate) actions: Vec<String>,
    /// Fetch from this address, or from a repository in this folder; `actions_url` without it
    #[arg(long, value_name = "URL|FOLDER")]
    pub(crate) from: Option<String>,
    #[command(flatten)]
    pub(crate) store: ActionsStoreOptions,
}

/// Whose actions to add.
#[derive(Debug, Args)]
pub(crate) struct ActionsVendorOptions {
    /// A repository, or a folder of them
    pub(crate) path: PathBuf,
    /// Fetch each from `owner/repo` below this address or folder; `actions_url` without it
    #[arg(long, value_name = "URL|FOLDER")]
    pub(crate) from: Option<String>,
    #[command(flatten)]
    pub(crate) store: ActionsStoreOptions,
}

/// What to bring up to date.
#[derive(Debug, Args)]
pub(crate) struct ActionsUpdateOptions {
    /// Only these; all without any
    #[arg(value_name = "OWNER/REPO@REF")]
    pub(crate) actions: Vec<String>,
    #[command(flatten)]
    pub(crate) store: ActionsStoreOptions,
}

/// How to print it.
#[derive(Debug, Args)]
pub(crate) struct ActionsListOptions {
    /// The lock as it is written
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: ActionsStoreOptions,
}
