//! A run that somebody starts by hand: at the newest commit that the branch has now, as the
//! repository itself says.

use std::time::Duration;

use runner_core::event::EventKind;
use store::{Store, StoreError};

use crate::event::StoredEvent;
use crate::known_repository::KnownRepository;
use crate::messages::{Dispatch, NotDispatched};
use crate::repositories::Repositories;
use crate::rows;

/// Longest wait for the repository's answer: whoever asks waits too.
const GIT_TIMEOUT: Duration = Duration::from_secs(8);

/// The event of a dispatch, at the branch's head.
pub(crate) async fn event_at_head(
    store: &Store,
    repositories: Repositories,
    request: &Dispatch,
) -> Result<Result<StoredEvent, NotDispatched>, StoreError> {
    let repository = request.repository.clone();
    let known = store.read(move |rows| rows::known(rows, &repository));
    let Some(known) = known.await? else {
        return Ok(Err(NotDispatched::Repository));
    };
    let branch = request.branch.clone();
    let found = tokio::task::spawn_blocking(move || at_head(&repositories, &known, branch));
    let found = found
        .await
        .unwrap_or_else(|error| Err(NotDispatched::Unreachable(error.to_string())));
    Ok(found.map(|event| event.dispatched(&request.actor, request.inputs.clone())))
}

fn at_head(
    repositories: &Repositories,
    known: &KnownRepository,
    branch: Option<String>,
) -> Result<StoredEvent, NotDispatched> {
    let unreachable = |error: String| NotDispatched::Unreachable(error);
    let repo = known
        .repository
        .parse()
        .map_err(|_| NotDispatched::Repository)?;
    let remote = repositories.remote(&known.clone_url);
    let remote = remote.map_err(|error| unreachable(error.to_string()))?;
    let mirror = repositories.mirror(&repo);
    let mirror = mirror.map_err(|error| unreachable(error.to_string()))?;
    let (branch, head) = match branch.or_else(|| known.default_branch.clone()) {
        Some(branch) => {
            let head = mirror.remote_ref(&remote, &format!("refs/heads/{branch}"), GIT_TIMEOUT);
            (branch, head)
        }
        None => match mirror.remote_default(&remote, GIT_TIMEOUT) {
            Ok(Some((branch, head))) => (branch, Ok(Some(head))),
            Ok(None) => return Err(NotDispatched::Branch),
            Err(error) => return Err(unreachable(error.to_string())),
        },
    };
    let head = head.map_err(|error| unreachable(error.to_string()))?;
    let head = head.ok_or(NotDispatched::Branch)?;
    Ok(known.event_at_branch(EventKind::WorkflowDispatch, &branch, head.as_str()))
}
