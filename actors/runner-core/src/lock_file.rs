//! What the locks of actions and images are written as: JSON with a version, of a bounded size.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The format of both.
pub(crate) const VERSION: u32 = 1;
/// Largest lock file, in bytes: some ten thousand entries.
const MAX_LOCK_BYTES: usize = 4 << 20;

/// Why a file is no lock; as the end of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockFileError {
    /// It is none.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// It was written by a newer program.
    #[error("has the version {0}, this program knows {VERSION}")]
    Version(u32),
}

/// Reads a lock file; nothing where it is empty.
pub(crate) fn read<F: DeserializeOwned>(
    bytes: &[u8],
    version: impl FnOnce(&F) -> u32,
) -> Result<Option<F>, LockFileError> {
    if bytes.is_empty() {
        return Ok(None);
    }
    if bytes.len() > MAX_LOCK_BYTES {
        return Err(LockFileError::Unreadable("it is too large".to_owned()));
    }
    let file: F = serde_json::from_slice(bytes)
        .map_err(|error| LockFileError::Unreadable(error.to_string()))?;
    match version(&file) {
        VERSION => Ok(Some(file)),
        other => Err(LockFileError::Version(other)),
    }
}

/// The text of a lock file: the same lock always gives the same text.
pub(crate) fn to_text(file: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(file).expect("texts and numbers are JSON");
    text + "\n"
}
