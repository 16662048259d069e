//! The work of a concepts thread: catch up with the index, learn, publish, keep.

mod embedding;
mod embedding_batch;
mod following;
mod learning;
mod pace;
mod published;
mod reading;
mod refresh;
mod saving;
mod suggesting;
mod wait;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use parking_lot::MutexGuard;
use search_core::answer::SourceState;
use search_core::concepts::{ConceptsHealth, ConceptsState};
use search_core::document::ExtractedDocument;
use search_engine::extract::{Extraction, link_name};
use search_engine::files::SourceFiles;
use search_engine::index::IndexSnapshot;
use search_engine::walk::DEFAULT_MAX_FILE_BYTES;
use search_graph_engine::graph::{ConceptGraph, Contribution, DocumentFacts, SuggestionChanges};
use search_graph_engine::journal::Journal;
use search_graph_engine::key_hash;
use search_graph_engine::learning::{Corpus, CorpusWriter, LearnOptions, Learner, TermReader};
use search_graph_engine::space::{ConceptSpace, ConceptVector, MIN_DOCUMENTS, MIN_LONG_DOCUMENTS};

use super::documents::{IndexedDocument, in_order, list};
use super::embedding_store::EmbeddingStore;
use super::error::ConceptError;
use super::files::ConceptFiles;
use super::known_documents::{KnownDocuments, MetDocuments};
use super::models::CANCEL_POLL_INTERVAL;
use super::settings::ConceptSettings;
use super::tasks::ConceptDuty;
use crate::changed_documents::ChangedDocuments;
use crate::source_handle::SourceHandle;
use pace::{LearningPace, MIN_REFRESH_INTERVAL};

/// Changes are gathered for this long before they are followed.
const DEBOUNCE: Duration = Duration::from_millis(300);
/// The longest rest, and the time after which failed work is tried again.
const MAX_REST: Duration = Duration::from_secs(60);

/// A long job keeps its state this often.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(30);
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

/// What was done to be in step with the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LearnResult {
    Nothing,
    /// Some documents were put or removed.
    Followed,
    /// The words were learnt.
    Again,
}

/// How far a piece of work came.
type WorkResult<T> = Result<Result<T, Cancelled>, ConceptError>;

pub(super) struct ConceptWorker {
    handle: Arc<SourceHandle>,
    duty: ConceptDuty,
    settings: Arc<ConceptSettings>,
    cancel: Arc<AtomicBool>,
    woken: Receiver<()>,
    saved: ConceptFiles,
    known: KnownDocuments,
    /// Whether the graph holds what is known; not when the thesaurus has changed since.
    graph_known: bool,
    /// The one that searches see, until it is changed.
    space: Option<Arc<ConceptSpace>>,
    /// Whether something is known that no file holds.
    unsaved: bool,
    /// What has changed since the files were written.
    journal: Option<Journal>,
    /// Whether any document may have changed, whatever is told.
    everything: bool,
    /// What has changed about the suggestions since they were published.
    suggestions: SuggestionChanges,
    /// What the role's embedding model has made.
    embedded: EmbeddingStore,
    /// Why the embedding model cannot be used.
    model_error: Option<String>,
    /// What documents are read with.
    extraction: Option<Extraction>,
    /// Larger files are not indexed, and not read.
    max_file_bytes: u64,
    pace: LearningPace,
    /// How many parts the documents have, by their sizes, where too few turned out to be there.
    too_few: u64,
    reader: TermReader,
    reported: Instant,
    /// How long it took to follow the index last.
    followed: Duration,
}

/// Up to which size in bytes a source's files are indexed.
fn max_file_bytes(handle: &SourceHandle) -> u64 {
    let files = handle.haystack.indexed_files();
    files.map_or(DEFAULT_MAX_FILE_BYTES, |files| files.max_file_size.bytes())
}

impl ConceptWorker {
    pub(super) fn new(
        (handle, duty): (Arc<SourceHandle>, ConceptDuty),
        settings: Arc<ConceptSettings>,
        cancel: Arc<AtomicBool>,
        woken: Receiver<()>,
    ) -> Self {
        Self {
            saved: ConceptFiles::new(settings.data.join(&handle.id)),
            max_file_bytes: max_file_bytes(&handle),
            handle,
            duty,
            settings,
            cancel,
            woken,
            known: KnownDocuments::default(),
            graph_known: false,
            space: None,
            unsaved: false,
            journal: None,
            everything: true,
            suggestions: SuggestionChanges::default(),
            embedded: EmbeddingStore::default(),
            model_error: None,
            extraction: None,
            pace: LearningPace::new(),
            too_few: 0,
            reader: TermReader::default(),
            reported: Instant::now(),
            followed: Duration::ZERO,
        }
    }

    /// Whether documents are embedded here.
    fn embeds(&self) -> bool {
        self.handle.model.is_some() && self.duty != ConceptDuty::Learning
    }

