//! The role desk: puts a changed role file in force, and has a keeper for each source with an index.
//!
//! ```text
//! configuration --ApplyRoles--> RoleDesk --replace--> Boards <--read-- searches
//!                                  |---BoardChanged--> AskDesk
//!                                  +---start, stop---> keepers ── IndexKeeper…
//! ```
//! Keepers are children of `keepers` that are started at run time. What runs is kept beside the desk, so a new life of it
//! goes on where the former one was; and it looks regularly, so keepers whose supervisor was restarted come back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AtomicResponse, Context, Handler, WrapFuture};
use actix::{ActorFutureExt, ResponseActFuture};
use futures_util::future::join_all;
use parking_lot::Mutex;
use search_engine::texts::TextStore;
use supervision::{
    ChildRef, ChildSpec, StartChildError, StartRefused, Supervisor, TickHandle, start_tick,
};

use crate::asking::AskDesk;
use crate::board::Board;
use crate::boards::Boards;
use crate::keeper::{IndexKeeper, KeeperSettings};
use crate::messages::{ApplyRoles, BoardChanged};
use crate::slot::SourceSlot;

/// How often the keepers are compared with the board.
const LOOK: Duration = Duration::from_secs(1);
/// The longest a keeper may take to end: it writes down what it has indexed.
const KEEPER_STOP: Duration = Duration::from_secs(20);

/// What all lives of the desk share.
#[derive(Debug)]
pub(crate) struct RoleParts {
    pub(crate) boards: Boards,
    pub(crate) asks: ChildRef<AskDesk>,
    /// The keepers' supervisor.
    pub(crate) keepers: ChildRef<Supervisor>,
    pub(crate) settings: Arc<KeeperSettings>,
    pub(crate) running: Mutex<Running>,
}

/// The keepers that were started, by the names of their sources.
#[derive(Debug, Default)]
pub(crate) struct Running {
    /// The life of the supervisor they were started in.
    life: Option<u64>,
    keepers: BTreeMap<String, Arc<SourceSlot>>,
}

/// The actor.
pub struct RoleDesk {
    parts: Arc<RoleParts>,
    /// Compares the keepers with the board.
    looks: Option<TickHandle>,
}

impl RoleDesk {
    pub(crate) fn new(parts: Arc<RoleParts>) -> Self {
        Self { parts, looks: None }
    }
}

impl Actor for RoleDesk {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let looks = start_tick(ctx, LOOK, |desk: &mut Self, _| {
            let parts = Arc::clone(&desk.parts);
            Box::pin(async move { parts.compare().await }.into_actor(desk))
        });
        looks.wake();
        self.looks = Some(looks);
    }
}

impl Handler<ApplyRoles> for RoleDesk {
    type Result = AtomicResponse<Self, u64>;

    fn handle(&mut self, ApplyRoles(file): ApplyRoles, _: &mut Self::Context) -> Self::Result {
        let former = self.parts.boards.now();
        let unchanged = former.generation();
        // Thesauri are read.
        let made = actix_rt::task::spawn_blocking(move || former.after(&file));
        let applied: ResponseActFuture<Self, u64> =
            Box::pin(made.into_actor(self).map(move |made, desk, _| {
                let Ok(board) = made else {
                    tracing::error!(
                        event = "roles.panicked",
                        "a role file could not be put in force"
                    );
                    return unchanged;
                };
                let generation = desk.put(board);
                if let Some(looks) = &desk.looks {
                    looks.wake();
                }
                generation
            }));
        AtomicResponse::new(applied)
    }
}

impl RoleDesk {
    fn put(&self, board: Board) -> u64 {
        let board = self.parts.boards.replace(board);
        // Between two lives: the next one begins with this board.
        let _ = self.parts.asks.tell(BoardChanged);
        tracing::info!(
            event = "roles.applied",
            roles = board.roles().len(),
            sources = board.slots().len(),
            generation = board.generation(),
        );
        board.generation()
    }
}

impl RoleParts {
    /// Starts and stops keepers until they are those of the board.
    async fn compare(&self) {
        let life = self.keepers.ready_after(0).await;
        let board = self.boards.now();
        let kept = |slot: &Arc<SourceSlot>| board.slots().iter().any(|one| Arc::ptr_eq(one, slot));
        let (gone, wanted) = {
            let mut running = self.running.lock();
            if running.life != Some(life) {
                // The supervisor was restarted, and its children with it.
                running.life = Some(life);
                running.keepers.clear();
            }
            let gone: Vec<Arc<SourceSlot>> = running
                .keepers
                .values()
                .filter(|slot| !kept(slot))
                .cloned()
                .collect();
            let is_missing = |slot: &&Arc<SourceSlot>| {
                let runs = running.keepers.get(&slot.id);
                !slot.is_asked() && !runs.is_some_and(|runs| Arc::ptr_eq(runs, slot))
            };
            let wanted: Vec<Arc<SourceSlot>> =
                board.slots().iter().filter(is_missing).cloned().collect();
            (gone, wanted)
        };
        let (succeeding, new): (Vec<_>, Vec<_>) = wanted
            .into_iter()
            .partition(|slot| gone.iter().any(|former| former.id == slot.id));
        for slot in &new {
            self.start(slot).await;
        }
        join_all(gone.iter().map(|slot| self.stop(slot))).await;
        for slot in &succeeding {
            let former = gone.iter().find(|former| former.id == slot.id);
            if let Some(former) = former {
                // Its thread may still be writing; the new keeper's thread waits for it.
                let thread = former.thread.lock().take();
                *slot.thread.lock() = thread;
            }
            self.start(slot).await;
        }
    }

    async fn stop(&self, slot: &Arc<SourceSlot>) {
        match self.keepers.stop_child(slot.id.clone(), KEEPER_STOP).await {
            Ok(()) | Err(supervision::ChildError::NoSuchChild(_)) => {}
            Err(error) => {
                tracing::warn!(event = "keeper.unstopped", source = slot.haystack.name, %error);
                return;
            }
        }
        *slot.keeper.lock() = None;
        self.running.lock().keepers.remove(&slot.id);
    }

    async fn start(&self, slot: &Arc<SourceSlot>) {
        if slot.haystack.indexed_files().is_none() {
            if slot.with(|published| published.error.is_none()) {
                slot.refuse();
            }
            return;
        }
        match self.keepers.start_child(self.spec(slot)).await {
            Ok(keeper) => {
                *slot.keeper.lock() = Some(keeper);
                let mut running = self.running.lock();
                running.keepers.insert(slot.id.clone(), Arc::clone(slot));
            }
            Err(StartChildError::Refused(refused @ StartRefused::Full { .. })) => {
                slot.fail(&refused.to_string());
            }
            // It is tried again at the next look.
            Err(error) => {
                tracing::debug!(event = "keeper.unstarted", source = slot.haystack.name, %error);
            }
        }
    }

    fn spec(&self, slot: &Arc<SourceSlot>) -> ChildSpec<IndexKeeper> {
        if self.settings.readers.is_some() {
            let folder = self.settings.data.join(format!("{}.texts", slot.id));
            // A slot that succeeds another one has its texts already.
            let _ = slot.texts.set(Arc::new(TextStore::new(folder)));
        }
        let (slot, settings) = (Arc::clone(slot), Arc::clone(&self.settings));
        let id = slot.id.clone();
        ChildSpec::new(id, move |_| {
            IndexKeeper::new(Arc::clone(&slot), Arc::clone(&settings))
        })
        .capacity(16)
        .shutdown(KEEPER_STOP)
    }
}
