//! The search server's part of an actor tree.
//!
//! ```text
//! search ─┬─ remote-sources         asks other servers at query time (permanent)
//!         ├─ embedding              asks embedding models of other servers (permanent)
//!         ├─ service                answers searches (permanent)
//!         ├─ indexers ─┬─ <source>  keeps one index up to date (permanent, started at run time)
//!         │            └─ …
//!         └─ roles                  puts role files in force, starts and stops indexers (permanent)
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use search_core::role::RoleFile;
use search_formats_engine::{DocumentLimits, ReaderPool, ReaderProgram};
use supervision::{ChildRef, ChildSpec, PastLimit, SupervisorSpec, ThreadPlacement};

use crate::concepts::LearningRests;
use crate::embedding::{EmbeddingService, TEXTS_TIMEOUT};
use crate::indexer::{IndexThreads, IndexerSettings};
use crate::limits::SearchLimits;
use crate::registry::{RolePublisher, RoleRegistry, RoleSet};
use crate::remote_sources::RemoteSources;
use crate::role_manager::{RoleManager, RoleManagerContext};
use crate::search_service::SearchService;
use crate::snapshots::SnapshotMode;

/// What the search part of a server is started with.
#[derive(Debug, Clone)]
pub struct SearchSettings {
    /// The roles and their sources.
    pub roles: RoleFile,
    /// Folder of the indexes.
    pub data: PathBuf,
    /// The most searches under way at once.
    pub max_concurrent_searches: usize,
    /// The longest a search may take, waiting included.
    pub search_timeout: Duration,
    /// Threads that search.
    pub search_threads: usize,
    /// How long the threads that learn rest.
    pub learning_rests: LearningRests,
    /// How much of one source is taken up.
    pub limits: SearchLimits,
}

/// The search part of a tree before it is started: its spec, and what peers hold.
pub struct SearchTree {
    /// The supervisor of the search part; add it to a root.
    pub supervisor: SupervisorSpec,
    /// Who answers searches.
    pub search: ChildRef<SearchService>,
    /// Who puts another role file in force.
    pub roles: ChildRef<RoleManager>,
    /// What can be searched, and how it is.
    pub registry: RoleRegistry,
    /// The threads that hold the indexes.
    pub threads: IndexThreads,
}

impl SearchTree {
    /// Puts the search part together.
    #[must_use]
    pub fn new(settings: &SearchSettings) -> Self {
        Self::with_snapshots(settings, None, SnapshotMode::Local)
    }

    /// Puts the search part together; `program` reads documents that are no text files, and
    /// `snapshots` says what is published or fetched.
    #[must_use]
    pub fn with_snapshots(
        settings: &SearchSettings,
        program: Option<ReaderProgram>,
        snapshots: SnapshotMode,
    ) -> Self {
        let publisher = RolePublisher::new(RoleSet::new(&settings.roles));
        let registry = publisher.registry().clone();
        let remote_sources = remote_sources_spec(settings, &registry);
        let embedding = embedding_spec(settings);
        let peers = (remote_sources.reference(), embedding.reference());
        let search = search_spec(settings, &registry, peers);
        let indexers = SupervisorSpec::new("indexers")
            .past_limit(PastLimit::Park)
            .max_dynamic(MAX_INDEXERS);
        let readers = program.map(|program| ReaderPool::new(program, DocumentLimits::default()));
        let indexer_settings = IndexerSettings::new(
            settings.data.clone(),
            settings.learning_rests,
            settings.limits,
            embedding.reference(),
        );
        let indexer_settings = Arc::new(
            indexer_settings
                .with_readers(readers)
                .with_snapshots(snapshots),
        );
        let threads = indexer_settings.threads.clone();
        let context = Arc::new(RoleManagerContext {
            publisher,
            remote_sources: remote_sources.reference(),
            indexers: indexers.reference(),
            settings: indexer_settings,
            running: Mutex::default(),
        });
        let roles = ChildSpec::new("roles", move |_| RoleManager::new(Arc::clone(&context)))
            .capacity(4)
            .ask_timeout(APPLY_TIMEOUT);
        let (search_reference, roles_reference) = (search.reference(), roles.reference());
        let supervisor = SupervisorSpec::new("search")
            .child(remote_sources)
            .child(embedding)
            .child(search)
            .supervisor(indexers)
            .child(roles);
        Self {
            supervisor,
            search: search_reference,
            roles: roles_reference,
            registry,
            threads,
        }
    }
}

/// The most sources with an index.
const MAX_INDEXERS: usize = 4096;

/// The longest it may take to put a role file in force: its thesauri are read.
const APPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long sources that are asked at query time may take.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);

/// What the actor may take beyond its sources' deadline before it is given up.
const REPLY_MARGIN: Duration = Duration::from_millis(500);

fn remote_sources_spec(
    settings: &SearchSettings,
    registry: &RoleRegistry,
) -> ChildSpec<RemoteSources> {
    let registry = registry.clone();
    // An arbiter of its own: reading a large answer keeps no search waiting that needs none.
    ChildSpec::new("remote-sources", move |_| {
        RemoteSources::new(&registry, QUERY_TIMEOUT)
    })
    .capacity(settings.max_concurrent_searches)
    .ask_timeout(QUERY_TIMEOUT + REPLY_MARGIN)
    .placement(ThreadPlacement::Own)
}

fn embedding_spec(settings: &SearchSettings) -> ChildSpec<EmbeddingService> {
    // An arbiter of its own: a large answer of the server keeps no search waiting that needs none.
    ChildSpec::new("embedding", |_| EmbeddingService::default())
        .capacity(settings.max_concurrent_searches + MAX_INDEXERS)
        .ask_timeout(TEXTS_TIMEOUT + REPLY_MARGIN)
        .placement(ThreadPlacement::Own)
}

fn search_spec(
    settings: &SearchSettings,
    registry: &RoleRegistry,
    (remote_sources, embedding): (ChildRef<RemoteSources>, ChildRef<EmbeddingService>),
) -> ChildSpec<SearchService> {
    let (registry, threads) = (registry.clone(), settings.search_threads);
    let capacity = settings.max_concurrent_searches;
    // An arbiter of its own: a search never waits behind an indexer's bookkeeping.
    ChildSpec::new("service", move |_| {
        let peers = (remote_sources.clone(), embedding.clone());
        SearchService::new(&registry, threads, capacity, peers)
    })
    .capacity(capacity)
    .ask_timeout(settings.search_timeout)
    .placement(ThreadPlacement::Own)
}

impl std::fmt::Debug for SearchTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchTree")
            .field("registry", &self.registry)
            .finish_non_exhaustive()
    }
}
