//! The search service: takes searches and gives them to threads that may block.
//!
//! ```text
//! HTTP edge --Search, ReadDocument--> SearchService --job--> worker threads
//!     ^                                |     ^                 |
//!     |                           QuerySources |                 |
//!     |                                v     |                 |
//!     |                 RemoteSources (sources that are asked at query time), EmbeddingService (the query's vector; best results)
//!     +-----------------------reply----------------------------+
//! ```
//! A worker answers the sender itself: the service's own thread is not woken for the reply. How
//! many searches may be under way is the capacity of the service's child spec; beyond it the sender
//! gets `Full`, never a silent wait.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use actix::dev::{MessageResponse, OneshotSender};
use actix::{Actor, Context, Handler, Message};
use crossbeam_channel::{Receiver, Sender, bounded};
use futures_util::future::LocalBoxFuture;
use search_engine::answering::{self, SearchFailure, SearchParams};
use search_graph_engine::embedding::ServedQuery;
use supervision::ChildRef;
use tokio::sync::oneshot;

use crate::embedding::{EmbeddingService, PendingQuery, QueryEmbedder};
use crate::messages::{QuerySources, ReadDocument, Search};
use crate::registry::{RoleEntry, RoleRegistry, RoleSet};
use crate::remote_sources::{self, RemoteSources, SourceOutcome};
use crate::rerankers::{Rerankers, RoleReranker};

/// Jobs in the queue for each permit.
const JOBS_PER_PERMIT: usize = 4;

type Job = Box<dyn FnOnce() + Send>;

/// What makes the reply to a message.
type ReplyWork<M> = Box<dyn FnOnce() -> <M as Message>::Result + Send>;

/// A reply that is made now, or when others have been asked.
enum ReplyPlan<M: Message> {
    Now(ReplyWork<M>),
    /// None where a job was refused.
    After(LocalBoxFuture<'static, Option<ReplyWork<M>>>),
}

/// The actor.
pub struct SearchService {
    /// Who asks other servers.
    remote_sources: ChildRef<RemoteSources>,
    registry: RoleRegistry,
    /// Gives the query to embedding models of servers.
    queries: QueryEmbedder,
    /// Has the best results read once more.
    rerankers: Rerankers,
    /// Where the workers take their jobs from. Dropped with the service, which ends them.
    jobs: Sender<Job>,
}

impl SearchService {
    /// A service with `threads` workers of its own over what the role sets show.
    #[must_use]
    pub fn new(
        registry: &RoleRegistry,
        threads: usize,
        capacity: usize,
        (remote_sources, embedding): (ChildRef<RemoteSources>, ChildRef<EmbeddingService>),
    ) -> Self {
        // The permits bound the jobs that somebody waits for; abandoned ones stay until a worker
        // passes over them.
        let (jobs, queue) = bounded(capacity.max(1) * JOBS_PER_PERMIT);
        for number in 0..threads.max(1) {
            let queue = queue.clone();
            std::thread::Builder::new()
                .name(format!("search-{number}"))
                .spawn(move || work(&queue))
                .expect("the system can start a thread at start-up");
        }
        Self {
            remote_sources,
            registry: registry.clone(),
            queries: QueryEmbedder::new(embedding.clone()),
            rerankers: Rerankers::new(embedding),
            jobs,
        }
    }

    /// The question to other servers that a search needs answered first.
    fn question(
        &self,
        role_set: &RoleSet,
        params: &SearchParams,
    ) -> Option<(ChildRef<RemoteSources>, QuerySources)> {
        let entry = role_set.role(params.role.as_deref())?;
        let ids: Vec<String> = entry
            .live_sources(&params.sources)
            .map(|source| source.handle.id.clone())
            .collect();
        if ids.is_empty() {
            return None;
        }
        let words = remote_sources::question(&params.request)?;
        Some((self.remote_sources.clone(), QuerySources { ids, words }))
    }
}

/// Asks; whoever cannot be asked at all is reported like one that does not answer.
async fn outcomes(
    remote_sources: ChildRef<RemoteSources>,
    question: QuerySources,
) -> Vec<SourceOutcome> {
    let ids = question.ids.clone();
    let answer = remote_sources.ask(question).await;
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
    role_set: &RoleSet,
    params: &SearchParams,
    outcomes: &[SourceOutcome],
    served: &[ServedQuery],
    reranker: Option<&RoleReranker>,
) -> <Search as Message>::Result {
    let role = params.role.as_deref();
    let entry = role_set
        .role(role)
        .ok_or_else(|| role_set.unknown_role(role))?;
    retry_without_damaged(entry, || {
        let mut searched = entry.searchable_with(outcomes);
        searched.role.served = served.to_vec();
        searched.role.reranking = reranker.map(RoleReranker::reranking);
        let answer =
            remote_sources::with_times(answering::search(&searched.role, params)?, &searched);
        remote_sources::store_items(entry, &searched, &answer);
        Ok(answer)
    })
}

/// What `work` gives; once more where it has failed because an index is damaged: then without that
/// index, whose indexer has been told. Damaged files end in errors, or in panics where they are
/// decoded.
fn retry_without_damaged<T>(
    entry: &RoleEntry,
    work: impl Fn() -> Result<T, SearchFailure>,
) -> Result<T, SearchFailure> {
    let done = catch_unwind(AssertUnwindSafe(&work));
    let has_failed = matches!(&done, Err(_) | Ok(Err(SearchFailure::Index { .. })));
    if has_failed {
        let damaged = entry.sources.iter();
        let damaged = damaged.filter(|source| source.handle.quarantine_if_damaged());
        if damaged.count() > 0 {
            return work();
        }
    }
    done.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Takes jobs until the service is gone. A job that panics is answered by its dropped sender.
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

impl Actor for SearchService {
    type Context = Context<Self>;
}

/// A reply that a worker sends.
pub struct DeferredReply<M: Message> {
    jobs: Sender<Job>,
    plan: ReplyPlan<M>,
}

impl<M> MessageResponse<SearchService, M> for DeferredReply<M>
where
    M: Message + 'static,
    M::Result: Send,
{
    fn handle(self, _: &mut Context<SearchService>, reply: Option<OneshotSender<M::Result>>) {
        let Self { jobs, plan } = self;
        match plan {
            ReplyPlan::Now(work) => enqueue::<M>(&jobs, work, reply),
            ReplyPlan::After(remote_sources) => {
                let Some(mut reply) = reply else { return };
                actix_rt::spawn(async move {
                    // Nobody waits for others on behalf of somebody who has left.
                    let work = tokio::select! {
                        biased;
                        () = reply.closed() => return,
                        work = remote_sources => work,
                    };
                    // Without work the reply is dropped, which the sender sees.
                    if let Some(work) = work {
                        enqueue::<M>(&jobs, work, Some(reply));
                    }
                });
            }
        }
    }
}

/// What `work` gives on a worker; none where it is refused, or panics.
async fn run_on_worker<T: Send + 'static>(
    jobs: &Sender<Job>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, done) = oneshot::channel();
    let job: Job = Box::new(move || {
        if !sender.is_closed() {
            let _ = sender.send(work());
        }
    });
    jobs.try_send(job).ok()?;
    done.await.ok()
}

