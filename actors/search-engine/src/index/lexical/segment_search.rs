//! A search in one segment.

use search_core::query::{QueryCondition, QueryWord};
use tantivy::DocId;
use tantivy::postings::TermInfo;
use tantivy::query::Weight;

use super::terms::{QueryTerms, Scoring};
use crate::index::bitmap::Bitmap;
use crate::index::conditions::ConditionMatches;
use crate::index::cursor::{ExactScorer, SurplusScorer};
use crate::index::error::IndexError;
use crate::index::pool::{Pool, ScoredDocument};
use crate::index::snapshot::{IndexSnapshot, SegmentView};

/// The score of a document that meets the condition without a word that scores.
pub(in crate::index) const NO_WORD: f32 = 1e-6;

impl QueryTerms<'_> {
    /// All segments of all sources, in order.
    pub(super) fn segment_searches<'s>(
        &'s self,
        sources: &'s [IndexSnapshot],
        scoring: Scoring,
    ) -> impl Iterator<Item = SegmentSearch<'s>> {
        let segments = sources.iter().enumerate().flat_map(|(source, snapshot)| {
            let views = snapshot.segments().iter().enumerate();
            views.map(move |(segment, view)| (source, snapshot, segment, view))
        });
        let with_infos = segments.zip(&self.infos);
        with_infos.map(
            move |((source, snapshot, segment, view), infos)| SegmentSearch {
                snapshot,
                view,
                source: source as u32,
                segment: segment as u32,
                infos,
                terms: self,
                scoring,
            },
        )
    }
}

/// One segment in a search.
pub(super) struct SegmentSearch<'s> {
    pub(super) snapshot: &'s IndexSnapshot,
    pub(super) view: &'s SegmentView,
    pub(super) source: u32,
    pub(super) segment: u32,
    pub(super) infos: &'s [Option<TermInfo>],
    pub(super) terms: &'s QueryTerms<'s>,
    pub(super) scoring: Scoring,
}

impl SegmentSearch<'_> {
    pub(super) fn candidate(&self, document: DocId, score: f32) -> ScoredDocument {
        ScoredDocument {
            score,
            source: self.source,
            segment: self.segment,
            document,
        }
    }

    /// Takes the best documents, of `only` those if given.
    pub(super) fn rank(
        &self,
        weight: &dyn Weight,
        only: Option<&Bitmap>,
        pool: &mut Pool,
    ) -> Result<(), IndexError> {
        let mut surplus = match self.scoring {
            Scoring::Plain => Some(SurplusScorer::open(self.view, self.infos, self.terms)?),
            Scoring::Weighted => None,
        };
        let alive = self.view.reader.alive_bitset();
        let threshold = pool.threshold();
        weight.for_each_pruning(threshold, &self.view.reader, &mut |document, score| {
            if alive.is_some_and(|alive| alive.is_deleted(document))
                || only.is_some_and(|only| !only.contains(document))
            {
                return pool.threshold();
            }
            let excess = surplus
                .as_mut()
                .map_or(0.0, |surplus| surplus.excess(document));
            pool.push(self.candidate(document, score - excess))
        })?;
        Ok(())
    }

    /// Scores documents one by one: a handful, or such as hold no term. Those that no word speaks
    /// for come last, in the order of their keys. Ends where no other document can be among the
    /// best.
    pub(super) fn score_each(
        &self,
        matching: &ConditionMatches,
        prefix_scores: &[f32],
        pool: &mut Pool,
    ) -> Result<(), IndexError> {
        let mut exact = ExactScorer::open(self.view, self.infos, self.terms, self.scoring)?;
        let prefixes = prefix_scores.iter().enumerate();
        let prefixes: Vec<(&Bitmap, f32)> = prefixes
            .filter_map(|(prefix, &add)| {
                Some((matching.leaf(&QueryCondition::Prefix(prefix))?, add))
            })
            .collect();
        // Without terms many documents tie, and of those the first by key are the best.
        let has_terms = self.present().next().is_some();
        let highest = prefixes
            .iter()
            .map(|(_, add)| add)
            .sum::<f32>()
            .max(NO_WORD);
        let mut highest_left = if has_terms {
            usize::MAX
        } else {
            pool.wanted_count()
        };
        for document in matching.whole.upper.iter() {
            let mut score = exact.score(document);
            for (set, add) in &prefixes {
                if set.contains(document) {
                    score += add;
                }
            }
            let score = score.max(NO_WORD);
            pool.push(self.candidate(document, score));
            if score >= highest {
                highest_left -= 1;
                if highest_left == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The posting lists of the terms that score.
    pub(super) fn present(&self) -> impl Iterator<Item = &TermInfo> {
        let terms = self.infos.iter().zip(self.terms.query.terms());
        let counting = terms.filter(|(_, term)| term.count > 0);
        counting.filter_map(|(info, _)| info.as_ref())
    }

    /// The documents that hold any of the terms, deleted ones included.
    pub(super) fn any(&self) -> Result<Bitmap, IndexError> {
        let mut any = Bitmap::new(self.view.reader.max_doc());
        for info in self.present() {
            any.unite(&*self.snapshot.text_documents(self.segment, info)?);
        }
        Ok(any)
    }

    /// Number of documents of a set that are not deleted.
    pub(super) fn count(&self, set: &Bitmap) -> u64 {
        self.view
            .deleted
            .as_deref()
            .map_or_else(|| set.len(), |deleted| set.len_without(deleted))
    }

    /// Documents that hold a word: the whole of it, or all its parts.
    pub(super) fn word_documents(&self, word: &QueryWord) -> Result<Bitmap, IndexError> {
        let mut set = self.term_documents(word.whole)?;
        if let Some((&first, rest)) = word.parts.split_first() {
            let mut parts = self.term_documents(first)?;
            for &part in rest {
                parts.intersect(&self.term_documents(part)?);
            }
            set.unite(&parts);
        }
        Ok(set)
    }

    pub(super) fn term_documents(&self, term: usize) -> Result<Bitmap, IndexError> {
        match &self.infos[term] {
            Some(info) => Ok(Bitmap::clone(
                &*self.snapshot.text_documents(self.segment, info)?,
            )),
            None => Ok(Bitmap::new(self.view.reader.max_doc())),
        }
    }
}

/// Up to so many documents it is cheaper to look each up in every posting list than to rank.
pub(super) const FEW: u64 = 2_000;

/// Adds up the scores of the best in the order of the query's terms: pruning adds them in the order
/// of a segment's posting lists, so without this the last digits, and ties, would depend on how the
/// segments lie.
pub(super) fn score_exactly(
    sources: &[IndexSnapshot],
    terms: &QueryTerms<'_>,
    scoring: Scoring,
    pool: &mut Pool,
) -> Result<(), IndexError> {
    // Two numbers give the same sum either way.
    if terms
        .infos
        .iter()
        .all(|infos| infos.iter().flatten().count() < 3)
        && scoring == Scoring::Weighted
    {
        return Ok(());
    }
    let best = pool.best_mut();
    best.sort_unstable_by_key(|candidate| {
        (candidate.source, candidate.segment, candidate.document)
    });
    for group in best.chunk_by_mut(|a, b| (a.source, a.segment) == (b.source, b.segment)) {
        let (source, segment) = (group[0].source, group[0].segment);
        let snapshot = &sources[source as usize];
        let view = &snapshot.segments()[segment as usize];
        let number = QueryTerms::place_of(sources, source, segment);
        let mut exact = ExactScorer::open(view, &terms.infos[number], terms, scoring)?;
        for candidate in group {
            candidate.score = exact.score(candidate.document);
        }
    }
    Ok(())
}
