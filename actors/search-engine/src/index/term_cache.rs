//! What searches have learnt about the words of segments, kept as long as the segments are.
//!
//! A segment is never changed: a document that is deleted from it stays in its posting lists. So
//! the documents of a word stay what they are, and in how many of those that count it occurs is
//! what it was without the documents that were deleted since. A change of one document costs a look
//! at that document, not at the posting lists of all words that are asked for next.

use std::sync::Arc;

use quick_cache::sync::Cache;
use tantivy::index::SegmentId;
use tantivy::{DocId, SegmentReader};

use super::bitmap::Bitmap;

/// Bytes of document sets of frequent terms that are kept.
const SETS_BYTES: u64 = 3 << 20;

/// Sets that are expected, about.
const SETS: usize = 256;

/// Terms whose frequencies among documents that count are kept.
const KEPT_FREQUENCIES: usize = 8_192;

/// Documents that were deleted one after the other and are remembered; with more of them posting
/// lists are read again.
const MAX_REMEMBERED: usize = 1_024;

/// A posting list of the text: its segment, and where it begins.
type ListPlace = (SegmentId, usize);

/// What is known of the words of an index. States of the index that follow each other share it;
/// what belongs to a segment that is gone makes room for others.
pub(super) struct TermCache {
    /// Documents of frequent terms; deleted ones are among them.
    pub(super) sets: Cache<ListPlace, Arc<Bitmap>, BitmapWeight>,
    /// In how many documents that count a term occurs, where others were deleted.
    pub(super) frequencies: Cache<ListPlace, CountedFrequency>,
}

impl Default for TermCache {
    fn default() -> Self {
        Self {
            sets: Cache::with_weighter(SETS, SETS_BYTES, BitmapWeight),
            frequencies: Cache::new(KEPT_FREQUENCIES),
        }
    }
}

#[derive(Clone)]
pub(super) struct BitmapWeight;

impl quick_cache::Weighter<ListPlace, Arc<Bitmap>> for BitmapWeight {
    fn weight(&self, _: &ListPlace, set: &Arc<Bitmap>) -> u64 {
        set.bytes() as u64 + 64
    }
}

/// In how many documents a term occurred when so many of its segment were deleted.
#[derive(Debug, Clone, Copy)]
pub(super) struct CountedFrequency {
    pub(super) living: u64,
    pub(super) deleted: u64,
}

/// The documents of a segment that were deleted last, in the order of the states that deleted them.
/// What is deleted stays so: two states of a segment with as many deleted documents are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct DeletionLog {
    /// Documents that were deleted before the first of these.
    before: u64,
    documents: Arc<Vec<DocId>>,
}

impl DeletionLog {
    /// Of a segment whose deleted documents are not remembered.
    pub(super) fn new(reader: &SegmentReader) -> Self {
        Self {
            before: u64::from(reader.num_deleted_docs()),
            documents: Arc::default(),
        }
    }

    /// The same, after so many more were deleted: those of `deleted` that are not of `former`.
    /// `None` where that is not a later state.
    pub(super) fn followed(&self, former: Option<&Bitmap>, deleted: &Bitmap) -> Option<Self> {
        if former.is_some_and(|former| former.len_without(deleted) > 0) {
            return None;
        }
        let known = former.map_or(0, Bitmap::len);
        if known != self.deleted() {
            return None;
        }
        let mut newly = deleted.clone();
        if let Some(former) = former {
            newly.subtract(former);
        }
        if self.documents.len() as u64 + newly.len() > MAX_REMEMBERED as u64 {
            return Some(Self {
                before: deleted.len(),
                documents: Arc::default(),
            });
        }
        let documents = self.documents.iter().copied().chain(newly.iter());
        Some(Self {
            before: self.before,
            documents: Arc::new(documents.collect()),
        })
    }

    /// How many documents are deleted.
    pub(super) fn deleted(&self) -> u64 {
        self.before + self.documents.len() as u64
    }

    /// The documents that were deleted after the first `deleted` ones; `None` where they are not
    /// remembered.
    pub(super) fn since(&self, deleted: u64) -> Option<&[DocId]> {
        let first = usize::try_from(deleted.checked_sub(self.before)?).ok()?;
        self.documents.get(first..)
    }
}

#[cfg(test)]
mod tests;
