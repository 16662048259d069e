//! A store that is moved away while a standby that was forgotten takes something in.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::time::{Duration, Instant};

use scripted_peers::postgres::PostgresServer;
use store::maintenance::{MaintenanceError, migrate};
use store::{PostgresUrl, SharedStore, Store, StoreOptions, StorePlace};

fn options() -> StoreOptions {
    StoreOptions::new("moving-test").schema("moving_test")
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(work)
}

/// What a standby asks, whose look at the store was before it was marked as moved.
const LATE: &str = "SET LOCAL search_path TO moving_test; \
     SELECT * FROM take_in('{late}', '{1}', '{2}', 10000, 'intake') \
     WHERE NOT EXISTS (SELECT 1 FROM rows WHERE tbl = '_meta' AND key = 'moved'::bytea)";

#[test]
fn i18_a_store_is_not_moved_without_what_was_being_taken_in() {
    let server = PostgresServer::start();
    let url = server.url().parse().unwrap();
    let leader = SharedStore::new(&url, &options(), ("leader:1", "key")).unwrap();
    let (store, _) = leader.try_take(|_| true).unwrap().unwrap();
    store.close();
    let root = tempfile::tempdir().unwrap();
    let (here, there) = (
        StorePlace::Postgres(url),
        StorePlace::Directory(root.path().join("moved")),
    );
    let taking_in = server.transaction(LATE);
    let moved = std::thread::scope(|threads| {
        let moving = threads.spawn(|| migrate(&here, &there, &options()));
        let until = Instant::now() + Duration::from_secs(60);
        let waits = || server.sql("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0";
        while !moving.is_finished() && !waits() {
            assert!(Instant::now() < until, "it neither ends nor waits");
            std::thread::park_timeout(Duration::from_millis(10));
        }
        taking_in.commit();
        moving.join().unwrap()
    });
    assert!(
        matches!(moved, Err(MaintenanceError::Undecided { count: 1, .. })),
        "{moved:?}"
    );
    // Where it was it is led on, and what waits is decided.
    let (store, _) = leader.try_take(|_| true).unwrap().unwrap();
    let waiting = wait(leader.intake().undecided(10, Vec::new())).unwrap();
    assert_eq!(waiting.entries[0].delivery, "late");
    let decided = vec![(waiting.entries[0].seq, b"yes".to_vec())];
    wait(leader.intake().decide(decided)).unwrap();
    store.close();
    migrate(&here, &there, &options()).unwrap();
    Store::open(&root.path().join("moved"), &options()).unwrap();
    let refused = leader.leadership().unwrap();
    assert!(refused.closed.is_some(), "{refused:?}");
}

/// A dump of the database holds on to what it reads.
#[test]
fn i18_a_store_moves_beside_a_dump() {
    let server = PostgresServer::start();
    let url = server.url().parse().unwrap();
    let store = Store::open_postgres(&url, &options()).unwrap();
    store.close();
    let root = tempfile::tempdir().unwrap();
    let there = StorePlace::Directory(root.path().join("moved"));
    let dump = server.transaction("SELECT FROM moving_test.rows, moving_test.intake");
    migrate(&StorePlace::Postgres(url), &there, &options()).unwrap();
    drop(dump);
}

/// Something that writes to the intake and does not end: the move does, and says why.
#[test]
fn i18_a_move_that_cannot_know_what_is_taken_in_leaves_the_store_as_it_was() {
    let server = PostgresServer::start();
    let url: PostgresUrl = server.url().parse().unwrap();
    let store = Store::open_postgres(&url, &options()).unwrap();
    store.close();
    let root = tempfile::tempdir().unwrap();
    let there = StorePlace::Directory(root.path().join("moved"));
    let writer = server.transaction("LOCK TABLE moving_test.intake IN ROW EXCLUSIVE MODE");
    let refused = migrate(&StorePlace::Postgres(url.clone()), &there, &options()).unwrap_err();
    drop(writer);
    assert!(refused.to_string().contains("repeat it"), "{refused}");
    Store::open_postgres(&url, &options()).unwrap().close();
    migrate(&StorePlace::Postgres(url), &there, &options()).unwrap();
}
