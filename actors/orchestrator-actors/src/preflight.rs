//! What only the forge can say, asked before a run starts: whether the author of a comment may
//! write to the repository, and whether the message of a pull request's head commit says
//! `[skip ci]`.
//!
//! ```text
//! Intake, Dispatcher --CheckBeforeStart--> Preflight ──asks──▶ forge, then the run's row ──▶ tick, outbox
//! ```
//! A forge that does not answer leaves the run waiting, and the next tick asks again; one that
//! refuses to say (a token without that right) is a no, with the reason in the log.

use std::collections::BTreeSet;
use std::sync::Arc;

use actix::fut::{ActorFutureExt, WrapFuture};
use actix::{Actor, AsyncContext, Context, Handler};
use forge_core::{Login, RepoName, RunId, skip_mark};
use http_clients::forge::{ForgeClient, ForgeError, Permission};
use http_clients::http::HttpClient;
use orchestrator_core::run::Reason;
use tokio::sync::Semaphore;

use crate::accounts::{forge_client, http_client};
use crate::change_notifier::ChangeNotifier;
use crate::ledger::{self, ForgeQuestion, Ledger};
use crate::messages::CheckBeforeStart;

/// Runs that are checked or wait for it; further ones are asked for again by the next tick.
const MAX_PENDING: usize = 1024;
/// Questions to the forge at a time.
const MAX_CONCURRENT: usize = 8;

/// The actor.
pub(crate) struct Preflight {
    ledger: Ledger,
    notifier: ChangeNotifier,
    http: Option<HttpClient>,
    /// Runs that are being checked.
    pending: BTreeSet<RunId>,
    permits: Arc<Semaphore>,
}

impl Preflight {
    pub(crate) fn new(ledger: Ledger, notifier: ChangeNotifier) -> Self {
        Self {
            ledger,
            notifier,
            http: None,
            pending: BTreeSet::new(),
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT)),
        }
    }
}

impl Actor for Preflight {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Context<Self>) {
        self.http = Some(http_client());
    }
}

impl Handler<CheckBeforeStart> for Preflight {
    type Result = ();

    fn handle(&mut self, CheckBeforeStart(run): CheckBeforeStart, ctx: &mut Context<Self>) {
        let client = self.http.clone();
        let client = client.and_then(|http| forge_client(&self.ledger.config(), http));
        let Some(client) = client.filter(|_| self.pending.len() < MAX_PENDING) else {
            return;
        };
        if !self.pending.insert(run.clone()) {
            return;
        }
        let (ledger, permits, checked) =
            (self.ledger.clone(), Arc::clone(&self.permits), run.clone());
        let checking = async move {
            // It is never closed.
            let _permit = permits.acquire().await;
            check(&ledger, &client, &checked).await;
        };
        let checking = checking
            .into_actor(self)
            .map(move |(), preflight, _| preflight.finish(&run));
        ctx.spawn(checking);
    }
}

impl Preflight {
    fn finish(&mut self, run: &RunId) {
        self.pending.remove(run);
        // A refusal has its status and its answer in the outbox.
        self.notifier.notify();
    }
}

/// Asks what a run depends on, and stores the answer.
async fn check(ledger: &Ledger, client: &ForgeClient, run: &RunId) {
    let id = run.clone();
    let read = ledger.read(move |rows| ledger::forge_question(rows, &id));
    // The next tick asks again.
    let Ok(Some(question)) = read.await else {
        return;
    };
    let against = match question {
        // Nobody to ask about.
        ForgeQuestion::Author(_, None) => Some(Reason::NotAllowed),
        ForgeQuestion::Author(repository, Some(author)) => {
            match may_write(client, run, &repository, &author).await {
                Some(may_write) => (!may_write).then_some(Reason::NotAllowed),
                None => return,
            }
        }
        ForgeQuestion::Message(repository, sha) => {
            // A forge that does not say keeps nothing from being checked.
            let message = client.commit_message(&repository, &sha).await;
            let message = message.ok().flatten().unwrap_or_default();
            skip_mark(&message).map(|_| Reason::SkipCi)
        }
    };
    let id = run.clone();
    let written = ledger.write(move |txn| ledger::checked(txn, &id, against));
    if let Err(error) = written.await {
        tracing::warn!(event = "forge.author_not_stored", run = %run, error = %error, "the next tick asks again");
    }
}

/// `None`: the forge cannot say now.
async fn may_write(
    client: &ForgeClient,
    run: &RunId,
    repository: &RepoName,
    author: &Login,
) -> Option<bool> {
    match client.permission(repository, author).await {
        Ok(permission) => {
            let may_write = permission >= Permission::Write;
            if !may_write {
                tracing::info!(
                    event = "forge.author_refused", run = %run, repository = %repository, author = %author,
                    permission = ?permission, "the author of a mention may not write to the repository"
                );
            }
            Some(may_write)
        }
        Err(error) => without_answer(&error, run, author),
    }
}

/// What a question that failed means.
fn without_answer(error: &ForgeError, run: &RunId, author: &Login) -> Option<bool> {
    if error.is_temporary() {
        tracing::warn!(
            event = "forge.author_unknown", run = %run, author = %author, error = %error,
            "the forge cannot be asked about the author of a mention; the next tick tries again"
        );
        return None;
    }
    tracing::error!(
        event = "forge.author_unknown", run = %run, author = %author, error = %error,
        "the forge does not say who may write: give the orchestrator a token of an administrator of the repository, \
         name who may ask in `mentions.allow`, or set `mentions.require_write = false`"
    );
    Some(false)
}
