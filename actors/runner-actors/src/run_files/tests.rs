//! Two data folders over one store and one storage, as two processes have them; the storage is a
//! folder and a real S3-compatible server.

use std::time::{Duration, SystemTime};

use cluster_actors::replica::SharedFiles;
use config_core::{ObjectSettings, Secret};
use http_clients::objects::{ObjectKeys, ObjectPlace};
use runner_core::cache_scope::CacheScope;
use runner_core::event::EventKind;
use scripted_peers::s3::{ACCESS_KEY, BUCKET, ClockedStorage, S3Server, SECRET_KEY};
use store::{Store, StoreOptions};
use tempfile::TempDir;

use super::{FILES, RunCleanupState, RunFiles};
use crate::artifacts::{ArtifactMaker, ArtifactStore, NewArtifact};
use crate::caches::CacheStore;
use crate::event::StoredEvent;
use crate::log::{LineKind, LogLine, Logs};
use crate::records::RunRecord;
use crate::rows;
use crate::shared_logs::SharedLogs;
use crate::tar_guard::tar_of;

pub(super) fn in_folder(folder: &TempDir) -> ObjectPlace {
    let url = format!("file://{}", folder.path().display());
    ObjectPlace::new(&url, None, None, false, None).unwrap()
}

pub(super) fn in_bucket(server: &S3Server) -> ObjectPlace {
    in_storage(&server.endpoint())
}

fn in_storage(endpoint: &str) -> ObjectPlace {
    let keys = ObjectKeys {
        access: Secret::new(ACCESS_KEY.to_owned()),
        secret: Secret::new(SECRET_KEY.to_owned()),
        session: None,
    };
    let url = format!("s3://{BUCKET}/ci");
    ObjectPlace::new(&url, Some(endpoint), None, false, Some(keys)).unwrap()
}

pub(super) fn settings(place: &ObjectPlace, grace: Duration) -> ObjectSettings {
    ObjectSettings {
        place: place.clone(),
        local_bytes: 1 << 30,
        grace,
        sweep_every: Duration::ZERO,
    }
}

pub(super) const DAY: Duration = Duration::from_secs(86_400);

/// A store that knows the run `r`.
pub(super) fn store() -> Store {
    let store = Store::in_memory(&StoreOptions::new("test")).unwrap();
    know(&store, "r");
    store
}

pub(super) fn know(store: &Store, run: &str) {
    let repository = "acme/rocket".parse().unwrap();
    let reference = "refs/heads/main".parse().unwrap();
    let (kind, sha) = (EventKind::Push, "1".repeat(40));
    let event = StoredEvent::local(kind, &repository, &reference, &sha, "u", None);
    let mut record = RunRecord::received(&event, run.to_owned());
    record.id = run.to_owned();
    let put = store.write_blocking(move |txn| rows::put_run(txn, &record));
    put.unwrap();
}

/// What a process has: of its data folder, and of what is shared.
pub(super) fn process(
    data: &TempDir,
    store: &Store,
    place: &ObjectPlace,
    grace: Duration,
) -> RunFiles {
    let shared = SharedFiles::open(data.path(), &settings(place, grace), store, FILES).unwrap();
    let logs = data.path().join("logs");
    let shared_logs = SharedLogs::open(&logs, &shared);
    RunFiles {
        logs: Logs::open_shared(&logs, Some(shared_logs)).unwrap(),
        artifacts: ArtifactStore::new(data.path(), Some(&shared)),
        caches: CacheStore::open(data.path(), 1 << 20, Some(&shared)),
        shared: Some(shared),
    }
}

pub(super) fn scope() -> CacheScope {
    CacheScope {
        repository: "acme/rocket".to_owned(),
        reference: "refs/heads/main".to_owned(),
        untrusted: false,
    }
}

pub(super) fn put(
    artifacts: &ArtifactStore,
    run: &str,
    name: &str,
    bytes: usize,
) -> std::io::Result<u64> {
    let mut pending = artifacts.create(run, name).unwrap();
    pending.write(&tar_of("x", bytes)).unwrap();
    let by = ArtifactMaker {
        job: "build#0".to_owned(),
        attempt: "1".to_owned(),
    };
    Ok(artifacts
        .keep(run, pending, &by, NewArtifact::default())?
        .bytes)
}

pub(super) fn put_cache(caches: &CacheStore, key: &str) {
    let mut pending = caches.create(&scope(), key).unwrap();
    pending.write(&tar_of("y", 300)).unwrap();
    caches.keep(&scope(), pending).unwrap();
}

