//! What is known of one source: its settings, and what its indexer has published.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Mutex, RwLock};
use search_core::answer::{IndexProgress, LimitReason, SourceState};
use search_core::concepts::{ConceptsHealth, ConceptsState};
use search_core::role::{Haystack, ModelSource};
use search_engine::files::SourceFiles;
use search_engine::index::IndexSnapshot;
use search_engine::texts::TextStore;
use search_engine::walk::{SkipReason, SkippedPath};
use search_engine::watch::ChangeBatch;
use search_graph_engine::graph::GraphIndex;
use search_sources_core::SourceItem;
use supervision::TellError;

use crate::changed_documents::ChangedDocuments;
use crate::embedding::EmbeddingEndpoint;
use crate::limits::LimitState;
use crate::registry::thesauri::SourceConcepts;
use crate::remote_sources::{self, RecentItems};
use crate::skips::{SkippedFiles, SkippedPage};

/// Files that were found to be whole are not looked at again for this time.
const DAMAGE_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// What one indexer has published about its source.
#[derive(Debug)]
pub struct SourceHandle {
    /// Names the source in document ids and on disk: eight hex digits.
    pub id: String,
    /// The haystack it was made from.
    pub haystack: Haystack,
    /// Its concepts, and what was learnt of them.
    pub graph: Arc<GraphIndex>,
    /// Whether a role ranks it by concepts.
    pub learns: bool,
    /// The embedding model it is ranked by.
    pub(crate) model: Option<ModelSource>,
    status: RwLock<SourceStatus>,
    /// Which documents have changed since its concepts were brought in step; locked after `status`.
    changed: Mutex<ChangedDocuments>,
    /// Counts the changes that a search can see.
    version: AtomicU64,
    /// Texts of its documents that are no text files, where such files are read.
    pub(crate) texts: OnceLock<Arc<TextStore>>,
    /// What was shown lately of a source that is asked at query time.
    recent: Mutex<RecentItems>,
    /// Whether a search has met damage that its indexer has not looked at yet.
    is_suspect: AtomicBool,
    /// When its files were last looked at after a search had failed, and were whole. Held
    /// meanwhile: one look serves many searches.
    checked_at: Mutex<Option<Instant>>,
    /// What of it is not indexed, as its indexer has found it.
    skips: Mutex<SkippedFiles>,
    /// Reaches its indexer, while it has one.
    reindex: Mutex<Option<ReindexHandle>>,
}

/// Asks the indexer of a source to compare everything again.
#[derive(Clone)]
pub struct ReindexHandle(Arc<dyn Fn() -> Result<(), TellError> + Send + Sync>);

impl ReindexHandle {
    pub(crate) fn new(send: impl Fn() -> Result<(), TellError> + Send + Sync + 'static) -> Self {
        Self(Arc::new(send))
    }

    /// Sends the request. `GET /health` shows the progress.
    ///
    /// # Errors
    /// The indexer is being restarted, or has been asked often enough.
    pub fn request(&self) -> Result<(), TellError> {
        (self.0)()
    }
}

impl std::fmt::Debug for ReindexHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReindexHandle")
    }
}

/// What changes about a source.
#[derive(Debug, Clone)]
pub struct SourceStatus {
    /// The searchable state; none before the index has been opened.
    pub snapshot: Option<IndexSnapshot>,
    /// The files behind it, once they have been found.
    pub root: Option<Arc<dyn SourceFiles>>,
    /// What the source is doing.
    pub state: SourceState,
    /// When the index last changed.
    pub updated_at: Option<SystemTime>,
    /// Why it is not (completely) searchable.
    pub error: Option<String>,
    /// How far indexing is.
    pub progress: IndexProgress,
    /// Files that were not indexed, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// How far its concepts are.
    pub concepts: ConceptsHealth,
    /// How far embedding is, where the part of a source that is indexed here is embedded on a
    /// thread of its own.
    pub part_embedding: Option<ConceptsHealth>,
    /// Files that never stop changing and are looked at ever more rarely.
    pub busy_files: u64,
    /// Limits that it has reached, and what that means.
    pub limits: BTreeMap<LimitReason, String>,
    /// Whether its indexer has failed and waits for another attempt.
    pub is_down: bool,
    /// Why this process does not index it: it waits until it may.
    pub stands_by: Option<String>,
}

