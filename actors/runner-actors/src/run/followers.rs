//! Workflows that follow others (`workflow_run`): started when a run of those has ended.

use runner_core::event::EventKind;
use runner_core::state::RunState;
use serde_json::json;

use super::services::RunServices;
use crate::event::StoredEvent;
use crate::known_repository::KnownRepository;
use crate::ledger::Ledger;
use crate::records::RunRecord;
use crate::rows::{self, NewRun};

/// How many runs may follow each other (GitHub's limit).
const MAX_CHAIN: u64 = 3;

/// Starts what follows a run that has ended; `workflow` is the name of its workflow.
pub(super) async fn start_followers(services: &RunServices, ledger: &Ledger, workflow: &str) {
    if !ledger.record.state.is_terminal() || ledger.record.state == RunState::Ignored {
        return;
    }
    let repository = ledger.record.repository.clone();
    let store = &ledger.recorder.store;
    let known = store.read(move |rows| rows::known(rows, &repository)).await;
    let Ok(Some(known)) = known else { return };
    if !known.followed.iter().any(|name| name == workflow) {
        return;
    }
    let Some(event) = following(&known, ledger, workflow) else {
        return;
    };
    let record = RunRecord::received(&event, format!("workflow_run-{}", ledger.record.id));
    let id = record.id.clone();
    let new = NewRun::of(&record, &event);
    match store.write(move |rows| new.put(rows)).await {
        Ok(()) => services.queue.push(id),
        Err(error) => {
            tracing::error!(event = "run.store_failed", run = %id, %error, "a run that follows another could not be stored");
        }
    }
}

/// The event; nothing where the chain is long enough.
fn following(known: &KnownRepository, ledger: &Ledger, workflow: &str) -> Option<StoredEvent> {
    let (record, event) = (&ledger.record, &ledger.event);
    let before: serde_json::Value = serde_json::from_str(&event.payload).unwrap_or_default();
    let chain = before.pointer("/workflow_run/chain");
    let chain = chain.and_then(serde_json::Value::as_u64).unwrap_or(0) + 1;
    if chain > MAX_CHAIN {
        return None;
    }
    let conclusion = match record.state {
        RunState::Succeeded => "success",
        RunState::Cancelled => "cancelled",
        RunState::TimedOut => "timed_out",
        _ => "failure",
    };
    let branch = event.head_branch();
    let owner = record.repository.split('/').next().unwrap_or_default();
    let repository = json!({
        "full_name": record.repository, "name": record.repository.split('/').nth(1),
        "owner": { "login": owner }, "html_url": known.html_url, "clone_url": known.clone_url,
        "default_branch": known.default_branch,
    });
    // Where a pull request came from; what follows a following run comes from there too.
    let head = before.pointer("/pull_request/head/repo");
    let head = head.or_else(|| before.pointer("/workflow_run/head_repository"));
    let head = head.filter(|head| head["full_name"].is_string());
    let head = head.unwrap_or(&repository).clone();
    let pulls = event.number.map(|number| json!({ "number": number }));
    let payload = json!({
        "action": "completed",
        "workflow": { "name": workflow, "path": record.workflow_file },
        "workflow_run": {
            "id": record.id, "name": workflow, "path": record.workflow_file,
            "display_title": record.name, "event": record.event, "status": "completed",
            "conclusion": conclusion, "head_branch": branch, "head_sha": record.sha,
            "run_number": record.number, "run_attempt": record.attempt, "chain": chain,
            "actor": { "login": record.actor }, "triggering_actor": { "login": record.actor },
            "pull_requests": pulls.into_iter().collect::<Vec<_>>(), "repository": repository,
            "head_repository": head,
        },
        "repository": repository,
        "sender": { "login": record.actor },
    });
    let head = known.event_at_head(EventKind::WorkflowRun, None)?;
    Some(head.following(&record.actor, branch, &payload))
}
