//! What a search found beside its candidates.

use rustc_hash::FxHashSet;
use tantivy::postings::TermInfo;

use super::definers::DefiningDocuments;
use super::holders::IdentifierHolders;
use crate::index::bitmap::Bitmap;
use crate::index::conditions::ConditionMatches;
use crate::index::pool::ScoredDocument;

/// What a search found beside the pool.
#[derive(Debug, Default)]
pub(in crate::index) struct LexicalMatches {
    /// Documents that match for sure, by source.
    pub(in crate::index) certain: Vec<u64>,
    /// Documents of which the texts decide, by source.
    pub(in crate::index) open: Vec<u64>,
    /// By segment of all sources: what is known about the condition; empty without one.
    pub(in crate::index) matchings: Vec<ConditionMatches>,
    /// What a prefix adds to the score of a document, by prefix.
    pub(in crate::index) prefix_scores: Vec<f32>,
    /// Words looked for of which no source holds a term.
    pub(in crate::index) missing: Vec<usize>,
    /// By segment of all sources: the documents that any of the words led to; empty with a
    /// condition.
    pub(in crate::index) found: Vec<Bitmap>,
    /// Identifiers with a number that no document holds: their parts were looked for like words.
    pub(in crate::index) unheld: Vec<usize>,
    /// Identifiers that no document holds or defines; whether they were mistyped is seen later.
    pub(in crate::index) absent: Vec<usize>,
    /// Literals that no document holds, by their numbers.
    pub(in crate::index) absent_literals: Vec<usize>,
    /// The documents that hold rare identifiers of the query whole; none where weights are off.
    pub(in crate::index) holders: IdentifierHolders,
    /// The documents that define what the query names.
    pub(in crate::index) definers: DefiningDocuments,
    /// Documents with a name of the query, best words first.
    pub(in crate::index) named: Vec<ScoredDocument>,
    /// What each term of the query is worth: its rarity, times how often it was typed.
    pub(in crate::index) term_weights: Vec<f32>,
    /// By segment of all sources, by term: where its posting list is.
    pub(in crate::index) infos: Vec<Vec<Option<TermInfo>>>,
}

impl LexicalMatches {
    /// Puts those that may be meant whatever their words come to among the first `depth`
    /// candidates: documents with a name of the query, or with an identifier of it.
    pub(in crate::index) fn complete(&self, candidates: &mut Vec<ScoredDocument>, depth: usize) {
        let first = &candidates[..depth.min(candidates.len())];
        let known: FxHashSet<_> = first.iter().map(ScoredDocument::location).collect();
        // One of each in turn, so that none of the three crowds out the others.
        let reasons = [
            self.holders.documents(),
            &self.named,
            self.definers.documents(),
        ];
        let longest = reasons.iter().map(|list| list.len()).max().unwrap_or(0);
        let in_turn =
            (0..longest).flat_map(|at| reasons.iter().filter_map(move |list| list.get(at)));
        let mut missing: Vec<ScoredDocument> = Vec::new();
        for &one in in_turn {
            let is_new = missing
                .iter()
                .all(|other| other.location() != one.location());
            if is_new && !known.contains(&one.location()) {
                missing.push(one);
            }
            if missing.len() == depth / 2 {
                break;
            }
        }
        if missing.is_empty() {
            return;
        }
        candidates.retain(|one| {
            missing
                .iter()
                .all(|other| other.location() != one.location())
        });
        let at = candidates.len().min(depth - missing.len());
        candidates.splice(at..at, missing);
    }
}
