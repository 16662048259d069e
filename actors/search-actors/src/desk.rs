//! The search desk: takes searches and gives them to threads that may block.
//!
//! ```text
//! HTTP edge --Search, ReadDocument--> SearchDesk --job--> worker threads
//!     ^                                |     ^                 |
//!     |                           AskSources |                 |
//!     |                                v     |                 |
//!     |                 AskDesk (sources that are asked at query time), EmbedDesk (the query's vector)
//!     +-----------------------reply----------------------------+
//! ```
//! A worker answers the sender itself: the desk's own thread is not woken for the reply. How many
//! searches may be under way is the capacity of the desk's child spec; beyond it the sender gets
//! `Full`, never a silent wait.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use actix::dev::{MessageResponse, OneshotSender};
use actix::{Actor, Context, Handler, Message};
use crossbeam_channel::{Receiver, Sender, unbounded};
use futures_util::future::LocalBoxFuture;
use search_engine::answering::{self, SearchFailure, SearchOrder};
use search_graph_engine::embedding::ServedQuery;
use supervision::ChildRef;

use crate::asking::{self, AskDesk, SourceOutcome};
use crate::board::{Board, RoleEntry};
use crate::boards::Boards;
use crate::embedding::{EmbedDesk, QueryEmbedder, Wanted};
use crate::messages::{AskSources, ReadDocument, Search};

type Job = Box<dyn FnOnce() + Send>;

/// What makes the reply to a message.
type Work<M> = Box<dyn FnOnce() -> <M as Message>::Result + Send>;

/// A reply that is made now, or when others have been asked.
enum Begin<M: Message> {
    Now(Work<M>),
    After(LocalBoxFuture<'static, Work<M>>),
}

/// The actor.
pub struct SearchDesk {
    /// Who asks other servers.
    asks: ChildRef<AskDesk>,
    boards: Boards,
    /// Gives the query to embedding models of servers.
    queries: QueryEmbedder,
    /// Where the workers take their jobs from. Dropped with the desk, which ends them.
    jobs: Sender<Job>,
}

impl SearchDesk {
    /// A desk with `threads` workers of its own over what the boards show.
    #[must_use]
    pub fn new(
        boards: &Boards,
        threads: usize,
        asks: ChildRef<AskDesk>,
        embeds: ChildRef<EmbedDesk>,
    ) -> Self {
        // The queue needs no bound of its own: the desk's permits bound what can be in it.
        let (jobs, queue) = unbounded();
        for number in 0..threads.max(1) {
            let queue = queue.clone();
            std::thread::Builder::new()
                .name(format!("search-{number}"))
                .spawn(move || work(&queue))
                .expect("the system can start a thread at start-up");
        }
        Self {
            asks,
            boards: boards.clone(),
            queries: QueryEmbedder::new(embeds),
            jobs,
        }
    }

