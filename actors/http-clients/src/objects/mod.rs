//! Large immutable things in a folder or in S3-compatible storage: the only user of `object_store`.
//!
//! ```text
//! a thread that blocks ──ObjectStorage──▶ thread "object-storage" ──http-clients──▶ S3
//!        ▲    (reads, writes, hashes its file)      └── or the folder of `file:///…`
//!        └────────── whole, or an error that says what to do
//! ```
//!
//! What is guaranteed:
//! - **Nothing is held whole.** Files go in parts of 8 MiB and come in chunks.
//! - **Whole or not there.** An object appears with its last byte; an upload that failed is
//!   aborted, one that was killed left parts that no name leads to.
//! - **What comes is what went.** [`ObjectStorage::get`] compares the BLAKE3 digest before the file
//!   has its name.
//! - **One of two writers wins.** [`ObjectStorage::replace`] writes where the object is still the
//!   one that was read, and nothing otherwise.
//! - **Every wait ends.** A request has a deadline, its repetitions have one together.
//!
//! Methods block, on any thread but the one that carries them out.

mod bridge;
mod conditional;
mod conditions;
mod copy;
mod crypto;
mod error;
mod in_memory;
mod mount;
mod ownership;
mod parallel;
mod storage;
mod upload;
mod worker;

pub use conditional::{ObjectVersion, ReplaceResult, SmallObject};
pub use config_core::{Bucket, ObjectKeys, ObjectPlace, PlaceError};
pub use error::ObjectError;
pub use parallel::for_each;
pub use storage::{ObjectStorage, StoredObject, digest_of_file};