pub(super) fn read(artifacts: &ArtifactStore, run: &str, name: &str) -> Vec<u8> {
    let path = artifacts.find(run, name).unwrap().expect("it is there");
    std::fs::read(path).unwrap()
}

pub(super) async fn say(logs: &Logs, text: &str) {
    let line = LogLine {
        at: 1,
        job: String::new(),
        step: 0,
        kind: LineKind::Info,
        text: text.to_owned(),
    };
    logs.write("r", line).await;
}

pub(super) fn printed(logs: &Logs) -> Vec<String> {
    logs.fetch("r").unwrap();
    let text = std::fs::read_to_string(logs.path("r")).unwrap_or_default();
    let lines = text.lines().map(serde_json::from_str::<LogLine>);
    lines.map(|line| line.unwrap().text).collect()
}

/// What a leader stored is read by the one that follows, whose data folder knows nothing of it.
async fn another_process_has_all(place: &ObjectPlace) {
    let (first, second, store) = (TempDir::new().unwrap(), TempDir::new().unwrap(), store());
    let a = process(&first, &store, place, DAY);
    put(&a.artifacts, "r", "site", 5000).unwrap();
    put(&a.artifacts, "r", "../etc", 9).unwrap();
    put_cache(&a.caches, "deps-1");
    say(&a.logs, "one").await;
    a.logs.store("r", false).await;
    say(&a.logs, "two").await;
    a.logs.store("r", true).await;
    let site = read(&a.artifacts, "r", "site");
    drop((a, first));

    let b = process(&second, &store, place, DAY);
    assert_eq!(read(&b.artifacts, "r", "site"), site);
    let listed = b.artifacts.list("r").unwrap();
    let names: Vec<&str> = listed.iter().map(|artifact| &*artifact.name).collect();
    assert_eq!(names, ["../etc", "site"]);
    assert_eq!(b.artifacts.list("other").unwrap(), []);
    assert_eq!(printed(&b.logs), ["one", "two"]);
    let found = b.caches.find(&[scope()], "deps-2", &["deps-".to_owned()]);
    assert_eq!(found.unwrap().unwrap().key, "deps-1");
    assert!(b.caches.contains(&scope(), "deps-1").unwrap());
    // It goes on where the other ended.
    say(&b.logs, "three").await;
    b.logs.store("r", true).await;
    assert_eq!(printed(&b.logs), ["one", "two", "three"]);
    put(&b.artifacts, "r", "site", 7000).unwrap();
    assert_ne!(read(&b.artifacts, "r", "site"), site, "replaced");
    b.artifacts.adopt("again", "r").unwrap();
    b.artifacts.remove_run("r").unwrap();
    assert_eq!(b.artifacts.list("r").unwrap(), []);
    assert_eq!(b.artifacts.list("again").unwrap().len(), 2);
}

#[actix_rt::test]
async fn i18_what_a_leader_kept_is_read_by_the_next_one_from_a_folder() {
    let folder = TempDir::new().unwrap();
    another_process_has_all(&in_folder(&folder)).await;
}

#[actix_rt::test]
async fn i18_what_a_leader_kept_is_read_by_the_next_one_from_a_bucket() {
    let server = S3Server::start();
    another_process_has_all(&in_bucket(&server)).await;
}

pub(super) fn objects(folder: &TempDir) -> usize {
    let directories = std::fs::read_dir(folder.path().join("objects"));
    let directories = directories.into_iter().flatten().flatten();
    let files = directories.flat_map(|directory| std::fs::read_dir(directory.path()).unwrap());
    files.count()
}

#[test]
fn i18_an_object_goes_when_nothing_names_it_and_its_grace_is_over() {
    let (data, folder, store) = (TempDir::new().unwrap(), TempDir::new().unwrap(), store());
    let place = in_folder(&folder);
    let patient = process(&data, &store, &place, DAY);
    let shared = patient.shared.clone().unwrap();
    put(&patient.artifacts, "one", "a", 5000).unwrap();
    put(&patient.artifacts, "two", "b", 5000).unwrap();
    assert_eq!(objects(&folder), 1, "the same bytes are one object");
    put(&patient.artifacts, "one", "c", 6000).unwrap();
    patient.artifacts.adopt("three", "one").unwrap();
    patient.artifacts.remove_run("one").unwrap();
    // What an upload that was killed before its row has left.
    let stray = folder.path().join("objects/zz");
    std::fs::create_dir_all(&stray).unwrap();
    std::fs::write(stray.join("stray-1"), "half").unwrap();
    assert_eq!(shared.sweep().unwrap(), 0, "within the grace nothing goes");
    let swept = |files: &RunFiles| files.shared.as_ref().unwrap().sweep().unwrap();
    let hasty = process(&data, &store, &place, Duration::ZERO);
    assert_eq!(swept(&hasty), 1, "the stray");
    assert_eq!(hasty.artifacts.list("three").unwrap().len(), 2);
    hasty.artifacts.remove_run("three").unwrap();
    assert_eq!(swept(&hasty), 1, "what only that run had");
    assert_eq!(read(&hasty.artifacts, "two", "b").len(), 6656);
    // The bytes are stored anew where their object has gone.
    put(&hasty.artifacts, "four", "c", 6000).unwrap();
    assert_eq!(objects(&folder), 2);
    hasty.artifacts.remove_run("two").unwrap();
    hasty.artifacts.remove_run("four").unwrap();
    assert_eq!(swept(&hasty), 2);
    assert_eq!(objects(&folder), 0);
}