impl SourceStatus {
    /// How far its concepts are, with what this machine has embedded of a source that is split.
    #[must_use]
    pub fn concepts_health(&self) -> ConceptsHealth {
        let mut health = self.concepts.clone();
        if let Some(embedding) = &self.part_embedding {
            if health.state == ConceptsState::Waiting {
                health.state = embedding.state;
                (health.done, health.total) = (embedding.done, embedding.total);
            }
            (health.embedded, health.embeddings) = (embedding.embedded, embedding.embeddings);
            health.error = health.error.or_else(|| embedding.error.clone());
        }
        health
    }
}

impl SourceHandle {
    pub(crate) fn new(id: String, haystack: Haystack, concepts: SourceConcepts) -> Self {
        let SourceConcepts {
            thesaurus,
            learns,
            model,
        } = concepts;
        let graph = Arc::new(GraphIndex::new(thesaurus));
        let status = SourceStatus {
            snapshot: None,
            root: None,
            state: SourceState::Starting,
            updated_at: None,
            error: None,
            progress: IndexProgress::default(),
            skipped: BTreeMap::new(),
            concepts: ConceptsHealth::default(),
            part_embedding: None,
            busy_files: 0,
            limits: BTreeMap::new(),
            is_down: false,
            stands_by: None,
        };
        Self {
            id,
            haystack,
            graph,
            learns,
            model,
            status: RwLock::new(status),
            changed: Mutex::default(),
            version: AtomicU64::new(0),
            texts: OnceLock::new(),
            recent: Mutex::default(),
            is_suspect: AtomicBool::new(false),
            checked_at: Mutex::new(None),
            skips: Mutex::default(),
            reindex: Mutex::new(None),
        }
    }

    /// The handle of the same source with other settings: what is searchable stays so until the
    /// next indexer has looked at it.
    pub(crate) fn successor_of(
        former: &Self,
        haystack: Haystack,
        concepts: SourceConcepts,
    ) -> Self {
        let handle = Self::new(former.id.clone(), haystack, concepts);
        let mut status = former.read();
        status.concepts = ConceptsHealth::default();
        status.part_embedding = None;
        *handle.status.write() = status;
        if let Some(texts) = former.texts.get() {
            // The handle is new, so nothing is there yet.
            let _ = handle.texts.set(Arc::clone(texts));
        }
        handle
    }

    /// The handle of all parts of a source that is split, for the one who learns of them: a state
    /// of its own, and the same concepts.
    pub(crate) fn for_all_parts(part: &Self, texts: TextStore) -> Self {
        let concepts = SourceConcepts {
            thesaurus: Arc::clone(part.graph.thesaurus()),
            learns: part.learns,
            model: part.model.clone(),
        };
        let mut handle = Self::new(part.id.clone(), part.haystack.clone(), concepts);
        handle.graph = Arc::clone(&part.graph);
        // The handle is new, so nothing is there yet.
        let _ = handle.texts.set(Arc::new(texts));
        handle
    }

    /// Whether its indexer can go on as it is for a source that is configured so.
    pub(crate) fn serves(&self, haystack: &Haystack, concepts: &SourceConcepts) -> bool {
        self.haystack.source == haystack.source
            && self.haystack.location == haystack.location
            && self.learns == concepts.learns
            && self.model == concepts.model
            && self.graph.thesaurus().entries() == concepts.thesaurus.entries()
    }

