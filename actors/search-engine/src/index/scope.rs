//! What is searched.

use super::rerank::Reranker;
use super::snapshot::IndexSnapshot;
use super::verify::TextSource;

/// What is searched.
#[derive(Clone, Copy)]
pub struct SearchScope<'s> {
    /// The sources.
    pub snapshots: &'s [IndexSnapshot],
    /// Their display names, for `source:`; empty where they have none.
    pub names: &'s [&'s str],
    /// Reads texts for phrases; without it their words alone decide.
    pub texts: Option<&'s dyn TextSource>,
    /// Ranks by concepts, for ServiceGraph; without it the order is that of BM25F.
    pub reranker: Option<&'s dyn Reranker>,
}

impl SearchScope<'_> {
    pub(super) fn name(&self, source: u32) -> Option<&str> {
        self.names.get(source as usize).copied()
    }
}
