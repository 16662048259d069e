//! Why a snapshot was not published, or not fetched.

use std::path::PathBuf;

use http_clients::objects::ObjectError;
use search_core::snapshots::ManifestError;
use search_engine::index::{INDEX_FORMAT, IndexError};

/// Why a snapshot was not published, or not fetched.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The storage.
    #[error(transparent)]
    Storage(#[from] ObjectError),
    /// A document of the snapshot.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The index.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A file of this machine.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another version's index.
    #[error(
        "the snapshot's index has form {0}, this version reads {INDEX_FORMAT}; use the same \
         version everywhere"
    )]
    IndexFormat(u32),
    /// The files are no index, though each is what was published.
    #[error("the snapshot is refused: {0}")]
    Refused(String),
    /// Somebody publishes it.
    #[error("{part} of {source_id} is held by {owner}: end that indexer first")]
    Held {
        /// The source's id.
        source_id: String,
        /// Which part.
        part: String,
        /// Who has it.
        owner: String,
    },
    /// What is indexed here is not what is published.
    #[error(
        "the index here is not what part {part} was published with: {owner} publishes it, and only \
         there it is the newest"
    )]
    Elsewhere {
        /// Which part.
        part: String,
        /// Who publishes it; empty where nobody does at the moment.
        owner: String,
    },
    /// A searcher has no index of its own.
    #[error("a searcher indexes nothing: run it on the indexer that has the lease of the source")]
    NotIndexedHere,
    /// What is shown is followed by nothing new.
    #[error("{0}")]
    Unattended(String),
    /// There is nothing of this name.
    #[error("nothing of {0} is published here; `snapshot list` shows what is")]
    Unknown(String),
    /// Another indexer took over.
    #[error("another indexer has taken the source over")]
    LeaseLost,
    /// Nothing was published.
    #[error("nothing of part {0} has been published yet")]
    Nothing(String),
    /// Told to end.
    #[error("it was stopped")]
    Cancelled,
}

impl SnapshotError {
    /// A file's.
    pub(super) fn file(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}
