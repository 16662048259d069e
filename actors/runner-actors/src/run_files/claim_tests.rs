//! Whose a place for files is: a copy of the store beside its original, a store that was moved.

use std::path::Path;
use std::time::Duration;

use cluster_actors::replica::{FileMigration, claim_objects};
use store::maintenance::{backup, migrate};
use store::{Store, StoreOptions, StorePlace};
use tempfile::TempDir;

use super::tests::{DAY, in_folder, process, put, read, settings, store};
use super::{FILES, bring};

fn place_of(data: &TempDir) -> StorePlace {
    let folder = data.path().join("store");
    folder.display().to_string().parse().unwrap()
}

fn open(data: &Path) -> Store {
    Store::open(&data.join("store"), &StoreOptions::new("test")).unwrap()
}

#[test]
fn i18_a_copy_of_the_store_beside_the_installation_removes_nothing() {
    let (first, second, folder) = (
        TempDir::new().unwrap(),
        TempDir::new().unwrap(),
        TempDir::new().unwrap(),
    );
    let place = in_folder(&folder);
    let options = StoreOptions::new("test");
    let original = open(first.path());
    let files = process(&first, &original, &place, Duration::ZERO);
    put(&files.artifacts, "r", "old", 500).unwrap();
    drop(files);
    original.close();
    backup(&place_of(&first), &place_of(&second), &options).unwrap();
    let original = open(first.path());
    let files = process(&first, &original, &place, Duration::ZERO);
    put(&files.artifacts, "r", "new", 700).unwrap();

    let copy = open(second.path());
    let beside = process(&second, &copy, &place, Duration::ZERO);
    let shared = beside.shared.as_ref().unwrap();
    let refused = shared.sweep().unwrap_err().to_string();
    assert!(refused.contains("objects claim"), "{refused}");
    shared.probe();
    assert!(shared.trouble().unwrap().contains("another store"));
    assert!(put(&beside.artifacts, "r", "late", 900).is_err());
    assert_eq!(files.shared.as_ref().unwrap().sweep().unwrap(), 0);
    assert!(read(&files.artifacts, "r", "new").len() > 700);

    // The former one is over: whoever restored the backup says so, and it sweeps no more.
    let migration = FileMigration {
        data: second.path().to_owned(),
        from: settings(&place, Duration::ZERO),
        tables: FILES,
        bring,
        leave_damaged: false,
    };
    claim_objects(&migration, &copy).unwrap();
    shared.probe();
    assert_eq!(shared.trouble(), None);
    assert_eq!(shared.sweep().unwrap(), 1, "what the copy does not know");
    assert!(files.shared.as_ref().unwrap().sweep().is_err());
}

#[test]
fn i18_a_store_that_was_moved_keeps_its_place_for_files() {
    let (first, second, folder) = (
        TempDir::new().unwrap(),
        TempDir::new().unwrap(),
        TempDir::new().unwrap(),
    );
    let place = in_folder(&folder);
    let options = StoreOptions::new("test");
    let store = open(first.path());
    let files = process(&first, &store, &place, DAY);
    put(&files.artifacts, "r", "a", 500).unwrap();
    drop(files);
    store.close();
    migrate(&place_of(&first), &place_of(&second), &options).unwrap();
    let moved = open(second.path());
    let files = process(&second, &moved, &place, DAY);
    assert_eq!(files.shared.as_ref().unwrap().sweep().unwrap(), 0);
    put(&files.artifacts, "r", "b", 600).unwrap();
}

#[test]
fn i18_a_place_that_may_not_be_used_stays_refused() {
    let (data, store) = (TempDir::new().unwrap(), store());
    let folder = TempDir::new().unwrap();
    let place = in_folder(&folder);
    std::fs::write(folder.path().join("owner"), "somebody else").unwrap();
    let files = process(&data, &store, &place, DAY);
    let shared = files.shared.as_ref().unwrap();
    for _ in 0..3 {
        shared.probe();
        let trouble = shared.trouble().unwrap();
        assert!(trouble.contains("another installation"), "{trouble}");
        assert_eq!(shared.trouble().as_ref(), Some(&trouble));
    }
}