#[test]
fn i18_a_share_that_is_not_mounted_is_no_folder_to_write_into() {
    let (data, share, store) = (TempDir::new().unwrap(), TempDir::new().unwrap(), store());
    let (mounted, elsewhere) = (share.path().join("share"), share.path().join("mounted"));
    let url = format!("file://{}", mounted.display());
    let place = ObjectPlace::new(&url, None, None, false, None).unwrap();
    let files = process(&data, &store, &place, DAY);
    put(&files.artifacts, "one", "a", 5000).unwrap();
    files.artifacts.remove_run("one").unwrap();
    // As when it is unmounted: the mount point is there, and nothing in it.
    std::fs::rename(&mounted, &elsewhere).unwrap();
    std::fs::create_dir(&mounted).unwrap();
    let begun_anew = process(&data, &store, &place, DAY);
    for files in [&files, &begun_anew] {
        let refused = put(&files.artifacts, "two", "b", 6000).unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("mount it, where it is a share"),
            "{refused}"
        );
        let trouble = files.shared.as_ref().unwrap().trouble().unwrap();
        assert!(trouble.contains("mount it"), "{trouble}");
    }
    assert_eq!(std::fs::read_dir(&mounted).unwrap().count(), 0);
    std::fs::remove_dir(&mounted).unwrap();
    std::fs::rename(&elsewhere, &mounted).unwrap();
    for (files, run) in [(&files, "three"), (&begun_anew, "four")] {
        put(&files.artifacts, run, "b", 6000).unwrap();
        assert_eq!(files.shared.as_ref().unwrap().trouble(), None);
    }
}

#[test]
fn i18_a_host_whose_clock_is_ahead_of_the_storages_removes_nothing_too_early() {
    let (data, store) = (TempDir::new().unwrap(), store());
    let server = ClockedStorage::behind(Duration::from_secs(3600));
    let place = in_storage(&server.endpoint());
    let files = process(&data, &store, &place, Duration::from_secs(1800));
    put(&files.artifacts, "one", "a", 5000).unwrap();
    files.artifacts.remove_run("one").unwrap();
    let shared = files.shared.as_ref().unwrap();
    assert_eq!(
        shared.sweep().unwrap(),
        0,
        "it is new by the storage's clock"
    );
    let hasty = process(&data, &store, &place, Duration::ZERO);
    assert_eq!(hasty.shared.as_ref().unwrap().sweep().unwrap(), 1);
    assert_eq!(
        server.count(),
        2,
        "only whose the place is, and which store has it"
    );
}

#[actix_rt::test]
async fn i18_nothing_counts_that_could_not_be_stored_and_logs_follow() {
    let (data, other, store) = (TempDir::new().unwrap(), TempDir::new().unwrap(), store());
    let mut server = S3Server::start();
    let place = in_bucket(&server);
    let files = process(&data, &store, &place, DAY);
    let shared = files.shared.clone().unwrap();
    put(&files.artifacts, "r", "before", 10).unwrap();
    shared.probe();
    assert_eq!(shared.trouble(), None);
    server.stop();
    shared.probe();
    assert!(shared.trouble().unwrap().contains(BUCKET));
    say(&files.logs, "one").await;
    let stored = files.logs.shared().unwrap().clone();
    files.logs.flush().await;
    let waits = std::thread::scope(|scope| {
        // A step that uploads waits out a storage that is restarted.
        let put = scope.spawn(|| put(&files.artifacts, "r", "during", 20));
        let waits = stored.store("r", true).unwrap_err();
        std::thread::park_timeout(Duration::from_secs(8));
        assert!(!put.is_finished(), "it waits on");
        server.start_again();
        put.join().unwrap().unwrap();
        waits
    });
    assert!(waits.to_string().contains("cannot be used now"), "{waits}");
    let names = |files: &RunFiles| {
        let listed = files.artifacts.list("r").unwrap().into_iter();
        let mut names: Vec<_> = listed.map(|artifact| artifact.name).collect();
        names.sort();
        names
    };
    assert_eq!(names(&files), ["before", "during"]);
    files.maintain(&store, &mut RunCleanupState::default());
    assert_eq!(shared.trouble(), None);
    let next = process(&other, &store, &place, DAY);
    assert_eq!(printed(&next.logs), ["one"]);
    assert_eq!(names(&next), ["before", "during"]);
}

