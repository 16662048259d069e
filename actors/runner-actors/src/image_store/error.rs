//! Why the store of images did not do what was asked.

use std::path::{Path, PathBuf};

use runner_core::container::lock::ImageLockError;
use runner_core::container::oci::OciError;

/// Why the store of images did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ImageStoreError {
    /// It is no image that can be used.
    #[error("{}: {source}", .path.display())]
    Image {
        /// Where it was read from.
        path: PathBuf,
        /// Why.
        source: OciError,
    },
    /// What came is not what its digest says.
    #[error("{what} has the digest {found}, and should have {wanted}: nothing is kept")]
    Digest {
        /// Which part.
        what: String,
        /// What it should have.
        wanted: String,
        /// What it has.
        found: String,
    },
    /// The registry is not one that the operator allows.
    #[error("images of {0} are not allowed: `image_registries` does not list this registry")]
    Registry(String),
    /// A registry did not give it.
    #[error("{0}")]
    Pull(String),
    /// The lock is wrong.
    #[error(transparent)]
    Lock(#[from] ImageLockError),
    /// There is none of this name.
    #[error("{0} is not in the store of images")]
    Unknown(String),
    /// A file cannot be read or written.
    #[error("{}: {source}", .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl ImageStoreError {
    pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    pub(super) fn image(path: &Path) -> impl FnOnce(OciError) -> Self {
        let path = path.to_owned();
        move |source| Self::Image { path, source }
    }
}
