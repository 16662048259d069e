//! A store whose address names several servers, or whose commits wait for a second one; and what a
//! standby is told of the leader's settings.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::time::Duration;

use scripted_peers::postgres::{PostgresServer, Stop};
use store::{SettingDigests, SharedStore, StoreOptions, Table};

const ROWS: Table<u64, u64> = Table::new("rows");

fn options() -> StoreOptions {
    StoreOptions::new("shared-test").schema("shared_test")
}

#[test]
fn i18_of_two_servers_that_accept_writes_the_former_one_is_not_taken() {
    let mut former = PostgresServer::on_network(&[]);
    let new = former.replica();
    let of_former = format!("@127.0.0.1:{},", former.port());
    let both = PostgresServer::url_by(new.port()).replace('@', &of_former);
    let shared = |name: &str| {
        let url = both.parse().unwrap();
        SharedStore::new(&url, &options(), (&format!("{name}:1"), name)).unwrap()
    };
    let first = shared("first");
    first.leadership().unwrap();
    assert_eq!(first.two_primaries(), None);
    former.stop(Stop::Crash);
    new.promote();
    let taken = first.try_take(|_| true).unwrap();
    let (store, _) = taken.expect("the new primary is free");
    assert_eq!(first.two_primaries(), None);
    former.start_again();
    // Who has its connections needs no other, and says so all the same.
    let said = first.two_primaries().expect("two accept writes");
    assert!(
        said.contains("2 servers of the address accept writes"),
        "{said}"
    );
    // One that begins now cannot know which is the right one, and takes neither.
    let second = shared("second");
    let refused = second.try_take(|_| true).expect_err("two accept writes");
    let refused = refused.to_string();
    for server in [&former, &new] {
        let name = format!("127.0.0.1:{} (timeline ", server.port());
        assert!(refused.contains(&name), "{refused}");
    }
    assert!(second.leadership().is_err());
    let taking = second.intake().take_in("one".to_owned(), vec![1], vec![2]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    assert!(runtime.block_on(taking).is_err());
    // Whoever knew the primary goes on with it, and its connections lead nowhere else.
    new.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres' AND pid <> pg_backend_pid()");
    let written = store.write_blocking(|rows| rows.put(&ROWS, &1, &1));
    written.unwrap();
    assert_eq!(first.leadership().unwrap().address, "first:1");
    assert_eq!(
        new.sql("SELECT count(*) FROM shared_test.rows WHERE tbl = 'rows'"),
        "1"
    );
    // As long as the former one is there nobody takes it by accident, the leader's standby neither.
    store.close();
    assert!(first.try_take(|_| true).is_err());
    former.stop(Stop::Crash);
    assert!(first.try_take(|_| true).unwrap().is_some());
}

#[test]
fn i18_a_standby_is_told_of_settings_that_differ_and_of_clocks_and_waits() {
    let server = PostgresServer::on_network(&[]);
    let shared = |name: &str, secret: &str, hosts: &str| {
        let compared = SettingDigests::default();
        let compared = compared.with("secret", secret).with("hosts", hosts);
        let options = options().compared(compared);
        let url = PostgresServer::url_by(server.port()).parse().unwrap();
        SharedStore::new(&url, &options, ("a:1", name)).unwrap()
    };
    let leader = shared("leader", "geheim", "one");
    let (store, _) = leader.try_take(|_| true).unwrap().unwrap();
    // Its settings are said by the session with which it looks, as it does in either role.
    leader.leadership().unwrap();
    let differing = |standby: &SharedStore| standby.server_signs().unwrap().differing;
    assert_eq!(differing(&shared("a", "geheim", "one")), [""; 0]);
    assert_eq!(differing(&shared("b", "other", "one")), ["secret"]);
    assert_eq!(differing(&shared("c", "geheim", "two")), ["hosts"]);
    // Another process has just got the lock, and the row is still the former holder's.
    server.sql("UPDATE shared_test.owner SET forward_key = 'the one before'");
    assert_eq!(differing(&shared("d", "geheim", "one")), [""; 0]);
    server.sql("UPDATE shared_test.owner SET forward_key = 'leader'");
    assert_eq!(differing(&shared("d", "other", "one")), ["secret"]);
    // Settings are read again: whoever stands by hears of it, and of what they are now.
    let standby = shared("e", "geheim", "one");
    assert_eq!(differing(&standby), [""; 0]);
    let told = standby.settings_changes();
    leader.compare(
        SettingDigests::default()
            .with("secret", "new")
            .with("hosts", "one"),
    );
    leader.broadcast_settings_reload().unwrap();
    until("it is told", || told.has_changed().unwrap());
    until("it differs", || differing(&standby) == ["secret"]);
    standby.compare(
        SettingDigests::default()
            .with("secret", "new")
            .with("hosts", "one"),
    );
    assert_eq!(differing(&standby), [""; 0]);
    let signs = leader.server_signs().unwrap();
    assert!(signs.clock_ahead_ms.abs() < 10_000, "{signs:?}");
    assert!(!signs.awaits_replica);
    // A synchronous replica that goes away: nothing else says why all writes hang.
    let mut replica = server.replica();
    replica.stop(Stop::Fast);
    let written = std::thread::spawn(move || store.write_blocking(|txn| txn.put(&ROWS, &1, &1)));
    let until = std::time::Instant::now() + Duration::from_secs(30);
    while !leader.server_signs().unwrap().awaits_replica {
        assert!(std::time::Instant::now() < until, "nobody waits");
        std::thread::park_timeout(Duration::from_millis(100));
    }
    server.sql("ALTER SYSTEM RESET synchronous_standby_names");
    server.sql("SELECT pg_reload_conf()");
    written.join().unwrap().unwrap();
}

/// Ends or cancels whoever waits for a replica, as an administrator or a restart does.
fn end_waiting(server: &PostgresServer, how: &str) {
    server.sql(&format!(
        "SELECT {how}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    ));
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = std::time::Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(std::time::Instant::now() < until, "{what}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn i18_nothing_is_acknowledged_before_a_replica_has_it_whoever_ends_the_waiting() {
    let server = PostgresServer::on_network(&[]);
    let url = PostgresServer::url_by(server.port()).parse().unwrap();
    let options = StoreOptions {
        patience: Duration::from_secs(60),
        ..options()
    };
    let shared = SharedStore::new(&url, &options, ("a:1", "a")).unwrap();
    let (store, _) = shared.try_take(|_| true).unwrap().unwrap();
    let mut replica = server.replica();
    let look = PostgresServer::url_by(server.port()).parse().unwrap();
    let look = SharedStore::new(&look, &options, ("b:1", "b")).unwrap();
    let waits = || look.server_signs().unwrap().awaits_replica;
    for how in ["pg_terminate_backend", "pg_cancel_backend"] {
        replica.stop(Stop::Fast);
        let written = std::thread::scope(|threads| {
            let write = || store.write_blocking(|txn| txn.put(&ROWS, &1, &1));
            let written = threads.spawn(write);
            let taken = shared.intake().take_in(how.to_owned(), vec![1], vec![2]);
            let taken = threads.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build();
                runtime.unwrap().block_on(taken)
            });
            for _ in 0..3 {
                until("nobody waits", waits);
                end_waiting(&server, how);
            }
            until("nobody waits again", waits);
            assert!(!written.is_finished() && !taken.is_finished(), "{how}");
            replica.start_again();
            taken.join().unwrap().unwrap();
            written.join().unwrap()
        });
        written.unwrap();
    }
    assert_eq!(
        server.sql("SELECT count(*) FROM shared_test.intake"),
        "2",
        "nothing was doubled"
    );
    server.sql("ALTER SYSTEM RESET synchronous_standby_names");
    server.sql("SELECT pg_reload_conf()");
}
