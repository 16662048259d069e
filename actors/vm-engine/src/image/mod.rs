//! Images: what a VM's disk holds before its first command, and the kernels that boot it.

pub mod agent;
mod build;
mod chunks;
mod container;
mod cpio;
pub mod kernel;
mod modules;
mod node;
mod oci;
mod own_kernel;
mod partial;
mod python;
mod recipe;
mod store;
mod tool;
mod use_of_images;
mod vmlinux;

use std::io;
use std::path::{Path, PathBuf};

use vm_core::ImageRef;
use vm_core::image_manifest::DiskShortage;

pub use chunks::{DiskFile, compressed, decompressed};
pub use container::build_container;
pub use partial::PartialDisk;
pub use recipe::{DEFAULT_RECIPE, FULL_RECIPE, Recipe, RecipeError};
pub use store::{ImageStore, ListedImage};
pub use tool::ToolError;
pub use use_of_images::FetchedBlob;
pub use vmlinux::{ExtractError, extract};

/// How an image's file is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiskFormat {
    /// The bytes of the disk: an ext4 file system without partitions.
    Raw,
    /// QEMU's own format.
    Qcow2,
}

/// A stored image, ready to be used by VMs. Its files are never written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// 64 hexadecimal digits: BLAKE3 of the disk's file.
    pub digest: String,
    /// The disk.
    pub disk: PathBuf,
    /// Its layout.
    pub format: DiskFormat,
    /// The size the guest sees, in bytes.
    pub virtual_bytes: u64,
}

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// No image has this name or digest.
    #[error(
        "there is no image {0}: see `vm-manager image list`; `vm-manager image build full` makes the image `full`, `vm-manager image build FILE` one by a recipe"
    )]
    Unknown(ImageRef),
    /// A file that no VM can boot.
    #[error("{} cannot be an image: {why}", .path.display())]
    Format {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A folder that is no OCI layout, or one that cannot be taken.
    #[error("{} cannot be imported as an OCI layout: {why}", .path.display())]
    Oci {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A program that is needed is missing or failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// Files cannot be read or written.
    #[error("{what} {}: {source}", .path.display())]
    Files {
        /// What was tried.
        what: &'static str,
        /// On which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Fewer bytes would stay free than are to stay free.
    #[error(
        "{} has too little room: {} MiB are to be written and {} MiB are free, of which {} MiB are to stay free ([images] keep_free); remove an image that is not used, or make room",
        .path.display(), .shortage.needed >> 20, .shortage.free >> 20, .shortage.keep_free >> 20
    )]
    NoRoom {
        /// The folder of images.
        path: PathBuf,
        /// How much is missing.
        shortage: DiskShortage,
    },
    /// The disk that was put together is not the one that was meant.
    #[error("the disk has the BLAKE3 digest {found}, not {expected}")]
    OtherDisk {
        /// What it should be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// The kernel's part failed.
    #[error(transparent)]
    Kernel(#[from] kernel::KernelError),
}

fn files(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ImageError {
    let path = path.to_path_buf();
    move |source| ImageError::Files { what, path, source }
}
