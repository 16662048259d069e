//! A start beside a holder that waits for a slow database.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::thread;
use std::time::Duration;

use scripted_peers::postgres::PostgresServer;
use store::{OpenError, Store, StoreError, StoreOptions, Table};

const ROWS: Table<u64, u64> = Table::new("rows");

fn put(store: &Store, id: u64) -> Result<(), StoreError> {
    store.write_blocking(move |rows| rows.put(&ROWS, &id, &id))
}

/// With the usual lease of 8 s.
#[test]
fn i18_a_start_ends_no_holder_that_waits_for_a_slow_database() {
    let server = PostgresServer::start();
    let options = StoreOptions::new("slow-test").schema("slow_test");
    let url = server.url().parse().unwrap();
    let store = Store::open_postgres(&url, &options).unwrap();
    put(&store, 1).unwrap();
    let silent = || {
        let since = "SELECT extract(epoch FROM clock_timestamp() - renewed) FROM slow_test.owner";
        server.sql(since).parse::<f64>().unwrap()
    };
    let stall = server.transaction("LOCK TABLE slow_test.rows IN EXCLUSIVE MODE");
    let writer = store.clone();
    let writing = thread::spawn(move || put(&writer, 2));
    let (at, of) = (server.url().parse().unwrap(), options);
    let starting = thread::spawn(move || Store::open_postgres(&at, &of).map(drop));
    while silent() < 9.5 && !starting.is_finished() {
        thread::park_timeout(Duration::from_millis(100));
    }
    drop(stall);
    assert_eq!(writing.join().unwrap(), Ok(()));
    assert_eq!(store.health().reopened, 0, "its session was ended");
    let refused = starting.join().unwrap();
    assert!(
        matches!(refused, Err(OpenError::InUse { .. })),
        "{refused:?}"
    );
    store.close();
}
