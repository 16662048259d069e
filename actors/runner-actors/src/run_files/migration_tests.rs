//! Files that go from one storage to another, and back into the data folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cluster_actors::replica::{FileMigration, MigrationError, MigrationReport};
use http_clients::objects::ObjectPlace;
use scripted_peers::s3::S3Server;
use store::Store;
use tempfile::TempDir;

use super::tests::{
    DAY, in_bucket, in_folder, printed, process, put, put_cache, read, say, scope, settings, store,
};
use super::{FILES, RunFiles, bring};
use crate::artifacts::ArtifactStore;
use crate::caches::CacheStore;
use crate::log::Logs;

fn migration(data: &TempDir, from: &ObjectPlace, leave_damaged: bool) -> FileMigration {
    FileMigration {
        data: data.path().to_owned(),
        from: settings(from, DAY),
        tables: FILES,
        bring,
        leave_damaged,
    }
}

fn migrate(
    data: &TempDir,
    (from, to): (&ObjectPlace, &ObjectPlace),
    store: Option<&Store>,
) -> Result<MigrationReport, MigrationError> {
    migration(data, from, false).to_storage(to, store, &|_, _| {})
}

fn trouble(files: &RunFiles) -> String {
    let shared = files.shared.as_ref().unwrap();
    shared.probe();
    shared.trouble().unwrap_or_default()
}

/// The objects of a storage that is a folder.
fn objects(folder: &Path) -> Vec<PathBuf> {
    let below = std::fs::read_dir(folder.join("objects")).into_iter();
    let directories = below.flatten().flatten().map(|entry| entry.path());
    let files = directories.flat_map(|directory| std::fs::read_dir(directory).unwrap());
    let mut all: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    all.sort();
    all
}

/// A run's log, two artifacts and a cache in a storage; the first artifact's bytes.
async fn filled(data: &TempDir, store: &Store, place: &ObjectPlace) -> Vec<u8> {
    let files = process(data, store, place, DAY);
    put(&files.artifacts, "r", "site", 5000).unwrap();
    put(&files.artifacts, "r", "other", 6000).unwrap();
    put_cache(&files.caches, "deps");
    say(&files.logs, "one").await;
    files.logs.store("r", true).await;
    read(&files.artifacts, "r", "site")
}

/// Whether a process without any file of its own has all of it.
fn has_all(files: &RunFiles, site: &[u8]) {
    assert_eq!(read(&files.artifacts, "r", "site"), site);
    assert_eq!(files.artifacts.list("r").unwrap().len(), 2);
    assert!(files.caches.contains(&scope(), "deps").unwrap());
    assert_eq!(printed(&files.logs), ["one"]);
}

async fn moves(first: &ObjectPlace, second: &ObjectPlace) {
    let (data, fresh, store) = (TempDir::new().unwrap(), TempDir::new().unwrap(), store());
    let site = filled(&data, &store, first).await;
    // While the service goes on, which stores one more file then.
    let pass = migrate(&data, (first, second), None).unwrap();
    assert_eq!(
        (pass.copied.0, pass.there.0, pass.is_complete),
        (4, 0, false)
    );
    let early = process(&fresh, &store, second, DAY);
    assert!(
        trouble(&early).contains("is not to be used"),
        "{}",
        trouble(&early)
    );
    let files = process(&data, &store, first, DAY);
    put(&files.artifacts, "r2", "late", 7000).unwrap();
    // Bytes whose row has gone: the next upload of them may name their object again.
    put(&files.artifacts, "gone", "again", 8000).unwrap();
    files.artifacts.remove_run("gone").unwrap();
    drop(files);

    let last = migrate(&data, (first, second), Some(&store)).unwrap();
    assert_eq!(
        (last.copied.0, last.there.0, last.is_complete),
        (2, 4, true)
    );
    assert!(last.copied.1 > 15_000 && last.faults.is_empty(), "{last:?}");
    let moved = process(&fresh, &store, second, DAY);
    assert_eq!(trouble(&moved), "");
    has_all(&moved, &site);
    put(&moved.artifacts, "r3", "again", 8000).unwrap();
    let other = TempDir::new().unwrap();
    let next = process(&other, &store, second, DAY);
    assert!(read(&next.artifacts, "r3", "again").len() > 8000);
    assert!(read(&next.artifacts, "r2", "late").len() > 7000);
    // Nobody goes on where the next one does not look.
    let late = process(&other, &store, first, DAY);
    assert!(
        trouble(&late).contains("its files were moved to"),
        "{}",
        trouble(&late)
    );
    let again = migrate(&data, (first, second), Some(&store)).unwrap();
    assert!(again.is_complete && again.copied.0 == 0, "{again:?}");
    // And all the way back.
    let back = migrate(&other, (second, first), Some(&store)).unwrap();
    assert!(back.is_complete, "{back:?}");
    assert_eq!(trouble(&process(&other, &store, first, DAY)), "");
}

