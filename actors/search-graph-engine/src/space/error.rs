//! What can go wrong with a saved space.

use crate::columns::ColumnError;

/// Why a space could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SpaceError {
    /// The disk refused.
    #[error("concept vectors: {0}")]
    Io(#[from] std::io::Error),
    /// The file was cut short, altered, or is of another version; learn again.
    #[error("the file of concept vectors is damaged ({0}); learn them again")]
    Damaged(&'static str),
}

impl From<ColumnError> for SpaceError {
    fn from(error: ColumnError) -> Self {
        match error {
            ColumnError::Io(error) => error.into(),
            ColumnError::Damaged(what) => Self::Damaged(what),
        }
    }
}
