//! What a source's indexer changes and searches read.

use std::sync::Arc;

use parking_lot::RwLock;

use super::extract::{DocumentFacts, Extractor};
use super::store::ConceptGraph;
use super::view::{EdgeKind, EdgeView, GraphView};
use crate::embedding::{EmbeddingDemand, SourceEmbeddings};
use crate::learning::TermReader;
use crate::space::ConceptSpace;
use crate::suggest::{Suggester, SuggesterEntry, SuggestionKind};
use crate::thesaurus::{ConceptId, Thesaurus};

/// Words near a concept that are shown beside those that occur with it.
const NEAR_WORDS: usize = 8;

/// The handle of a source (or of a role): one owner puts and removes documents, any number of
/// threads read. Readers of the space and the suggestions hold what they were given, whatever is
/// published meanwhile; the graph is locked while a view is made.
#[derive(Debug, Default)]
pub struct GraphIndex {
    thesaurus: Arc<Thesaurus>,
    extractor: Extractor,
    graph: RwLock<ConceptGraph>,
    space: RwLock<Option<Arc<ConceptSpace>>>,
    embeddings: RwLock<Option<Arc<SourceEmbeddings>>>,
    demand: EmbeddingDemand,
    suggester: RwLock<Arc<Suggester>>,
}

impl GraphIndex {
    /// An empty one with a thesaurus. A changed thesaurus needs a new index.
    #[must_use]
    pub fn new(thesaurus: Arc<Thesaurus>) -> Self {
        Self {
            extractor: Extractor::new(Arc::clone(&thesaurus)),
            thesaurus,
            ..Self::default()
        }
    }

    /// The thesaurus.
    #[must_use]
    pub fn thesaurus(&self) -> &Arc<Thesaurus> {
        &self.thesaurus
    }

    /// Puts a document's contribution to the graph in place of its former one.
    pub fn put(&self, key: &str, facts: &DocumentFacts<'_>) {
        let contribution = self.extractor.contribution(facts);
        self.graph.write().put(key, &contribution);
    }

    /// Takes a document out of the graph; says whether it was there.
    pub fn remove(&self, key: &str) -> bool {
        self.graph.write().remove(key)
    }

    /// Takes the document whose key has this [hash](crate::key_hash) out of the graph; says whether
    /// it was there.
    pub fn remove_hashed(&self, hash: u64) -> bool {
        self.graph.write().remove_hashed(hash)
    }

    /// Reads the graph; the lock is held meanwhile.
    pub fn read<R>(&self, read: impl FnOnce(&ConceptGraph) -> R) -> R {
        read(&self.graph.read())
    }

    /// Replaces the graph, by one that was kept.
    pub fn restore(&self, graph: ConceptGraph) {
        *self.graph.write() = graph;
    }

    /// The concept space published last; `None` before the first was learnt.
    #[must_use]
    pub fn space(&self) -> Option<Arc<ConceptSpace>> {
        self.space.read().clone()
    }

    /// Publishes a concept space.
    pub fn publish_space(&self, space: Arc<ConceptSpace>) {
        *self.space.write() = Some(space);
    }

    /// The embeddings published last; `None` while no model has embedded any document.
    #[must_use]
    pub fn embeddings(&self) -> Option<Arc<SourceEmbeddings>> {
        self.embeddings.read().clone()
    }

    /// Publishes embeddings.
    pub fn publish_embeddings(&self, embeddings: Arc<SourceEmbeddings>) {
        *self.embeddings.write() = Some(embeddings);
    }

    /// What searches would have liked to be embedded.
    #[must_use]
    pub const fn demand(&self) -> &EmbeddingDemand {
        &self.demand
    }

    /// The suggestions published last.
    #[must_use]
    pub fn suggester(&self) -> Arc<Suggester> {
        Arc::clone(&self.suggester.read())
    }

    /// Makes the suggestions anew and publishes them: declared names, the graph's concepts, the
    /// `titles`, and `terms` with the number of documents that hold each.
    pub fn publish_suggestions<'t>(
        &self,
        titles: impl IntoIterator<Item = &'t str>,
        terms: impl IntoIterator<Item = (&'t str, u32)>,
    ) {
        let graph = self.graph.read();
        let make = |text, kind, weight| SuggesterEntry { text, kind, weight };
        let declared = self.thesaurus.entries().iter().flat_map(|entry| {
            let synonyms = entry.synonyms.iter().map(|s| (s, 1_000));
            std::iter::once((&entry.name, 2_000)).chain(synonyms)
        });
        let mut all: Vec<SuggesterEntry<'_>> = declared
            .map(|(text, weight)| make(text.as_str(), SuggestionKind::Concept, weight))
            .collect();
        let titles = titles.into_iter();
        all.extend(titles.map(|title| make(title, SuggestionKind::Title, 2)));
        let terms = terms.into_iter();
        all.extend(terms.map(|(term, count)| make(term, SuggestionKind::Term, count)));
        let names = graph.names().into_iter();
        all.extend(names.map(|(name, count)| make(name, SuggestionKind::Concept, count)));
        let suggester = Suggester::new(all);
        *self.suggester.write() = Arc::new(suggester);
    }

    /// A concept and what belongs to it: what occurs with it in documents, and what the vectors
    /// call near, where that is a concept too. `None` when no document holds it.
    #[must_use]
    pub fn neighbours(&self, name: &str, limit: usize) -> Option<GraphView> {
        let id = ConceptId::of(name);
        let near = self.near(name);
        self.read(|graph| {
            let mut view = graph.neighbours(id, limit)?;
            for (other, weight) in near {
                let known = view.concepts.iter().any(|concept| concept.id == other);
                if let Some(concept) = graph.concept(other).filter(|_| other != id) {
                    view.concepts.extend((!known).then_some(concept));
                    view.edges.push(EdgeView {
                        from: id,
                        to: other,
                        weight,
                        kind: EdgeKind::Near,
                    });
                }
            }
            Some(view)
        })
    }

    /// The words nearest to a name by the vectors, as concepts.
    fn near(&self, name: &str) -> Vec<(ConceptId, f32)> {
        let Some(space) = self.space() else {
            return Vec::new();
        };
        let terms = TermReader::default().read(name, 16);
        let Some(vector) = space.query_vector(terms.iter().map(|term| (term.as_str(), 1))) else {
            return Vec::new();
        };
        let words = space.words().nearest(&vector, NEAR_WORDS + terms.len());
        let others = words.into_iter().filter(|word| !terms.contains(&word.term));
        others
            .take(NEAR_WORDS)
            .map(|word| (ConceptId::of(&word.term), word.cosine.clamp(0.0, 1.0)))
            .collect()
    }
}