    /// The question to other servers that an order needs answered first.
    fn question(
        &self,
        board: &Board,
        order: &SearchOrder,
    ) -> Option<(ChildRef<AskDesk>, AskSources)> {
        let entry = board.role(order.role.as_deref())?;
        let ids: Vec<String> = entry
            .asked(&order.sources)
            .map(|source| source.slot.id.clone())
            .collect();
        if ids.is_empty() {
            return None;
        }
        let words = asking::question(&order.request)?;
        Some((self.asks.clone(), AskSources { ids, words }))
    }
}

/// Asks; whoever cannot be asked at all is reported like one that does not answer.
async fn outcomes(asks: ChildRef<AskDesk>, question: AskSources) -> Vec<SourceOutcome> {
    let ids = question.ids.clone();
    let answer = asks.ask(question).await;
    answer.unwrap_or_else(|error| {
        let failed = |id| SourceOutcome {
            id,
            error: Some(error.to_string()),
            ..SourceOutcome::default()
        };
        ids.into_iter().map(failed).collect()
    })
}

fn search(
    board: &Board,
    order: &SearchOrder,
    outcomes: &[SourceOutcome],
    served: &[ServedQuery],
) -> <Search as Message>::Result {
    let role = order.role.as_deref();
    let entry = board.role(role).ok_or_else(|| board.unknown_role(role))?;
    mended(entry, || {
        let mut asked = entry.searchable_with(outcomes);
        asked.role.served = served.to_vec();
        let answer = asking::with_times(answering::search(&asked.role, order)?, &asked);
        asking::remember(entry, &asked, &answer);
        Ok(answer)
    })
}

/// What `work` gives; once more where it has failed because an index is damaged: then without that index, whose keeper
/// has been told. Damaged files end in errors, or in panics where they are decoded.
fn mended<T>(
    entry: &RoleEntry,
    work: impl Fn() -> Result<T, SearchFailure>,
) -> Result<T, SearchFailure> {
    let done = catch_unwind(AssertUnwindSafe(&work));
    let has_failed = matches!(&done, Err(_) | Ok(Err(SearchFailure::Index { .. })));
    if has_failed {
        let damaged = entry.sources.iter();
        let damaged = damaged.filter(|source| source.slot.set_aside_if_damaged());
        if damaged.count() > 0 {
            return work();
        }
    }
    done.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Takes jobs until the desk is gone. A job that panics is answered by its dropped sender.
fn work(queue: &Receiver<Job>) {
    while let Ok(job) = queue.recv() {
        if catch_unwind(AssertUnwindSafe(job)).is_err() {
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
    begin: Begin<M>,
}

impl<M> MessageResponse<SearchDesk, M> for Later<M>
where
    M: Message + 'static,
    M::Result: Send,
{
    fn handle(self, _: &mut Context<SearchDesk>, reply: Option<OneshotSender<M::Result>>) {
        let Self { jobs, begin } = self;
        match begin {
            Begin::Now(work) => hand_over::<M>(&jobs, work, reply),
            Begin::After(asking) => {
                let Some(mut reply) = reply else { return };
                actix_rt::spawn(async move {
                    // Nobody waits for others on behalf of somebody who has left.
                    let work = tokio::select! {
                        biased;
                        () = reply.closed() => return,
                        work = asking => work,
                    };
                    hand_over::<M>(&jobs, work, Some(reply));
                });
            }
        }
    }
}

fn hand_over<M>(jobs: &Sender<Job>, work: Work<M>, reply: Option<OneshotSender<M::Result>>)
where
    M: Message + 'static,
    M::Result: Send,
{
    let job: Job = Box::new(move || {
        let Some(reply) = reply else { return };
        // Whoever asked may have left while the job waited.
        if !reply.is_closed() {
            let _ = reply.send(work());
        }
    });
    // The workers outlive the desk; a failed send drops the reply, which the sender sees.
    let _ = jobs.send(job);
}

impl Handler<Search> for SearchDesk {
    type Result = Later<Search>;

    fn handle(&mut self, Search(order): Search, _: &mut Context<Self>) -> Self::Result {
        let board = self.boards.now();
        let wanted = board
            .role(order.role.as_deref())
            .map(|entry| self.queries.wanted(entry, &order));
        let question = self.question(&board, &order);
        let asks = question.is_some() || wanted.as_ref().is_some_and(Wanted::is_asked);
        let begin = if asks {
            let queries = self.queries.clone();
            Begin::After(Box::pin(async move {
                let outcomes = async {
                    match question {
                        Some((asks, question)) => outcomes(asks, question).await,
                        None => Vec::new(),
                    }
                };
                let served = async {
                    match wanted {
                        Some(wanted) => queries.ask(wanted).await,
                        None => Vec::new(),
                    }
                };
                let (outcomes, served) = tokio::join!(outcomes, served);
                let work: Work<Search> =
                    Box::new(move || search(&board, &order, &outcomes, &served));
                work
            }))
        } else {
            let served = wanted.map(Wanted::known).unwrap_or_default();
            Begin::Now(Box::new(move || search(&board, &order, &[], &served)))
        };
        Later {
            jobs: self.jobs.clone(),
            begin,
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
        let board = self.boards.now();
        Later {
            jobs: self.jobs.clone(),
            begin: Begin::Now(Box::new(move || {
                let entry = board
                    .role_of_document(request.role.as_deref(), &request.id)
                    .ok_or_else(|| SearchFailure::UnknownDocument {
                        id: request.id.clone(),
                    })?;
                mended(entry, || {
                    answering::read_document(&entry.searchable_for(&request.id), &request)
                })
            })),
        }
    }
}
