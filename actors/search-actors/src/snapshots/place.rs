//! Where snapshots are, and what this process does with them.

use std::num::NonZeroU32;

use http_clients::objects::ObjectStorage;
use search_core::snapshots::SourcePart;

/// Where snapshots are.
#[derive(Debug, Clone)]
pub struct SnapshotPlace {
    /// The storage.
    pub storage: ObjectStorage,
    /// Into how many parts each source is split.
    pub parts: NonZeroU32,
}

/// What a process does with snapshots.
#[derive(Debug, Clone, Default)]
pub enum SnapshotMode {
    /// Nothing: it indexes and searches for itself.
    #[default]
    Local,
    /// It indexes and publishes.
    Indexer {
        /// Where.
        place: SnapshotPlace,
        /// Which part of each source.
        part: SourcePart,
        /// A name that no other process has.
        owner: String,
    },
    /// It fetches and searches.
    Searcher(SnapshotPlace),
}

impl SnapshotMode {
    /// The part of each source that this process indexes.
    #[must_use]
    pub fn part(&self) -> SourcePart {
        match self {
            Self::Indexer { part, .. } => *part,
            Self::Local | Self::Searcher(_) => SourcePart::WHOLE,
        }
    }
}
