//! Deleting documents from the segments that were written before the deletion, and from no later
//! one.
//!
//! tantivy applies a deletion to every segment that has not seen it yet. A segment of ours is
//! handed over complete, so it may be shown deletions that came before its documents did; the
//! ledger tells which came first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use tantivy::index::SegmentId;
use tantivy::query::{EmptyScorer, EnableScoring, Explanation, Query, Scorer, TermQuery, Weight};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, Score, SegmentReader, Term};

/// The order of deletions and segments since the last commit.
#[derive(Debug, Clone, Default)]
pub(super) struct DeletionOrder(Arc<Entries>);

#[derive(Debug, Default)]
struct Entries {
    clock: AtomicU64,
    written: RwLock<FxHashMap<SegmentId, u64>>,
}

impl DeletionOrder {
    fn tick(&self) -> u64 {
        self.0.clock.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Notes that a segment is complete.
    pub(super) fn segment_written(&self, segment: SegmentId) {
        let now = self.tick();
        self.0.written.write().insert(segment, now);
    }

    /// A query for the documents with `key` that were written before now.
    pub(super) fn deletion(&self, key: Term) -> Box<dyn Query> {
        Box::new(Deletion {
            key: TermQuery::new(key, IndexRecordOption::Basic),
            time: self.tick(),
            ledger: self.clone(),
        })
    }

    /// Forgets everything; all deletions were applied.
    pub(super) fn clear(&self) {
        self.0.written.write().clear();
    }

    fn is_later(&self, segment: SegmentId, time: u64) -> bool {
        let written = self.0.written.read();
        written.get(&segment).is_some_and(|&at| at > time)
    }
}

#[derive(Debug, Clone)]
struct Deletion {
    key: TermQuery,
    time: u64,
    ledger: DeletionOrder,
}

impl Query for Deletion {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(DeletionWeight {
            key: self.key.weight(scoring)?,
            time: self.time,
            ledger: self.ledger.clone(),
        }))
    }
}

struct DeletionWeight {
    key: Box<dyn Weight>,
    time: u64,
    ledger: DeletionOrder,
}

impl Weight for DeletionWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        if self.ledger.is_later(reader.segment_id(), self.time) {
            return Ok(Box::new(EmptyScorer));
        }
        self.key.scorer(reader, boost)
    }

    fn explain(&self, reader: &SegmentReader, document: DocId) -> tantivy::Result<Explanation> {
        self.key.explain(reader, document)
    }
}
