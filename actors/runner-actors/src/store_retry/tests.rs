//! Records and tests of a run whose store another process has, or nobody.

use std::time::Duration;

use runner_core::test_report::JobTests;
use scripted_peers::postgres::{PostgresServer, Stop};
use serde_json::json;
use store::{ReadRows as _, SharedStore, Store, StoreError, StoreOptions, Table};

use crate::ledger::RunLedger;
use crate::ledger::tests::ledger;
use crate::records::{JobRecord, RunRecord};
use crate::test_rows::NewJobTests;

/// Longer than anything that gives up takes.
const DEADLINE: Duration = Duration::from_secs(30);

fn options() -> StoreOptions {
    StoreOptions::new("retry-test").schema("retry_test")
}

fn shared(server: &PostgresServer, name: &str) -> SharedStore {
    let url = server.url().parse().unwrap();
    SharedStore::new(&url, &options(), (&format!("{name}:1"), name)).unwrap()
}

fn tests_of(record: &RunRecord) -> NewJobTests {
    let job: JobRecord = serde_json::from_value(json!({
        "key": "test", "instance": 0, "name": "test", "context": "ci / test", "queued_at": 1,
        "steps": [],
    }))
    .unwrap();
    NewJobTests::pack(record, &job, &JobTests::default(), 1)
}

/// Another process takes the store of one whose session was lost.
fn take_over(server: &PostgresServer, by: &SharedStore) -> (Store, u64) {
    loop {
        server.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' \
             AND pid <> pg_backend_pid()",
        );
        if let Some(taken) = by.try_take(|_| true).unwrap() {
            return taken;
        }
    }
}

#[tokio::test]
async fn i18_a_run_gives_up_storing_once_another_leader_has_the_store() {
    let (server, folder) = (PostgresServer::start(), tempfile::tempdir().unwrap());
    let (first, second) = (shared(&server, "first"), shared(&server, "second"));
    let (store, _) = first.try_take(|_| true).unwrap().unwrap();
    let mut ledger = ledger(store, folder.path());
    let mut changes = ledger.recorder.changed.subscribe();
    tokio::time::timeout(DEADLINE, ledger.save(Vec::new()))
        .await
        .unwrap();
    assert!(changes.has_changed().unwrap(), "it leads: it is stored");
    changes.mark_unchanged();
    let _other = take_over(&server, &second);
    for _ in 0..2 {
        let saved = tokio::time::timeout(DEADLINE, ledger.save(Vec::new()));
        saved.await.expect("the record is given up");
    }
    let tests = ledger.save_tests(tests_of(&ledger.record));
    let saved = tokio::time::timeout(DEADLINE, tests);
    saved.await.expect("the tests are given up");
    assert!(!changes.has_changed().unwrap(), "nobody is told of it");
}

#[tokio::test]
async fn i18_a_run_gives_up_storing_when_the_store_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(
        &folder.path().join("data"),
        &StoreOptions::new("retry-test"),
    )
    .unwrap();
    let mut ledger = ledger(store.clone(), &folder.path().join("logs"));
    store.close();
    let saved = tokio::time::timeout(DEADLINE, ledger.save(Vec::new()));
    saved.await.expect("the record is given up");
    let tests = ledger.save_tests(tests_of(&ledger.record));
    let saved = tokio::time::timeout(DEADLINE, tests);
    saved.await.expect("the tests are given up");
}

#[tokio::test]
async fn i18_a_run_is_read_once_the_store_answers_again() {
    let mut server = PostgresServer::start();
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        patience: Duration::from_secs(1),
        ..options()
    };
    let store = Store::open_postgres(&server.url().parse().unwrap(), &options).unwrap();
    let mut ledger = ledger(store.clone(), folder.path());
    ledger.save(Vec::new()).await;
    server.stop(Stop::Crash);
    let is_away = || async {
        let row = store.read(|rows| rows.get(&Table::<u64, u64>::new("none"), &1));
        assert!(matches!(row.await, Err(StoreError::Storage { .. })));
    };
    is_away().await;
    let (recorder, id) = (&ledger.recorder, &ledger.record.id);
    let loading = RunLedger::load(recorder, id);
    let mut loading = std::pin::pin!(loading);
    tokio::select! {
        biased;
        _ = &mut loading => panic!("it is given up"),
        () = async { for _ in 0..5 { is_away().await } } => {}
    }
    server.start_again();
    let loaded = tokio::time::timeout(DEADLINE, loading).await;
    // Its event was not stored.
    assert!(loaded.expect("it is read").is_ok_and(|run| run.is_none()));
    store.close();
    let closed = RunLedger::load(recorder, id).await;
    assert!(
        closed.is_err_and(|error| error.is_final()),
        "it is left to the next leader"
    );
}
