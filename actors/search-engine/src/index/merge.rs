//! Merges all segments of an index into one.
//!
//! tantivy merges segments of a like size while an index grows. What is left after a first indexing
//! are a few large ones: each has its own dictionary, which a search looks into, and what was
//! deleted from them still counts in the statistics. One merge when the source has become quiet
//! takes both away.

use std::time::{Duration, Instant};

use tantivy::index::{SegmentId, SegmentMeta};
use tantivy::indexer::NoMergePolicy;
use tantivy::{FutureResult, TantivyError};

use super::error::{IndexError, store_error};
use super::snapshot::IndexSnapshot;
use super::source_index::{SourceIndex, merge_policy};

/// One of so many documents has to lie outside of the largest segment, or be deleted, for a merge
/// of all: so a document is written again at most about ten times, however an index grows.
const WORTH: u64 = 10;

/// Time between two looks whether another merge has ended.
const MERGE_PAUSE: Duration = Duration::from_millis(5);

/// How long a merge of all segments waits for others to end.
const MERGE_TIMEOUT: Duration = Duration::from_secs(300);

/// A merge that goes on in the background; it goes on when this is dropped, too.
pub struct RunningMerge(FutureResult<Option<SegmentMeta>>);

impl std::fmt::Debug for RunningMerge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Merging").finish_non_exhaustive()
    }
}

impl RunningMerge {
    /// Waits for its end: seconds on a large index.
    ///
    /// # Errors
    /// Why it has failed, for people; the index is as it was.
    pub fn wait(self) -> Result<(), String> {
        self.0.wait().map(drop).map_err(|error| error.to_string())
    }
}

impl SourceIndex {
    /// Begins a merge of all segments in the background where it is worth its cost. Changes and
    /// commits go on meanwhile; [`take_merged`](Self::take_merged) makes the result searchable. It
    /// fails, and costs nothing but its work, where a merge that tantivy had begun by itself ends
    /// first and takes some of the segments.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn start_merge(&mut self) -> Result<Option<RunningMerge>, IndexError> {
        let metas = self.index.searchable_segment_metas();
        let metas = metas.map_err(|source| store_error(&self.path, source))?;
        let sizes: Vec<SegmentSize> = metas.iter().map(SegmentSize::from_meta).collect();
        if !is_worth_merging(&sizes) {
            return Ok(None);
        }
        let ids: Vec<SegmentId> = metas.iter().map(SegmentMeta::id).collect();
        Ok(Some(RunningMerge(self.writer.merge(&ids))))
    }

    /// Makes the result of a merge searchable, and frees what it has replaced.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn take_merged(&mut self) -> Result<IndexSnapshot, IndexError> {
        let snapshot = self.refresh()?;
        // The former segments are free now that no snapshot of ours holds them.
        let collected = self.writer.garbage_collect_files().wait();
        collected.map_err(|source| store_error(&self.path, source))?;
        Ok(snapshot)
    }

    /// Merges all segments into one and drops deleted documents, for the shortest search times.
    /// Takes seconds on a large index.
    ///
    /// # Errors
    /// The disk is full or cannot be written.
    pub fn merge(&mut self) -> Result<IndexSnapshot, IndexError> {
        self.writer.set_merge_policy(Box::new(NoMergePolicy));
        let merged = self.merge_all();
        self.writer.set_merge_policy(Box::new(merge_policy()));
        merged.map_err(|source| store_error(&self.path, source))?;
        self.take_merged()
    }

    fn merge_all(&mut self) -> tantivy::Result<()> {
        let deadline = Instant::now() + MERGE_TIMEOUT;
        loop {
            let metas = self.index.searchable_segment_metas()?;
            if metas.len() < 2 && metas.iter().all(|meta| !meta.has_deletes()) {
                return Ok(());
            }
            let ids: Vec<SegmentId> = metas.iter().map(SegmentMeta::id).collect();
            match self.writer.merge(&ids).wait() {
                // A merge in the background has some of the segments; it ends.
                Err(TantivyError::InvalidArgument(_)) if Instant::now() < deadline => {
                    let _ = crossbeam_channel::never::<()>().recv_timeout(MERGE_PAUSE);
                }
                merged => return merged.map(drop),
            }
        }
    }
}

/// How many documents a segment holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SegmentSize {
    live: u64,
    deleted: u64,
}

impl SegmentSize {
    fn from_meta(meta: &SegmentMeta) -> Self {
        Self {
            live: u64::from(meta.num_docs()),
            deleted: u64::from(meta.num_deleted_docs()),
        }
    }
}

/// Whether a merge of all segments frees enough for what it writes again.
fn is_worth_merging(segments: &[SegmentSize]) -> bool {
    let live: u64 = segments.iter().map(|segment| segment.live).sum();
    let deleted: u64 = segments.iter().map(|segment| segment.deleted).sum();
    let largest = segments.iter().map(|segment| segment.live).max();
    let outside = live - largest.unwrap_or(0) + deleted;
    outside > 0 && outside * WORTH >= live
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_worth(segments: &[(u64, u64)]) -> bool {
        let sizes = segments
            .iter()
            .map(|&(live, deleted)| SegmentSize { live, deleted });
        is_worth_merging(&sizes.collect::<Vec<_>>())
    }

    #[test]
    fn a_merge_is_worth_a_tenth_of_the_documents() {
        let cases: [(&[(u64, u64)], bool); 9] = [
            (&[], false),
            (&[(1, 0)], false),
            (&[(100_000, 0)], false),
            (&[(100_000, 9_999)], false),
            (&[(100_000, 10_000)], true),
            (&[(90_000, 0), (10_000, 0)], true),
            (&[(90_001, 0), (9_999, 0)], false),
            (&[(50, 0), (30, 0), (20, 0)], true),
            (&[(0, 3)], true),
        ];
        for (segments, expected) in cases {
            assert_eq!(is_worth(segments), expected, "{segments:?}");
        }
    }
}
