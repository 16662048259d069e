//! The work of a concepts thread: catch up with the index, learn, publish, keep.

mod embedding;
mod learning;
mod pace;
mod reading;
mod saving;
mod settling;
mod waiting;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use parking_lot::MutexGuard;
use rustc_hash::FxHashSet;
use search_core::answer::SourceState;
use search_core::concepts::{ConceptsHealth, ConceptsState};
use search_core::document::ExtractedDocument;
use search_engine::extract::{Extraction, link_name};
use search_engine::index::IndexSnapshot;
use search_engine::walk::RootDirectory;
use search_graph_engine::graph::{ConceptGraph, DocumentFacts};
use search_graph_engine::key_hash;
use search_graph_engine::learning::{Corpus, CorpusWriter, LearnOptions, Learner, TermReader};
use search_graph_engine::space::{ConceptSpace, MIN_DOCUMENTS};

use super::documents::{IndexedDocument, list, titles};
use super::embedding_store::EmbeddingStore;
use super::error::ConceptError;
use super::files::{ConceptFiles, KnownDocuments};
use super::models::CANCEL_POLL_INTERVAL;
use super::settings::ConceptSettings;
use crate::source_handle::SourceHandle;
use pace::LearningPace;

/// Changes are gathered for this long before they are followed.
const DEBOUNCE: Duration = Duration::from_millis(300);
/// The longest rest, and the time after which failed work is tried again.
const MAX_REST: Duration = Duration::from_secs(60);

/// A long job keeps its state this often.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(30);
/// Words are learnt anew at most this often, and never for more than a twentieth of the time.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(60);
/// Terms of a document that are read.
const MAX_TERMS: usize = 2_048;
/// Terms of a title that are read.
const MAX_TITLE_TERMS: usize = 512;
/// Documents whose concepts are held on the heap, before the graph is written to its file.
const MAX_UNSAVED_DOCUMENTS: usize = 16_384;
/// Frequent words that are suggested.
const MAX_WORDS: usize = 20_000;

/// Says that the thread was told to end before the work was done.
struct Cancelled;

/// How far a piece of work came.
type WorkResult<T> = Result<Result<T, Cancelled>, ConceptError>;

pub(super) struct ConceptWorker {
    handle: Arc<SourceHandle>,
    settings: Arc<ConceptSettings>,
    cancel: Arc<AtomicBool>,
    woken: Receiver<()>,
    saved: ConceptFiles,
    known: KnownDocuments,
    /// Whether the graph holds what is known; not when the thesaurus has changed since.
    graph_known: bool,
    /// The one that searches see, until it is changed.
    space: Option<Arc<ConceptSpace>>,
    unsaved: bool,
    /// What the role's embedding model has made.
    embedded: EmbeddingStore,
    /// Why the embedding model cannot be used.
    model_error: Option<String>,
    /// What documents are read with.
    extraction: Option<Extraction>,
    pace: LearningPace,
    reader: TermReader,
    reported: Instant,
    /// How long it took to follow the index last.
    followed: Duration,
}

impl ConceptWorker {
    pub(super) fn new(
        handle: Arc<SourceHandle>,
        settings: Arc<ConceptSettings>,
        cancel: Arc<AtomicBool>,
        woken: Receiver<()>,
    ) -> Self {
        Self {
            saved: ConceptFiles::new(settings.data.join(&handle.id)),
            handle,
            settings,
            cancel,
            woken,
            known: KnownDocuments::default(),
            graph_known: false,
            space: None,
            unsaved: false,
            embedded: EmbeddingStore::default(),
            model_error: None,
            extraction: None,
            pace: LearningPace::new(),
            reader: TermReader::default(),
            reported: Instant::now(),
            followed: Duration::ZERO,
        }
    }

    /// Runs until it is told to end.
    pub(super) fn run(mut self) {
        if self.handle.learns {
            self.restore();
        }
        while !self.is_cancelled() {
            let rest = match self.catch_up() {
                Ok(_) => (self.followed * self.settings.rests.after_work).clamp(DEBOUNCE, MAX_REST),
                Err(error) => {
                    self.failed(&error);
                    // Tried again whether or not anything changes meanwhile.
                    if self.sleep(MAX_REST) {
                        continue;
                    }
                    break;
                }
            };
            // Embedding made room for what has changed: it is followed, and then gone on with.
            if self.embedded.is_interrupted() {
                continue;
            }
            if !self.sleep(rest) || !self.wait() || !self.sleep(DEBOUNCE) {
                break;
            }
        }
        if self.unsaved
            && let Err(error) = self.save()
        {
            self.failed(&error);
        }
    }

    /// Takes up what an earlier run has kept. What is missing or damaged is made again.
    fn restore(&mut self) {
        let graph = &self.handle.graph;
        (self.known, self.graph_known) = self.saved.known(graph.thesaurus());
        if self.known.is_empty() {
            return;
        }
        match self.saved.graph().filter(|_| self.graph_known) {
            Some(kept) => graph.restore(kept),
            None => self.graph_known = false,
        }
        self.space = self.saved.space().map(Arc::new);
        self.forget_unknown();
        self.publish();
    }

