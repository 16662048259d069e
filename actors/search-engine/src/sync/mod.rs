//! Keeping an index in step with a folder.
//!
//! ```text
//! walk ──┐
//!        ├── Comparison ─────► Plan ──► apply: read + extract ──► IndexSink
//! known ─┘                                  (one thread)      (the caller's thread)
//! ```
//!
//! The comparison is pure and looks at sizes and times only; files that differ are read, and their
//! hash tells whether they have really changed.

mod apply;
mod comparison;
mod plan;

pub use apply::{
    CancelFlag, IndexSink, SyncError, SyncOptions, SyncProgress, SyncReport, TimestampUpdate, apply,
};
pub use comparison::{Comparison, KnownFiles};
pub use plan::{KnownFile, PlannedFile, SyncPlan, WalkedDirectory, walk_all};
