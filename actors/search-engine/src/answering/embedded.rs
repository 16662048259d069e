//! ServiceGraph by an embedding model: the best of the lexical pool, ranked again by what the texts
//! mean.
//!
//! The model ranks a query as soon as nearly all documents of its pool are embedded, not only when
//! all documents of the sources are (docs/adr/0009). Until then the learnt vectors rank, the answer
//! says so, and the pool is embedded first.

use std::sync::Arc;

use search_core::document::ContentKind;
use search_graph_engine::embedding::{Embedding, ServedQuery, SourceEmbeddings};
use search_graph_engine::fuse::CONCEPT_WEIGHT;
use search_graph_engine::graph::GraphIndex;
use search_graph_engine::space::{ConceptSpace, SCAN_DEPTH};

use super::candidates::{PooledDocument, add_near, ranked};
use super::source::SearchableSource;
use crate::index::{LexicalResult, Nearness, RerankedDocument};

/// One of so many documents of a pool may lack an embedding; it is ranked by its words.
const ONE_MISSING_OF: usize = 10;

/// Terms that a model reads of a document, about: 128 pieces of words.
const READ_TERMS: f32 = 200.0;

/// From which part of it on that a model reads of code it may rank it.
const ENOUGH_READ: f32 = 0.85;

/// The sources of a search, and the query as servers see it.
pub(super) struct EmbeddingRanker<'s> {
    sources: Vec<RankedSource<'s>>,
    text: &'s str,
    served: &'s [ServedQuery],
}

struct RankedSource<'s> {
    graph: Option<&'s GraphIndex>,
    /// Whether it has vectors, or will have some: of this model, or learnt ones.
    has_vectors: bool,
    embeddings: Option<Arc<SourceEmbeddings>>,
}

/// How much of documents of so many terms a model reads, on average; all of none.
fn share_read(lengths: &[u32]) -> f32 {
    let read = |length: &u32| (READ_TERMS / (*length as f32).max(1.0)).min(1.0);
    let all: f32 = lengths.iter().map(read).sum();
    if lengths.is_empty() {
        1.0
    } else {
        all / lengths.len() as f32
    }
}

impl<'s> EmbeddingRanker<'s> {
    /// `None` where no source is to be ranked by a model.
    pub(super) fn new(
        sources: &[&'s SearchableSource],
        spaces: &[Option<Arc<ConceptSpace>>],
        text: &'s str,
        served: &'s [ServedQuery],
    ) -> Option<Self> {
        if !sources.iter().any(|source| source.is_embedded) {
            return None;
        }
        let with_spaces = sources.iter().zip(spaces);
        let sources = with_spaces.map(|(source, space)| {
            let graph = source.graph.as_deref().filter(|_| source.is_embedded);
            RankedSource {
                has_vectors: source.is_embedded || space.is_some(),
                embeddings: graph.and_then(GraphIndex::embeddings),
                graph,
            }
        });
        Some(Self {
            sources: sources.collect(),
            text,
            served,
        })
    }

    /// The lexical results in their new order; with `finds_more` the nearest documents of all are
    /// among them, where the words found anything: of code words miss one document in eight.
    ///
    /// # Errors
    /// Why the model cannot rank them: nearness by two kinds of vectors cannot be compared, so it
    /// is all or nothing.
    pub(super) fn rerank(
        &self,
        results: &[LexicalResult],
        finds_more: bool,
    ) -> Result<Vec<RerankedDocument>, String> {
        self.check_pool(results)?;
        self.check_code(results)?;
        let queries = self.queries()?;
        let of = |source: usize| {
            let embeddings = self.sources.get(source)?.embeddings.as_deref()?;
            Some((embeddings, queries.get(source)?.as_ref()?))
        };
        let mut found: Vec<PooledDocument> = results
            .iter()
            .map(|result| PooledDocument {
                source: result.source,
                key: result.key.clone(),
                lexical: result.score,
                cosine: of(result.source)
                    .and_then(|(made, query)| made.index.cosine(query, &result.key)),
            })
            .collect();
        for source in 0..self.sources.len() {
            if let Some((made, query)) = of(source).filter(|_| finds_more && !results.is_empty()) {
                add_near(source, made.index.scan(query, SCAN_DEPTH), &mut found);
            }
        }
        let weight = |source| of(source).map_or(CONCEPT_WEIGHT, |(made, _)| made.weight());
        Ok(ranked(&found, Nearness::Model, weight))
    }

    /// Whether nearly all of the results are embedded; what is missing is asked for.
    fn check_pool(&self, results: &[LexicalResult]) -> Result<(), String> {
        let (mut all, mut missing) = (0, 0);
        for (number, source) in self.sources.iter().enumerate() {
            if !source.has_vectors {
                continue;
            }
            let is_missing = |key: &&str| {
                let made = source.embeddings.as_deref();
                !made.is_some_and(|made| made.index.holds(key))
            };
            let of_source = results.iter().filter(|result| result.source == number);
            let keys: Vec<&str> = of_source.map(|result| result.key.as_str()).collect();
            let lacking: Vec<&str> = keys.iter().copied().filter(is_missing).collect();
            all += keys.len();
            missing += lacking.len();
            if let Some(graph) = source.graph.filter(|_| !lacking.is_empty()) {
                graph.demand().want(lacking);
            }
        }
        if missing * ONE_MISSING_OF <= all {
            return Ok(());
        }
        Err(format!(
            "{} of the {all} best documents are embedded so far",
            all - missing
        ))
    }

    /// Whether the model has read what it is to rank. Of code it reads the first lines, which are
    /// licences and imports: where files are longer the learnt vectors know more.
    fn check_code(&self, results: &[LexicalResult]) -> Result<(), String> {
        let is_code = |result: &&LexicalResult| {
            let source = self.sources.get(result.source);
            let made = source.and_then(|source| source.embeddings.as_deref());
            made.is_some_and(|made| made.kind == ContentKind::Code)
        };
        let code: Vec<u32> = results
            .iter()
            .filter(is_code)
            .map(|one| one.length)
            .collect();
        if share_read(&code) >= ENOUGH_READ {
            return Ok(());
        }
        Err("of most files of code it reads but the first lines".to_owned())
    }

    /// The query as each source's model sees it; each model is asked once.
    fn queries(&self) -> Result<Vec<Option<Embedding>>, String> {
        let mut known: Vec<([u8; 32], Embedding)> = Vec::new();
        let mut queries = Vec::with_capacity(self.sources.len());
        for source in &self.sources {
            let Some(made) = source.embeddings.as_deref() else {
                queries.push(None);
                continue;
            };
            let id = made.by.id();
            let query = match known.iter().find(|(of, _)| *of == id) {
                Some((_, query)) => query.clone(),
                None => {
                    let query = made.by.query(self.text, self.served)?;
                    known.push((id, query.clone()));
                    query
                }
            };
            if made.width != 0 && made.width != query.dimensions() {
                if let Some(graph) = source.graph {
                    graph.demand().doubt();
                }
                return Err("the embedding model has changed".to_owned());
            }
            queries.push(Some(query));
        }
        Ok(queries)
    }
}

#[cfg(test)]
mod tests {
    use super::{ENOUGH_READ, share_read};

    #[test]
    fn i16_a_model_ranks_code_that_it_has_read() {
        let is_enough = |lengths: &[u32]| share_read(lengths) >= ENOUGH_READ;
        assert!(is_enough(&[]) && is_enough(&[0, 90, 200]) && is_enough(&[100, 100, 100, 300]));
        assert!(!is_enough(&[100, 2_000]) && !is_enough(&[400]));
    }
}