#[actix_rt::test]
async fn i18_a_log_that_could_not_be_read_before_its_next_line_is_whole_when_it_is_stored() {
    let (first, second, store) = (TempDir::new().unwrap(), TempDir::new().unwrap(), store());
    let folder = TempDir::new().unwrap();
    let place = in_folder(&folder);
    let a = process(&first, &store, &place, DAY);
    say(&a.logs, "one").await;
    a.logs.store("r", false).await;
    // The place is away while the next process writes its first line.
    let (there, away) = (folder.path().join("objects"), folder.path().join("away"));
    std::fs::rename(&there, &away).unwrap();
    let b = process(&second, &store, &place, DAY);
    say(&b.logs, "two").await;
    b.logs.flush().await;
    std::fs::rename(&away, &there).unwrap();
    b.logs.store("r", false).await;
    say(&b.logs, "three").await;
    b.logs.store("r", true).await;
    // The first one leads again: its own file is the older one.
    let again = process(&first, &store, &place, DAY);
    assert_eq!(printed(&again.logs), ["one", "two", "three"]);
}

#[actix_rt::test]
async fn i18_files_from_before_are_read_where_they_are_and_moved() {
    let (data, folder, other) = (
        TempDir::new().unwrap(),
        TempDir::new().unwrap(),
        TempDir::new().unwrap(),
    );
    let artifacts = ArtifactStore::new(data.path(), None);
    put(&artifacts, "r", "old", 5000).unwrap();
    put_cache(&CacheStore::open(data.path(), 1 << 20, None), "deps");
    let logs = Logs::open(&data.path().join("logs")).unwrap();
    say(&logs, "one").await;
    logs.flush().await;
    let old = read(&artifacts, "r", "old");

    let (store, place) = (store(), in_folder(&folder));
    let files = process(&data, &store, &place, DAY);
    assert_eq!(
        read(&files.artifacts, "r", "old"),
        old,
        "before it is moved"
    );
    assert!(files.caches.contains(&scope(), "deps").unwrap());
    assert_eq!(printed(&files.logs), ["one"]);
    files.maintain(&store, &mut RunCleanupState::default());
    let left = std::fs::read_dir(data.path().join("artifacts")).unwrap();
    assert_eq!(left.count(), 0);
    let next = process(&other, &store, &place, DAY);
    assert_eq!(read(&next.artifacts, "r", "old"), old);
    assert!(next.caches.contains(&scope(), "deps").unwrap());
    assert_eq!(printed(&next.logs), ["one"]);
    // Another installation may not have the place.
    let stranger = process(&TempDir::new().unwrap(), &self::store(), &place, DAY);
    let refused = put(&stranger.artifacts, "r", "x", 1).unwrap_err();
    assert!(
        refused.to_string().contains("another installation"),
        "{refused}"
    );
    assert!(stranger.shared.unwrap().trouble().is_some());
}

#[test]
fn i18_copies_take_what_they_may_and_come_again() {
    let (data, folder, store) = (TempDir::new().unwrap(), TempDir::new().unwrap(), store());
    let place = in_folder(&folder);
    let few = ObjectSettings {
        local_bytes: 12_000,
        ..settings(&place, DAY)
    };
    let shared = SharedFiles::open(data.path(), &few, &store, FILES).unwrap();
    let artifacts = ArtifactStore::new(data.path(), Some(&shared));
    let copies = || {
        std::fs::read_dir(data.path().join("objects"))
            .unwrap()
            .flatten()
    };
    for (number, bytes) in [5000, 5100, 5200].into_iter().enumerate() {
        put(&artifacts, "r", &number.to_string(), bytes).unwrap();
        // All are older than what is in use.
        for copy in copies() {
            let copy = std::fs::File::options()
                .append(true)
                .open(copy.path())
                .unwrap();
            copy.set_modified(SystemTime::now() - DAY).unwrap();
        }
    }
    put(&artifacts, "r", "last", 5300).unwrap();
    assert_eq!(
        copies().count(),
        1,
        "each has between 6,656 and 7,168 bytes"
    );
    for number in 0..3 {
        assert!(read(&artifacts, "r", &number.to_string()).len() >= 6656);
    }
}
