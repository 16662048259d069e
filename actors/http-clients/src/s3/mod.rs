//! S3-compatible object storage: whole objects of bounded size, conditional writes, bounded lists.
//!
//! Requests are signed with AWS Signature Version 4 in their headers (no address carries a
//! signature), over the body's own digest. The bucket is named in the path, which every compatible
//! server takes.

mod client;
mod error;
mod listing;
mod sign;

pub use client::{Condition, Object, S3Client, S3Options};
pub use error::S3Error;
pub use listing::{ObjectInfo, ObjectList};
