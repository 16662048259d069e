//! What a source's indexer changes and searches read.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::RwLock;

use super::contribution::Contribution;
use super::extract::{DocumentFacts, Extractor};
use super::store::ConceptGraph;
use super::view::{EdgeKind, EdgeView, GraphView};
use crate::columns::key_hash;
use crate::embedding::{EmbeddingDemand, SourceEmbeddings};
use crate::learning::TermReader;
use crate::space::ConceptSpace;
use crate::suggest::{MAX_SUGGESTIONS, Suggester, SuggesterEntry, SuggestionKind, retain_heaviest};
use crate::thesaurus::{ConceptId, Thesaurus};

/// Words near a concept that are shown beside those that occur with it.
const NEAR_WORDS: usize = 8;

/// How much a title weighs among suggestions.
const TITLE_WEIGHT: u32 = 2;

/// What has changed about the suggestions of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SuggestionChanges {
    /// Titles of documents that were put.
    pub titles: BTreeSet<String>,
    /// Titles that no document has any more.
    pub gone_titles: BTreeSet<String>,
    /// Normalised names of concepts that more or fewer documents hold than before.
    pub concepts: BTreeSet<String>,
}

/// How many documents the graph takes up.
#[derive(Debug)]
struct DocumentLimit {
    documents: AtomicUsize,
    is_reached: AtomicBool,
}

impl Default for DocumentLimit {
    fn default() -> Self {
        Self {
            documents: AtomicUsize::new(usize::MAX),
            is_reached: AtomicBool::new(false),
        }
    }
}

/// The handle of a source (or of a role): one owner puts and removes documents, any number of
/// threads read. Readers of the space and the suggestions hold what they were given, whatever is
/// published meanwhile; the graph is locked while a view is made.
#[derive(Debug, Default)]
pub struct GraphIndex {
    thesaurus: Arc<Thesaurus>,
    extractor: Extractor,
    graph: RwLock<ConceptGraph>,
    limit: DocumentLimit,
    space: RwLock<Option<Arc<ConceptSpace>>>,
    embeddings: RwLock<Option<Arc<SourceEmbeddings>>>,
    /// Why there are no embeddings, where that is known.
    without_embeddings: RwLock<Option<Arc<str>>>,
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
    pub fn insert(&self, key: &str, facts: &DocumentFacts<'_>) {
        self.put_contribution(key, &self.contribution(facts));
    }

    /// What a document would give to the graph.
    #[must_use]
    pub fn contribution(&self, facts: &DocumentFacts<'_>) -> Contribution {
        self.extractor.contribution(facts)
    }

    /// As [`insert`](Self::insert), with what was made of the document.
    pub fn put_contribution(&self, key: &str, contribution: &Contribution) {
        let mut graph = self.graph.write();
        let is_full = graph.document_count() >= self.limit.documents.load(Ordering::Relaxed);
        if is_full && graph.document(key_hash(key)).is_none() {
            self.limit.is_reached.store(true, Ordering::Relaxed);
            return;
        }
        graph.insert(key, contribution);
    }

    /// The graph takes up at most so many documents from now on.
    pub fn limit_documents(&self, documents: usize) {
        self.limit.documents.store(documents, Ordering::Relaxed);
    }

    /// Whether a document was left out of the graph since this was made, because it was full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.limit.is_reached.load(Ordering::Relaxed)
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
        *self.without_embeddings.write() = None;
        *self.embeddings.write() = Some(embeddings);
    }

    /// There are no embeddings, for this reason; says whether it is another one than before.
    pub fn refuse_embeddings(&self, reason: &str) -> bool {
        *self.embeddings.write() = None;
        let mut known = self.without_embeddings.write();
        let is_new = known.as_deref() != Some(reason);
        *known = Some(reason.into());
        is_new
    }

    /// Why there are no embeddings, where that is known.
    #[must_use]
    pub fn without_embeddings(&self) -> Option<Arc<str>> {
        self.without_embeddings.read().clone()
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
        all.extend(titles.map(|title| make(title, SuggestionKind::Title, TITLE_WEIGHT)));
        let terms = terms.into_iter();
        all.extend(terms.map(|(term, count)| make(term, SuggestionKind::Term, count)));
        graph.for_each_name(|name, count| {
            all.push(make(name, SuggestionKind::Concept, count));
            // A little more than is kept: names are many times as many.
            if all.len() > MAX_SUGGESTIONS + MAX_SUGGESTIONS / 4 {
                retain_heaviest(&mut all);
            }
        });
        let suggester = Suggester::new(all);
        *self.suggester.write() = Arc::new(suggester);
    }

    /// Publishes the suggestions with what has changed about them; says how many differ from those
    /// that were made altogether. The weights of others stay what they were until then.
    pub fn change_suggestions(&self, changes: &SuggestionChanges) -> usize {
        let graph = self.graph.read();
        // What is declared weighs what it does, whoever holds it.
        let names = changes.concepts.iter().filter(|line| !self.declares(line));
        let names: Vec<(&str, u32)> = names
            .map(|line| (line.as_str(), graph.held(line)))
            .collect();
        drop(graph);
        let concept = |(text, weight)| SuggesterEntry {
            text,
            kind: SuggestionKind::Concept,
            weight,
        };
        let title = |title| SuggesterEntry {
            text: title,
            kind: SuggestionKind::Title,
            weight: TITLE_WEIGHT,
        };
        let (held, gone): (Vec<_>, Vec<_>) = names.into_iter().partition(|(_, held)| *held > 0);
        let titles = changes.titles.iter().map(|text| title(text.as_str()));
        let gone_titles = changes.gone_titles.iter();
        let gone_titles = gone_titles.map(|text| title(text.as_str()));
        let put: Vec<_> = titles.chain(held.into_iter().map(concept)).collect();
        let gone: Vec<_> = gone_titles.chain(gone.into_iter().map(concept)).collect();
        let changed = self.suggester().changed(&put, &gone);
        let differing = changed.differing();
        *self.suggester.write() = Arc::new(changed);
        differing
    }

    /// Whether a normalised name is one of the thesaurus.
    fn declares(&self, line: &str) -> bool {
        let found = self.thesaurus.find(line);
        found
            .iter()
            .any(|one| one.start == 0 && one.end == line.len())
    }

    /// A concept and what belongs to it: what occurs with it in documents, and what the vectors
    /// call near, where that is a concept too. `None` when no document holds it.
    #[must_use]
    pub fn neighbours(&self, name: &str, limit: usize) -> Option<GraphView> {
        let id = ConceptId::from_name(name);
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
            .map(|word| {
                (
                    ConceptId::from_name(&word.term),
                    word.cosine.clamp(0.0, 1.0),
                )
            })
            .collect()
    }
}
