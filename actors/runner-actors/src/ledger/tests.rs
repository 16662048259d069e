//! What is stored with the record of a run.

use std::path::Path;
use std::sync::Arc;

use runner_core::state::RunState;
use serde_json::json;
use store::{Store, StoreOptions};
use tokio::sync::watch;

use super::{RunLedger, RunRecorder, job_status};
use crate::event::StoredEvent;
use crate::known_repository::KnownRepository;
use crate::log::Logs;
use crate::records::{RunRecord, new_run_id};
use crate::rows::{self, NewRunRows};
use crate::run_queue::RunQueue;

/// The ledger of a run that a push has started.
pub(crate) fn ledger(store: Store, folder: &Path) -> RunLedger {
    let event: StoredEvent = serde_json::from_value(json!({
        "kind": "push", "reference": "refs/heads/main", "sha": "1".repeat(40),
        "repository": "acme/rocket", "actor": "alice", "untrusted": false, "inputs": [],
        "clone_url": "http://127.0.0.1:9/rocket.git",
    }))
    .unwrap();
    let recorder = RunRecorder {
        store,
        logs: Logs::open(folder).unwrap(),
        outbox: None,
        public_url: None,
        counters: Arc::default(),
        changed: watch::channel(0).0,
        queue: RunQueue::default(),
    };
    RunLedger {
        recorder,
        record: RunRecord::received(&event, "delivery".to_owned()),
        event: Arc::new(event),
        beginning: Vec::new(),
        summaries: Vec::new(),
        oversized: None,
    }
}

fn open(folder: &Path) -> RunLedger {
    let store = Store::open(&folder.join("data"), &StoreOptions::new("ledger-test")).unwrap();
    ledger(store, &folder.join("logs"))
}

/// All stored runs.
async fn stored(ledger: &RunLedger) -> Vec<RunRecord> {
    let store = &ledger.recorder.store;
    store.read(|rows| rows::all(rows)).await.unwrap()
}

/// The actions that started the runs that follow.
async fn following(ledger: &RunLedger) -> Vec<String> {
    let runs = stored(ledger).await.into_iter();
    let found = runs.filter(|run| run.event == "workflow_run");
    found.filter_map(|run| run.action).collect()
}

/// The default branch has a workflow that follows `CI`, started by these steps of it.
async fn follow(ledger: &RunLedger, steps: &[&str]) {
    let mut known = KnownRepository::default();
    let main = Some("main".to_owned());
    let push = StoredEvent::clone(&ledger.event).with_page(None, main);
    known.record_push(&push, "run", Vec::new(), 0);
    let started_by = steps.iter().map(|step| format!("workflow_run.{step}"));
    known.record_triggers(&push, vec!["CI".to_owned()], started_by.collect());
    let store = &ledger.recorder.store;
    let write = store.write(move |rows| rows::put_known(rows, &known));
    write.await.unwrap();
}

/// A kill right after the end of a run was stored left nobody who started what follows it.
#[tokio::test]
async fn i17_what_follows_a_run_is_stored_with_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = open(folder.path());
    follow(&ledger, &[]).await;
    ledger.record.workflow = Some("CI".to_owned());
    ledger.become_state(RunState::Parsing);
    ledger.become_state(RunState::Planned);
    ledger.save(Vec::new()).await;
    assert_eq!(following(&ledger).await, [] as [&str; 0]);
    ledger.end(RunState::Cancelled, None).await;
    assert_eq!(following(&ledger).await, ["completed"]);
    let queued = ledger.recorder.queue.take().runs;
    assert_eq!(queued.len(), 1, "and it is started now");
    ledger.save(Vec::new()).await;
    assert_eq!(following(&ledger).await, ["completed"], "once");
}

#[tokio::test]
async fn i17_those_that_ask_for_it_are_told_that_a_run_is_planned_and_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = open(folder.path());
    follow(&ledger, &["requested", "in_progress", "completed"]).await;
    ledger.record.workflow = Some("CI".to_owned());
    for (state, expected) in [
        (RunState::Parsing, vec!["requested"]),
        (RunState::Planned, vec!["requested"]),
        (RunState::Allocating, vec!["requested"]),
        (RunState::Running, vec!["requested", "in_progress"]),
        (
            RunState::Succeeded,
            vec!["requested", "in_progress", "completed"],
        ),
    ] {
        ledger.become_state(state);
        ledger.save(Vec::new()).await;
        assert_eq!(following(&ledger).await, expected, "{state:?}");
    }
}

/// Others of the same event were stored before the choice of the first: a restart in between chose
/// again, and began them twice.
#[tokio::test]
async fn i17_the_other_workflows_of_an_event_are_stored_with_the_choice_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = open(folder.path());
    let mut other = ledger.record.clone();
    other.id = new_run_id();
    ledger.record.workflow_file = Some("a.yml".to_owned());
    let other = NewRunRows::new(&other, &ledger.event);
    ledger.beginning.push(other.clone());
    assert_eq!(stored(&ledger).await.len(), 0, "neither");
    assert!(ledger.save(Vec::new()).await);
    assert_eq!(stored(&ledger).await.len(), 2, "both");
    assert_eq!(ledger.recorder.queue.take().runs, [other.id()]);
    // A transaction that was stored unseen is repeated: what the run became meanwhile stays.
    let store = &ledger.recorder.store;
    let id = other.id().to_owned();
    let begun = store.write(move |rows| {
        let mut record = rows::run(rows, &id)?.expect("it is stored");
        record.state = RunState::Parsing;
        rows::put_run(rows, &record)?;
        other.put_once(rows)
    });
    begun.await.unwrap();
    let states = stored(&ledger).await.into_iter().map(|run| run.state);
    assert!(states.collect::<Vec<_>>().contains(&RunState::Parsing));
}

#[test]
fn i17_a_status_says_its_word_once() {
    for (reason, expected) in [
        ("cancelled while it waited", "cancelled while it waited"),
        ("by alice", "cancelled: by alice"),
    ] {
        let record = json!({
            "key": "a", "instance": 0, "name": "a", "context": "CI / a", "queued_at": 0,
            "steps": [], "conclusion": "cancelled", "reason": reason,
        });
        let status = job_status(&serde_json::from_value(record).unwrap());
        assert_eq!(status.description, expected);
    }
}
