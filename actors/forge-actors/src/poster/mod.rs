//! The poster: gives the forge what is in the outbox.
//!
//! ```text
//! product --Wake, VerifyStatuses, RetryParked--> ForgePoster --statuses, comments--> forge
//!                                                   │   ▲
//!                                      due rows, outcomes in the store
//! ```
//! It holds nothing that a crash could lose: what is due stands in the store, and a new life goes on
//! from there. One post of a lane (a repository's context, an issue) is under way at a time.

mod options;
mod post;

use std::collections::HashSet;
use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, ResponseFuture, SpawnHandle, WrapFuture,
};
use forge_core::{CommitSha, RepoName};
use outbound::http::{HttpClient, jitter};
use store::{Store, StoreError};

use crate::messages::{RetryParked, VerifyError, VerifyStatuses, Wake};
use crate::outbox::{self, Failed, Next, Work};
pub use options::{Accounts, PostEvent, PosterOptions};
use post::{Posted, missing, post};

/// Due works read at a time.
const PAGE: usize = 256;
/// After a store that could not be read or written.
const STORE_PAUSE: Duration = Duration::from_millis(500);
/// Entries forgotten at a time.
const PRUNED: usize = 200;
/// Between two looks at what can be forgotten.
const PRUNE_EVERY: Duration = Duration::from_secs(600);
/// The longest sleep: a clock that jumps is noticed by then.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

type Lane = (RepoName, String);

/// The actor.
pub struct ForgePoster {
    store: Store,
    options: PosterOptions,
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
}

/// What one look into the store gave.
type Look = Result<(Vec<Work>, Option<u64>), StoreError>;

impl ForgePoster {
    /// A poster of the outbox in `store`.
    #[must_use]
    pub fn new(store: Store, options: PosterOptions) -> Self {
        Self {
            store,
            options,
            http: None,
            busy: HashSet::new(),
            reading: false,
            again: false,
            stale: false,
            sleeping: None,
        }
    }

    fn now(&self) -> u64 {
        (self.options.now)()
    }

    fn http(&self) -> HttpClient {
        self.http.clone().expect("made when the actor started")
    }

    /// Looks for what is due.
    fn look(&mut self, ctx: &mut Context<Self>) {
        if self.reading {
            self.again = true;
            return;
        }
        self.reading = true;
        let now = self.now();
        let read = self.store.read(move |rows| -> Look {
            // The next one that is not due yet.
            Ok((outbox::due(rows, now, PAGE)?, outbox::due_after(rows, now)?))
        });
        ctx.spawn(read.into_actor(self).map(|look, poster, ctx| {
            poster.reading = false;
            let again = std::mem::take(&mut poster.again);
            if std::mem::take(&mut poster.stale) {
                // Else a work that was just done would be done once more.
                poster.look(ctx);
                return;
            }
            poster.looked(look, ctx);
            if again {
                poster.look(ctx);
            }
        }));
    }

    fn looked(&mut self, look: Look, ctx: &mut Context<Self>) {
        let next = match look {
            Ok((works, next)) => {
                for work in works {
                    self.start(work, ctx);
                }
                let delay = next.map(|at| Duration::from_millis(at.saturating_sub(self.now())));
                let delay = delay.unwrap_or(LONGEST_SLEEP) / self.options.speed.max(1);
                delay.min(LONGEST_SLEEP)
            }
            Err(_) => STORE_PAUSE,
        };
        if let Some(sleeping) = self.sleeping.take() {
            ctx.cancel_future(sleeping);
        }
        self.sleeping = Some(ctx.run_later(next, |poster, ctx| {
            poster.sleeping = None;
            poster.look(ctx);
        }));
    }

    /// Begins a post, unless its lane is busy or there are enough.
    fn start(&mut self, work: Work, ctx: &mut Context<Self>) {
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
        ctx.spawn(posting.into_actor(self).map(move |(), poster, ctx| {
            poster.busy.remove(&lane);
            poster.stale |= poster.reading;
            poster.look(ctx);
        }));
    }

    fn prune(&mut self, ctx: &mut Context<Self>) {
        let (keep, now) = (self.options.keep, self.now());
        let pruned = self
            .store
            .write(move |rows| outbox::prune(rows, keep, now, PRUNED));
        ctx.spawn(pruned.into_actor(self).map(|pruned, poster, ctx| {
            // What the store cannot do now it can do at the next look.
            let more = pruned.is_ok_and(|count| count >= PRUNED);
            let delay = if more { STORE_PAUSE } else { PRUNE_EVERY };
            let _ = poster;
            ctx.run_later(delay, Self::prune);
        }));
    }
}

/// Writes an outcome down; tries until the store takes it, so that its lane waits meanwhile.
async fn record(
    store: &Store,
    options: &PosterOptions,
    work: Work,
    outcome: Result<Posted, Failed>,
) {
    let settle = options.settle.max(options.http.deadline);
    loop {
        let now = (options.now)();
        let (of, what) = (work.clone(), outcome.clone());
        let written = store.write(move |rows| -> Result<Option<Next>, StoreError> {
            match (&of, what) {
                (Work::Status { key, version, .. }, Ok(_)) => {
                    outbox::posted_status(rows, key, *version, now).map(|()| None)
                }
                (Work::Comment { key, .. }, Ok(Posted::Comment(id))) => {
                    outbox::posted_comment(rows, key, id, settle, now).map(|()| None)
                }
                (Work::Comment { key, .. }, Ok(_)) => {
                    outbox::absent_comment(rows, key, settle, now).map(|()| None)
                }
                (work, Err(failed)) => {
                    outbox::record_failure(rows, work, &failed, settle, now, jitter()).map(Some)
                }
            }
        });
        match written.await {
            Ok(next) => return options.tell(&work, &outcome, next),
            Err(StoreError::Closed) => return,
            Err(_) => tokio::time::sleep(STORE_PAUSE).await,
        }
    }
}

impl Actor for ForgePoster {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.http = Some(HttpClient::new(self.options.http.clone()));
        self.look(ctx);
        self.prune(ctx);
    }
}

impl Handler<Wake> for ForgePoster {
    type Result = ();

    fn handle(&mut self, Wake: Wake, ctx: &mut Context<Self>) {
        self.look(ctx);
    }
}

impl Handler<RetryParked> for ForgePoster {
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

impl Handler<VerifyStatuses> for ForgePoster {
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
    options: &PosterOptions,
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