fn enqueue<M>(jobs: &Sender<Job>, work: ReplyWork<M>, reply: Option<OneshotSender<M::Result>>)
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
    // A job that is refused drops the reply, which the sender sees.
    let _ = jobs.try_send(job);
}

async fn query_remote(
    question: Option<(ChildRef<RemoteSources>, QuerySources)>,
) -> Vec<SourceOutcome> {
    match question {
        Some((remote_sources, question)) => outcomes(remote_sources, question).await,
        None => Vec::new(),
    }
}

async fn embed_queries(queries: QueryEmbedder, wanted: Option<PendingQuery>) -> Vec<ServedQuery> {
    match wanted {
        Some(wanted) => queries.embed(wanted).await,
        None => Vec::new(),
    }
}

/// A search, and what others have answered for it.
struct SearchWork {
    role_set: Arc<RoleSet>,
    params: SearchParams,
    outcomes: Vec<SourceOutcome>,
    served: Vec<ServedQuery>,
    reranker: Option<RoleReranker>,
}

impl SearchWork {
    fn run(&self) -> <Search as Message>::Result {
        let Self {
            role_set,
            params,
            outcomes,
            served,
            reranker,
        } = self;
        search(role_set, params, outcomes, served, reranker.as_ref())
    }

    /// What makes the reply. Where a server reads the results once more they are found first; it is
    /// asked without a worker that waits.
    async fn reply(self, jobs: Sender<Job>) -> Option<ReplyWork<Search>> {
        let Some(reranker) = self.reranker.clone().filter(RoleReranker::is_served) else {
            return Some(Box::new(move || self.run()));
        };
        let work = Arc::new(self);
        let first = Arc::clone(&work);
        let found = run_on_worker(&jobs, move || first.run()).await?;
        if found != Err(SearchFailure::Unscored) {
            return Some(Box::new(move || found));
        }
        reranker.fetch_scores().await;
        Some(Box::new(move || work.run()))
    }
}

impl Handler<Search> for SearchService {
    type Result = DeferredReply<Search>;

    fn handle(&mut self, Search(params): Search, _: &mut Context<Self>) -> Self::Result {
        let role_set = self.registry.now();
        let wanted = role_set
            .role(params.role.as_deref())
            .map(|entry| self.queries.prepare(entry, &params));
        let question = self.question(&role_set, &params);
        let reranker = role_set
            .role(params.role.as_deref())
            .and_then(|entry| self.rerankers.for_role(&entry.role.extra));
        let asks_first =
            question.is_some() || wanted.as_ref().is_some_and(PendingQuery::needs_server);
        let is_served = reranker.as_ref().is_some_and(RoleReranker::is_served);
        let plan = if asks_first || is_served {
            let (queries, jobs) = (self.queries.clone(), self.jobs.clone());
            ReplyPlan::After(Box::pin(async move {
                let (outcomes, served) =
                    tokio::join!(query_remote(question), embed_queries(queries, wanted));
                let work = SearchWork {
                    role_set,
                    params,
                    outcomes,
                    served,
                    reranker,
                };
                work.reply(jobs).await
            }))
        } else {
            let served = wanted.map(PendingQuery::cached).unwrap_or_default();
            ReplyPlan::Now(Box::new(move || {
                search(&role_set, &params, &[], &served, reranker.as_ref())
            }))
        };
        DeferredReply {
            jobs: self.jobs.clone(),
            plan,
        }
    }
}

impl Handler<ReadDocument> for SearchService {
    type Result = DeferredReply<ReadDocument>;

    fn handle(
        &mut self,
        ReadDocument(request): ReadDocument,
        _: &mut Context<Self>,
    ) -> Self::Result {
        let role_set = self.registry.now();
        DeferredReply {
            jobs: self.jobs.clone(),
            plan: ReplyPlan::Now(Box::new(move || {
                let entry = role_set
                    .role_of_document(request.role.as_deref(), &request.id)
                    .ok_or_else(|| SearchFailure::UnknownDocument {
                        id: request.id.clone(),
                    })?;
                retry_without_damaged(entry, || {
                    answering::read_document(&entry.searchable_for(&request.id), &request)
                })
            })),
        }
    }
}
