//! Moving a store from one engine to the other and back, saving and restoring it, and checking it.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use scripted_peers::postgres::PostgresServer;
use std::path::Path;
use store::maintenance::{MaintenanceError, backup, check, copy, migrate};
use store::{
    Blob, Extent, ExtentTable, OpenError, RawBytes, ReadRows, Store, StoreError, StoreOptions,
    StorePlace, Table,
};

const ROWS: Table<(String, u64), RawBytes> = Table::new("rows");
const EXTENTS: Table<u64, Extent> = Table::new("extents");
const EXTENT_TABLES: &[ExtentTable] = &[ExtentTable::new(EXTENTS)];

fn options() -> StoreOptions {
    StoreOptions {
        segment_bytes: 200_000,
        ..StoreOptions::new("test").extents(EXTENT_TABLES)
    }
}

fn body(id: u64) -> Vec<u8> {
    let len = id * 7919 % 9000;
    (0..len).map(|n| (n * id) as u8).collect()
}

/// Rows of several tables, blobs of several segments, some of both gone again.
fn fill(store: &Store) {
    for ids in [0..100, 100..200, 200..300] {
        let wrote = store.write_blocking(move |txn| {
            for id in ids {
                let key = (format!("p{}", id % 3), id);
                txn.put(&ROWS, &key, &RawBytes(body(id / 2)))?;
                let extent = txn.append(&Blob::new(body(id).into()))?;
                txn.put(&EXTENTS, &id, &extent)?;
            }
            Ok::<_, StoreError>(())
        });
        wrote.unwrap();
    }
    let gone = store.write_blocking(|txn| {
        for id in (0..300).filter(|id| id % 7 == 0) {
            if let Some(extent) = txn.get(&EXTENTS, &id)? {
                txn.release(&extent);
                txn.delete(&EXTENTS, &id)?;
            }
        }
        Ok::<_, StoreError>(())
    });
    gone.unwrap();
}

/// All that [`fill`] wrote is there, and the store goes on behind it.
fn examine(store: &Store) {
    let seen = store.read_blocking(|rows| {
        assert_eq!(rows.len(&ROWS)?, 300);
        for ((_, id), RawBytes(row)) in rows.range(&ROWS, .., 1000)? {
            assert!(row == body(id / 2));
        }
        let extents = rows.range(&EXTENTS, .., 1000)?;
        for (id, extent) in &extents {
            assert!(rows.blob(extent)?.as_ref() == Some(&body(*id)), "blob {id}");
        }
        Ok::<_, StoreError>(extents.len())
    });
    assert_eq!(seen, Ok(300 - 43));
    let group = store.write_blocking(|txn| {
        let extent = txn.append(&Blob::new(body(999).into()))?;
        txn.put(&EXTENTS, &999, &extent)?;
        Ok::<_, StoreError>(txn.group())
    });
    assert!(
        group.unwrap() > 4,
        "groups are numbered from where the source was"
    );
    let back = store.write_blocking(|txn| {
        let extent = txn.get(&EXTENTS, &999)?.unwrap();
        assert_eq!(txn.blob(&extent)?, Some(body(999)));
        txn.release(&extent);
        txn.delete(&EXTENTS, &999)
    });
    assert_eq!(back, Ok(true));
}

fn place(text: impl AsRef<str>) -> StorePlace {
    text.as_ref().parse().unwrap()
}

fn folder(path: &Path) -> StorePlace {
    StorePlace::Directory(path.to_owned())
}

fn open(place: &StorePlace) -> Result<Store, OpenError> {
    match place {
        StorePlace::Directory(folder) => Store::open(folder, &options()),
        StorePlace::Postgres(url) => Store::open_postgres(url, &options()),
    }
}

#[test]
fn i18_a_store_moves_to_postgresql_and_back_with_all_it_holds() {
    let server = PostgresServer::start();
    let root = tempfile::tempdir().unwrap();
    let (first, last) = (
        folder(&root.path().join("a")),
        folder(&root.path().join("b")),
    );
    let between = place(server.url_in("runs"));
    let store = open(&first).unwrap();
    fill(&store);
    store.close();
    let there = copy(&first, &between, &options()).unwrap();
    let names: Vec<_> = there
        .tables
        .iter()
        .map(|t| (t.name.as_str(), t.rows))
        .collect();
    assert_eq!(names, [("extents", 257), ("rows", 300)]);
    assert!(check(&between, &options()).unwrap().faults.is_empty());
    let store = open(&between).unwrap();
    examine(&store);
    store.close();
    let back = copy(&between, &last, &options()).unwrap();
    assert_eq!(back.tables, there.tables, "the same counts and digests");
    assert!(check(&last, &options()).unwrap().faults.is_empty());
    let store = open(&last).unwrap();
    examine(&store);
    store.close();
    // What it came from is as it was.
    examine(&open(&first).unwrap());
}

