//! ServiceGraph at query time: ranking by the concept vectors of the sources, or by an embedding
//! model.

use std::sync::Arc;

use parking_lot::Mutex;
use search_core::query::ParsedQuery;
use search_graph_engine::embedding::ServedQuery;
use search_graph_engine::fuse::{VectorWeights, paraphrase_score};
use search_graph_engine::space::{ConceptSpace, ConceptVector};

use super::candidates::{add_near, normalize_scores, pooled, ranked};
use super::embedded::{EmbeddingRanker, ModelView};
use super::scout::{ScoutResult, TermLookup};
use super::source::SearchableSource;
use crate::index::{LackedTerm, LackedTerms, LexicalResult, RerankedDocument, Reranker};

/// Ranks by the concept vectors of the open sources. A source without vectors, or with too few
/// documents for them, keeps its lexical scores.
pub(super) struct ConceptRanker<'s> {
    spaces: Vec<Option<Arc<ConceptSpace>>>,
    /// The sources' embeddings, where they are ranked by a model, too.
    embedded: Option<EmbeddingRanker<'s>>,
    /// Why the model did not rank.
    without_model: Mutex<Option<String>>,
    /// Looks at the vectors while the words are looked up.
    scout: Mutex<Option<TermLookup>>,
}

/// The terms of a query that are looked for, and how often each was typed.
pub(super) fn query_terms(query: &ParsedQuery) -> Vec<(&str, u32)> {
    let terms = query.terms().iter().filter(|term| term.count > 0);
    terms.map(|term| (term.text.as_str(), term.count)).collect()
}

/// What a document of a source with this direction has for terms that it lacks.
fn paraphrase_points(
    own: &ConceptVector,
    lacks: &[LackedTerm],
    term_vectors: &[Vec<Option<ConceptVector>>],
    source: usize,
) -> f32 {
    let said = lacks.iter().filter_map(|lacked| {
        let vector = term_vectors.get(source)?.get(lacked.term)?.as_ref()?;
        Some(lacked.weight * paraphrase_score(own.cosine(vector)))
    });
    said.sum()
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
        if query.condition().is_none() {
            *self.scout.lock() = TermLookup::start(&self.spaces, &query_terms(query));
        }
    }

    /// What the vectors of each source say to these terms.
    fn scan_sources(&self, terms: &[(&str, u32)], finds_more: bool) -> Vec<Option<ScoutResult>> {
        if finds_more && let Some(scout) = self.scout.lock().take_if(|scout| scout.is_for(terms)) {
            return scout.wait();
        }
        ScoutResult::scan_all(&self.spaces, terms, finds_more)
    }

    /// What the model says to the query, where it is to rank these results; why it does not is
    /// noted.
    fn model_view(&self, results: &[LexicalResult]) -> Option<ModelView<'_>> {
        let (view, reason) = match self.embedded.as_ref()?.view(results) {
            Ok(view) => (Some(view), None),
            Err(reason) => (None, Some(reason)),
        };
        *self.without_model.lock() = reason;
        view
    }

    /// How each source's vectors know the terms of a query.
    fn term_vectors(&self, terms: &[(&str, u32)]) -> Vec<Vec<Option<ConceptVector>>> {
        let of_source = |space: &Option<Arc<ConceptSpace>>| {
            let terms = terms.iter().map(|(term, _)| *term);
            space
                .as_ref()
                .map_or_else(Vec::new, |space| space.term_vectors(terms))
        };
        self.spaces.iter().map(of_source).collect()
    }

    /// What a person is told where a model was to rank and did not.
    pub(super) fn fallback_note(&self) -> Option<String> {
        let reason = self.without_model.lock().take()?;
        Some(format!("ranked without the embedding model: {reason}"))
    }
}

impl Reranker for ConceptRanker<'_> {
    fn rerank(
        &self,
        terms: &[(&str, u32)],
        results: &[LexicalResult],
        lacked: &LackedTerms<'_>,
        finds_more: bool,
    ) -> Option<Vec<RerankedDocument>> {
        let view = self.model_view(results);
        let scouted = self.scan_sources(terms, finds_more);
        if view.is_none() && scouted.iter().all(Option::is_none) {
            return None;
        }
        let mut found = pooled(results);
        let mut spreads = Vec::with_capacity(scouted.len());
        let mut vectors = Vec::with_capacity(scouted.len());
        for (source, scouted) in scouted.into_iter().enumerate() {
            spreads.push(scouted.as_ref().and_then(|scouted| scouted.spread));
            let (vector, near) = scouted.map(|one| (one.vector, one.near)).unzip();
            vectors.push(vector);
            if let Some(near) = near.flatten() {
                add_near(source, near, &mut found);
            }
        }
        if let Some(view) = view.as_ref().filter(|_| finds_more && !results.is_empty()) {
            view.add_near(&mut found);
        }
        // A model knows of other words by itself.
        let other_words = view.is_none().then(|| lacked.of_results());
        let other_words = other_words.unwrap_or_default();
        let term_vectors = match other_words.is_empty() {
            true => Vec::new(),
            false => self.term_vectors(terms),
        };
        // The results of the words are the first of those found.
        for (number, one) in found.iter_mut().enumerate() {
            let own = self.spaces[one.source].as_ref();
            let own = own.and_then(|space| space.vector_of(&one.key));
            if let Some(own) = &own {
                let vector = vectors[one.source].as_ref();
                one.learnt = vector.map(|vector| own.cosine(vector));
                let lacks = other_words.get(number).map_or(&[][..], Vec::as_slice);
                one.otherwise = paraphrase_points(own, lacks, &term_vectors, one.source);
            }
            if let Some(near) = view.as_ref().and_then(|view| view.nearness(one)) {
                (one.model, one.passages) = (Some(near.cosine), near.passages);
                one.nearest = near.nearest;
            }
        }
        normalize_scores(&spreads, &mut found);
        let weights = |source| match &view {
            Some(view) => view.weights(source),
            None => VectorWeights::LEARNT,
        };
        Some(ranked(&found, weights))
    }
}
