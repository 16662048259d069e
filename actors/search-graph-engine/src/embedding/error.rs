//! What can go wrong with a model folder.

use std::path::{Path, PathBuf};

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddingError {
    /// A file is missing or cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is damaged, or describes a model that cannot be run here.
    #[error("{}: {what}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What was wrong, and what is expected.
        what: String,
    },
}

impl EmbeddingError {
    pub(super) fn io(path: &Path) -> impl Fn(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io {
            path: path.clone(),
            source,
        }
    }

    pub(super) fn unusable(path: &Path, what: impl Into<String>) -> Self {
        Self::Unusable {
            path: path.to_owned(),
            what: what.into(),
        }
    }
}

/// Reads a small file whole; larger ones than `limit` bytes are refused.
pub(super) fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, EmbeddingError> {
    use std::io::Read;
    let file = std::fs::File::open(path).map_err(EmbeddingError::io(path))?;
    let mut bytes = Vec::new();
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(EmbeddingError::io(path))?;
    if bytes.len() as u64 > limit {
        return Err(EmbeddingError::unusable(
            path,
            format!("larger than {limit} bytes"),
        ));
    }
    Ok(bytes)
}