    /// Runs until it is told to end.
    pub(super) fn run(mut self) {
        if self.handle.learns
            && self.duty != ConceptDuty::Embedding
            && let Err(error) = self.restore()
        {
            self.failed(&error);
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
    fn restore(&mut self) -> Result<(), ConceptError> {
        let graph = &self.handle.graph;
        (self.known, self.graph_known) = self.saved.load_known(graph.thesaurus());
        if self.known.is_empty() {
            return Ok(());
        }
        match self.saved.graph().filter(|_| self.graph_known) {
            Some(kept) => graph.restore(kept),
            None => self.graph_known = false,
        }
        self.space = self.saved.space().map(Arc::new);
        if self.space.is_some() {
            self.pace.resume();
        }
        let replayed = self.replay();
        self.remove_unknown();
        self.publish();
        replayed
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
        let (status, mut changed) = self.handle.take_changed();
        let snapshot = status.snapshot.unwrap_or(snapshot);
        if self.duty == ConceptDuty::Embedding {
            return self.embed_part(&snapshot, root.as_ref());
        }
        // What is not followed to the end is looked at altogether the next time.
        if std::mem::replace(&mut self.everything, true) {
            changed = ChangedDocuments::All;
        }
        if !self.handle.learns {
            self.suggest_titles(&snapshot, &changed)?;
            self.everything = false;
            self.report_state(ConceptsState::Off, 0, 0);
            return Ok(Ok(()));
        }
        self.saved.create()?;
        let limits = self.settings.limits;
        self.handle.graph.limit_documents(limits.graph_documents);
        let Ok(learnt) = self.update_learnt(&snapshot, &changed, root.as_ref())? else {
            return Ok(Err(Cancelled));
        };
        self.everything = false;
        let suggests = match learnt {
            LearnResult::Nothing => false,
            LearnResult::Followed => changed == ChangedDocuments::All,
            LearnResult::Again => true,
        };
        if suggests || self.handle.graph.suggester().is_empty() {
            self.suggest(&snapshot)?;
        } else {
            self.change_suggestions(&snapshot)?;
        }
        if learnt != LearnResult::Nothing {
            self.publish();
        }
        if self.unsaved {
            self.save()?;
        }
        self.followed = began.elapsed();
        if self.embeds() && self.embed(&list(&snapshot)?, root.as_ref())?.is_err() {
            return Ok(Err(Cancelled));
        }
        let is_full = self.handle.graph.is_full();
        self.handle.set_limit(limits.graph_state(is_full));
        let by_model = self.ranks_by_model();
        let state = match &self.space {
            Some(space) if space.is_ready() => ConceptsState::Ready,
            _ if by_model => ConceptsState::Ready,
            _ if limits.learning_state(snapshot.document_count()).1.is_some() => ConceptsState::Off,
            _ => ConceptsState::TooFew,
        };
        let count = snapshot.document_count();
        self.report_state(state, count, count);
        Ok(Ok(()))
    }

    /// Embeds the part of a source that is indexed here.
    fn embed_part(&mut self, snapshot: &IndexSnapshot, root: &dyn SourceFiles) -> WorkResult<()> {
        let began = Instant::now();
        let Ok(()) = self.embed(&list(snapshot)?, root)? else {
            return Ok(Err(Cancelled));
        };
        self.followed = began
            .elapsed()
            .min(MAX_REST / self.settings.rests.after_work.max(1));
        let count = snapshot.document_count();
        self.report_state(ConceptsState::Ready, count, count);
        Ok(Ok(()))
    }

    /// Suggestions of a source that is not learnt: its titles and words.
    fn suggest_titles(
        &mut self,
        snapshot: &IndexSnapshot,
        changed: &ChangedDocuments,
    ) -> Result<(), ConceptError> {
        let ChangedDocuments::Keys(keys) = changed else {
            return self.suggest(snapshot);
        };
        for (key, former) in keys {
            let title = snapshot.document(key)?.map(|record| record.title);
            self.record_title(snapshot, former.as_deref(), title.as_deref())?;
        }
        self.change_suggestions(snapshot)
    }

    /// Brings graph and space in step.
    fn update_learnt(
        &mut self,
        snapshot: &IndexSnapshot,
        changed: &ChangedDocuments,
        root: &dyn SourceFiles,
    ) -> WorkResult<LearnResult> {
        let mut learnt = LearnResult::Nothing;
        // What is away for a while is not to be forgotten: without it nothing is learnt.
        let is_whole = self.handle.read_status(|status| status.error.is_none());
        // Refused before anything is read.
        let limit = self
            .settings
            .limits
            .learning_state(snapshot.document_count());
        let is_whole = is_whole && limit.1.is_none();
        self.handle.set_limit(limit);
        if is_whole && self.space.is_none() && self.is_enough(snapshot)? {
            if self.learn_first(snapshot, root)?.is_err() {
                return Ok(Err(Cancelled));
            }
            learnt = LearnResult::Again;
        }
        match self.follow(snapshot, changed, root)? {
            Ok(true) => {
                self.pace.quiet_since = Instant::now();
                learnt = learnt.max(LearnResult::Followed);
            }
            Ok(false) => {}
            Err(ended) => return Ok(Err(ended)),
        }
        let wants = self
            .space
            .as_deref()
            .is_some_and(ConceptSpace::needs_refresh);
        let refreshes = wants && Instant::now() >= self.pace.next_refresh;
        let settles = !refreshes && self.settles_now();
        if is_whole && (refreshes || settles) {
            if self.relearn(snapshot, root, settles)?.is_err() {
                return Ok(Err(Cancelled));
            }
            learnt = LearnResult::Again;
        }
        self.plan_learning();
        if !is_whole {
            self.pace.due = None;
        }
        Ok(Ok(learnt))
    }

    /// Lets searches see the space.
    fn publish(&self) {
        if let Some(space) = &self.space {
            self.handle.graph.publish_space(Arc::clone(space));
        }
        self.handle.publish(|_| {});
    }
}
