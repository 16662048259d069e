//! What only the forge can say, asked before a run starts: whether the author of a comment may write to the repository,
//! and whether the message of a pull request's head commit says `[skip ci]`.
//!
//! A forge that does not answer leaves the run waiting, and the next tick asks again; one that refuses to say
//! (a token without that right) is a no, with the reason in the log.

use std::collections::BTreeSet;
use std::sync::Arc;

use forge_core::{Login, RepoName, RunId, skip_mark};
use orchestrator_core::run::Reason;
use outbound::forge::{ForgeClient, ForgeError, Permission};
use parking_lot::Mutex;

use crate::ledger::{self, Question};
use crate::shared::Shared;

/// Runs whose author is being asked about.
pub(crate) type Asking = Arc<Mutex<BTreeSet<RunId>>>;

/// Asks what a run depends on, and writes the answer down.
pub(crate) async fn check(shared: &Shared, client: &ForgeClient, run: &RunId) {
    let id = run.clone();
    let read = shared
        .store()
        .read(move |rows| ledger::question_of(rows, &id));
    // The next tick asks again.
    let Ok(Some(question)) = read.await else {
        return;
    };
    let against = match question {
        // Nobody to ask about.
        Question::Author(_, None) => Some(Reason::NotAllowed),
        Question::Author(repository, Some(author)) => {
            match ask(client, run, &repository, &author).await {
                Some(may_write) => (!may_write).then_some(Reason::NotAllowed),
                None => return,
            }
        }
        Question::Message(repository, sha) => {
            // A forge that does not say keeps nothing from being checked.
            let message = client.commit_message(&repository, &sha).await;
            let message = message.ok().flatten().unwrap_or_default();
            skip_mark(&message).map(|_| Reason::SkipCi)
        }
    };
    let id = run.clone();
    let written = shared.write(move |book| ledger::checked(book, &id, against));
    if let Err(error) = written.await {
        tracing::warn!(event = "forge.author_not_stored", run = %run, error = %error, "the next tick asks again");
    }
}

/// `None`: the forge cannot say now.
async fn ask(
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
        Err(error) => said(&error, run, author),
    }
}

fn said(error: &ForgeError, run: &RunId, author: &Login) -> Option<bool> {
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
