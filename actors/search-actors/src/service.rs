//! The search server's part of an actor tree.
//!
//! ```text
//! search ─┬─ asks                 asks other servers at query time (permanent)
//!         ├─ embeds               asks embedding models of other servers (permanent)
//!         ├─ desk                 answers searches (permanent)
//!         ├─ keepers ─┬─ <source>  keeps one index up to date (permanent, started at run time)
//!         │           └─ …
//!         └─ roles                puts role files in force, starts and stops keepers (permanent)
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use search_core::role::RoleFile;
use search_formats_engine::{Limits, Program, Readers};
use supervision::{ChildRef, ChildSpec, PastLimit, Placement, SupervisorSpec};

use crate::asking::AskDesk;
use crate::board::Board;
use crate::boards::Boards;
use crate::desk::SearchDesk;
use crate::embedding::{EmbedDesk, TEXTS_DEADLINE};
use crate::keeper::KeeperSettings;
use crate::roles::{RoleDesk, RoleParts};

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
}

/// The search part of a tree before it is started: its spec, and what peers hold.
pub struct SearchService {
    /// The supervisor of the search part; add it to a root.
    pub supervisor: SupervisorSpec,
    /// Who answers searches.
    pub desk: ChildRef<SearchDesk>,
    /// Who puts another role file in force.
    pub roles: ChildRef<RoleDesk>,
    /// What can be searched, and how it is.
    pub boards: Boards,
}

impl SearchService {
    /// Puts the search part together.
    #[must_use]
    pub fn new(settings: &SearchSettings) -> Self {
        Self::with_readers(settings, None)
    }

    /// Puts the search part together; `program` reads documents that are no text files.
    #[must_use]
    pub fn with_readers(settings: &SearchSettings, program: Option<Program>) -> Self {
        let boards = Boards::new(Board::new(&settings.roles));
        let asks = ask_spec(settings, &boards);
        let asker = asks.reference();
        let embeds = embed_spec(settings);
        let desk = desk_spec(settings, &boards, &asker, embeds.reference());
        let keepers = SupervisorSpec::new("keepers")
            .past_limit(PastLimit::Park)
            .max_dynamic(MAX_KEEPERS);
        let readers = program.map(|program| Readers::new(program, Limits::default()));
        let parts = Arc::new(RoleParts {
            boards: boards.clone(),
            asks: asker,
            keepers: keepers.reference(),
            settings: Arc::new(
                KeeperSettings::new(settings.data.clone(), embeds.reference())
                    .with_readers(readers),
            ),
            running: Mutex::default(),
        });
        let roles = ChildSpec::new("roles", move |_| RoleDesk::new(Arc::clone(&parts)))
            .capacity(4)
            .ask_timeout(APPLY_TIMEOUT);
        let (desk_reference, roles_reference) = (desk.reference(), roles.reference());
        let supervisor = SupervisorSpec::new("search")
            .child(asks)
            .child(embeds)
            .child(desk)
            .supervisor(keepers)
            .child(roles);
        Self {
            supervisor,
            desk: desk_reference,
            roles: roles_reference,
            boards,
        }
    }
}

/// The most sources with an index.
const MAX_KEEPERS: usize = 4096;

/// The longest it may take to put a role file in force: its thesauri are read.
const APPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long sources that are asked at query time may take.
const ASK_DEADLINE: Duration = Duration::from_secs(2);

/// What the asker may take beyond its sources' deadline before it is given up.
const ASK_SLACK: Duration = Duration::from_millis(500);

fn ask_spec(settings: &SearchSettings, boards: &Boards) -> ChildSpec<AskDesk> {
    let boards = boards.clone();
    // An arbiter of its own: reading a large answer keeps no search waiting that needs none.
    ChildSpec::new("asks", move |_| AskDesk::new(&boards, ASK_DEADLINE))
        .capacity(settings.max_concurrent_searches)
        .ask_timeout(ASK_DEADLINE + ASK_SLACK)
        .placement(Placement::Own)
}

fn embed_spec(settings: &SearchSettings) -> ChildSpec<EmbedDesk> {
    // An arbiter of its own: a large answer of the server keeps no search waiting that needs none.
    ChildSpec::new("embeds", |_| EmbedDesk::default())
        .capacity(settings.max_concurrent_searches + MAX_KEEPERS)
        .ask_timeout(TEXTS_DEADLINE + ASK_SLACK)
        .placement(Placement::Own)
}

fn desk_spec(
    settings: &SearchSettings,
    boards: &Boards,
    asks: &ChildRef<AskDesk>,
    embeds: ChildRef<EmbedDesk>,
) -> ChildSpec<SearchDesk> {
    let (boards, asks, threads) = (boards.clone(), asks.clone(), settings.search_threads);
    // An arbiter of its own: a search never waits behind a keeper's bookkeeping.
    ChildSpec::new("desk", move |_| {
        SearchDesk::new(&boards, threads, asks.clone(), embeds.clone())
    })
    .capacity(settings.max_concurrent_searches)
    .ask_timeout(settings.search_timeout)
    .placement(Placement::Own)
}

impl std::fmt::Debug for SearchService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchService")
            .field("boards", &self.boards)
            .finish_non_exhaustive()
    }
}