    /// The server's model that it is ranked by, if it is one of a server.
    pub(crate) fn embedding_endpoint(&self) -> Option<EmbeddingEndpoint> {
        match self.model.as_ref()? {
            ModelSource::Folder(_) => None,
            ModelSource::Server { base_url, model } => Some(EmbeddingEndpoint {
                base_url: base_url.clone(),
                model: model.clone(),
            }),
        }
    }

    /// Reaches its indexer; sources that are asked at query time have none.
    #[must_use]
    pub fn reindex_handle(&self) -> Option<ReindexHandle> {
        self.reindex.lock().clone()
    }

    /// The source has this indexer from now on; only the role manager does this.
    pub(crate) fn set_reindex_handle(&self, indexer: Option<ReindexHandle>) {
        *self.reindex.lock() = indexer;
    }

    /// What is not indexed, and why: up to `limit` paths after the key `after`, of one reason or of
    /// all.
    #[must_use]
    pub fn skipped(
        &self,
        reason: Option<SkipReason>,
        after: Option<&str>,
        limit: usize,
    ) -> SkippedPage {
        let snapshot = self.read_status(|status| status.snapshot.clone());
        let document = |key: &str| snapshot.as_ref()?.document(key).ok().flatten();
        let is_found = |key: &str| document(key).is_some();
        self.skips.lock().page(reason, after, limit, is_found)
    }

    /// Its indexer has compared everything.
    pub(crate) fn set_skips(&self, skips: SkippedFiles) {
        *self.skips.lock() = skips;
    }

    /// Its indexer has looked at some changes: the new counts, where they differ.
    pub(crate) fn follow_skips(
        &self,
        batch: &ChangeBatch,
        left_out: Vec<SkippedPath>,
    ) -> Option<BTreeMap<String, u64>> {
        let mut skips = self.skips.lock();
        skips.follow(batch, left_out).then(|| skips.counts())
    }

    /// Counts the changes that a search can see: equal versions give equal answers.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The state at this moment.
    #[must_use]
    pub fn read(&self) -> SourceStatus {
        self.status.read().clone()
    }

    /// Looks at the state without copying it.
    pub fn read_status<T>(&self, look: impl FnOnce(&SourceStatus) -> T) -> T {
        look(&self.status.read())
    }

