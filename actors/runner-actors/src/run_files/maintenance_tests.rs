//! What is done now and then: orphans go, and one bad file holds up no other.

use std::time::{Duration, SystemTime};

use store::{Store, StoreOptions};
use tempfile::TempDir;

use super::tests::{DAY, in_folder, know, objects, process, put, store};
use super::{RunCleanupState, RunFiles};
use crate::artifacts::ArtifactStore;
use crate::caches::CacheStore;
use crate::log::Logs;
use crate::rows;

fn is_stored(files: &RunFiles, run: &str) -> bool {
    let runs = files.logs.shared().unwrap().runs().unwrap();
    runs.iter().any(|stored| stored == run)
}

#[test]
fn i18_what_was_forgotten_while_another_led_does_not_come_back() {
    let (first, second, store) = (TempDir::new().unwrap(), TempDir::new().unwrap(), store());
    let folder = TempDir::new().unwrap();
    let place = in_folder(&folder);
    let a = process(&first, &store, &place, DAY);
    for run in ["r", "old"] {
        know(&store, run);
        std::fs::write(a.logs.path(run), "{}\n").unwrap();
        a.logs.shared().unwrap().store(run, true).unwrap();
        put(&a.artifacts, run, "site", 5000).unwrap();
    }
    // Another one leads, and forgets it.
    let b = process(&second, &store, &place, DAY);
    let forget = |txn: &mut store::WriteTxn<'_>| rows::forget(txn, "old");
    store.write_blocking(forget).unwrap();
    b.logs.shared().unwrap().remove("old").unwrap();
    b.artifacts.remove_run("old").unwrap();
    // It was killed when it had forgotten a third, and before it could remove the files.
    put(&b.artifacts, "killed", "site", 5000).unwrap();
    std::fs::write(b.logs.path("killed"), "{}\n").unwrap();
    b.logs.shared().unwrap().store("killed", true).unwrap();
    for path in [a.logs.path("old"), a.logs.path("r")] {
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - DAY).unwrap();
    }

    let again = process(&first, &store, &place, DAY);
    again.maintain(&store, &mut RunCleanupState::default());
    assert!(!again.logs.path("old").exists());
    for run in ["old", "killed"] {
        assert!(!is_stored(&again, run), "{run}");
        assert_eq!(again.artifacts.list(run).unwrap(), [], "{run}");
    }
    assert!(again.logs.path("r").exists());
    assert!(is_stored(&again, "r"));
    assert_eq!(again.artifacts.list("r").unwrap().len(), 1);
    // A store without any run is another one.
    let other = Store::in_memory(&StoreOptions::new("test")).unwrap();
    again.maintain(&other, &mut RunCleanupState::default());
    assert!(again.logs.path("r").exists());
}

#[test]
fn i18_without_objects_logs_go_too_that_were_forgotten_elsewhere() {
    let (data, store) = (TempDir::new().unwrap(), store());
    let logs = data.path().join("logs");
    let files = RunFiles {
        logs: Logs::open(&logs).unwrap(),
        artifacts: ArtifactStore::new(data.path(), None),
        caches: CacheStore::open(data.path(), 1 << 20, None),
        shared: None,
    };
    for (run, age) in [("old", DAY), ("young", Duration::ZERO)] {
        let file = std::fs::File::create(files.logs.path(run)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }
    files.maintain(&store, &mut RunCleanupState::default());
    assert!(!files.logs.path("old").exists());
    assert!(files.logs.path("young").exists(), "its run may begin");
}

#[test]
fn i18_a_log_that_cannot_be_stored_holds_up_nothing_else() {
    let (data, folder, store) = (TempDir::new().unwrap(), TempDir::new().unwrap(), store());
    let files = process(&data, &store, &in_folder(&folder), Duration::ZERO);
    for run in ["a", "bad", "z"] {
        know(&store, run);
        match run {
            // It opens, and cannot be read.
            "bad" => std::fs::create_dir(files.logs.path(run)).unwrap(),
            _ => std::fs::write(files.logs.path(run), "{}\n").unwrap(),
        }
    }
    put(&files.artifacts, "r", "before", 5000).unwrap();
    files.artifacts.remove_run("r").unwrap();
    let other = ArtifactStore::new(data.path(), None);
    put(&other, "r", "here", 6000).unwrap();
    files.maintain(&store, &mut RunCleanupState::default());
    assert!(is_stored(&files, "a") && is_stored(&files, "z"));
    assert_eq!(
        std::fs::read_dir(data.path().join("artifacts"))
            .unwrap()
            .count(),
        0
    );
    assert_eq!(objects(&folder), 2, "of both logs one, of the artifact one");
}
