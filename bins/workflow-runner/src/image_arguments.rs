//! The command line of `images`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::store_options::ActionsStoreOptions;

/// What to do with the store of images.
#[derive(Debug, Subcommand)]
pub(crate) enum ImagesCommand {
    /// Add images, each from a folder or an archive, or from its registry
    #[command(
        after_help = "Exit codes: 0 all are in the store, 1 one is not, 2 usage.\n\nExamples:\n  workflow-runner images add postgres:16 --from postgres.tar\n  workflow-runner images add acme/tools:1 --from ./layout"
    )]
    Add(ImagesAddOptions),
    /// Print what is in the store
    #[command(
        after_help = "Examples:\n  workflow-runner images list\n  workflow-runner images list --json"
    )]
    List(ImagesListOptions),
    /// Compute the digest of everything in the store anew
    #[command(
        after_help = "Exit codes: 0 the store holds what its lock says, 1 it does not, 2 usage.\n\nExamples:\n  workflow-runner images verify\n  workflow-runner images verify --data /var/lib/orrery-runner"
    )]
    Verify(ActionsStoreOptions),
    /// Forget images, and what no other one needs
    #[command(
        after_help = "Exit codes: 0 they are gone, 1 one was not there, 2 usage.\n\nExamples:\n  workflow-runner images remove postgres:16"
    )]
    Remove(ImagesRemoveOptions),
}

/// What to add.
#[derive(Debug, Args)]
pub(crate) struct ImagesAddOptions {
    /// Images, as a workflow names them
    #[arg(required = true, value_name = "IMAGE")]
    pub(crate) images: Vec<String>,
    /// An OCI layout, or what `docker save` or `podman save` wrote: a folder or an archive, of one
    /// image; the image's registry without it
    #[arg(long, value_name = "FOLDER|ARCHIVE")]
    pub(crate) from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) store: ActionsStoreOptions,
}

/// How to print it.
#[derive(Debug, Args)]
pub(crate) struct ImagesListOptions {
    /// The lock as it is written
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) store: ActionsStoreOptions,
}

/// What to forget.
#[derive(Debug, Args)]
pub(crate) struct ImagesRemoveOptions {
    /// Images, as a workflow names them
    #[arg(required = true, value_name = "IMAGE")]
    pub(crate) images: Vec<String>,
    #[command(flatten)]
    pub(crate) store: ActionsStoreOptions,
}
