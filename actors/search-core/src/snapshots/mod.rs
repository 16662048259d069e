//! Published snapshots of indexes: what describes one, who may publish the next, and which document
//! belongs to which part of a source that is split.
//!
//! ```text
//! pointer ──▶ manifest ──▶ objects: files of the index, packs of texts, learnt vectors
//! (replaced on a condition)  (never changed)
//! ```

mod lease;
mod manifest;
mod parts;

pub use lease::{HolderState, LEASE_TIMEOUT, LeaseWatch, RENEW_INTERVAL};
pub use manifest::{
    DescribedFile, FileKind, MANIFEST_FORMAT, ManifestError, PartManifest, PublishedManifest,
    SnapshotPointer,
};
pub use parts::{PartError, SourcePart};
