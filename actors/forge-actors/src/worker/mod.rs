//! The outbox worker: posts what is due in the outbox to the forge.
//!
//! ```text
//! product --Wake, VerifyStatuses, RetryParked--> OutboxWorker --statuses, comments--> forge
//!                                                   │   ▲
//!                                      due rows, outcomes in the store
//! ```
//! It holds nothing that a crash could lose: what is due stands in the store, and a new incarnation
//! goes on from there. One post of a lane (a repository's context, an issue) is under way at a
//! time.

mod accounts;
mod options;
mod post;

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, ResponseFuture, SpawnHandle, WrapFuture,
};
use forge_core::{CommitSha, RepoName};
use http_clients::http::{HttpClient, jitter};
use store::{Store, StoreError};

use crate::age_clock::AgeClock;
use crate::messages::{RetryParked, VerifyError, VerifyStatuses, Wake};
use crate::outbox::{self, AttemptFailure, PostRetryDecision, PostTask};
pub use accounts::Accounts;
pub use options::{OutboxOptions, PostEvent};
use post::{PostOutcome, missing, post};

/// Due works read at a time.
const PAGE: usize = 256;
/// After a store that could not be read or written.
const STORE_RETRY_DELAY: Duration = Duration::from_millis(500);
/// Entries forgotten at a time.
const PRUNE_BATCH: usize = 200;
/// Between two looks at what can be forgotten.
const PRUNE_INTERVAL: Duration = Duration::from_secs(600);
/// The longest sleep: a clock that jumps is noticed by then.
const MAX_SLEEP: Duration = Duration::from_secs(60);

type Lane = (RepoName, String);

/// The actor.
pub struct OutboxWorker {
    store: Store,
    options: OutboxOptions,
    /// Made on the actor's own thread when it starts.
    http: Option<HttpClient>,
    /// Lanes with a post under way.
    busy: HashSet<Lane>,
    /// Due works are being read.
    reading: bool,
    /// Something changed meanwhile.
    again: bool,
    /// A post ended meanwhile: what is being read may still show its work as due.
    stale: bool,
    sleeping: Option<SpawnHandle>,
    /// What posts age by; read at the first look at what can be forgotten.
    ages: Arc<OnceLock<AgeClock>>,
}

/// What is due, and when the next task after it is.
type DueTasks = Result<(Vec<PostTask>, Option<u64>), StoreError>;

impl OutboxWorker {
    /// A worker for the outbox in `store`.
    #[must_use]
    pub fn new(store: Store, options: OutboxOptions) -> Self {
        Self {
            store,
            options,
            http: None,
            busy: HashSet::new(),
            reading: false,
            again: false,
            stale: false,
            sleeping: None,
            ages: Arc::default(),
        }
    }

    fn now(&self) -> u64 {
        (self.options.now)()
    }

    fn http(&self) -> HttpClient {
        self.http.clone().expect("made when the actor started")
    }

    /// Reads what is due.
    fn poll_due(&mut self, ctx: &mut Context<Self>) {
        if self.reading {
            self.again = true;
            return;
        }
        self.reading = true;
        let now = self.now();
        let read = self.store.read(move |rows| -> DueTasks {
            // The next one that is not due yet.
            Ok((outbox::due(rows, now, PAGE)?, outbox::due_after(rows, now)?))
        });
        ctx.spawn(read.into_actor(self).map(|due, worker, ctx| {
            worker.reading = false;
            let again = std::mem::take(&mut worker.again);
            if std::mem::take(&mut worker.stale) {
                // Else a work that was just done would be done once more.
                worker.poll_due(ctx);
                return;
            }
            worker.schedule(due, ctx);
            if again {
                worker.poll_due(ctx);
            }
        }));
    }

    fn schedule(&mut self, due: DueTasks, ctx: &mut Context<Self>) {
        let next = match due {
            Ok((works, next)) => {
                for work in works {
                    self.start(work, ctx);
                }
                let delay = next.map(|at| Duration::from_millis(at.saturating_sub(self.now())));
                let delay = delay.unwrap_or(MAX_SLEEP) / self.options.speed.max(1);
                delay.min(MAX_SLEEP)
            }
            Err(_) => STORE_RETRY_DELAY,
        };
        if let Some(sleeping) = self.sleeping.take() {
            ctx.cancel_future(sleeping);
        }
        self.sleeping = Some(ctx.run_later(next, |worker, ctx| {
            worker.sleeping = None;
            worker.poll_due(ctx);
        }));
    }

    /// Begins a post, unless its lane is busy or there are enough.
    fn start(&mut self, work: PostTask, ctx: &mut Context<Self>) {
        let lane = work.lane();
        if self.busy.len() >= self.options.parallel.max(1) || self.busy.contains(&lane) {
            return;
        }
        self.busy.insert(lane.clone());
        let (http, store, options) = (self.http(), self.store.clone(), self.options.clone());
        let posting = async move {
            let outcome = post(&http, &store, &*options.accounts, &work).await;
            record(&store, &options, work, outcome).await;
        };
        ctx.spawn(posting.into_actor(self).map(move |(), worker, ctx| {
            worker.busy.remove(&lane);
            worker.stale |= worker.reading;
            worker.poll_due(ctx);
        }));
    }