#[actix_rt::test]
async fn i18_files_move_from_a_folder_into_a_bucket_and_back() {
    let (folder, server) = (TempDir::new().unwrap(), S3Server::start());
    moves(&in_folder(&folder), &in_bucket(&server)).await;
}

#[actix_rt::test]
async fn i18_files_move_from_a_bucket_into_another_one_and_back() {
    let (first, second) = (S3Server::start(), S3Server::start());
    moves(&in_bucket(&first), &in_bucket(&second)).await;
}

#[actix_rt::test]
async fn i18_what_is_damaged_is_named_and_stops_a_move_that_is_not_told_to_leave_it() {
    let (data, store) = (TempDir::new().unwrap(), store());
    let (first, second) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (from, to) = (in_folder(&first), in_folder(&second));
    filled(&data, &store, &from).await;
    let [damaged, missing] = [0, 1].map(|at| objects(first.path())[at].clone());
    let mut bytes = std::fs::read(&damaged).unwrap();
    bytes[0] ^= 1;
    std::fs::write(&damaged, bytes).unwrap();
    std::fs::remove_file(&missing).unwrap();
    let report = migrate(&data, (&from, &to), Some(&store)).unwrap();
    assert_eq!((report.copied.0, report.is_complete), (2, false));
    let said = report.faults.join("\n");
    for object in [&damaged, &missing] {
        let name = object.file_name().unwrap().to_str().unwrap();
        assert!(said.contains(name), "{said}");
    }
    assert_eq!(objects(second.path()).len(), 2, "nothing damaged is there");
    // It is the place still, and the other one is none yet.
    assert_eq!(trouble(&process(&data, &store, &from, DAY)), "");
    assert!(trouble(&process(&data, &store, &to, DAY)).contains("being copied"));
    // What has come to harm there is copied anew, where this machine did not note it.
    std::fs::write(&objects(second.path())[0], "else").unwrap();
    std::fs::remove_dir_all(data.path().join("objects-migrating")).unwrap();
    let left = migration(&data, &from, true).to_storage(&to, Some(&store), &|_, _| {});
    let left = left.unwrap();
    assert_eq!(
        (left.copied.0, left.there.0, left.is_complete),
        (1, 1, true)
    );
    assert_eq!(left.faults, report.faults);
    assert_eq!(trouble(&process(&data, &store, &to, DAY)), "");
}

#[actix_rt::test]
async fn i18_a_place_of_others_the_same_place_and_an_empty_one_are_refused() {
    let (data, store) = (TempDir::new().unwrap(), store());
    let (first, second) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (from, to) = (in_folder(&first), in_folder(&second));
    filled(&data, &store, &from).await;
    // Files are where they are: an empty place is no place for this store.
    let wrong = process(&data, &store, &to, DAY);
    assert!(
        trouble(&wrong).contains("holds none of the files"),
        "{}",
        trouble(&wrong)
    );
    assert!(put(&wrong.artifacts, "r", "x", 1).is_err());
    let same = migrate(&data, (&from, &from), Some(&store)).unwrap_err();
    assert!(matches!(same, MigrationError::SamePlace(_)), "{same}");
    let other = self::store();
    put(&process(&data, &other, &to, DAY).artifacts, "r", "x", 1).unwrap();
    for own in [None, Some(&store)] {
        let refused = migrate(&data, (&from, &to), own).unwrap_err();
        assert!(
            refused.to_string().contains("another installation"),
            "{refused}"
        );
    }
    let refused = migrate(&data, (&to, &from), Some(&store)).unwrap_err();
    assert!(
        matches!(refused, MigrationError::OtherStore { .. }),
        "{refused}"
    );
    let nothing = in_folder(&TempDir::new().unwrap());
    let refused = migrate(&data, (&nothing, &to), None).unwrap_err();
    assert!(matches!(refused, MigrationError::NoFiles(_)), "{refused}");
    // Both are as they were.
    assert_eq!(trouble(&process(&data, &store, &from, DAY)), "");
    assert_eq!(trouble(&process(&data, &other, &to, DAY)), "");
}

