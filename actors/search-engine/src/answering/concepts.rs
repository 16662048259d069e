//! ServiceGraph at query time: ranking by the concept vectors of the sources, or by an embedding model.

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use search_core::query::ParsedQuery;
use search_graph_engine::embedding::ServedQuery;
use search_graph_engine::fuse::{CONCEPT_WEIGHT, Candidate, fuse};
use search_graph_engine::space::{ConceptSpace, NearDocument};

use super::embedded::Embedded;
use super::scout::{Scout, Scouted};
use super::source::SearchableSource;
use crate::index::{LexicalResult, Nearness, Reranked, Reranker};

/// Documents that only vectors found are shown down to this share of the best one's nearness.
const NEAR_ENOUGH: f32 = 0.5;

/// Ranks by the concept vectors of the open sources. A source without vectors, or with too few
/// documents for them, keeps its lexical scores.
pub(super) struct ConceptRanker<'s> {
    spaces: Vec<Option<Arc<ConceptSpace>>>,
    /// The sources' embeddings, where they are ranked by a model instead.
    embedded: Option<Embedded<'s>>,
    /// Why the model did not rank.
    without_model: Mutex<Option<String>>,
    /// Looks at the vectors while the words are looked up.
    scout: Mutex<Option<Scout>>,
}

/// The terms of a query that are looked for, and how often each was typed.
pub(super) fn looked_for(query: &ParsedQuery) -> Vec<(&str, u32)> {
    let terms = query.terms().iter().filter(|term| term.count > 0);
    terms.map(|term| (term.text.as_str(), term.count)).collect()
}

/// A candidate on its way to a place.
pub(super) struct Found {
    pub(super) source: usize,
    pub(super) key: String,
    pub(super) lexical: f32,
    pub(super) cosine: Option<f32>,
}

impl<'s> ConceptRanker<'s> {
    /// Of the sources, in their order; `None` where no vectors are known. `served` is the query as servers' models see it.
    pub(super) fn new(
        sources: &[&'s SearchableSource],
        text: &'s str,
        served: &'s [ServedQuery],
    ) -> Option<Self> {
        let spaces: Vec<_> = sources
            .iter()
            .map(|source| source.graph.as_ref()?.space())
            .map(|space| space.filter(|space| space.is_ready()))
            .collect();
        let embedded = Embedded::new(sources, &spaces, text, served);
        let any = embedded.is_some() || spaces.iter().any(Option::is_some);
        any.then_some(Self {
            spaces,
            embedded,
            without_model: Mutex::default(),
            scout: Mutex::default(),
        })
    }

    /// Begins to look at the vectors for a query whose words are about to be looked up; `finds_more` as for
    /// [`Reranker::rerank`].
    pub(super) fn send_scout(&self, query: &ParsedQuery) {
        if self.embedded.is_none() && query.condition().is_none() {
            *self.scout.lock() = Scout::start(&self.spaces, &looked_for(query));
        }
    }

    /// What the vectors of each source say to these terms.
    fn scouted(&self, terms: &[(&str, u32)], finds_more: bool) -> Vec<Option<Scouted>> {
        if finds_more && let Some(scout) = self.scout.lock().take_if(|scout| scout.is_for(terms)) {
            return scout.wait();
        }
        let look =
            |space: &Option<Arc<ConceptSpace>>| Scouted::look(space.as_deref()?, terms, finds_more);
        self.spaces.iter().map(look).collect()
    }

    /// What a person is told where a model was to rank and did not.
    pub(super) fn note(&self) -> Option<String> {
        let reason = self.without_model.lock().take()?;
        Some(format!("ranked without the embedding model: {reason}"))
    }
}

/// Adds those of the documents `near` a query, nearest first, that are not found yet and near enough.
pub(super) fn add_near(source: usize, near: Vec<NearDocument>, found: &mut Vec<Found>) {
    let least = NEAR_ENOUGH * near.first().map_or(0.0, |best| best.cosine.max(0.0));
    let known: FxHashSet<String> = found
        .iter()
        .filter(|one| one.source == source)
        .map(|one| one.key.clone())
        .collect();
    let new = near
        .into_iter()
        .filter(|document| document.cosine > least && !known.contains(&document.key));
    found.extend(new.map(|document| Found {
        source,
        key: document.key,
        lexical: 0.0,
        cosine: Some(document.cosine),
    }));
}

impl Reranker for ConceptRanker<'_> {
    fn rerank(
        &self,
        terms: &[(&str, u32)],
        results: &[LexicalResult],
        finds_more: bool,
    ) -> Option<Vec<Reranked>> {
        if let Some(embedded) = &self.embedded {
            match embedded.rerank(results, finds_more) {
                Ok(ranked) => {
                    *self.without_model.lock() = None;
                    return Some(ranked);
                }
                Err(reason) => *self.without_model.lock() = Some(reason),
            }
        }
        let scouted = self.scouted(terms, finds_more);
        if scouted.iter().all(Option::is_none) {
            return None;
        }
        let cosine = |result: &LexicalResult| {
            let space = self.spaces.get(result.source)?.as_ref()?;
            space.cosine(&scouted[result.source].as_ref()?.vector, &result.key)
        };
        let mut found: Vec<Found> = results
            .iter()
            .map(|result| Found {
                source: result.source,
                key: result.key.clone(),
                lexical: result.score,
                cosine: cosine(result),
            })
            .collect();
        for (source, scouted) in scouted.into_iter().enumerate() {
            if let Some(near) = scouted.and_then(|scouted| scouted.near) {
                add_near(source, near, &mut found);
            }
        }
        Some(ranked(&found, Nearness::Learnt, |_| CONCEPT_WEIGHT))
    }
}

/// The candidates, best first; `weight` is the part of the cosine for a source.
pub(super) fn ranked(
    found: &[Found],
    nearness: Nearness,
    weight: impl Fn(usize) -> f32,
) -> Vec<Reranked> {
    let candidates: Vec<Candidate<'_>> = found
        .iter()
        .map(|one| Candidate {
            key: &one.key,
            lexical: one.lexical,
            cosine: one.cosine,
        })
        .collect();
    let highest = found.iter().fold(0.0f32, |high, one| high.max(one.lexical));
    let mut weights: Vec<f32> = found.iter().map(|one| weight(one.source)).collect();
    weights.sort_unstable_by(f32::total_cmp);
    weights.dedup();
    let fused = weights.iter().flat_map(|dense| {
        let of_weight = fuse(&candidates, *dense).into_iter();
        of_weight.filter(|one| weight(found[one.candidate].source) == *dense)
    });
    let mut ranked: Vec<Reranked> = fused
        .map(|fused| {
            let one = &found[fused.candidate];
            // Without a vector the words decide alone: a small source is not at a disadvantage.
            let (lexical_part, concept_part) = match one.cosine {
                Some(_) => (fused.lexical_part, fused.dense_part),
                None => (one.lexical / highest.max(f32::MIN_POSITIVE), 0.0),
            };
            Reranked {
                source: one.source,
                key: one.key.clone(),
                score: lexical_part + concept_part,
                lexical_part,
                concept_part,
                nearness: one.cosine.map_or(Nearness::Unknown, |_| nearness),
                concepts: Vec::new(),
            }
        })
        .collect();
    ranked.sort_by(|a, b| {
        let names = || (a.source, &a.key).cmp(&(b.source, &b.key));
        b.score.total_cmp(&a.score).then_with(names)
    });
    ranked
}
