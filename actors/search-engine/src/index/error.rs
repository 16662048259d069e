//! What can go wrong with an index.

use std::io;
use std::path::{Path, PathBuf};

use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use thiserror::Error;

use crate::shortage::is_of_machine;

/// Failure of an index on disk.
#[derive(Debug, Error)]
pub enum IndexError {
    /// The folder cannot be made, read or cleared.
    #[error("index folder {}: {source}; check that it is writable", path.display())]
    Folder {
        /// The index's folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another process or another part of this one writes to the index.
    #[error("index {} is in use by another process; stop it or choose another data folder", path.display())]
    Locked {
        /// The index's folder.
        path: PathBuf,
    },
    /// Reading or writing failed after the index was opened.
    #[error("index {}: {source}", path.display())]
    Store {
        /// The index's folder.
        path: PathBuf,
        /// What tantivy said.
        source: Box<TantivyError>,
    },
    /// A search failed: a file of the index cannot be read.
    #[error("search in the index failed: {0}")]
    Search(#[from] Box<TantivyError>),
}

impl From<TantivyError> for IndexError {
    fn from(error: TantivyError) -> Self {
        Self::Search(Box::new(error))
    }
}

/// The error of an index at `path`.
pub(super) fn store_error(path: &Path, source: TantivyError) -> IndexError {
    if let TantivyError::LockFailure(LockError::LockBusy, _) = source {
        return IndexError::Locked {
            path: path.to_owned(),
        };
    }
    IndexError::Store {
        path: path.to_owned(),
        source: Box::new(source),
    }
}

/// Whether tantivy failed for a reason that says nothing about the files: a lack, a permission, a
/// disk that is away.
pub(super) fn is_machines_fault(error: &TantivyError) -> bool {
    match error {
        // A thread could not be started.
        TantivyError::SystemError(_) => true,
        TantivyError::LockFailure(LockError::LockBusy, _) => true,
        other => system_error(other).is_some_and(is_of_machine),
    }
}

/// What the system said, where it is the cause.
fn system_error(error: &TantivyError) -> Option<&io::Error> {
    match error {
        TantivyError::IoError(error) | TantivyError::LockFailure(LockError::IoError(error), _) => {
            Some(error)
        }
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. })
        | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. })
        | TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error, .. }) => {
            Some(io_error)
        }
        _ => None,
    }
}