    /// Brings graph, vectors and suggestions in step with the index.
    fn catch_up(&mut self) -> WorkResult<()> {
        self.embedded.interrupted = false;
        let began = Instant::now();
        let read = self.handle.read();
        let (Some(snapshot), Some(root)) = (read.snapshot, read.root) else {
            return Ok(Ok(()));
        };
        if read.state != SourceState::Ready {
            return Ok(Ok(()));
        }
        if !self.handle.learns {
            self.suggest(&snapshot)?;
            self.report_state(ConceptsState::Off, 0, 0);
            return Ok(Ok(()));
        }
        self.saved.create()?;
        let documents = list(&snapshot)?;
        let changed = self.learnt(&documents, &root)?;
        let Ok(changed) = changed else {
            return Ok(Err(Cancelled));
        };
        if changed {
            self.suggest(&snapshot)?;
            self.publish();
            if self.unsaved {
                self.save()?;
            }
        } else if self.handle.graph.suggester().is_empty() {
            self.suggest(&snapshot)?;
        }
        self.followed = began.elapsed();
        if self.embed(&documents, &root)?.is_err() {
            return Ok(Err(Cancelled));
        }
        let by_model = self.ranks_by_model();
        let state = match &self.space {
            Some(space) if space.is_ready() => ConceptsState::Ready,
            _ if by_model => ConceptsState::Ready,
            _ => ConceptsState::TooFew,
        };
        let count = documents.len() as u64;
        self.report_state(state, count, count);
        Ok(Ok(()))
    }

    /// Whether anything has changed.
    fn learnt(&mut self, documents: &[IndexedDocument], root: &RootDirectory) -> WorkResult<bool> {
        let mut changed = false;
        // What is away for a while is not to be forgotten: without it nothing is learnt.
        let is_whole = self.handle.with(|status| status.error.is_none());
        if is_whole && self.space.is_none() && documents.len() >= MIN_DOCUMENTS {
            if self.learn_first(documents, root)?.is_err() {
                return Ok(Err(Cancelled));
            }
            changed = true;
        }
        match self.follow(documents, root)? {
            Ok(true) => {
                self.pace.quiet_since = Instant::now();
                changed = true;
            }
            Ok(false) => {}
            Err(ended) => return Ok(Err(ended)),
        }
        let wants = self
            .space
            .as_deref()
            .is_some_and(ConceptSpace::wants_refresh);
        let refreshes = wants && Instant::now() >= self.pace.next_refresh;
        let settles = !refreshes && self.settles_now();
        if is_whole && (refreshes || settles) {
            if self.learn_again(documents, root, settles)?.is_err() {
                return Ok(Err(Cancelled));
            }
            changed = true;
        }
        self.plan_learning();
        if !is_whole {
            self.pace.due = None;
        }
        Ok(Ok(changed))
    }

    /// Puts and removes what has changed since; says whether anything has.
    fn follow(&mut self, documents: &[IndexedDocument], root: &RootDirectory) -> WorkResult<bool> {
        let total = documents.len() as u64;
        let mut changed = false;
        for (done, listed) in documents.iter().enumerate() {
            if self.is_cancelled() {
                self.unsaved |= changed;
                return Ok(Err(Cancelled));
            }
            let known = self.known.holds(&listed.key, &listed.hash);
            if known && self.graph_known {
                continue;
            }
            changed = true;
            self.report_state_throttled(ConceptsState::Reading, done as u64, total);
            // Changed or gone meanwhile: the index will say so, and the thread is woken again.
            if let Some(document) = self.read(root, listed) {
                self.put_graph(&listed.key, &document)?;
                if !known {
                    self.put_space(&listed.key, &document);
                }
            }
            self.known.insert(&listed.key, listed.hash);
        }
        self.graph_known = true;
        let gone = self.removed_keys(documents);
        for &key in &gone {
            self.known.remove_hashed(key);
            self.handle.graph.remove_hashed(key);
            if let Some(space) = &mut self.space {
                Arc::make_mut(space).remove_hashed(key);
            }
        }
        changed |= !gone.is_empty();
        self.unsaved |= changed;
        Ok(Ok(changed))
    }

    /// Hashes of keys that are known but not in the index any more.
    fn removed_keys(&self, documents: &[IndexedDocument]) -> Vec<u64> {
        let listed = documents.iter().map(|listed| key_hash(&listed.key));
        let listed: FxHashSet<u64> = listed.collect();
        let mut gone = self.known.hashes();
        gone.retain(|key| !listed.contains(key));
        gone
    }

    fn put_graph(&self, key: &str, document: &ExtractedDocument) -> Result<(), ConceptError> {
        // Others name it so, whatever its title is.
        let mut links = document.links.clone();
        links.extend(link_name(key));
        let facts = DocumentFacts {
            title: &document.title,
            headings: &document.headings,
            tags: &document.tags,
            links: &links,
            body: &document.body,
            kind: document.kind,
        };
        self.handle.graph.put(key, &facts);
        if self.handle.graph.read(ConceptGraph::changed) >= MAX_UNSAVED_DOCUMENTS {
            self.save_graph()?;
        }
        Ok(())
    }

    fn put_space(&mut self, key: &str, document: &ExtractedDocument) {
        if let Some(space) = &mut self.space {
            let mut terms = self.reader.read(&document.title, MAX_TITLE_TERMS);
            terms.extend(self.reader.read(&document.body, MAX_TERMS - terms.len()));
            Arc::make_mut(space).put(key, &terms);
        }
    }

    /// Lets searches see the space.
    fn publish(&self) {
        if let Some(space) = &self.space {
            self.handle.graph.publish_space(Arc::clone(space));
        }
        self.handle.publish(|_| {});
    }

    fn suggest(&self, snapshot: &IndexSnapshot) -> Result<(), ConceptError> {
        let titles = titles(snapshot)?;
        let words = snapshot.frequent_words(MAX_WORDS)?;
        let words = words.iter().map(|(word, count)| (word.as_str(), *count));
        let titles = titles.iter().map(String::as_str);
        self.handle.graph.publish_suggestions(titles, words);
        Ok(())
    }
}
