//! The commit of an event that does not name it: that of a pull request is asked of the forge's
//! API, else of the reference it keeps for it; that of all others of their branch or tag.

use std::sync::Arc;
use std::time::Duration;

use forge_core::{PullRequestNumber, RepoName};
use runner_core::event::RunCommit;
use runner_core::state::RunState;
use store::StoreError;
use tokio::sync::watch;

use super::signals::unless_cancelled;

use crate::event::StoredEvent;
use crate::heads::{self, HeadSource, ReportedHead};
use crate::ledger::RunLedger;
use crate::repositories::{Repositories, SourceError};
use crate::rows;

/// Longest wait for a repository's answer.
const GIT_TIMEOUT: Duration = Duration::from_secs(60);

/// Why there is nothing to run.
pub(super) enum NoHead {
    /// It cannot be had.
    Failed(SourceError),
    /// Another run has it.
    Known(String),
    /// The run was ended while it was asked for: why.
    Cancelled(String),
}

impl NoHead {
    pub(super) fn state(&self) -> RunState {
        match self {
            Self::Failed(error) => error.state(),
            Self::Known(_) => RunState::Ignored,
            Self::Cancelled(_) => RunState::Cancelled,
        }
    }
}

impl std::fmt::Display for NoHead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::Known(run) => write!(f, "the pull request's newest commit is run already: {run}"),
            Self::Cancelled(reason) => f.write_str(reason),
        }
    }
}

/// Finds the commit, and notes it in the event and the record.
pub(super) async fn resolve_head(
    repositories: &Repositories,
    ledger: &mut RunLedger,
    cancelled: &mut watch::Receiver<Option<String>>,
) -> Result<(), NoHead> {
    if !ledger.event.sha.is_empty() {
        return Ok(());
    }
    let found = unless_cancelled(cancelled, find(repositories, &ledger.event)).await;
    let event = found.map_err(NoHead::Cancelled)?.map_err(NoHead::Failed)?;
    ledger.record.sha.clone_from(&event.sha);
    ledger.record.reference.clone_from(&event.reference);
    ledger.event = Arc::new(event);
    let (event, record) = (Arc::clone(&ledger.event), ledger.record.clone());
    let noted = ledger.recorder.store.write(move |rows| {
        rows::put_event(rows, &record.id, &event)?;
        rows::put_run(rows, &record)?;
        let Some(reported) = ReportedHead::from_event(&event) else {
            return Ok::<_, StoreError>(None);
        };
        let known = heads::run_of(rows, &reported)?.filter(|run| *run != record.id);
        if known.is_none() {
            heads::record_head(rows, &reported, &record.id, HeadSource::Webhook)?;
        }
        Ok(known)
    });
    match noted.await {
        Ok(Some(run)) => Err(NoHead::Known(run)),
        Ok(None) => Ok(()),
        Err(error) => Err(NoHead::Failed(SourceError::NoHead(error.to_string()))),
    }
}

async fn find(
    repositories: &Repositories,
    event: &StoredEvent,
) -> Result<StoredEvent, SourceError> {
    let repo: RepoName = event
        .repository
        .parse()
        .map_err(|_| SourceError::Id("repository"))?;
    if event.kind().commit() != RunCommit::PullHead {
        let (repositories, event) = (repositories.clone(), event.clone());
        let found = tokio::task::spawn_blocking(move || of_reference(&repositories, &repo, event));
        return found
            .await
            .unwrap_or_else(|error| Err(SourceError::NoHead(error.to_string())));
    }
    let number = event.number.ok_or(SourceError::Id("pull request"))?;
    if let (Some(forge), Ok(number)) = (
        repositories.forge_client(),
        PullRequestNumber::try_from(number),
    ) {
        match forge.pull(&repo, number).await {
            Ok(pull) => return Ok(event.clone().of_pull(&pull)),
            Err(error) => {
                tracing::debug!(event = "run.head_not_told", %error, "the forge's API does not tell a pull request's head; git is asked");
            }
        }
    }
    let (repositories, event) = (repositories.clone(), event.clone());
    let found = tokio::task::spawn_blocking(move || by_git(&repositories, &repo, event));
    found
        .await
        .unwrap_or_else(|error| Err(SourceError::NoHead(error.to_string())))
}

/// The newest commit of the event's reference, else of the default branch.
fn of_reference(
    repositories: &Repositories,
    repo: &RepoName,
    event: StoredEvent,
) -> Result<StoredEvent, SourceError> {
    let remote = repositories.remote(&event.clone_url, &event.repository)?;
    let mirror = repositories.mirror(repo)?;
    if event.reference.is_empty() {
        let (branch, head) = mirror
            .remote_default(&remote, GIT_TIMEOUT)?
            .ok_or_else(|| {
                SourceError::NoHead("the repository has no default branch".to_owned())
            })?;
        return Ok(event.at_head(Some(format!("refs/heads/{branch}")), &head));
    }
    let head = mirror.remote_ref(&remote, &event.reference, GIT_TIMEOUT)?;
    let head = head.ok_or_else(|| {
        SourceError::NoHead(format!("the repository has no {} now", event.reference))
    })?;
    Ok(event.at_head(None, &head))
}

fn by_git(
    repositories: &Repositories,
    repo: &RepoName,
    event: StoredEvent,
) -> Result<StoredEvent, SourceError> {
    let remote = repositories.remote(&event.clone_url, &event.repository)?;
    let mirror = repositories.mirror(repo)?;
    let head = mirror.remote_ref(&remote, &event.reference, GIT_TIMEOUT)?;
    let head = head.ok_or_else(|| {
        SourceError::NoHead(format!(
            "neither the forge's API nor the reference {} tells it; set FORGE_URL and FORGE_TOKEN",
            event.reference
        ))
    })?;
    let base = mirror.remote_default(&remote, GIT_TIMEOUT)?;
    let base = base.ok_or(SourceError::Id("base commit"))?;
    Ok(event.of_reference(&head, base))
}