#[test]
fn i18_a_store_in_postgresql_is_saved_while_it_is_used_and_restored() {
    let server = PostgresServer::start();
    let root = tempfile::tempdir().unwrap();
    let saved = folder(&root.path().join("saved"));
    let used = place(server.url());
    let store = open(&used).unwrap();
    fill(&store);
    let report = backup(&used, &saved, &options()).unwrap();
    assert_eq!(report.tables.len(), 2);
    let late = store.write_blocking(|txn| {
        let row = RawBytes(b"late".to_vec());
        txn.put(&ROWS, &("late".to_owned(), 1), &row)
    });
    late.unwrap();
    store.close();
    // The database is lost.
    server.sql("DROP SCHEMA test CASCADE");
    copy(&saved, &used, &options()).unwrap();
    examine(&open(&used).unwrap());
}

#[test]
fn i18_a_dump_of_the_database_is_a_backup_too() {
    let server = PostgresServer::start();
    let used = place(server.url());
    let store = open(&used).unwrap();
    fill(&store);
    let dump = server
        .program("pg_dump")
        .args(["-Fc", "-d", "orrery", "-n", "test"])
        .output()
        .unwrap();
    assert!(
        dump.status.success(),
        "{}",
        String::from_utf8_lossy(&dump.stderr)
    );
    store.close();
    server.sql("DROP SCHEMA test CASCADE");
    let mut restore = server
        .program("pg_restore")
        .args(["-d", "orrery", "--exit-on-error"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut restore.stdin.take().unwrap(), &dump.stdout).unwrap();
    assert!(restore.wait().unwrap().success());
    assert!(check(&used, &options()).unwrap().faults.is_empty());
    examine(&open(&used).unwrap());
}

#[test]
fn i18_only_an_empty_store_is_written_and_only_one_that_is_there_is_read() {
    let server = PostgresServer::start();
    let root = tempfile::tempdir().unwrap();
    let (full, none) = (
        folder(&root.path().join("full")),
        folder(&root.path().join("none")),
    );
    let store = open(&full).unwrap();
    fill(&store);
    let busy = copy(&full, &place(server.url()), &options()).unwrap_err();
    assert!(
        matches!(busy, MaintenanceError::Open(OpenError::Lock(_))),
        "{busy}"
    );
    store.close();
    let missing = copy(&none, &place(server.url()), &options()).unwrap_err();
    assert!(
        matches!(missing, MaintenanceError::Missing { .. }),
        "{missing}"
    );
    assert!(
        !root.path().join("none/store.redb").exists(),
        "a store was made"
    );
    let missing = check(&place(server.url_in("nothing")), &options()).unwrap_err();
    assert!(
        missing.to_string().contains("there is no store"),
        "{missing}"
    );
    let store = open(&place(server.url())).unwrap();
    fill(&store);
    store.close();
    let error = copy(&full, &place(server.url()), &options())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("is not empty (table rows has 300 rows)"),
        "{error}"
    );
    examine(&open(&place(server.url())).unwrap());
}

#[test]
fn i18_a_copy_that_did_not_end_is_refused_and_begun_anew() {
    let server = PostgresServer::start();
    let root = tempfile::tempdir().unwrap();
    let full = folder(&root.path().join("full"));
    let store = open(&full).unwrap();
    fill(&store);
    store.close();
    let to = place(server.url());
    copy(&full, &to, &options()).unwrap();
    // As a copy would leave it that was killed in the middle: marked, with some of the rows.
    server.sql(
        "INSERT INTO test.rows VALUES ('_meta', 'copying', 'copying'); \
         UPDATE test.tables SET rows = rows + 1 WHERE name = '_meta'; \
         DELETE FROM test.rows WHERE tbl = 'extents'; \
         UPDATE test.tables SET rows = 0 WHERE name = 'extents'",
    );
    let error = open(&to).unwrap_err();
    assert!(matches!(error, OpenError::HalfCopied { .. }), "{error}");
    assert_eq!(check(&to, &options()).unwrap().faults.len(), 1);
    // Nor is it given on as a whole one.
    let third = folder(&root.path().join("third"));
    for made in [
        copy(&to, &third, &options()),
        backup(&to, &third, &options()),
    ] {
        let refused = matches!(
            made,
            Err(MaintenanceError::Open(OpenError::HalfCopied { .. }))
        );
        assert!(refused, "{made:?}");
    }
    assert!(!root.path().join("third/store.redb").exists());
    copy(&full, &to, &options()).unwrap();
    examine(&open(&to).unwrap());
}

