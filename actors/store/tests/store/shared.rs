//! A store in PostgreSQL that several processes stand beside: who holds it, and what the others
//! take in.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use scripted_peers::postgres::{PostgresServer, Stop};
use store::maintenance::{MaintenanceError, backup, check, copy, migrate};
use store::{ReadRows, SharedStore, Store, StoreError, StoreOptions, StorePlace, Table, TakenIn};

const ROWS: Table<u64, u64> = Table::new("rows");

fn options() -> StoreOptions {
    StoreOptions::new("shared-test").schema("shared_test")
}

fn shared(server: &PostgresServer, name: &str) -> SharedStore {
    let url = server.url().parse().unwrap();
    SharedStore::new(&url, &options(), (&format!("{name}:1"), name)).unwrap()
}

fn of_installation(server: &PostgresServer, installation: &str) -> SharedStore {
    let options = options().installation(installation.to_owned());
    SharedStore::new(&server.url().parse().unwrap(), &options, ("", "")).unwrap()
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        let patient = begun.elapsed() < Duration::from_secs(60);
        assert!(patient, "never: {what}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(work)
}

fn take_in(shared: &SharedStore, id: &str, body: &[u8]) -> Result<TakenIn, StoreError> {
    wait(
        shared
            .intake()
            .take_in(id.to_owned(), body.to_vec(), body.to_vec()),
    )
}

#[test]
fn i18_one_takes_the_store_and_the_others_see_who_and_where() {
    let server = PostgresServer::start();
    let (first, second) = (shared(&server, "first"), shared(&server, "second"));
    assert!(first.leadership().unwrap().is_released, "nobody has had it");
    let (store, epoch) = first.try_take(|seen| seen.is_released).unwrap().unwrap();
    let seen = second.leadership().unwrap();
    assert_eq!((seen.epoch, seen.is_locked), (epoch, true));
    assert_eq!(
        (seen.address.as_str(), seen.forward_key.as_str()),
        ("first:1", "first")
    );
    assert!(
        second.try_take(|_| true).unwrap().is_none(),
        "its session lives"
    );
    store.close();
    assert!(second.try_take(|_| false).unwrap().is_none());
    let (_store, next) = second.try_take(|seen| seen.is_released).unwrap().unwrap();
    assert_eq!(next, epoch + 1);
}

#[test]
fn i18_what_is_taken_in_is_known_again_decided_once_and_survives_the_server() {
    let mut server = PostgresServer::start();
    let (standby, leader) = (shared(&server, "standby"), shared(&server, "leader"));
    let TakenIn::New(seq) = take_in(&standby, "one", b"body").unwrap() else {
        panic!("it is new");
    };
    let known = TakenIn::Known { seq, outcome: None };
    assert_eq!(take_in(&leader, "one", b"body").unwrap(), known);
    assert!(matches!(
        take_in(&standby, "one", b"other").unwrap(),
        TakenIn::New(_)
    ));
    server.restart(Stop::Crash);
    let waiting = wait(leader.intake().undecided(10, Vec::new()))
        .unwrap()
        .entries;
    let ids: Vec<(&str, &[u8])> = waiting
        .iter()
        .map(|it| (it.delivery.as_str(), &*it.content))
        .collect();
    assert_eq!(ids, [("one", &b"body"[..]), ("one", &b"other"[..])]);
    let outcome = standby.intake().outcome(seq);
    wait(leader.intake().decide(vec![(seq, b"yes".to_vec())])).unwrap();
    wait(leader.intake().decide(vec![(seq, b"no".to_vec())])).unwrap();
    assert_eq!(wait(outcome).as_deref(), Some(&b"yes"[..]));
    let known = TakenIn::Known {
        seq,
        outcome: Some(b"yes".to_vec()),
    };
    assert_eq!(take_in(&standby, "one", b"body").unwrap(), known);
    let waiting = wait(leader.intake().undecided(10, Vec::new())).unwrap();
    assert_eq!(waiting.entries.len(), 1);
    assert_eq!(
        wait(leader.intake().prune(Duration::from_secs(3600))).unwrap(),
        0
    );
    assert_eq!(wait(leader.intake().prune(Duration::ZERO)).unwrap(), 1);
}

#[test]
fn i18_deliveries_that_come_together_are_each_answered_for_themselves() {
    let server = PostgresServer::start();
    let standby = shared(&server, "standby");
    let asked: Vec<_> = (0..400)
        .map(|n| {
            let id = format!("delivery-{}", n % 300);
            standby
                .intake()
                .take_in(id, b"digest".to_vec(), vec![7; 100])
        })
        .collect();
    let taken: Vec<TakenIn> = asked.into_iter().map(|one| wait(one).unwrap()).collect();
    let new = taken.iter().filter(|one| matches!(one, TakenIn::New(_)));
    assert_eq!(new.count(), 300, "and a hundred were known");
    let waiting = wait(standby.intake().undecided(1000, Vec::new())).unwrap();
    assert_eq!(waiting.entries.len(), 300);
}

#[test]
fn i18_a_full_intake_and_a_server_that_is_away_refuse() {
    let mut server = PostgresServer::start();
    let standby = shared(&server, "standby");
    take_in(&standby, "first", b"x").unwrap();
    server.sql(
        "INSERT INTO shared_test.intake (delivery, digest, content) \
         SELECT 'filler-' || n, 'x', 'x' FROM generate_series(1, 10000) AS n",
    );
    let full = take_in(&standby, "one", b"x").unwrap_err();
    assert!(matches!(full, StoreError::Busy { .. }), "{full:?}");
    server.stop(Stop::Fast);
    let away = take_in(&standby, "two", b"x").unwrap_err();
    assert!(away.is_temporary(), "{away:?}");
    server.start_again();
    server.sql("DELETE FROM shared_test.intake");
    assert!(matches!(
        take_in(&standby, "two", b"x").unwrap(),
        TakenIn::New(_)
    ));
}

#[test]
fn i18_tables_of_another_version_are_refused_with_what_to_do() {
    let server = PostgresServer::start();
    let first = shared(&server, "first");
    drop(first.try_take(|_| true).unwrap().unwrap());
    drop(first);
    for (version, expected) in [
        (4, "migrate them into a folder with"),
        (7, "has schema 7, this program knows 6"),
    ] {
        server.sql(&format!(
            "UPDATE shared_test.layout SET version = {version}"
        ));
        let refused = shared(&server, "second")
            .leadership()
            .unwrap_err()
            .to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn i18_a_first_server_that_says_nothing_hides_no_other() {
    let server = PostgresServer::on_network(&[]);
    // The system takes connections, and nobody answers on them: a paused primary.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let first = format!("@{},", silent.local_addr().unwrap());
    let url = PostgresServer::url_by(server.port()).replace('@', &first);
    let url = url.parse().unwrap();
    let shared = SharedStore::new(&url, &options(), ("here:1", "key")).unwrap();
    assert!(shared.leadership().unwrap().is_released);
    let (store, _) = shared.try_take(|seen| seen.is_released).unwrap().unwrap();
    let stored = store.write_blocking(|txn| txn.put(&ROWS, &1, &1));
    assert_eq!(stored, Ok(()));
    let read = store.read_blocking(|rows| rows.get(&ROWS, &1));
    assert_eq!(read, Ok::<_, StoreError>(Some(1)));
    let taken = take_in(&shared, "one", b"body");
    assert!(matches!(taken, Ok(TakenIn::New(_))), "{taken:?}");
    store.close();
}

#[test]
fn i18_a_backup_needs_no_moment_at_which_nothing_waits() {
    let server = PostgresServer::start();
    let leader = shared(&server, "leader");
    let (store, _) = leader.try_take(|seen| seen.is_released).unwrap().unwrap();
    let used = StorePlace::Postgres(server.url().parse().unwrap());
    let root = tempfile::tempdir().unwrap();
    let saved = StorePlace::Directory(root.path().join("saved"));
    let ended = AtomicBool::new(false);
    let report = std::thread::scope(|threads| {
        // Each is decided once the next one waits, as where standbys take in all the time.
        let (first, is_first) = std::sync::mpsc::channel();
        let (server, leader, ended) = (&server, &leader, &ended);
        threads.spawn(move || {
            let standby = shared(server, "standby");
            let mut before = None;
            for number in 0.. {
                let id = format!("delivery-{number}");
                let Ok(TakenIn::New(seq)) = take_in(&standby, &id, b"body") else {
                    panic!("{id} is not taken in");
                };
                if let Some(before) = before.replace(seq) {
                    let outcome = vec![(before, b"done".to_vec())];
                    wait(leader.intake().decide(outcome)).unwrap();
                }
                let _ = first.send(());
                if ended.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        is_first.recv().unwrap();
        let report = backup(&used, &saved, &options());
        ended.store(true, Ordering::Relaxed);
        report
    });
    report.unwrap();
    store.close();
}

#[test]
fn i18_a_store_may_be_checked_while_deliveries_wait_and_is_not_moved_without_them() {
    let server = PostgresServer::start();
    let standby = shared(&server, "standby");
    take_in(&standby, "one", b"body").unwrap();
    let used = StorePlace::Postgres(server.url().parse().unwrap());
    assert_eq!(
        check(&used, &options()).unwrap().faults,
        Vec::<String>::new()
    );
    let root = tempfile::tempdir().unwrap();
    let elsewhere = StorePlace::Directory(root.path().join("moved"));
    let error = copy(&used, &elsewhere, &options()).unwrap_err();
    assert!(
        matches!(error, MaintenanceError::Undecided { count: 1, .. }),
        "{error}"
    );
    let error = backup(&used, &elsewhere, &options()).unwrap_err();
    assert!(
        matches!(error, MaintenanceError::Undecided { count: 1, .. }),
        "{error}"
    );
}

#[test]
fn i18_what_waits_and_who_stands_beside_are_counted() {
    let server = PostgresServer::start();
    let (first, second) = (shared(&server, "first"), shared(&server, "second"));
    first.leadership().unwrap();
    assert_eq!(
        first.standby_counts().unwrap().all,
        0,
        "itself does not count"
    );
    second.leadership().unwrap();
    assert_eq!(first.standby_counts().unwrap().all, 1);
    assert_eq!(second.standby_counts().unwrap().all, 1);
    // One that says that something is wrong with it is counted apart, until nothing is.
    for (is_fit, fit) in [
        (true, 1),
        (false, 0),
        (false, 0),
        (true, 1),
        (true, 1),
        (false, 0),
    ] {
        second.record_fitness(is_fit).unwrap();
        assert_eq!(
            first.standby_counts().unwrap(),
            store::StandbyCounts { all: 1, fit }
        );
    }
    let elsewhere = server.url_in("elsewhere").parse().unwrap();
    let other = SharedStore::new(&elsewhere, &options(), ("", "")).unwrap();
    assert_eq!(
        other.standby_counts().unwrap().all,
        0,
        "another schema is another store"
    );
    let backlog = || second.backlog().unwrap();
    assert_eq!(backlog(), store::IntakeBacklog::default());
    assert!(matches!(
        take_in(&second, "one", b"body").unwrap(),
        TakenIn::New(_)
    ));
    server.sql("UPDATE shared_test.intake SET received = received - interval '1 hour'");
    let waiting = backlog();
    assert_eq!(waiting.entries, 1);
    assert!(waiting.oldest >= Duration::from_secs(3600), "{waiting:?}");
    drop(second);
    until("its note is gone", || {
        first.standby_counts().unwrap().all == 0
    });
}

#[test]
fn i18_a_holder_of_another_installation_is_told_from_one_of_this() {
    let server = PostgresServer::start();
    let of = |installation| of_installation(&server, installation);
    let (first, second, other) = (of("forge one"), of("forge one"), of("forge two"));
    let former = shared(&server, "says nothing");
    assert!(!other.leadership().unwrap().is_anothers, "nobody leads");
    let (store, _) = first.try_take(|seen| seen.is_released).unwrap().unwrap();
    assert!(other.leadership().unwrap().is_anothers);
    assert!(!second.leadership().unwrap().is_anothers);
    assert!(
        !former.leadership().unwrap().is_anothers,
        "of a version before"
    );
    store.close();
    let (_store, _) = former.try_take(|seen| seen.is_released).unwrap().unwrap();
    assert!(!other.leadership().unwrap().is_anothers, "it is not known");
}

/// A server that became the primary without the newest writes gives an epoch a second time.
#[test]
fn i18_an_epoch_that_another_got_too_is_lost() {
    let server = PostgresServer::start();
    let (first, second) = (shared(&server, "first"), shared(&server, "second"));
    let put = |store: &Store, value| store.write_blocking(move |txn| txn.put(&ROWS, &1, &value));
    let (before, epoch) = first.try_take(|_| true).unwrap().unwrap();
    server.sql(&format!(
        "SET search_path TO shared_test; UPDATE owner SET epoch = {}; \
         DELETE FROM epochs WHERE epoch = {epoch}",
        epoch - 1
    ));
    second.end_holder().unwrap();
    let (after, again) = second.try_take(|_| true).unwrap().unwrap();
    assert_eq!(again, epoch);
    assert_eq!(put(&after, 2), Ok(()));
    let refused = put(&before, 1).unwrap_err();
    assert!(
        matches!(&refused, StoreError::TakenOver { by, .. } if by.contains("shared-test")),
        "{refused:?}"
    );
    assert_eq!(put(&after, 3), Ok(()), "nobody has ended its session");
    assert_eq!(after.health().reopened, 0);
}

/// The writer may have gone to another server: one that was the primary answers on connections from
/// before as if nothing had been written since.
#[test]
fn i18_readers_use_no_connection_from_before_the_writers() {
    let server = PostgresServer::start();
    let (shared, other) = (shared(&server, "first"), shared(&server, "second"));
    let (store, _) = shared.try_take(|_| true).unwrap().unwrap();
    let put = |value| store.write_blocking(move |txn| txn.put(&ROWS, &1, &value));
    let read = || store.read_blocking(|rows| rows.get(&ROWS, &1)).unwrap();
    // Given back: the transaction's end is what they did last.
    let idle = "SELECT pid FROM pg_stat_activity WHERE state = 'idle' AND query = 'ROLLBACK'";
    let reader = || {
        let mut found = String::new();
        until("one is idle", || {
            server.sql(idle).trim().clone_into(&mut found);
            !found.is_empty()
        });
        found
    };
    assert_eq!(put(1), Ok(()));
    assert_eq!(read(), Some(1));
    let before = reader();
    assert_eq!(read(), Some(1));
    assert_eq!(reader(), before, "it is used again");
    other.end_holder().unwrap();
    assert_eq!(put(2), Ok(()));
    assert_eq!(read(), Some(2));
    until("it is closed", || !reader().contains(&before));
}

/// Nobody leads at the moment, and those who stand by are of the installation that did.
#[test]
fn i18_a_store_stays_with_the_installation_whose_processes_stand_beside_it() {
    let server = PostgresServer::start();
    let of = |installation| of_installation(&server, installation);
    let (first, second, other) = (of("forge one"), of("forge one"), of("forge two"));
    let (store, _) = first.try_take(|seen| seen.is_released).unwrap().unwrap();
    assert!(!second.leadership().unwrap().is_anothers);
    store.close();
    drop(store);
    let seen = other.leadership().unwrap();
    assert!(!seen.is_locked && seen.is_anothers, "{seen:?}");
    assert!(other.try_take(|_| true).unwrap().is_none());
    assert!(!second.leadership().unwrap().is_anothers);
    assert!(
        !shared(&server, "says nothing")
            .leadership()
            .unwrap()
            .is_anothers
    );
    // All of them have gone: the settings were changed.
    drop((first, second));
    until("their notes are gone", || {
        !other.leadership().unwrap().is_anothers
    });
    let (store, _) = other.try_take(|_| true).unwrap().unwrap();
    store.close();
    drop(store);
    assert!(
        of("forge one").leadership().unwrap().is_anothers,
        "it is the other's now"
    );
}

#[test]
fn i18_who_asks_whether_the_store_is_held_still_is_told_when_it_is_not() {
    let server = PostgresServer::start();
    let confirm = |store: &Store| {
        store.write_blocking(|txn| {
            txn.confirm();
            Ok::<_, StoreError>(())
        })
    };
    let (store, _) = shared(&server, "first")
        .try_take(|_| true)
        .unwrap()
        .unwrap();
    assert_eq!(confirm(&store), Ok(()));
    // Its connection lives, and a request that changes nothing asks the server nothing.
    server.sql("UPDATE shared_test.owner SET epoch = epoch + 1");
    let refused = confirm(&store);
    assert!(
        matches!(refused, Err(StoreError::TakenOver { .. })),
        "{refused:?}"
    );
}

/// Its host has gone without a word: the server finds out some time.
#[test]
fn i18_who_asks_nothing_any_more_stands_beside_no_more() {
    let server = PostgresServer::start();
    let (first, gone) = (shared(&server, "first"), shared(&server, "gone"));
    gone.leadership().unwrap();
    assert_eq!(first.standby_counts().unwrap().all, 1);
    until("it counts no more", || {
        first.standby_counts().unwrap().all == 0
    });
    gone.leadership().unwrap();
    assert_eq!(first.standby_counts().unwrap().all, 1, "it is there again");
}

/// A host that was forgotten, with the address from before.
#[test]
fn i18_a_store_that_was_moved_takes_nothing_in_and_is_nobodys() {
    let server = PostgresServer::start();
    let before = shared(&server, "before");
    let (store, epoch) = before.try_take(|_| true).unwrap().unwrap();
    store.close();
    drop(store);
    let used = StorePlace::Postgres(server.url().parse().unwrap());
    let root = tempfile::tempdir().unwrap();
    let elsewhere = StorePlace::Directory(root.path().join("moved"));
    migrate(&used, &elsewhere, &options()).unwrap();
    let taken_until = server.sql("SELECT max(epoch) FROM shared_test.epochs");
    for standby in [before, shared(&server, "forgotten")] {
        let refused = take_in(&standby, "one", b"body").unwrap_err().to_string();
        assert!(refused.contains("was moved to "), "{refused}");
        let closed = standby.leadership().unwrap().closed.unwrap();
        assert!(closed.contains("was moved to "), "{closed}");
        assert!(standby.try_take(|_| true).unwrap().is_none());
    }
    let now = server.sql("SELECT max(epoch) FROM shared_test.epochs");
    assert_eq!(now, taken_until, "after {epoch}");
    assert_eq!(server.sql("SELECT count(*) FROM shared_test.intake"), "0");
    let url = server.url().parse().unwrap();
    let probed = store::probe(&url, &options()).unwrap_err();
    assert!(matches!(probed, store::OpenError::Moved { .. }), "{probed}");
}
