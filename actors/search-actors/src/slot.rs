//! One source's place on the board: what its keeper has published.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Mutex, RwLock};
use search_core::answer::{IndexProgress, SourceState};
use search_core::concepts::ConceptsHealth;
use search_core::role::{EmbeddingSource, Haystack};
use search_engine::index::IndexSnapshot;
use search_engine::texts::TextStore;
use search_engine::walk::RootFolder;
use search_graph_engine::graph::GraphIndex;
use search_sources_core::Item;
use supervision::ChildRef;

use crate::asking::{self, Recent};
use crate::embedding::EmbeddingPlace;
use crate::keeper::IndexKeeper;
use crate::messages::Reindex;
use crate::thesauri::SourceConcepts;

/// Files that were found to be whole are not looked at again for this time.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// What one keeper has published about its source.
#[derive(Debug)]
pub struct SourceSlot {
    /// Names the source in document ids and on disk: eight hex digits.
    pub id: String,
    /// The haystack it was made from.
    pub haystack: Haystack,
    /// Its concepts, and what was learnt of them.
    pub graph: Arc<GraphIndex>,
    /// Whether a role ranks it by concepts.
    pub learns: bool,
    /// The embedding model it is ranked by.
    pub(crate) model: Option<EmbeddingSource>,
    published: RwLock<Published>,
    /// Counts the changes that a search can see.
    version: AtomicU64,
    /// Texts of its documents that are no text files, where such files are read.
    pub(crate) texts: OnceLock<Arc<TextStore>>,
    /// What was shown lately of a source that is asked at query time.
    recent: Mutex<Recent>,
    /// The thread of the present or the former keeper; the next one waits for its end.
    pub(crate) thread: Mutex<Option<JoinHandle<()>>>,
    /// Whether a search has met damage that its keeper has not looked at yet.
    doubted: AtomicBool,
    /// When its files were last looked at after a search had failed, and were whole. Held meanwhile: one look serves many
    /// searches.
    looked: Mutex<Option<Instant>>,
    /// Who keeps its index.
    pub(crate) keeper: Mutex<Option<ChildRef<IndexKeeper>>>,
}

/// The changing part of a slot.
#[derive(Debug, Clone)]
pub struct Published {
    /// The searchable state; none before the index has been opened.
    pub snapshot: Option<IndexSnapshot>,
    /// The folder behind it, once it has been found.
    pub root: Option<Arc<RootFolder>>,
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
    /// Files that never stop changing and are looked at ever more rarely.
    pub busy_files: u64,
    /// Whether its keeper has failed and waits for another attempt.
    pub is_down: bool,
}

impl SourceSlot {
    pub(crate) fn new(id: String, haystack: Haystack, concepts: SourceConcepts) -> Self {
        let SourceConcepts {
            thesaurus,
            learns,
            model,
        } = concepts;
        let graph = Arc::new(GraphIndex::new(thesaurus));
        let published = Published {
            snapshot: None,
            root: None,
            state: SourceState::Starting,
            updated_at: None,
            error: None,
            progress: IndexProgress::default(),
            skipped: BTreeMap::new(),
            concepts: ConceptsHealth::default(),
            busy_files: 0,
            is_down: false,
        };
        Self {
            id,
            haystack,
            graph,
            learns,
            model,
            published: RwLock::new(published),
            version: AtomicU64::new(0),
            texts: OnceLock::new(),
            recent: Mutex::default(),
            thread: Mutex::new(None),
            doubted: AtomicBool::new(false),
            looked: Mutex::new(None),
            keeper: Mutex::new(None),
        }
    }

    /// The place of the same source with other settings: what is searchable stays so until the next keeper has
    /// looked at it.
    pub(crate) fn succeeding(former: &Self, haystack: Haystack, concepts: SourceConcepts) -> Self {
        let slot = Self::new(former.id.clone(), haystack, concepts);
        let mut published = former.read();
        published.concepts = ConceptsHealth::default();
        *slot.published.write() = published;
        if let Some(texts) = former.texts.get() {
            // The slot is new, so nothing is there yet.
            let _ = slot.texts.set(Arc::clone(texts));
        }
        slot
    }

    /// Whether its keeper can go on as it is for a source that is configured so.
    pub(crate) fn serves(&self, haystack: &Haystack, concepts: &SourceConcepts) -> bool {
        self.haystack.source == haystack.source
            && self.haystack.location == haystack.location
            && self.learns == concepts.learns
            && self.model == concepts.model
            && self.graph.thesaurus().entries() == concepts.thesaurus.entries()
    }

