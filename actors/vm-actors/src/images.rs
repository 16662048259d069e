//! Where the disks of VMs come from, as the actors see it.

use std::sync::Arc;

use tokio::sync::watch;
use vm_core::ImageRef;
use vm_engine::image::Image;
use vmm_api_core::{ImageView, Kvm, SharedImages};

/// Finds images by name. Calls may block for a file, not for the making of an image.
pub trait Images: Send + Sync + 'static {
    /// The image of this name, or of this content.
    ///
    /// # Errors
    /// See [`ImageFailure`].
    fn resolve(&self, name: &ImageRef) -> Result<Arc<Image>, ImageFailure>;

    /// All of them; none before they are known.
    ///
    /// # Errors
    /// See [`ImageFailure`].
    fn list(&self) -> Result<Vec<ImageView>, ImageFailure>;

    /// How what VMs are made of is.
    fn host(&self) -> HostView;

    /// Changes each time that a fetch of an image has ended; none where images are not shared.
    fn fetches(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// Images that the managers of several hosts share, where they do. Reads a folder.
    fn shared(&self) -> Option<SharedImages> {
        None
    }
}

/// Whether VMs can be had at all, and what is known of the host's virtualisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostView {
    /// How it is.
    pub state: HostState,
    /// For `/health`.
    pub kvm: Kvm,
}

/// How what VMs are made of is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostState {
    /// VMs can be had.
    Ready,
    /// An image, a kernel or the canary is on its way; in words.
    Preparing(String),
    /// It could not be made; in words. It is tried again.
    Failed(String),
}

/// Why there is no image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageFailure {
    /// No image has this name.
    #[error("there is no image {name}; there are: {known}")]
    Unknown {
        /// The name asked for.
        name: String,
        /// The names there are, for people.
        known: String,
    },
    /// It is being made.
    #[error("the image is being made: {progress}")]
    Preparing {
        /// What is done at the moment.
        progress: String,
    },
    /// It is being fetched from object storage.
    #[error("the image {name} is being fetched: {progress}")]
    Fetching {
        /// The name asked for.
        name: String,
        /// How far that is.
        progress: String,
    },
    /// It could not be fetched; it is tried again.
    #[error("the image {name} could not be fetched: {reason}")]
    Unfetched {
        /// The name asked for.
        name: String,
        /// Why, and what to do.
        reason: String,
    },
    /// There is no room for it.
    #[error("there is no room for the image {name}: {reason}")]
    NoRoom {
        /// The name asked for.
        name: String,
        /// How much is missing.
        reason: String,
    },
    /// It cannot be read, or could not be made.
    #[error("the image cannot be used: {0}")]
    Unusable(String),
}