    fn prune(&mut self, ctx: &mut Context<Self>) {
        let (keep, wall, ages) = (self.options.keep, self.now(), Arc::clone(&self.ages));
        let pruned = self.store.write(move |rows| {
            let clock = match ages.get() {
                Some(clock) => clock,
                None => {
                    let newest = outbox::newest_post(rows)?;
                    let clock = AgeClock::open(rows, outbox::CLOCK, newest)?;
                    ages.get_or_init(|| clock)
                }
            };
            let now = clock.now(rows, wall)?;
            outbox::prune(rows, keep, now, PRUNE_BATCH)
        });
        ctx.spawn(pruned.into_actor(self).map(|pruned, worker, ctx| {
            // What the store cannot do now it can do at the next look.
            let more = pruned.is_ok_and(|count| count >= PRUNE_BATCH);
            let delay = if more {
                STORE_RETRY_DELAY
            } else {
                PRUNE_INTERVAL
            };
            let _ = worker;
            ctx.run_later(delay, Self::prune);
        }));
    }
}

/// Writes an outcome down; tries until the store takes it, so that its lane waits meanwhile.
async fn record(
    store: &Store,
    options: &OutboxOptions,
    work: PostTask,
    outcome: Result<PostOutcome, AttemptFailure>,
) {
    let settle = options.settle.max(options.http.deadline);
    loop {
        let now = (options.now)();
        let (of, what) = (work.clone(), outcome.clone());
        let written = store.write(
            move |rows| -> Result<Option<PostRetryDecision>, StoreError> {
                match (&of, what) {
                    (PostTask::Status { key, version, .. }, Ok(_)) => {
                        outbox::posted_status(rows, key, *version, now).map(|()| None)
                    }
                    (PostTask::Comment { key, .. }, Ok(PostOutcome::Comment(id))) => {
                        outbox::posted_comment(rows, key, id, settle, now).map(|()| None)
                    }
                    (PostTask::Comment { key, .. }, Ok(_)) => {
                        outbox::absent_comment(rows, key, settle, now).map(|()| None)
                    }
                    (work, Err(failed)) => {
                        outbox::record_failure(rows, work, &failed, settle, now, jitter()).map(Some)
                    }
                }
            },
        );
        match written.await {
            Ok(next) => return options.report(&work, &outcome, next),
            Err(error) if error.is_final() => return,
            Err(_) => tokio::time::sleep(STORE_RETRY_DELAY).await,
        }
    }
}

impl Actor for OutboxWorker {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.http = Some(HttpClient::new(self.options.http.clone()));
        self.poll_due(ctx);
        self.prune(ctx);
    }
}

impl Handler<Wake> for OutboxWorker {
    type Result = ();

    fn handle(&mut self, Wake: Wake, ctx: &mut Context<Self>) {
        self.poll_due(ctx);
    }
}

impl Handler<RetryParked> for OutboxWorker {
    type Result = ResponseFuture<Result<usize, StoreError>>;

    fn handle(&mut self, RetryParked: RetryParked, ctx: &mut Context<Self>) -> Self::Result {
        let now = self.now();
        let address = ctx.address();
        let retried = self
            .store
            .write(move |rows| outbox::retry_parked(rows, now, PAGE * 4));
        Box::pin(async move {
            let count = retried.await?;
            address.do_send(Wake);
            Ok(count)
        })
    }
}

impl Handler<VerifyStatuses> for OutboxWorker {
    type Result = ResponseFuture<Result<usize, VerifyError>>;

    fn handle(&mut self, verify: VerifyStatuses, ctx: &mut Context<Self>) -> Self::Result {
        let (http, store, options) = (self.http(), self.store.clone(), self.options.clone());
        let address = ctx.address();
        Box::pin(async move {
            let count = compare(&http, &store, &options, verify.repo, verify.sha).await?;
            if count > 0 {
                address.do_send(Wake);
            }
            Ok(count)
        })
    }
}

/// Compares the statuses begun for a commit with the forge's; says how many are due again.
async fn compare(
    http: &HttpClient,
    store: &Store,
    options: &OutboxOptions,
    repo: RepoName,
    sha: CommitSha,
) -> Result<usize, VerifyError> {
    let (of, at) = (repo.clone(), sha.clone());
    let begun = store
        .read(move |rows| outbox::obligations(rows, &of, &at))
        .await?;
    let Some(first) = begun.iter().find(|obligation| obligation.posted) else {
        return Ok(0);
    };
    let account = first.account.clone();
    let Some(forge) = options.accounts.client(http, &account) else {
        return Err(VerifyError::NoAccount { account });
    };
    let have = forge.statuses(&repo, &sha).await?;
    let missing: Vec<_> = begun
        .into_iter()
        .filter(|obligation| missing(obligation, &have))
        .collect();
    let now = (options.now)();
    let marked = store.write(move |rows| -> Result<usize, StoreError> {
        let mut count = 0;
        for lost in &missing {
            let context = &lost.status.context;
            let marked = outbox::mark_missing(rows, &repo, &sha, context, lost.version, now)?;
            count += usize::from(marked);
        }
        Ok(count)
    });
    Ok(marked.await?)
}