#[test]
fn i18_a_check_finds_damage_in_either_engine() {
    let server = PostgresServer::start();
    let to = place(server.url());
    let store = open(&to).unwrap();
    fill(&store);
    // It may be asked while the store is in use.
    assert_eq!(check(&to, &options()).unwrap().faults, Vec::<String>::new());
    server.sql(
        "UPDATE test.rows SET value = set_byte(value, 9, 255 - get_byte(value, 9)) \
         WHERE ctid = (SELECT ctid FROM test.rows WHERE tbl = 'extents' LIMIT 1); \
         DELETE FROM test.rows WHERE ctid = (SELECT ctid FROM test.rows WHERE tbl = 'rows' LIMIT 1); \
         DELETE FROM test.blobs WHERE segment = (SELECT max(segment) FROM test.blobs)",
    );
    let faults = check(&to, &options()).unwrap().faults.join("\n");
    for part in [
        "table extents: the row of key 00",
        "table rows: 300 rows are counted, 299 are there",
        "of blobs is missing",
    ] {
        assert!(faults.contains(part), "{faults}");
    }
    let root = tempfile::tempdir().unwrap();
    let redb = folder(root.path());
    let store = open(&redb).unwrap();
    fill(&store);
    store.close();
    assert_eq!(
        check(&redb, &options()).unwrap().faults,
        Vec::<String>::new()
    );
    let pieces = root.path().join("pieces");
    let mut segments: Vec<_> = std::fs::read_dir(pieces).unwrap().collect();
    let lost = segments.pop().unwrap().unwrap().path();
    std::fs::remove_file(lost).unwrap();
    let faults = check(&redb, &options()).unwrap().faults.join("\n");
    assert!(faults.contains("of blobs is missing"), "{faults}");
}

/// Every segment is there, and a blob within one is not.
#[test]
fn i18_a_check_and_a_backup_see_that_blobs_are_lost() {
    let server = PostgresServer::start();
    let root = tempfile::tempdir().unwrap();
    let (here, there) = (folder(&root.path().join("a")), place(server.url_in("runs")));
    for place in [&here, &there] {
        let store = open(place).unwrap();
        fill(&store);
        store.close();
        let found = check(place, &options()).unwrap();
        assert_eq!(found.faults, Vec::<String>::new());
    }
    server.sql("DELETE FROM runs.blobs WHERE (segment, start) IN (SELECT segment, start FROM runs.blobs ORDER BY segment, start LIMIT 1 OFFSET 20)");
    let segment = root.path().join("a/pieces");
    let segment = std::fs::read_dir(segment)
        .unwrap()
        .flatten()
        .next()
        .unwrap();
    let mut bytes = std::fs::read(segment.path()).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 20].fill(0xa5);
    std::fs::write(segment.path(), bytes).unwrap();
    for (number, place) in [&here, &there].into_iter().enumerate() {
        let found = check(place, &options()).unwrap().faults;
        assert!(
            found[0].starts_with("table extents: the blob of key "),
            "{found:?}"
        );
        let saved = folder(&root.path().join(format!("saved-{number}")));
        let report = backup(place, &saved, &options()).unwrap();
        assert_eq!(report.faults, found, "the copy is what there is");
        assert_eq!(check(&saved, &options()).unwrap().faults, found);
    }
}

#[test]
fn i18_no_program_starts_on_a_store_that_was_moved() {
    let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let folder = |n: usize| folders[n].path().join("store");
    let at = |n: usize| place(folder(n).display().to_string());
    let store = Store::open(&folder(0), &options()).unwrap();
    fill(&store);
    store.close();
    migrate(&at(0), &at(1), &options()).unwrap();
    let refused = Store::open(&folder(0), &options()).expect_err("it was moved");
    assert!(matches!(refused, OpenError::Moved { .. }), "{refused}");
    let named = folder(1).display().to_string();
    assert!(refused.to_string().contains(&named), "{refused}");
    assert!(check(&at(0), &options()).unwrap().faults.is_empty());
    let moved = Store::open(&folder(1), &options()).unwrap();
    examine(&moved);
    moved.close();
    // The way back to what it was then.
    migrate(&at(0), &at(2), &options()).unwrap();
    let again = Store::open(&folder(2), &options()).unwrap();
    examine(&again);
}
