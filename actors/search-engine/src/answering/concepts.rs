//! ServiceGraph at query time: ranking by the concept vectors of the sources, or by an embedding
//! model.

use std::sync::Arc;

use parking_lot::Mutex;
use search_core::query::ParsedQuery;
use search_graph_engine::embedding::ServedQuery;
use search_graph_engine::fuse::CONCEPT_WEIGHT;
use search_graph_engine::space::ConceptSpace;

use super::candidates::{PooledDocument, add_near, on_one_scale, ranked};
use super::embedded::EmbeddingRanker;
use super::scout::{Scout, ScoutResult};
use super::source::SearchableSource;
use crate::index::{LexicalResult, Nearness, RerankedDocument, Reranker};

/// Ranks by the concept vectors of the open sources. A source without vectors, or with too few
/// documents for them, keeps its lexical scores.
pub(super) struct ConceptRanker<'s> {
    spaces: Vec<Option<Arc<ConceptSpace>>>,
    /// The sources' embeddings, where they are ranked by a model instead.
    embedded: Option<EmbeddingRanker<'s>>,
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

impl<'s> ConceptRanker<'s> {
    /// Of the sources, in their order; `None` where no vectors are known. `served` is the query as
    /// servers' models see it.
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
        let embedded = EmbeddingRanker::new(sources, &spaces, text, served);
        let any = embedded.is_some() || spaces.iter().any(Option::is_some);
        any.then_some(Self {
            spaces,
            embedded,
            without_model: Mutex::default(),
            scout: Mutex::default(),
        })
    }

    /// Begins to look at the vectors for a query whose words are about to be looked up;
    /// `finds_more` as for [`Reranker::rerank`].
    pub(super) fn send_scout(&self, query: &ParsedQuery) {
        if self.embedded.is_none() && query.condition().is_none() {
            *self.scout.lock() = Scout::start(&self.spaces, &looked_for(query));
        }
    }

    /// What the vectors of each source say to these terms.
    fn scouted(&self, terms: &[(&str, u32)], finds_more: bool) -> Vec<Option<ScoutResult>> {
        if finds_more && let Some(scout) = self.scout.lock().take_if(|scout| scout.is_for(terms)) {
            return scout.wait();
        }
        ScoutResult::look_at_all(&self.spaces, terms, finds_more)
    }

    /// What a person is told where a model was to rank and did not.
    pub(super) fn note(&self) -> Option<String> {
        let reason = self.without_model.lock().take()?;
        Some(format!("ranked without the embedding model: {reason}"))
    }
}

impl Reranker for ConceptRanker<'_> {
    fn rerank(
        &self,
        terms: &[(&str, u32)],
        results: &[LexicalResult],
        finds_more: bool,
    ) -> Option<Vec<RerankedDocument>> {
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
        let mut found: Vec<PooledDocument> = results
            .iter()
            .map(|result| PooledDocument {
                source: result.source,
                key: result.key.clone(),
                lexical: result.score,
                cosine: cosine(result),
            })
            .collect();
        let mut spreads = Vec::with_capacity(scouted.len());
        for (source, scouted) in scouted.into_iter().enumerate() {
            spreads.push(scouted.as_ref().and_then(|scouted| scouted.spread));
            if let Some(near) = scouted.and_then(|scouted| scouted.near) {
                add_near(source, near, &mut found);
            }
        }
        on_one_scale(&spreads, &mut found);
        Some(ranked(&found, Nearness::Learnt, |_| CONCEPT_WEIGHT))
    }
}
