//! Workflows that follow others (`workflow_run`): started when a run of those has ended.

use runner_core::context::run_number_id;
use runner_core::event::{EventKind, FOLLOWED_RUN};
use runner_core::state::RunState;
use serde_json::{Value, json};
use url::Url;

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
    let base = services.settings.public_url.as_ref();
    let page = base.and_then(|base| base.join(&format!("runs/{}", ledger.record.id)).ok());
    let Some(event) = following(&known, ledger, workflow, page.as_ref()) else {
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
fn following(
    known: &KnownRepository,
    ledger: &Ledger,
    workflow: &str,
    page: Option<&Url>,
) -> Option<StoredEvent> {
    let (record, event) = (&ledger.record, &ledger.event);
    let before: Value = serde_json::from_str(&event.payload).unwrap_or_default();
    let chain = before.pointer("/workflow_run/chain");
    let chain = chain.and_then(Value::as_u64).unwrap_or(0) + 1;
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
    let number = run_number_id(&record.id);
    // Scripts have it without quotes.
    let id = number
        .parse::<u64>()
        .map_or_else(|_| json!(number), |number| json!(number));
    let began = record.started_at.unwrap_or(record.created_at);
    let payload = json!({
        "action": "completed",
        "workflow": { "name": workflow, "path": record.workflow_file },
        "workflow_run": {
            "id": id, "name": workflow, "path": record.workflow_file,
            "display_title": record.name, "event": record.event, "status": "completed",
            "conclusion": conclusion, "head_branch": branch, "head_sha": record.sha,
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
    // `check` warns of all others.
    let given = |name: &&str| payload["workflow_run"].get(name).is_some();
    debug_assert!(FOLLOWED_RUN.iter().all(given));
    let head = known.event_at_head(EventKind::WorkflowRun, None)?;
    Some(head.following(&record.actor, branch, &payload))
}

/// A time as the forge's API writes it.
fn time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).unwrap_or(i64::MAX);
    let at = jiff::Timestamp::from_millisecond(at - at % 1000);
    at.map_or_else(|_| String::new(), |at| at.to_string())
}

/// The commit as the event brought it that the run was of; else its id alone is known.
fn head_commit(before: &Value, sha: &str) -> Value {
    let known = ["/head_commit", "/workflow_run/head_commit"].iter();
    let mut known = known.filter_map(|path| before.pointer(path));
    let known = known.find(|commit| commit["id"] == sha);
    known.cloned().unwrap_or_else(|| json!({ "id": sha }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_the_commit_of_a_followed_run_is_the_one_that_was_pushed() {
        let pushed = json!({"head_commit": {"id": "a1", "message": "Say it"}});
        assert_eq!(head_commit(&pushed, "a1")["message"], "Say it");
        assert_eq!(head_commit(&pushed, "b2"), json!({"id": "b2"}));
        let followed = json!({"workflow_run": {"head_commit": {"id": "b2", "message": "m"}}});
        assert_eq!(head_commit(&followed, "b2")["message"], "m");
        assert_eq!(time(1_795_000_000_123), "2026-11-18T11:06:40Z");
    }
}
