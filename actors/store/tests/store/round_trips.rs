//! What the holder of a store in PostgreSQL knows without asking the server: which keys there are,
//! and how many.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::time::Duration;

use scripted_peers::postgres::{PostgresServer, Stop};
use store::{ReadRows, Store, StoreError, StoreOptions, Table};

const ROWS: Table<u64, u64> = Table::new("rows");
const MANY: u64 = 500;

fn open(server: &PostgresServer) -> Store {
    let options = StoreOptions {
        patience: Duration::from_secs(60),
        ..StoreOptions::new("round-trips").schema("test")
    };
    Store::open_postgres(&server.url().parse().unwrap(), &options).unwrap()
}

#[test]
fn i18_new_keys_and_counts_ask_the_server_nothing() {
    let server = PostgresServer::start();
    let store = open(&server);
    let put = |from: u64| {
        let stored = store.write_blocking(move |txn| {
            for id in from..from + MANY {
                assert_eq!(txn.get(&ROWS, &id)?, None);
                txn.put(&ROWS, &id, &id)?;
                assert_eq!(txn.len(&ROWS)?, id + 1);
                assert!(txn.range(&ROWS, .., 0)?.is_empty());
            }
            Ok::<_, StoreError>(())
        });
        stored.unwrap();
    };
    let before = server.transactions();
    put(0);
    put(MANY);
    // A session's statements are counted when it ends, at the latest.
    store.close();
    drop(store);
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '%trips%'";
    let mut looks = 0;
    while server.sql(sessions) != "0" {
        looks += 1;
        assert!(looks < 1000, "its sessions do not end");
    }
    let asked = server.transactions() - before - looks;
    assert!(asked > 0 && asked < 100, "{asked} for {} keys", 2 * MANY);
}

#[test]
fn i18_counts_are_right_whatever_a_group_does_and_after_the_server_was_gone() {
    let mut server = PostgresServer::start();
    let store = open(&server);
    let stored = store.write_blocking(|txn| (0..10).try_for_each(|id| txn.put(&ROWS, &id, &id)));
    let _: () = stored.unwrap();
    store.close();
    drop(store);
    let store = open(&server);
    let change = |refused: bool| {
        store.write_blocking(move |txn| {
            assert_eq!(txn.len(&ROWS)?, 10);
            txn.put(&ROWS, &3, &30)?;
            assert_eq!(txn.len(&ROWS)?, 10, "it was there");
            txn.put(&ROWS, &20, &20)?;
            assert_eq!(txn.len(&ROWS)?, 11);
            txn.delete(&ROWS, &20)?;
            txn.delete(&ROWS, &20)?;
            txn.delete(&ROWS, &3)?;
            assert_eq!(txn.len(&ROWS)?, 9);
            txn.put(&ROWS, &3, &3)?;
            txn.delete(&ROWS, &99)?;
            assert_eq!(txn.len(&ROWS)?, 10);
            txn.put(&ROWS, &21, &21)?;
            txn.delete(&ROWS, &0)?;
            match refused {
                true => Err(StoreError::Reentrant),
                false => Ok(()),
            }
        })
    };
    assert!(change(true).is_err(), "nothing of it counts");
    change(false).unwrap();
    server.restart(Stop::Crash);
    let stored = store.write_blocking(|txn| {
        assert_eq!(txn.len(&ROWS)?, 10);
        assert_eq!(txn.get(&ROWS, &0)?, None);
        assert_eq!(txn.get(&ROWS, &21)?, Some(21));
        txn.put(&ROWS, &0, &0)?;
        txn.len(&ROWS)
    });
    assert_eq!(stored.unwrap(), 11_u64, "as a request sees it");
    let seen: Result<u64, StoreError> = store.read_blocking(|rows| rows.len(&ROWS));
    assert_eq!(seen.unwrap(), 11, "as the server counts");
}
