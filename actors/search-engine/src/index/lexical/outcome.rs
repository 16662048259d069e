//! What a search found beside its candidates.

use crate::index::bitmap::Bitmap;
use crate::index::conditions::Matching;

/// The score of a document that meets the condition without a word that scores.
pub(in crate::index) const NO_WORD: f32 = 1e-6;

/// What a search found beside the pool.
#[derive(Debug, Default)]
pub(in crate::index) struct LexicalMatches {
    /// Documents that match for sure, by source.
    pub(in crate::index) certain: Vec<u64>,
    /// Documents of which the texts decide, by source.
    pub(in crate::index) open: Vec<u64>,
    /// By segment of all sources: what is known about the condition; empty without one.
    pub(in crate::index) matchings: Vec<Matching>,
    /// What a prefix adds to the score of a document, by prefix.
    pub(in crate::index) prefix_scores: Vec<f32>,
    /// Words looked for of which no source holds a term.
    pub(in crate::index) missing: Vec<usize>,
    /// By segment of all sources: the documents that any of the words led to; empty with a
    /// condition.
    pub(in crate::index) found: Vec<Bitmap>,
    /// Identifiers with a number that no document holds: their parts were looked for like words.
    pub(in crate::index) unheld: Vec<usize>,
}