    /// The server's model that it is ranked by, if it is one of a server.
    pub(crate) fn embedding_place(&self) -> Option<EmbeddingPlace> {
        match self.model.as_ref()? {
            EmbeddingSource::Folder(_) => None,
            EmbeddingSource::Server { base_url, model } => Some(EmbeddingPlace {
                base_url: base_url.clone(),
                model: model.clone(),
            }),
        }
    }

    /// Who keeps its index, for sources that have one.
    #[must_use]
    pub fn keeper(&self) -> Option<ChildRef<IndexKeeper>> {
        self.keeper.lock().clone()
    }

    /// Counts the changes that a search can see: equal versions give equal answers.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The state at this moment.
    #[must_use]
    pub fn read(&self) -> Published {
        self.published.read().clone()
    }

    /// Looks at the state without copying it.
    pub fn with<T>(&self, look: impl FnOnce(&Published) -> T) -> T {
        look(&self.published.read())
    }

    /// Changes the state in a way that searches see; only the source's keeper does this.
    pub(crate) fn publish(&self, change: impl FnOnce(&mut Published)) {
        let mut published = self.published.write();
        change(&mut published);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Changes the progress, which no answer that is kept shows.
    pub(crate) fn publish_progress(&self, change: impl FnOnce(&mut Published)) {
        change(&mut self.published.write());
    }

    /// The source cannot be searched, or not completely; what was searchable stays so.
    pub(crate) fn fail(&self, reason: &str) {
        self.publish(|published| {
            published.state = SourceState::Failed;
            published.error = Some(reason.to_owned());
        });
    }

    /// Its keeper has failed, and tries again after a pause; what was searchable stays so.
    pub(crate) fn down(&self, reason: &str, pause: Duration) {
        let pause_s = pause.as_secs();
        self.publish(|published| {
            published.state = SourceState::Failed;
            published.is_down = true;
            published.error = Some(format!(
                "{reason}; tried again after {pause_s} s, at once by a reindex"
            ));
        });
    }

    /// A search has failed. Looks whether the index's files are damaged; then nobody searches it any more, and its keeper
    /// is told to put it right. Says whether that is so, now or since another search has found it.
    pub(crate) fn set_aside_if_damaged(&self) -> bool {
        let mut looked = self.looked.lock();
        if self.is_doubted() {
            return true;
        }
        // A search that fails for another reason does not have the whole index read each time.
        if looked.is_some_and(|at| at.elapsed() < LOOK_AGAIN) {
            return false;
        }
        let Some(snapshot) = self.with(|published| published.snapshot.clone()) else {
            return false;
        };
        // What the machine does not let be read now says nothing.
        let damaged = snapshot.damage().unwrap_or_default();
        let Some(first) = damaged.first() else {
            *looked = Some(Instant::now());
            return false;
        };
        let source = self.haystack.name.as_str();
        tracing::warn!(event = "index.damaged", source, file = first.file, reason = %first);
        self.doubted.store(true, Ordering::Release);
        self.publish(|published| {
            published.snapshot = None;
            published.state = SourceState::Indexing;
            published.error = Some(format!("{first}: its documents are being indexed again"));
        });
        if let Some(keeper) = self.keeper() {
            // It looks by itself where it is too busy to be told.
            let _ = keeper.tell(Reindex);
        }
        true
    }

    /// Whether a search has met damage that the keeper has not looked at yet.
    pub(crate) fn is_doubted(&self) -> bool {
        self.doubted.load(Ordering::Acquire)
    }

    /// The same; the keeper looks at it now.
    pub(crate) fn take_doubt(&self) -> bool {
        self.doubted.swap(false, Ordering::AcqRel)
    }

    /// Whether the source is asked at query time, and has no index.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        asking::is_asked(&self.haystack)
    }

    /// The source can be asked.
    pub(crate) fn can_be_asked(&self) {
        self.publish(|published| {
            published.state = SourceState::Ready;
            published.error = None;
        });
    }

    /// The source has just been asked, and failed with `error` if it did. What it said is not kept in the slot.
    pub(crate) fn answered(&self, error: Option<&str>) {
        self.publish_progress(|published| {
            published.error = error.map(str::to_owned);
            if error.is_none() {
                published.updated_at = Some(SystemTime::now());
            }
        });
    }

    /// Keeps an item that is shown.
    pub(crate) fn remember(&self, item: &Item) {
        self.recent.lock().put(item);
    }

    /// An item that was shown lately.
    pub(crate) fn remembered(&self, key: &str) -> Option<Arc<Item>> {
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
