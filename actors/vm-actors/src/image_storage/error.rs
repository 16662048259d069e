//! Why an image was not pushed, pulled or removed.

use http_clients::objects::ObjectError;
use vm_core::ImageRef;
use vm_engine::image::ImageError;

/// Why an image was not pushed, pulled or removed.
#[derive(Debug, thiserror::Error)]
pub enum ImageStorageError {
    /// The storage's.
    #[error(transparent)]
    Objects(#[from] ObjectError),
    /// This host's.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// What is stored is not what was stored.
    #[error(
        "{place}: the object {key} is damaged: {why}; `vm-manager image push IMAGE --again` on a \
         host that has the image stores all of it anew"
    )]
    Damaged {
        /// Where.
        place: String,
        /// Which.
        key: String,
        /// What is wrong with it.
        why: String,
    },
    /// There are images, and no index that names them.
    #[error(
        "{place}: the object images/index.json is missing, and {manifest} is there: nothing is \
         removed; bring it back, or store an image anew with `vm-manager image push IMAGE`, which \
         makes an index of the images that are there: each gets its names with its own push"
    )]
    IndexLost {
        /// Where.
        place: String,
        /// One of the manifests that are there.
        manifest: String,
    },
    /// The storage has no such image.
    #[error("{place} has no image {image}; it has: {known}")]
    Unknown {
        /// Where.
        place: String,
        /// Which.
        image: ImageRef,
        /// The names there are.
        known: String,
    },
    /// Others changed the index each time that it was to be.
    #[error("{place}: others change the index of images without end; try again")]
    Contended {
        /// Where.
        place: String,
    },
    /// A chunk cannot be compressed.
    #[error("a chunk cannot be compressed: {0}")]
    Compress(std::io::Error),
}
