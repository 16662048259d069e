//! Bodies of webhooks as rows of PostgreSQL: packed, whole in their pages, and readable whichever
//! program wrote them.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use scripted_peers::postgres::PostgresServer;
use store::maintenance::{backup, check, copy};
use store::{
    Blob, Extent, ExtentTable, ReadRows, Store, StoreError, StoreOptions, StorePlace, Table,
};

const BODIES: Table<u64, Extent> = Table::new("bodies");
const EXTENTS: &[ExtentTable] = &[ExtentTable::new(BODIES)];

fn options() -> StoreOptions {
    StoreOptions::new("bodies").schema("test").extents(EXTENTS)
}

fn open(server: &PostgresServer) -> Store {
    Store::open_postgres(&server.url().parse().unwrap(), &options()).unwrap()
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

/// A body that takes some 10 kB packed: addresses of commits differ.
fn noisy_push() -> Vec<u8> {
    let ids = noise(8_000);
    let commits = ids.chunks(100).map(|id| [id, &push()[..220]].concat());
    commits.collect::<Vec<_>>().concat()
}

#[test]
fn i18_a_body_that_is_larger_than_a_page_when_packed_has_two_rows() {
    let server = PostgresServer::start();
    let store = open(&server);
    let body = noisy_push();
    append(&store, 1, &push());
    append(&store, 2, &body);
    append(&store, 3, &push());
    let lengths = "SELECT string_agg(length::text, ' ' ORDER BY segment, start) FROM test.blobs";
    let (one, two) = (push().len(), body.len());
    assert_eq!(server.sql(lengths), format!("{one} {two} -1 {one}"));
    for (id, body) in [(1, &push()), (2, &body), (3, &push())] {
        assert_eq!(read(&store, id).as_ref(), Some(body), "body {id}");
    }
    release(&store, 2);
    assert_eq!(
        server.sql(lengths),
        format!("{one} {one}"),
        "both rows went"
    );
    assert_eq!(read(&store, 3), Some(push()));
}

#[test]
fn i18_a_body_that_goes_takes_nothing_of_what_it_was_moved_with() {
    let server = PostgresServer::start();
    let root = tempfile::tempdir().unwrap();
    let folder = |name: &str| StorePlace::Directory(root.path().join(name));
    let between = StorePlace::Postgres(server.url().parse().unwrap());
    let store = Store::open(&root.path().join("a"), &options()).unwrap();
    let body = noisy_push();
    let both = [
        Blob::new(vec![7; 100].into()),
        Blob::new(body.clone().into()),
    ];
    let stored = store.write_blocking::<_, StoreError, _>(move |txn| {
        for (id, blob) in (1..).zip(&both) {
            let extent = txn.append(blob)?;
            txn.put(&BODIES, &id, &extent)?;
        }
        Ok(())
    });
    stored.unwrap();
    store.close();
    copy(&folder("a"), &between, &options()).unwrap();
    let store = open(&server);
    release(&store, 1);
    assert_eq!(read(&store, 2).as_ref(), Some(&body));
    store.close();
    let back = copy(&between, &folder("b"), &options()).unwrap();
    assert!(back.faults.is_empty(), "{:?}", back.faults);
    let store = Store::open(&root.path().join("b"), &options()).unwrap();
    assert_eq!(read(&store, 2), Some(body));
}

#[test]
fn i18_a_key_that_came_and_went_is_counted_right() {
    let server = PostgresServer::start();
    let store = open(&server);
    let count = || {
        let kept = store.read_blocking::<_, StoreError, _>(|rows| rows.len(&BODIES));
        let rows = server.sql("SELECT count(*) FROM test.rows WHERE tbl = 'bodies'");
        (kept.unwrap(), rows)
    };
    for turn in 0..3 {
        append(&store, 1, b"one");
        append(&store, 2, b"two");
        assert_eq!(count(), (2, "2".to_owned()), "turn {turn}");
        // Not new any more, whether the writer has asked for it or not.
        append(&store, 2, b"another");
        assert_eq!(count(), (2, "2".to_owned()), "turn {turn}");
        release(&store, 1);
        release(&store, 2);
        assert_eq!(count(), (0, "0".to_owned()), "turn {turn}");
    }
}

#[test]
fn i18_what_cannot_be_unpacked_is_not_given_out() {
    let server = PostgresServer::start();
    let store = open(&server);
    append(&store, 1, &push());
    server.sql("UPDATE test.blobs SET length = length - 1");
    assert_eq!(read(&store, 1), None);
}

/// What no row names any more may be damaged: a check says that the store is whole, and it is.
#[test]
fn i18_damage_in_what_nobody_names_holds_up_no_copy() {
    let server = PostgresServer::start();
    let store = open(&server);
    for id in [1, 2] {
        append(&store, id, &push());
    }
    store
        .write_blocking::<_, StoreError, _>(|txn| txn.delete(&BODIES, &1).map(drop))
        .unwrap();
    server.sql("UPDATE test.blobs SET length = length - 1 WHERE start = 0");
    let place = StorePlace::Postgres(server.url().parse().unwrap());
    let whole = check(&place, &options()).unwrap();
    assert_eq!(whole.faults, Vec::<String>::new());
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("saved");
    let report = backup(&place, &StorePlace::Directory(saved.clone()), &options()).unwrap();
    assert_eq!(report.faults, Vec::<String>::new());
    store.close();
    let saved = Store::open(&saved, &options()).unwrap();
    assert_eq!(read(&saved, 2), Some(push()));
}
