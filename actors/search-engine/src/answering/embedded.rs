//! ServiceGraph by an embedding model: the best of the lexical pool, ranked again by what the texts
//! mean.
//!
//! The model ranks a query as soon as nearly all documents of its pool are embedded, not only when
//! all documents of the sources are (docs/adr/0009). Until then the learnt vectors rank, the answer
//! says so, and the pool is embedded first.

use std::sync::Arc;

use search_core::document::ContentKind;
use search_graph_engine::embedding::{DocumentEmbedding, Embedding, ServedQuery, SourceEmbeddings};
use search_graph_engine::fuse::VectorWeights;
use search_graph_engine::graph::GraphIndex;
use search_graph_engine::space::{ConceptSpace, SCAN_DEPTH};

use super::candidates::{PooledDocument, add_near};
use super::source::SearchableSource;
use crate::index::LexicalResult;

/// One of so many documents of a pool may lack an embedding; it is ranked by its words.
const ONE_MISSING_OF: usize = 10;

/// Terms that a model reads of a passage, about: 128 pieces of words of a short document, 256 of
/// one passage of several, which is seldom longer.
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

/// How much a model has read of documents, on average, of so many terms and with so many passages
/// embedded; all of none.
fn read_fraction(documents: &[(u32, usize)]) -> f32 {
    let read = |(length, passages): &(u32, usize)| {
        let read = READ_TERMS * (*passages).max(1) as f32;
        (read / (*length as f32).max(1.0)).min(1.0)
    };
    let all: f32 = documents.iter().map(read).sum();
    if documents.is_empty() {
        1.0
    } else {
        all / documents.len() as f32
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
        let short = (0..self.sources.len()).map(|source| self.short_fraction(source, results));
        Ok(ModelView {
            queries: self.queries()?,
            short: short.collect(),
            sources: &self.sources,
        })
    }

    /// Which part of the results of a source are documents of one passage; all where there is none.
    fn short_fraction(&self, source: usize, results: &[LexicalResult]) -> f32 {
        let Some(made) = self.sources[source].embeddings.as_deref() else {
            return 1.0;
        };
        let of_source = results.iter().filter(|result| result.source == source);
        let embeddings = of_source.filter_map(|result| made.index.get(&result.key));
        let (mut all, mut short) = (0, 0);
        for embedding in embeddings {
            all += 1;
            short += usize::from(embedding.is_whole() && embedding.passages() == 1);
        }
        if all == 0 {
            1.0
        } else {
            short as f32 / all as f32
        }
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
                !made.is_some_and(|made| made.index.contains(key))
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

    /// Whether the model has read what it is to rank. Of code the first lines are licences and
    /// imports: where it has read little more the learnt vectors know more. What is to be embedded
    /// yet is asked for.
    fn check_code(&self, results: &[LexicalResult]) -> Result<(), String> {
        let (mut code, mut is_partial) = (Vec::new(), false);
        for (number, source) in self.sources.iter().enumerate() {
            let made = source.embeddings.as_deref();
            let Some(made) = made.filter(|made| made.kind == ContentKind::Code) else {
                continue;
            };
            let of_source = results.iter().filter(|result| result.source == number);
            let mut partial = Vec::new();
            for result in of_source {
                let embedding = made.index.get(&result.key);
                let passages = embedding.map_or(0, DocumentEmbedding::passages);
                code.push((result.length, passages));
                if embedding.is_some_and(|embedding| !embedding.is_whole()) {
                    partial.push(result.key.as_str());
                }
            }
            if let Some(graph) = source.graph.filter(|_| !partial.is_empty()) {
                is_partial = true;
                graph.demand().want(partial);
            }
        }
        match (read_fraction(&code) >= ENOUGH_READ, is_partial) {
            (true, _) => Ok(()),
            (false, true) => Err("of most files of code it has read but the first lines so far"),
            (false, false) => Err("of most files of code it reads but a part"),
        }
        .map_err(str::to_owned)
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
                    graph.demand().mark_stale();
                }
                return Err("the embedding model has changed".to_owned());
            }
            queries.push(Some(query));
        }
        Ok(queries)
    }
}

/// How near a document is to a query by a model.
pub(super) struct ModelNearness {
    /// Of its nearest passage.
    pub(super) cosine: f32,
    /// Its passages that are embedded.
    pub(super) passages: usize,
    /// Which of several is the nearest.
    pub(super) nearest: Option<usize>,
}

/// What the models of the sources say to one query.
pub(super) struct ModelView<'r> {
    queries: Vec<Option<Embedding>>,
    /// Of each source, which part of the results are documents of one passage.
    short: Vec<f32>,
    sources: &'r [RankedSource<'r>],
}

impl ModelView<'_> {
    fn for_source(&self, source: usize) -> Option<(&SourceEmbeddings, &Embedding)> {
        let embeddings = self.sources.get(source)?.embeddings.as_deref()?;
        Some((embeddings, self.queries.get(source)?.as_ref()?))
    }

    /// Adds the documents nearest to the query: of code words miss one in eight.
    pub(super) fn add_near(&self, found: &mut Vec<PooledDocument>) {
        for source in 0..self.sources.len() {
            if let Some((made, query)) = self.for_source(source) {
                add_near(source, made.index.scan(query, SCAN_DEPTH), found);
            }
        }
    }

    /// How near a document is to the query; `None` where it is not embedded.
    pub(super) fn nearness(&self, document: &PooledDocument) -> Option<ModelNearness> {
        let (made, query) = self.for_source(document.source)?;
        let embedding = made.index.get(&document.key)?;
        let (nearest, cosine) = embedding.nearest(query)?;
        let passages = embedding.passages();
        Some(ModelNearness {
            cosine,
            passages,
            nearest: (passages > 1).then_some(nearest),
        })
    }

    /// Parts of the vectors in the scores of a source.
    pub(super) fn weights(&self, source: usize) -> VectorWeights {
        let short = self.short.get(source).copied().unwrap_or(1.0);
        let of_model = self.for_source(source).map(|(made, _)| made.weights(short));
        of_model.unwrap_or(VectorWeights::LEARNT)
    }
}

#[cfg(test)]
mod tests {
    use super::{ENOUGH_READ, read_fraction};

    #[test]
    fn i16_a_model_ranks_code_that_it_has_read() {
        let is_enough = |documents: &[(u32, usize)]| read_fraction(documents) >= ENOUGH_READ;
        let of_one = |lengths: &[u32]| {
            let documents: Vec<_> = lengths.iter().map(|length| (*length, 1)).collect();
            is_enough(&documents)
        };
        assert!(of_one(&[]) && of_one(&[0, 90, 200]) && of_one(&[100, 100, 100, 300]));
        assert!(!of_one(&[100, 2_000]) && !of_one(&[400]));
        assert!(is_enough(&[(100, 1), (2_000, 10)]) && is_enough(&[(3_600, 16)]));
        assert!(!is_enough(&[(20_000, 16)]) && !is_enough(&[(2_000, 0)]));
    }
}
