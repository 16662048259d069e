//! Opens a backend by its name.

use std::path::Path;

use super::concurrent::ConcurrentMap;
use super::kind::LocalStateKind;
use super::memory::LocalMemory;
use super::redb::RedbState;
use super::sqlite::SqliteState;
use super::{LocalError, LocalState};
use crate::error::OpenError;
use crate::options::StoreOptions;
use crate::{DirectoryLock, Store};

impl LocalStateKind {
    /// Opens the state kept in `folder`, which those on disk lock for `program`.
    ///
    /// # Errors
    /// Those of the folder and of the backend.
    pub fn open(self, folder: &Path, program: &str) -> Result<Box<dyn LocalState>, LocalOpenError> {
        Ok(match self {
            Self::Memory => Box::new(LocalMemory::default()),
            Self::ConcurrentMap => Box::new(ConcurrentMap::default()),
            Self::Sqlite => {
                let lock = DirectoryLock::take(folder, program).map_err(OpenError::Lock)?;
                Box::new(SqliteState::open(&folder.join("state.sqlite"), Some(lock))?)
            }
            Self::Redb => {
                let store = Store::open(folder, &StoreOptions::new(program))?;
                Box::new(RedbState::new(store))
            }
        })
    }
}

/// Why local state could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum LocalOpenError {
    /// The folder, its lock, or the redb store.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The SQLite file.
    #[error(transparent)]
    State(#[from] LocalError),
}
