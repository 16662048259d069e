//! The search desk: takes searches and gives them to threads that may block.
//!
//! ```text
//! HTTP edge --Search, ReadDocument--> SearchDesk --job--> worker threads
//!     ^                                                        |
//!     +-----------------------reply----------------------------+
//! ```
//! A worker answers the sender itself: the desk's own thread is not woken for the reply. How many
//! searches may be under way is the capacity of the desk's child spec; beyond it the sender gets
//! `Full`, never a silent wait.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use actix::dev::{MessageResponse, OneshotSender};
use actix::{Actor, Context, Handler, Message};
use crossbeam_channel::{Receiver, Sender, unbounded};
use search_engine::answering::{self, SearchFailure};

use crate::board::Board;
use crate::messages::{ReadDocument, Search};

type Job = Box<dyn FnOnce(&Board) + Send>;

/// What makes the reply to a message from what the board shows.
type Work<M> = Box<dyn FnOnce(&Board) -> <M as Message>::Result + Send>;

/// The actor.
pub struct SearchDesk {
    /// Where the workers take their jobs from. Dropped with the desk, which ends them.
    jobs: Sender<Job>,
}

impl SearchDesk {
    /// A desk with `threads` workers of its own over what the board shows.
    #[must_use]
    pub fn new(board: &Arc<Board>, threads: usize) -> Self {
        // The queue needs no bound of its own: the desk's permits bound what can be in it.
        let (jobs, queue) = unbounded();
        for number in 0..threads.max(1) {
            let (queue, board) = (queue.clone(), Arc::clone(board));
            std::thread::Builder::new()
                .name(format!("search-{number}"))
                .spawn(move || work(&queue, &board))
                .expect("the system can start a thread at start-up");
        }
        Self { jobs }
    }
}

/// Takes jobs until the desk is gone. A job that panics is answered by its dropped sender.
fn work(queue: &Receiver<Job>, board: &Board) {
    while let Ok(job) = queue.recv() {
        if catch_unwind(AssertUnwindSafe(|| job(board))).is_err() {
            tracing::error!(
                event = "search.panicked",
                "a search panicked; its sender gets an error"
            );
        }
    }
}

impl Actor for SearchDesk {
    type Context = Context<Self>;
}

/// A reply that a worker sends.
pub struct Later<M: Message> {
    jobs: Sender<Job>,
    work: Work<M>,
}

impl<M> MessageResponse<SearchDesk, M> for Later<M>
where
    M: Message + 'static,
    M::Result: Send,
{
    fn handle(self, _: &mut Context<SearchDesk>, reply: Option<OneshotSender<M::Result>>) {
        let Self { jobs, work } = self;
        let job: Job = Box::new(move |board| {
            let Some(reply) = reply else { return };
            // Whoever asked may have left while the job waited.
            if !reply.is_closed() {
                let _ = reply.send(work(board));
            }
        });
        // The workers outlive the desk; a failed send drops the reply, which the sender sees.
        let _ = jobs.send(job);
    }
}

impl Handler<Search> for SearchDesk {
    type Result = Later<Search>;

    fn handle(&mut self, Search(order): Search, _: &mut Context<Self>) -> Self::Result {
        Later {
            jobs: self.jobs.clone(),
            work: Box::new(move |board| {
                let role = order.role.as_deref();
                let entry = board.role(role).ok_or_else(|| board.unknown_role(role))?;
                answering::search(&entry.searchable(), &order)
            }),
        }
    }
}

impl Handler<ReadDocument> for SearchDesk {
    type Result = Later<ReadDocument>;

    fn handle(
        &mut self,
        ReadDocument(request): ReadDocument,
        _: &mut Context<Self>,
    ) -> Self::Result {
        Later {
            jobs: self.jobs.clone(),
            work: Box::new(move |board| {
                let entry = board
                    .role_of_document(request.role.as_deref(), &request.id)
                    .ok_or_else(|| SearchFailure::UnknownDocument {
                        id: request.id.clone(),
                    })?;
                answering::read_document(&entry.searchable(), &request)
            }),
        }
    }
}
