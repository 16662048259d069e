//! Readers of a store whose server does not answer: one waits for it, the others do not wait each
//! for themselves.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::time::{Duration, Instant};

use scripted_peers::postgres::{PostgresServer, Stop};
use store::{ReadRows, Store, StoreError, StoreOptions, Table};

const ROWS: Table<u64, u64> = Table::new("rows");
/// How long one reader waits.
const READ_TIMEOUT: Duration = Duration::from_secs(6);

fn options() -> StoreOptions {
    StoreOptions {
        patience: READ_TIMEOUT,
        ..StoreOptions::new("silent-test").schema("silent_test")
    }
}

/// A page of a leader that is cut off from its database was answered after as many waits as reads
/// stood before it: half a minute, and more.
#[test]
fn i18_reads_of_a_server_that_is_gone_wait_for_it_together() {
    let mut server = PostgresServer::start();
    let store = Store::open_postgres(&server.url().parse().unwrap(), &options()).unwrap();
    let written = store.write_blocking(|rows| rows.put(&ROWS, &1, &1));
    written.unwrap();
    let get = |store: &Store| store.read(|rows| rows.get(&ROWS, &1));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    assert_eq!(runtime.block_on(get(&store)).unwrap(), Some(1));
    server.stop(Stop::Fast);
    let began = Instant::now();
    let asked: Vec<_> = (0..16).map(|_| get(&store)).collect();
    for answer in asked {
        let refused: Result<_, StoreError> = runtime.block_on(answer);
        assert!(refused.unwrap_err().is_temporary());
    }
    // Two threads read: eight waits one after the other were 48 s.
    assert!(began.elapsed() < READ_TIMEOUT * 4, "{:?}", began.elapsed());
    server.start_again();
    let deadline = Instant::now() + Duration::from_secs(60);
    while runtime.block_on(get(&store)).ok() != Some(Some(1)) {
        assert!(Instant::now() < deadline, "it is asked again");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    store.close();
}
