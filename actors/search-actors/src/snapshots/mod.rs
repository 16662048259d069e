//! Search over machines: indexers publish what they have indexed, searchers fetch it.
//!
//! ```text
//! index loop ──commits──▶ SourceHandle ──▶ publisher thread ──files, manifest──▶ storage
//!                                              ├── StoredCheck ◀──what it has lost── │
//!                                              └── Lease ──pointer, on a condition──▶ │
//! search workers ◀── SourceHandle ◀──publishes── SnapshotFollower ◀──what is new──────┘
//! ```
//!
//! What is guaranteed:
//! - **One publishes.** The pointer of a source is replaced only where it is still the one that the
//!   lease's holder wrote last; whoever was followed cannot write it any more.
//! - **Whole or not at all.** A pointer leads to a manifest whose files are all there; what was
//!   fetched has the digest that the manifest names, or is not used.
//! - **Nothing that is referenced is removed**, and no object that is not will be again: each has a
//!   name of its own.

mod adopt;
mod all_parts;
mod cache;
mod collect;
mod concept_taking;
mod error;
mod follower;
mod inspect;
mod lease;
mod local_index;
mod place;
mod pointer_ages;
mod publisher;
mod publishing;
mod removal;
mod stored_check;
mod texts;
mod unit;
mod view;
mod wait;

pub(crate) use adopt::SourceFolders;
pub(crate) use all_parts::AllPartsLearner;
pub use error::SnapshotError;
pub(crate) use follower::SnapshotFollower;
pub use inspect::{PublishedSource, VerifiedSource, list_published, verify_published};
pub use local_index::{PublishingLease, check_published_here};
pub use place::{SnapshotMode, SnapshotPlace};
pub(crate) use publishing::SourcePublisher;
pub use removal::{RemovedSource, remove_published};
