//! Bodies of webhooks as rows of PostgreSQL: packed, whole in their pages, and readable whichever
//! program wrote them.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use scripted_peers::postgres::PostgresServer;
use store::{Blob, Extent, Options, ReadRows, Store, StoreError, Table};

const BODIES: Table<u64, Extent> = Table::new("bodies");

fn open(server: &PostgresServer) -> Store {
    let options = Options::new("bodies").schema("test");
    Store::open_postgres(&server.url().parse().unwrap(), &options).unwrap()
}

fn append(store: &Store, id: u64, bytes: &[u8]) {
    let blob = Blob::new(bytes.to_vec().into());
    store
        .write_blocking::<_, StoreError, _>(move |txn| {
            let extent = txn.append(&blob)?;
            txn.put(&BODIES, &id, &extent)
        })
        .unwrap();
}

fn read(store: &Store, id: u64) -> Option<Vec<u8>> {
    store
        .read_blocking::<_, StoreError, _>(move |rows| {
            let extent = rows.get(&BODIES, &id)?.unwrap();
            rows.blob(&extent)
        })
        .unwrap()
}

fn release(store: &Store, id: u64) {
    store
        .write_blocking::<_, StoreError, _>(move |txn| {
            let extent = txn.get(&BODIES, &id)?.unwrap();
            txn.release(&extent);
            txn.delete(&BODIES, &id).map(drop)
        })
        .unwrap();
}

/// A push as forges send them, of some 28 kB.
fn push() -> Vec<u8> {
    let commit =
        r#"{"id":"9f2b","message":"Mend the door","author":{"name":"Ada","email":"a@b.c"}},"#;
    commit.repeat(350).into_bytes()
}

/// Bytes that nothing packs.
fn noise(length: usize) -> Vec<u8> {
    let blocks = (0..length.div_ceil(32)).map(|n| blake3::hash(&n.to_le_bytes()));
    let mut bytes: Vec<u8> = blocks.flat_map(|hash| *hash.as_bytes()).collect();
    bytes.truncate(length);
    bytes
}

/// How many rows there are, how many bytes they have, and how many bytes stand outside of them.
fn rows(server: &PostgresServer) -> (String, String, String) {
    let ask = |what: &str| server.sql(&format!("SELECT {what}"));
    (
        ask("count(*) FROM test.blobs"),
        ask("coalesce(sum(octet_length(bytes)), 0) < 14000 FROM test.blobs"),
        ask("pg_relation_size(reltoastrelid) FROM pg_class WHERE oid = 'test.blobs'::regclass"),
    )
}

#[test]
fn i18_a_body_is_packed_and_stands_in_its_row() {
    let server = PostgresServer::start();
    let store = open(&server);
    let (json, packed) = (push(), noise(9_000));
    append(&store, 1, &json);
    append(&store, 2, &packed);
    append(&store, 3, b"");
    for (id, body) in [(1, &json), (2, &packed), (3, &Vec::new())] {
        assert_eq!(read(&store, id).as_ref(), Some(body), "body {id}");
    }
    let (count, small, outside) = rows(&server);
    assert_eq!(
        (count.trim(), small.trim()),
        ("3", "t"),
        "one of JSON, two of noise"
    );
    assert_eq!(outside.trim(), "0", "TOAST has nothing");
    // Another process, or a later one, reads the same.
    store.close();
    let store = open(&server);
    assert_eq!(read(&store, 1), Some(json));
    for id in 1..=3 {
        release(&store, id);
    }
    assert_eq!(
        rows(&server).0.trim(),
        "0",
        "all parts went with their bodies"
    );
}

#[test]
fn i18_bodies_of_the_version_before_are_read_and_go() {
    let server = PostgresServer::start();
    let store = open(&server);
    let old = noise(5_000);
    append(&store, 1, &old);
    store.close();
    // As version 2 left it: a row of bytes as they are, and its own function.
    server.sql(
        "ALTER TABLE test.blobs DROP COLUMN length; ALTER TABLE test.blobs RESET \
         (toast_tuple_target); DELETE FROM test.layout WHERE version >= 3; \
         ALTER TABLE test.owner DROP COLUMN installation; DO $$ BEGIN EXECUTE \
         'DROP FUNCTION ' || 'test.commit_group'::regproc::regprocedure; END $$",
    );
    let store = open(&server);
    append(&store, 2, &push());
    assert_eq!(read(&store, 1), Some(old));
    assert_eq!(read(&store, 2), Some(push()));
    release(&store, 1);
    release(&store, 2);
    assert_eq!(rows(&server).0.trim(), "0");
}

#[test]
fn i18_what_cannot_be_unpacked_is_not_given_out() {
    let server = PostgresServer::start();
    let store = open(&server);
    append(&store, 1, &push());
    server.sql("UPDATE test.blobs SET length = length - 1");
    assert_eq!(read(&store, 1), None);
}
