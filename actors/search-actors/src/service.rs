//! The search server's part of an actor tree.
//!
//! ```text
//! search ─┬─ desk                 answers searches (permanent)
//!         └─ keepers ─┬─ <source>  keeps one index up to date (permanent)
//!                     └─ …
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use search_core::role::{RoleFile, Service};
use supervision::{ChildRef, ChildSpec, PastLimit, Placement, SupervisorSpec};

use crate::board::Board;
use crate::desk::SearchDesk;
use crate::keeper::{IndexKeeper, KeeperSettings};

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
    /// What can be searched, and how it is.
    pub board: Arc<Board>,
    /// One keeper a local source, by the source's id.
    pub keepers: Vec<(String, ChildRef<IndexKeeper>)>,
}

impl SearchService {
    /// Puts the search part together.
    #[must_use]
    pub fn new(settings: &SearchSettings) -> Self {
        let board = Arc::new(Board::new(&settings.roles));
        let desk = desk_spec(settings, &board);
        let desk_reference = desk.reference();
        let mut keepers = SupervisorSpec::new("keepers").past_limit(PastLimit::Park);
        let mut references = Vec::new();
        let shared = Arc::new(KeeperSettings::new(settings.data.clone()));
        for slot in board.slots() {
            if slot.haystack.service() != Service::LocalFiles {
                slot.refuse();
                continue;
            }
            let (slot, shared) = (Arc::clone(slot), Arc::clone(&shared));
            let id = slot.id.clone();
            let spec = ChildSpec::new(id.clone(), move |life| {
                IndexKeeper::new(life, Arc::clone(&slot), Arc::clone(&shared))
            })
            .capacity(16)
            .shutdown(Duration::from_secs(20));
            references.push((id, spec.reference()));
            keepers = keepers.child(spec);
        }
        let supervisor = SupervisorSpec::new("search")
            .child(desk)
            .supervisor(keepers);
        Self {
            supervisor,
            desk: desk_reference,
            board,
            keepers: references,
        }
    }
}

fn desk_spec(settings: &SearchSettings, board: &Arc<Board>) -> ChildSpec<SearchDesk> {
    let (board, threads) = (Arc::clone(board), settings.search_threads);
    // An arbiter of its own: a search never waits behind a keeper's bookkeeping.
    ChildSpec::new("desk", move |_| SearchDesk::new(&board, threads))
        .capacity(settings.max_concurrent_searches)
        .ask_timeout(settings.search_timeout)
        .placement(Placement::Own)
}

impl std::fmt::Debug for SearchService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchService")
            .field("board", &self.board)
            .finish_non_exhaustive()
    }
}
