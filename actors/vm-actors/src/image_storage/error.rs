//! Why an image was not pushed, pulled or removed.

use object_clients::ObjectError;
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
