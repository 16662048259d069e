//! Tables that an older version of the program made.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use scripted_peers::postgres::PostgresServer;
use store::maintenance::{check, copy};
use store::{PostgresUrl, ReadRows, SharedStore, Store, StoreOptions, StorePlace, Table, TakenIn};

const ROWS: Table<u64, u64> = Table::new("rows");
/// What version 5 made of an empty schema.
const LAYOUT_5: &str = include_str!("../layouts/5.sql");

fn options() -> StoreOptions {
    StoreOptions::new("upgrade-test").schema("upgraded")
}

/// Tables of version 5 with a store of the program's in them.
fn of_version_5(server: &PostgresServer) -> PostgresUrl {
    let url: PostgresUrl = server.url().parse().unwrap();
    let made = Store::open_postgres(&url, &StoreOptions::new("x").schema("fresh")).unwrap();
    made.write_blocking(|rows| rows.put(&ROWS, &1, &1)).unwrap();
    made.close();
    server.sql(&format!(
        "CREATE SCHEMA upgraded; SET search_path TO upgraded; {LAYOUT_5} \
         INSERT INTO layout VALUES (5); INSERT INTO rows SELECT * FROM fresh.rows; \
         INSERT INTO tables SELECT * FROM fresh.tables; INSERT INTO epochs SELECT * FROM fresh.epochs; \
         UPDATE owner SET epoch = o.epoch, last_group = o.last_group FROM fresh.owner o"
    ));
    url
}

fn version(server: &PostgresServer) -> String {
    server.sql("SELECT string_agg(version::text, ',') FROM upgraded.layout")
}

fn schema(server: &PostgresServer, name: &str) -> String {
    let dump = server
        .program("pg_dump")
        .args(["-s", "-d", "orrery", "-n", name])
        .output();
    let text = String::from_utf8(dump.unwrap().stdout).unwrap();
    // Each dump has a key of its own in it.
    let lines = text.lines().filter(|line| !line.contains("restrict"));
    lines.collect::<Vec<_>>().join("\n").replace(name, "SCHEMA")
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(work)
}

fn take_in(shared: &SharedStore, id: &str) -> bool {
    let taking = shared.intake().take_in(id.to_owned(), vec![1], vec![2]);
    matches!(wait(taking), Ok(TakenIn::New(_)))
}

#[test]
fn i18_tables_of_the_version_before_become_what_new_ones_are() {
    let server = PostgresServer::start();
    let url = of_version_5(&server);
    let shared = SharedStore::new(&url, &options(), ("", "")).unwrap();
    // A standby changes nothing, and works with either version.
    assert!(shared.leadership().unwrap().is_released);
    assert!(take_in(&shared, "before"));
    let place = StorePlace::Postgres(url);
    assert_eq!(version(&server), "5");
    let (store, _) = shared.try_take(|_| true).unwrap().unwrap();
    assert_eq!(version(&server), "6");
    assert_eq!(schema(&server, "upgraded"), schema(&server, "fresh"));
    assert_eq!(store.read_blocking(|rows| rows.get(&ROWS, &1)), Ok(Some(1)));
    store
        .write_blocking(|rows| rows.put(&ROWS, &2, &2))
        .unwrap();
    assert!(take_in(&shared, "after"));
    let waiting = wait(shared.intake().undecided(10, Vec::new()))
        .unwrap()
        .entries;
    assert_eq!(waiting.len(), 2);
    assert!(check(&place, &options()).unwrap().faults.is_empty());
    store.close();
}

#[test]
fn i18_tables_of_the_version_before_are_read_without_being_changed_and_opened_with_it() {
    let server = PostgresServer::start();
    let url = of_version_5(&server);
    let place = StorePlace::Postgres(url.clone());
    store::probe(&url, &options()).unwrap();
    assert!(check(&place, &options()).unwrap().faults.is_empty());
    assert_eq!(version(&server), "5");
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("copy");
    copy(&place, &StorePlace::Directory(folder.clone()), &options()).unwrap();
    assert_eq!(version(&server), "6", "it was taken to be copied");
    let copied = Store::open(&folder, &options()).unwrap();
    assert_eq!(
        copied.read_blocking(|rows| rows.get(&ROWS, &1)),
        Ok(Some(1))
    );
}

/// Whoever holds the store goes on with the tables that it knows.
#[test]
fn i18_tables_are_not_changed_under_a_holder_and_not_by_halves() {
    let server = PostgresServer::start();
    let url = of_version_5(&server);
    let shared = |name| SharedStore::new(&url, &options(), (name, name)).unwrap();
    let holder = shared("holder");
    let (store, _) = holder.try_take(|_| true).unwrap().unwrap();
    server.sql("UPDATE upgraded.layout SET version = 5");
    assert!(shared("other").try_take(|_| true).unwrap().is_none());
    assert_eq!(version(&server), "5");
    store.close();
    // The role may not change them.
    server.sql(
        "CREATE ROLE another; ALTER FUNCTION \
         upgraded.take_in(text[], bytea[], bytea[], bigint, text) OWNER TO another; \
         ALTER ROLE orrery NOSUPERUSER",
    );
    let refused = shared("other").try_take(|_| true).unwrap_err().to_string();
    assert!(
        refused.contains("must be owner of function take_in"),
        "{refused}"
    );
    assert!(
        shared("other").leadership().unwrap().is_released,
        "nobody has it"
    );
    assert_eq!(version(&server), "5");
}