#[actix_rt::test]
async fn i18_files_come_back_into_the_data_folder_and_need_no_storage_then() {
    let (data, fresh, store) = (TempDir::new().unwrap(), TempDir::new().unwrap(), store());
    let server = S3Server::start();
    let place = in_bucket(&server);
    let site = filled(&data, &store, &place).await;
    let damaged = server.objects().into_iter();
    let mut damaged = damaged.filter(|path| path.to_string_lossy().contains("/objects/"));
    let damaged = damaged.find(|path| std::fs::read(path).is_ok_and(|bytes| bytes != site));
    let damaged = damaged.unwrap();
    let whole = std::fs::read(&damaged).unwrap();
    std::fs::write(&damaged, "else").unwrap();
    let report = migration(&fresh, &place, false).to_data(&store, &|_, _| {});
    let report = report.unwrap();
    assert_eq!((report.copied.0, report.is_complete), (3, false));
    let name = damaged.file_name().unwrap().to_str().unwrap();
    assert!(report.faults[0].contains(name), "{report:?}");
    std::fs::write(&damaged, whole).unwrap();
    let rest = migration(&fresh, &place, false).to_data(&store, &|_, _| {});
    let rest = rest.unwrap();
    assert_eq!((rest.copied.0, rest.is_complete), (1, true));
    server_is_not_needed(server, &fresh, &site).await;
    // A storage from here on has what is new, and nothing of what was there.
    let folder = TempDir::new().unwrap();
    let files = process(&fresh, &store, &in_folder(&folder), Duration::ZERO);
    files.maintain(&store, &mut super::RunCleanupState::default());
    assert_eq!(trouble(&files), "");
    assert_eq!(objects(folder.path()).len(), 4);
    has_all(&process(&data, &store, &in_folder(&folder), DAY), &site);
}

async fn server_is_not_needed(server: S3Server, data: &TempDir, site: &[u8]) {
    drop(server);
    let logs = data.path().join("logs");
    let alone = RunFiles {
        logs: Logs::open(&logs).unwrap(),
        artifacts: ArtifactStore::new(data.path(), None),
        caches: CacheStore::open(data.path(), 1 << 20, None),
        shared: None,
    };
    assert_eq!(read(&alone.artifacts, "r", "site"), site);
    assert_eq!(alone.artifacts.list("r").unwrap().len(), 2);
    assert!(alone.caches.contains(&scope(), "deps").unwrap());
    let log = std::fs::read_to_string(alone.logs.path("r")).unwrap();
    assert!(log.contains("one"), "{log}");
    assert!(!data.path().join("objects").exists(), "copies take no room");
}

#[test]
fn i18_bytes_that_no_file_has_any_more_are_no_fault_where_they_are_missing() {
    let (data, store) = (TempDir::new().unwrap(), store());
    let (first, second) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (from, to) = (in_folder(&first), in_folder(&second));
    let files = process(&data, &store, &from, DAY);
    put(&files.artifacts, "gone", "a", 500).unwrap();
    let forgotten = objects(first.path()).remove(0);
    files.artifacts.remove_run("gone").unwrap();
    put(&files.artifacts, "r", "site", 600).unwrap();
    let lost = objects(first.path());
    let lost = lost.into_iter().find(|path| *path != forgotten).unwrap();
    std::fs::remove_file(&forgotten).unwrap();
    let held = first.path().join("held");
    std::fs::rename(&lost, &held).unwrap();
    let report = migrate(&data, (&from, &to), Some(&store)).unwrap();
    let [fault] = &report.faults[..] else {
        panic!("one file is lost, and nothing else: {:?}", report.faults);
    };
    let whose = format!("artifacts of {}: site", crate::stored_tar::hashed("r"));
    assert!(fault.contains(&whose), "whose and which: {fault}");
    std::fs::rename(&held, &lost).unwrap();
    let report = migrate(&data, (&from, &to), Some(&store)).unwrap();
    assert!(report.is_complete && report.faults.is_empty(), "{report:?}");
}
