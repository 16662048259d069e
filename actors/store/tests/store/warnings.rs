//! A server that warns of something, at each login or with each commit: it works all the same.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use scripted_peers::postgres::PostgresServer;
use store::{ReadRows, SharedStore, Store, StoreError, StoreOptions, Table};

const ROWS: Table<u64, u64> = Table::new("rows");

fn options() -> StoreOptions {
    StoreOptions::new("warned-test").schema("warned_test")
}

fn put(store: &Store, id: u64) -> Result<(), StoreError> {
    store.write_blocking(move |rows| rows.put(&ROWS, &id, &id))
}

fn len(store: &Store) -> Result<u64, StoreError> {
    store.read_blocking(|rows| rows.len(&ROWS))
}

/// After an upgrade of the system's C library each login is warned of the collation's version, and
/// of a setting of the role that there is no more.
#[test]
fn i18_a_server_that_warns_at_each_login_is_used() {
    let server = PostgresServer::start();
    server.sql(
        "UPDATE pg_database SET datcollversion = '0' WHERE datname = current_database(); \
         ALTER ROLE orrery SET default_tablespace = 'gone'",
    );
    let url = server.url().parse().unwrap();
    store::probe(&url, &options()).unwrap();
    let shared = SharedStore::new(&url, &options(), ("here:1", "key")).unwrap();
    assert!(shared.leadership().unwrap().is_released);
    let (store, _) = shared.try_take(|_| true).unwrap().unwrap();
    assert_eq!(put(&store, 1), Ok(()));
    assert_eq!(len(&store), Ok(1));
    store.close();
}

/// As where a vacuum is overdue: the warning comes with the commit, which is stored all the same.
#[test]
fn i18_a_commit_that_the_server_warns_of_is_stored_and_answered() {
    let server = PostgresServer::start();
    let url = server.url().parse().unwrap();
    let store = Store::open_postgres(&url, &options()).unwrap();
    server.sql(
        "SET search_path TO warned_test; \
         CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ \
         BEGIN RAISE WARNING 'must be vacuumed'; RETURN NULL; END $$; \
         CREATE TRIGGER warn AFTER UPDATE ON owner EXECUTE FUNCTION warn()",
    );
    for id in 1..=3 {
        assert_eq!(put(&store, id), Ok(()));
    }
    assert!(store.health().is_ready());
    assert_eq!(
        store.health().reopened,
        0,
        "the connection is the first one"
    );
    assert_eq!(len(&store), Ok(3));
    store.close();
}