    /// Changes the state in a way that searches see; only the source's indexer does this.
    pub(crate) fn publish(&self, change: impl FnOnce(&mut SourceStatus)) {
        let mut status = self.status.write();
        change(&mut status);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The same where documents have changed: whoever follows them takes them together with the
    /// state that holds the change.
    pub(crate) fn publish_changed(
        &self,
        changed: ChangedDocuments,
        change: impl FnOnce(&mut SourceStatus),
    ) {
        self.publish(|status| {
            self.changed.lock().merge(changed);
            change(status);
        });
    }

    /// The state at this moment, and what has changed since this was last asked.
    pub(crate) fn take_changed(&self) -> (SourceStatus, ChangedDocuments) {
        let status = self.status.read();
        let changed = self.changed.lock().take();
        (status.clone(), changed)
    }

    /// Changes the progress, which no answer that is kept shows.
    pub(crate) fn publish_progress(&self, change: impl FnOnce(&mut SourceStatus)) {
        change(&mut self.status.write());
    }

    /// Notes whether a limit is reached; says so in the log where that is new.
    pub(crate) fn set_limit(&self, (limit, detail): LimitState) {
        if self.read_status(|status| status.limits.get(&limit) == detail.as_ref()) {
            return;
        }
        let (source, reason) = (self.haystack.name.as_str(), limit.as_str());
        let was_reached = self.read_status(|status| status.limits.contains_key(&limit));
        if let Some(detail) = detail.as_deref().filter(|_| !was_reached) {
            tracing::warn!(event = "source.limit", source, reason, detail);
        }
        self.publish_progress(|status| {
            match detail {
                Some(detail) => status.limits.insert(limit, detail),
                None => status.limits.remove(&limit),
            };
        });
    }

    /// All of the source is being compared, or what was found so is being indexed.
    pub(crate) fn start_indexing(&self) {
        self.publish(|status| {
            status.state = SourceState::Indexing;
            status.progress = IndexProgress::default();
        });
    }

    /// The source cannot be searched, or not completely; what was searchable stays so.
    pub(crate) fn fail(&self, reason: &str) {
        self.publish(|status| {
            status.state = SourceState::Failed;
            status.error = Some(reason.to_owned());
        });
    }

    /// Its indexer has failed, and tries again after a pause; what was searchable stays so.
    pub(crate) fn record_failure(&self, reason: &str, pause: Duration) {
        let pause_s = pause.as_secs();
        self.publish(|status| {
            status.state = SourceState::Failed;
            status.is_down = true;
            status.error = Some(format!(
                "{reason}; tried again after {pause_s} s, at once by a reindex"
            ));
        });
    }

    /// A search has failed. Looks whether the index's files are damaged; then nobody searches it
    /// any more, and its indexer is told to put it right. Says whether that is so, now or since
    /// another search has found it.
    pub(crate) fn quarantine_if_damaged(&self) -> bool {
        let mut checked_at = self.checked_at.lock();
        if self.is_suspect() {
            return true;
        }
        // A search that fails for another reason does not have the whole index read each time.
        if checked_at.is_some_and(|at| at.elapsed() < DAMAGE_CHECK_INTERVAL) {
            return false;
        }
        let Some(snapshot) = self.read_status(|status| status.snapshot.clone()) else {
            return false;
        };
        // What the machine does not let be read now says nothing.
        let damaged = snapshot.damage().unwrap_or_default();
        let Some(first) = damaged.first() else {
            *checked_at = Some(Instant::now());
            return false;
        };
        let source = self.haystack.name.as_str();
        tracing::warn!(event = "index.damaged", source, file = first.file, reason = %first);
        self.is_suspect.store(true, Ordering::Release);
        self.publish(|status| {
            status.snapshot = None;
            status.state = SourceState::Indexing;
            status.error = Some(format!("{first}: its documents are being indexed again"));
        });
        if let Some(indexer) = self.reindex_handle() {
            // It looks by itself where it is too busy to be told.
            let _ = indexer.request();
        }
        true
    }

    /// Whether a search has met damage that the indexer has not looked at yet.
    pub(crate) fn is_suspect(&self) -> bool {
        self.is_suspect.load(Ordering::Acquire)
    }

    /// The same; the indexer looks at it now.
    pub(crate) fn take_suspicion(&self) -> bool {
        self.is_suspect.swap(false, Ordering::AcqRel)
    }

    /// Whether the source is asked at query time, and has no index.
    #[must_use]
    pub fn is_live(&self) -> bool {
        remote_sources::is_live(&self.haystack)
    }

    /// The source can be asked.
    pub(crate) fn mark_ready(&self) {
        self.publish(|status| {
            status.state = SourceState::Ready;
            status.error = None;
        });
    }

    /// The source has just been asked, and failed with `error` if it did. What it said is not kept
    /// in the handle.
    pub(crate) fn record_answer(&self, error: Option<&str>) {
        self.publish_progress(|status| {
            status.error = error.map(str::to_owned);
            if error.is_none() {
                status.updated_at = Some(SystemTime::now());
            }
        });
    }

    /// Keeps an item that is shown.
    pub(crate) fn cache_item(&self, item: &SourceItem) {
        self.recent.lock().insert(item);
    }

    /// An item that was shown lately.
    pub(crate) fn cached_item(&self, key: &str) -> Option<Arc<SourceItem>> {
        self.recent.lock().get(key)
    }

    /// This version cannot search the source.
    pub(crate) fn refuse(&self) {
        let (service, location) = (self.haystack.service().as_str(), &self.haystack.location);
        self.fail(&format!(
            "this version does not search {service} sources at {location:?} yet"
        ));
    }
}
