//! Workflows that follow others (`workflow_run`): how far a run has come is told in the transaction
//! that stores it, so that no end of this process lies between.

use forge_core::Forge;
use runner_core::event::{EventKind, FOLLOWED_RUN};
use runner_core::state::{RunProgress, RunState};
use serde_json::{Value, json};
use url::Url;

use crate::event::StoredEvent;
use crate::known_repository::KnownRepository;
use crate::records::RunRecord;
use crate::rows::NewRunRows;
use crate::run_shape::{
    head_commit, head_of, repository_api, repository_value, run_links, run_number, time,
    workflow_number,
};

/// How many runs may follow each other (GitHub's limit).
const MAX_CHAIN: u64 = 3;

/// What those that follow a planned run were not told yet, in order.
pub(crate) fn untold(record: &RunRecord) -> Vec<RunProgress> {
    if record.workflow.is_none() {
        return Vec::new();
    }
    let repeats = record.repeats.is_some();
    let all = RunProgress::ALL.into_iter();
    let untold = all.filter(|step| record.announced.is_none_or(|known| *step > known));
    untold
        .filter(|step| step.is_reached(record.state, repeats))
        .collect()
}

/// The run that this step of a run starts, if any does.
pub(crate) fn follower(
    progress: RunProgress,
    known: &KnownRepository,
    (record, event): (&RunRecord, &StoredEvent),
    page: Option<&Url>,
) -> Option<NewRunRows> {
    let workflow = record.workflow.as_deref().unwrap_or_default();
    let trigger = format!("workflow_run.{}", progress.as_str());
    // What was learnt by a former version says nothing of the others.
    let is_wanted = progress == RunProgress::Completed || known.started_by.contains(&trigger);
    if !is_wanted || !known.followed.iter().any(|name| name == workflow) {
        return None;
    }
    let event = following(progress, known, (record, event), page)?;
    let record = RunRecord::received(&event, format!("workflow_run-{}", record.id));
    Some(NewRunRows::new(&record, &event))
}

/// The event; nothing where the chain is long enough.
fn following(
    progress: RunProgress,
    known: &KnownRepository,
    (record, event): (&RunRecord, &StoredEvent),
    page: Option<&Url>,
) -> Option<StoredEvent> {
    let before: Value = serde_json::from_str(&event.payload).unwrap_or_default();
    let chain = before.pointer("/workflow_run/chain");
    let chain = chain.and_then(Value::as_u64).unwrap_or(0) + 1;
    if chain > MAX_CHAIN {
        return None;
    }
    let workflow = record.workflow.as_deref();
    let branch = event.head_branch();
    let api = repository_api(known.forge.unwrap_or(Forge::GitHub), &record.repository);
    let places = (
        known.html_url.as_deref(),
        known.clone_url.as_str(),
        known.default_branch.as_deref(),
    );
    let repository = repository_value(&api, &record.repository, places);
    let head = head_of(event, &before, &repository);
    let pulls = event.number.map(|number| json!({ "number": number }));
    let id = run_number(&record.id);
    let file = record.workflow_file.as_deref();
    let number = file.map(|file| workflow_number(&record.repository, file));
    let links = run_links(&api, &id, record.attempt, number);
    let began = record.started_at.unwrap_or(record.created_at);
    let mut payload = json!({
        "action": progress.as_str(),
        "workflow": { "name": workflow, "path": record.workflow_file },
        "workflow_run": {
            "id": id, "name": workflow, "path": record.workflow_file,
            "display_title": record.name, "event": record.event, "status": progress.status(),
            "conclusion": (progress == RunProgress::Completed).then(|| conclusion(record.state)), "head_branch": branch, "head_sha": record.sha,
            "run_number": record.number, "run_attempt": record.attempt, "chain": chain,
            "actor": { "login": record.actor }, "triggering_actor": { "login": record.actor },
            "pull_requests": pulls.into_iter().collect::<Vec<_>>(), "repository": repository,
            "head_repository": head, "head_commit": head_commit(&before, &record.sha),
            "html_url": page, "created_at": time(record.created_at),
            "run_started_at": time(began), "updated_at": time(record.ended_at.unwrap_or(began)),
        },
        "repository": repository,
        "sender": { "login": record.actor },
    });
    if let Some(run) = payload["workflow_run"].as_object_mut() {
        run.extend(links);
    }
    // `check` warns of all others.
    let given = |name: &&str| payload["workflow_run"].get(name).is_some();
    debug_assert!(FOLLOWED_RUN.iter().all(given));
    let head = known.event_at_head(EventKind::WorkflowRun, None)?;
    Some(head.following(progress.as_str(), (&record.actor, branch), &payload))
}

/// The end of a run in GitHub's words.
fn conclusion(state: RunState) -> &'static str {
    match state {
        RunState::Succeeded => "success",
        RunState::Cancelled => "cancelled",
        RunState::TimedOut => "timed_out",
        _ => "failure",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn untold_at(
        state: RunState,
        announced: Option<RunProgress>,
        repeats: bool,
    ) -> Vec<RunProgress> {
        let event =
            StoredEvent::without_webhook(EventKind::Push, "a/b", "refs/heads/main", "1", "u");
        let mut record = RunRecord::received(&event, "d".to_owned());
        record.state = state;
        assert_eq!(untold(&record), [], "nobody knows its workflow");
        record.workflow = Some("CI".to_owned());
        record.announced = announced;
        record.repeats = repeats.then(|| "former".to_owned());
        untold(&record)
    }

    #[test]
    fn i17_each_step_of_a_run_is_told_once() {
        use RunProgress::{Completed, InProgress, Requested};
        let cases = [
            (RunState::Planned, None, false, vec![Requested]),
            (RunState::Planned, None, true, vec![]),
            (RunState::Waiting, Some(Requested), false, vec![]),
            (RunState::Running, Some(Requested), false, vec![InProgress]),
            (RunState::Running, Some(InProgress), false, vec![]),
            // A run that begins anew after a restart.
            (RunState::Received, Some(InProgress), false, vec![]),
            (RunState::Lost, Some(InProgress), false, vec![Completed]),
            (RunState::Cancelled, Some(Requested), true, vec![Completed]),
            (RunState::Succeeded, Some(Completed), false, vec![]),
            (RunState::Ignored, Some(Requested), false, vec![]),
        ];
        for (state, announced, repeats, expected) in cases {
            assert_eq!(
                untold_at(state, announced, repeats),
                expected,
                "{state:?} {announced:?}"
            );
        }
    }
}
