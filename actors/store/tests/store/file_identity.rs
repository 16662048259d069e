//! U2: a data folder that is removed under a running store is noticed before anything more is
//! acknowledged. U8: what a start does with files that lost what they held.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::fs;
use std::path::Path;
use std::time::Duration;

use store::{
    Blob, Extent, OpenError, RawBytes, ReadRows, Store, StoreError, StoreOptions, StoreState, Table,
};

const ROWS: Table<u64, RawBytes> = Table::new("rows");
const EXTENTS: Table<u64, Extent> = Table::new("extents");

fn open(folder: &Path) -> Store {
    let mut options = StoreOptions::new("test");
    options.probe_every = Duration::from_millis(5);
    Store::open(folder, &options).unwrap()
}

fn write(store: &Store, id: u64) -> Result<(), StoreError> {
    let row = RawBytes(vec![7; 100]);
    store.write_blocking(move |txn| txn.put(&ROWS, &id, &row))
}

fn append(store: &Store, id: u64) -> Result<(), StoreError> {
    store.write_blocking(move |txn| {
        let extent = txn.append(&Blob::new(vec![id as u8; 5000].into()))?;
        txn.put(&EXTENTS, &id, &extent)
    })
}

fn rows(store: &Store) -> u64 {
    store.read_blocking(|rows| rows.len(&ROWS)).unwrap()
}

fn blob(store: &Store, id: u64) -> Option<Vec<u8>> {
    store
        .read_blocking(move |rows| {
            let extent = rows.get(&EXTENTS, &id)?.expect("its row");
            rows.blob(&extent)
        })
        .unwrap()
}

fn is_refused(answer: Result<(), StoreError>) -> String {
    let error = answer.unwrap_err();
    assert!(error.is_temporary(), "503, not 500: {error}");
    error.to_string()
}

#[test]
fn u2_a_removed_folder_is_noticed_before_anything_is_acknowledged() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("data");
    let store = open(&folder);
    write(&store, 1).unwrap();
    append(&store, 1).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    for id in 2..5 {
        let said = is_refused(write(&store, id));
        assert!(
            said.contains("store.redb") && said.contains("not there any more"),
            "{said}"
        );
        is_refused(append(&store, id));
    }
    assert!(matches!(store.health().state, StoreState::Failing(_)));
    assert!(
        !folder.join("store.redb").exists(),
        "no empty store in its place"
    );
}

#[test]
fn u2_an_idle_store_that_was_removed_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    write(&store, 1).unwrap();
    let mut states = store.watch_state();
    fs::remove_file(folder.path().join("store.redb")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let failed = states.wait_for(|state| *state != StoreState::Ready);
    let failed = async {
        tokio::time::timeout(Duration::from_secs(60), failed)
            .await
            .map(|it| it.map(|it| it.clone()))
    };
    let state = runtime.block_on(failed).unwrap().unwrap();
    assert!(
        matches!(&state, StoreState::Failing(why) if why.contains("was removed")),
        "{state:?}"
    );
}

#[test]
fn u2_a_folder_that_was_put_back_works_again_with_all_that_was_acknowledged() {
    let parent = tempfile::tempdir().unwrap();
    let (folder, away) = (parent.path().join("data"), parent.path().join("away"));
    let store = open(&folder);
    write(&store, 1).unwrap();
    fs::rename(&folder, &away).unwrap();
    is_refused(write(&store, 2));
    fs::rename(&away, &folder).unwrap();
    // The next probe finds it; until then requests are refused, and none is lost.
    let mut tries = 0;
    while write(&store, 3).is_err() {
        tries += 1;
        assert!(tries < 10_000);
        std::thread::park_timeout(Duration::from_millis(5));
    }
    assert!(rows(&store) >= 2);
    drop(store);
    assert!(
        rows(&open(&folder)) >= 2,
        "what was acknowledged is in the file that is there"
    );
}

#[test]
fn u2_another_file_in_the_place_of_the_store_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    write(&store, 1).unwrap();
    let path = folder.path().join("store.redb");
    let copy = folder.path().join("copy");
    fs::copy(&path, &copy).unwrap();
    fs::rename(&copy, &path).unwrap();
    let before = fs::read(&path).unwrap();
    let said = is_refused(write(&store, 2));
    assert!(said.contains("another file"), "{said}");
    drop(store);
    assert!(fs::read(&path).unwrap() == before);
}

#[test]
fn u2_removed_blobs_are_noticed_and_a_restart_begins_new_ones() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    append(&store, 1).unwrap();
    let blobs = folder.path().join("pieces");
    fs::remove_dir_all(&blobs).unwrap();
    for id in 2..5 {
        let said = is_refused(append(&store, id));
        assert!(said.contains("pieces"), "{said}");
    }
    assert!(matches!(store.health().state, StoreState::Failing(_)));
    drop(store);
    let store = open(folder.path());
    append(&store, 9).unwrap();
    assert_eq!(blob(&store, 9), Some(vec![9; 5000]));
    assert_eq!(blob(&store, 1), None, "lost, and said so at the start");
    drop(store);
    assert_eq!(blob(&open(folder.path()), 9), Some(vec![9; 5000]));
}

#[test]
fn u8_an_empty_store_is_refused_and_a_start_that_was_cut_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.redb");
    // A start that was cut leaves the draft only.
    fs::write(path.with_extension("new"), "").unwrap();
    let store = open(folder.path());
    write(&store, 1).unwrap();
    drop(store);
    fs::write(&path, "").unwrap();
    let refused = Store::open(folder.path(), &StoreOptions::new("test")).unwrap_err();
    assert!(matches!(refused, OpenError::Emptied { .. }), "{refused}");
    let said = refused.to_string();
    assert!(
        said.contains("backup") && said.contains("remove the file"),
        "{said}"
    );
}

/// The child of the test below: opens the store that it is given.
#[test]
fn opens_a_damaged_store() {
    if let Some(folder) = std::env::var_os("DAMAGED_STORE") {
        let said = Store::open(Path::new(&folder), &StoreOptions::new("test")).unwrap_err();
        eprintln!("SAID {said}");
    }
}

#[test]
fn u8_a_damaged_store_is_said_without_a_backtrace() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for id in 0..200 {
        write(&store, id).unwrap();
    }
    drop(store);
    let path = folder.path().join("store.redb");
    let whole = fs::read(&path).unwrap();
    let mut quiet = 0;
    // Other bytes are wrong each time: redb answers some with an error, some with a panic.
    for round in 0..12_usize {
        let mut bytes = whole.clone();
        for (at, byte) in bytes.iter_mut().enumerate().skip(64 + round * 512) {
            if at % (64 << (round % 4)) == 0 {
                *byte = 0xff;
            }
        }
        fs::write(&path, &bytes).unwrap();
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "file_identity::opens_a_damaged_store",
                "--exact",
                "--nocapture",
            ])
            .env("DAMAGED_STORE", folder.path())
            .env("RUST_BACKTRACE", "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stderr);
        if said.contains("SAID") {
            assert!(
                !said.contains("panicked at") && !said.contains("stack backtrace"),
                "round {round}: {said}"
            );
            quiet += 1;
        }
    }
    assert!(quiet > 0, "no damage was noticed");
}
