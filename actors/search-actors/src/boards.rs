//! The board in force: a changed configuration puts another one in its place, searches under way end on theirs.

use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Mutex, RwLock};

use crate::board::Board;
use crate::slot::SourceSlot;

/// The board in force. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Boards(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    now: RwLock<Arc<Board>>,
    /// Slots of former boards whose keepers' threads may still be ending.
    retired: Mutex<Vec<Arc<SourceSlot>>>,
}

impl Boards {
    /// Begins with a board.
    #[must_use]
    pub fn new(board: Board) -> Self {
        Self(Arc::new(Shared {
            now: RwLock::new(Arc::new(board)),
            retired: Mutex::default(),
        }))
    }

    /// The board in force. Hold on to it for one request, so that its parts fit together.
    #[must_use]
    pub fn now(&self) -> Arc<Board> {
        Arc::clone(&self.0.now.read())
    }

    /// Puts a board in force; only the role desk does this.
    pub(crate) fn replace(&self, board: Board) -> Arc<Board> {
        let board = Arc::new(board);
        let former = std::mem::replace(&mut *self.0.now.write(), Arc::clone(&board));
        let gone = former
            .slots()
            .iter()
            .filter(|slot| !board.slots().iter().any(|kept| Arc::ptr_eq(kept, slot)));
        let mut retired = self.0.retired.lock();
        retired.retain(|slot| slot.thread.lock().is_some());
        retired.extend(gone.cloned());
        board
    }

    /// Waits until no keeper's thread holds an index any more. Call it when the actors have ended, before the data folder is
    /// given to somebody else. Blocks.
    pub fn wait_for_threads(&self) {
        let retired = std::mem::take(&mut *self.0.retired.lock());
        for slot in retired.iter().chain(self.now().slots()) {
            let thread = slot.thread.lock().take();
            // How the thread ended was reported by the thread itself.
            let _ = thread.map(JoinHandle::join);
        }
    }
}
