//! A search with a condition: sets of documents first, ranking among them after.

use search_core::query::QueryCondition;
use tantivy::query::Weight;

use super::outcome::LexicalMatches;
use super::segment_search::{FEW, SegmentSearch, score_exactly};
use super::terms::{QueryTerms, Scoring};
use crate::index::bitmap::Bitmap;
use crate::index::conditions::{ConditionMatches, MatchBounds};
use crate::index::error::IndexError;
use crate::index::leaves::filter_documents;
use crate::index::needed::documents_with;
use crate::index::phrases::documents_with_phrase;
use crate::index::pool::Pool;
use crate::index::scope::SearchScope;
use crate::index::snapshot::IndexSnapshot;

/// A search with a condition.
pub(super) struct Conditional<'s> {
    pub(super) scope: &'s SearchScope<'s>,
    pub(super) terms: &'s QueryTerms<'s>,
    pub(super) scoring: Scoring,
}

impl Conditional<'_> {
    pub(super) fn search(
        &self,
        condition: &QueryCondition,
        weight: Option<&dyn Weight>,
        pool: &mut Pool,
        outcome: &mut LexicalMatches,
    ) -> Result<(), IndexError> {
        let sources = self.scope.snapshots;
        for place in self.terms.segment_searches(sources, self.scoring) {
            let max_doc = place.view.reader.max_doc();
            let mut matching = ConditionMatches::evaluate(
                condition,
                max_doc,
                place.view.deleted.as_deref(),
                |leaf| self.leaf(&place, leaf),
            )?;
            outcome.certain[place.source as usize] += matching.certain();
            outcome.open[place.source as usize] += matching.open();
            // Beside a said a beginning only ranks: the condition has not asked for it.
            for number in 0..self.terms.query.prefixes().len() {
                matching.know(QueryCondition::Prefix(number), |leaf| {
                    self.leaf(&place, leaf)
                })?;
            }
            outcome.matchings.push(matching);
        }
        outcome.prefix_scores = self.prefix_scores(&outcome.matchings);
        // Pruning knows nothing of what beginnings add.
        let query = self.terms.query;
        let is_covered = query.is_covered_by_terms() && query.prefixes().is_empty();
        for (place, matching) in self
            .terms
            .segment_searches(sources, self.scoring)
            .zip(&outcome.matchings)
        {
            let upper = &matching.whole.upper;
            match weight {
                _ if upper.is_empty() => {}
                Some(weight) if is_covered && upper.len() > FEW => {
                    place.rank(weight, Some(upper), pool)?;
                }
                _ => place.score_each(matching, &outcome.prefix_scores, pool)?,
            }
        }
        if is_covered {
            score_exactly(sources, self.terms, self.scoring, pool)?;
        }
        Ok(())
    }

    fn leaf(
        &self,
        place: &SegmentSearch<'_>,
        leaf: &QueryCondition,
    ) -> Result<MatchBounds, IndexError> {
        let query = self.terms.query;
        let max_doc = place.view.reader.max_doc();
        Ok(match leaf {
            QueryCondition::Word(word) => {
                MatchBounds::exact(place.word_documents(&query.words()[*word])?)
            }
            QueryCondition::Phrase(phrase) => {
                let terms = query.phrases()[*phrase].terms.iter();
                let with_info = |&term: &usize| {
                    let info = place.infos[term].as_ref();
                    (query.terms()[term].text.as_str(), info)
                };
                documents_with_phrase(place.snapshot, place.view, terms.map(with_info).collect())?
            }
            QueryCondition::Pattern(pattern) => {
                let needs = query.patterns()[*pattern].needs();
                let set = documents_with(place.snapshot, place.view, needs)?;
                MatchBounds::open(set.unwrap_or_else(|| Bitmap::full(max_doc)), max_doc)
            }
            QueryCondition::Prefix(prefix) => {
                let start = &query.prefixes()[*prefix].folded;
                MatchBounds::exact(place.snapshot.beginning(place.view, start)?)
            }
            QueryCondition::Filter(filter) => {
                let name = self.scope.name(place.source);
                let filter = &query.filters()[*filter];
                filter_documents(place.snapshot, place.view, name, query, filter)?
            }
            QueryCondition::Not(_) | QueryCondition::All(_) | QueryCondition::Any(_) => {
                MatchBounds::exact(Bitmap::new(max_doc))
            }
        })
    }

    /// A prefix counts as one word that occurs once: what is added is its rarity.
    fn prefix_scores(&self, matchings: &[ConditionMatches]) -> Vec<f32> {
        let documents = self.terms.corpus().0 as f32;
        let sources = self.scope.snapshots.iter();
        let views: Vec<_> = sources.flat_map(IndexSnapshot::segments).collect();
        let prefixes = self.terms.query.prefixes().iter().enumerate();
        prefixes
            .map(|(number, prefix)| {
                if !prefix.scores {
                    return 0.0;
                }
                let leaf = QueryCondition::Prefix(number);
                let sets = matchings.iter().zip(&views).filter_map(|(matching, view)| {
                    Some((matching.leaf(&leaf)?, view.deleted.as_deref()))
                });
                let living = sets.map(|(set, deleted)| {
                    deleted.map_or_else(|| set.len(), |deleted| set.len_without(deleted))
                });
                let with = living.sum::<u64>() as f32;
                (1.0 + (documents - with + 0.5) / (with + 0.5)).ln()
            })
            .collect()
    }
}
