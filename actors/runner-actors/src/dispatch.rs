//! What somebody starts by hand: at the newest commit that the branch has now, as the repository itself says.

use std::sync::Arc;
use std::time::Duration;

use runner_core::event::EventKind;
use store::StoreError;

use crate::event::StoredEvent;
use crate::known::Known;
use crate::messages::{Dispatch, NotDispatched};
use crate::rows;
use crate::service::Shared;
use crate::source::remote;

/// Longest wait for the repository's answer: whoever asks waits too.
const ANSWER: Duration = Duration::from_secs(8);

/// The event of a dispatch.
pub(crate) async fn event_of(
    shared: &Arc<Shared>,
    order: &Dispatch,
) -> Result<Result<StoredEvent, NotDispatched>, StoreError> {
    let repository = order.repository.clone();
    let known = shared
        .store
        .read(move |rows| rows::known(rows, &repository))
        .await?;
    let Some(known) = known else {
        return Ok(Err(NotDispatched::Repository));
    };
    let (shared, branch) = (Arc::clone(shared), order.branch.clone());
    let found = tokio::task::spawn_blocking(move || at_head(&shared, &known, branch));
    let found = found
        .await
        .unwrap_or_else(|error| Err(NotDispatched::Unreachable(error.to_string())));
    Ok(found.map(|event| event.dispatched(&order.actor, order.inputs.clone())))
}

fn at_head(
    shared: &Shared,
    known: &Known,
    branch: Option<String>,
) -> Result<StoredEvent, NotDispatched> {
    let unreachable = |error: String| NotDispatched::Unreachable(error);
    let repo = known
        .repository
        .parse()
        .map_err(|_| NotDispatched::Repository)?;
    let remote = remote(&shared.settings, &known.clone_url);
    let remote = remote.map_err(|error| unreachable(error.to_string()))?;
    let mirror = shared.mirrors.open(&repo);
    let mirror = mirror.map_err(|error| unreachable(error.to_string()))?;
    let (branch, head) = match branch.or_else(|| known.default_branch.clone()) {
        Some(branch) => {
            let head = mirror.remote_ref(&remote, &format!("refs/heads/{branch}"), ANSWER);
            (branch, head)
        }
        None => match mirror.remote_default(&remote, ANSWER) {
            Ok(Some((branch, head))) => (branch, Ok(Some(head))),
            Ok(None) => return Err(NotDispatched::Branch),
            Err(error) => return Err(unreachable(error.to_string())),
        },
    };
    let head = head.map_err(|error| unreachable(error.to_string()))?;
    let head = head.ok_or(NotDispatched::Branch)?;
    let event = known.at(EventKind::WorkflowDispatch, &branch, head.as_str());
    Ok(event)
}
