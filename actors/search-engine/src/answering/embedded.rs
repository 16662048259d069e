//! ServiceGraph by an embedding model: the best of the lexical pool, ranked again by what the texts
//! mean.
//!
//! The model ranks a query as soon as nearly all documents of its pool are embedded, not only when
//! all documents of the sources are (docs/adr/0009). Until then the learnt vectors rank, the answer
//! says so, and the pool is embedded first.

use std::sync::Arc;

use search_core::document::ContentKind;
use search_graph_engine::embedding::{Embedding, ServedQuery, SourceEmbeddings};
use search_graph_engine::fuse::VectorWeights;
use search_graph_engine::graph::GraphIndex;
use search_graph_engine::space::{ConceptSpace, SCAN_DEPTH};

use super::candidates::{PooledDocument, add_near};
use super::source::SearchableSource;
use crate::index::LexicalResult;

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

    /// What the model says to the query, where it may rank these results.
    ///
    /// # Errors
    /// Why the model cannot rank them.
    pub(super) fn view(&self, results: &[LexicalResult]) -> Result<ModelView<'_>, String> {
        self.check_pool(results)?;
        self.check_code(results)?;
        Ok(ModelView {
            queries: self.queries()?,
            sources: &self.sources,
        })
    }

    /// Whether nearly all of the results are embedded; what is missing is asked for.
    fn check_pool(&self, results: &[LexicalResult]) -> Result<(), String> {
        let (mut all, mut missing, mut reason) = (0, 0, None);
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
                reason = reason.or_else(|| graph.without_embeddings());
            }
        }
        if missing * ONE_MISSING_OF <= all {
            return Ok(());
        }
        if let Some(reason) = reason {
            return Err(reason.to_string());
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

/// What the models of the sources say to one query.
pub(super) struct ModelView<'r> {
    queries: Vec<Option<Embedding>>,
    sources: &'r [RankedSource<'r>],
}

impl ModelView<'_> {
    fn of(&self, source: usize) -> Option<(&SourceEmbeddings, &Embedding)> {
        let embeddings = self.sources.get(source)?.embeddings.as_deref()?;
        Some((embeddings, self.queries.get(source)?.as_ref()?))
    }

    /// Adds the documents nearest to the query: of code words miss one in eight.
    pub(super) fn add_near(&self, found: &mut Vec<PooledDocument>) {
        for source in 0..self.sources.len() {
            if let Some((made, query)) = self.of(source) {
                add_near(source, made.index.scan(query, SCAN_DEPTH), found);
            }
        }
    }

    /// How near a document is to the query; `None` where it is not embedded.
    pub(super) fn cosine(&self, document: &PooledDocument) -> Option<f32> {
        let (made, query) = self.of(document.source)?;
        made.index.cosine(query, &document.key)
    }

    /// Parts of the vectors in the scores of a source.
    pub(super) fn weights(&self, source: usize) -> VectorWeights {
        let of_model = self.of(source).map(|(made, _)| made.weights());
        of_model.unwrap_or(VectorWeights::LEARNT)
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
