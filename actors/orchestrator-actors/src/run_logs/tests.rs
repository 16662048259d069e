//! Two data folders over one store and one storage, as two processes have them.

use std::collections::BTreeSet;
use std::path::Path;

use orchestrator_engine::output::{AgentLogReader, LogSizes, Redactor, RunLog, abandon};
use store::{Store, StoreOptions};
use tempfile::TempDir;

use super::*;
use crate::ledger::Ledger;
use crate::live_config::LiveConfig;
use crate::test_config::test_config;

/// A process: its data folder, and its logs.
struct Process {
    folder: TempDir,
    logs: RunLogs,
}

fn process(store: &Store, objects: &Path) -> Process {
    let folder = TempDir::new().unwrap();
    let table = format!(
        "[objects]\nurl = \"file://{}\"\ngrace = \"1s\"\nsweep = \"1s\"",
        objects.display()
    );
    let logs = RunLogs::open(&test_config(folder.path(), &table, ""), store).unwrap();
    Process { folder, logs }
}

/// Two of them, and what they share.
struct Pair {
    objects: TempDir,
    a: Process,
    b: Process,
}

impl Pair {
    fn new() -> Self {
        let objects = TempDir::new().unwrap();
        let store = Store::in_memory(&StoreOptions::new("test")).unwrap();
        let [a, b] = [(); 2].map(|()| process(&store, objects.path()));
        Self { objects, a, b }
    }
}

impl Process {
    fn begin(&self, run: &str) -> RunLog {
        let sizes = LogSizes { head: 64, tail: 64 };
        RunLog::create(&self.logs.directory(run), sizes, Redactor::new(Vec::new())).unwrap()
    }

    fn text(&self, run: &str) -> String {
        self.logs.fetch(run).unwrap();
        AgentLogReader::tail(&self.logs.directory(run), 1 << 20).unwrap()
    }
}

fn run(id: &str) -> RunId {
    id.parse().unwrap()
}

#[test]
fn i18_a_log_is_read_where_its_run_was_not() {
    let Pair { objects, a, b } = Pair::new();
    let mut log = a.begin("one");
    log.push(b"begun\n");
    assert_eq!(b.text("one"), "", "nothing is stored yet");
    // It goes on, and its process dies: what was stored is what there is.
    let here = extent(&a.logs.directory("one")).unwrap().unwrap();
    a.logs
        .put("one", here, &mut UploadedPart::default())
        .unwrap();
    log.push(b"lost\n");
    assert_eq!(b.text("one"), "begun\n");
    let reader = AgentLogReader::tail(&b.logs.directory("one"), 99);
    assert_eq!(reader.unwrap(), "begun\n");
    drop(log);
    // The first process comes again and has more of it.
    abandon(&a.logs.directory("one")).unwrap();
    a.logs.store_ended(&run("one"), Duration::from_secs(10));
    assert_eq!(b.text("one"), "begun\nlost\n");

    let mut log = a.begin("two");
    log.push(b"all of it\n");
    log.finish();
    a.logs.store_ended(&run("two"), Duration::from_secs(10));
    assert!(a.logs.inner.uploads.names().is_empty());
    assert_eq!(b.text("two"), "all of it\n");
    // What is here is not asked for again.
    std::fs::remove_dir_all(objects.path()).unwrap();
    assert_eq!(b.text("two"), "all of it\n");
    assert_eq!(a.text("two"), "all of it\n");
    assert!(a.folder.path().join("data/runs/two/log").is_dir());
}

/// Whoever waited while a log was stored, and whoever comes after it was, are one at a time.
#[test]
fn i14_a_log_that_was_stored_has_the_gate_it_had() {
    let Pair {
        a,
        b: _,
        objects: _objects,
    } = Pair::new();
    let mut log = a.begin("one");
    log.push(b"one");
    log.finish();
    let gate = a.logs.gate("one");
    a.logs.store_ended(&run("one"), Duration::from_secs(10));
    assert!(Arc::ptr_eq(&gate, &a.logs.gate("one")));
    assert!(gate.lock().at.is_some(), "what was stored is known");
    a.logs.remove(&[run("one")]);
    assert!(!Arc::ptr_eq(&gate, &a.logs.gate("one")));
}

#[test]
fn i18_a_log_that_is_forgotten_leaves_no_object() {
    let Pair {
        a,
        b,
        objects: _objects,
    } = Pair::new();
    for id in ["one", "two"] {
        let mut log = a.begin(id);
        log.push(id.as_bytes());
        log.finish();
        a.logs.store_ended(&run(id), Duration::from_secs(10));
    }
    b.logs.remove(&[run("one")]);
    let files = b.logs.inner.files.clone().unwrap();
    let swept = || files.sweep().unwrap();
    let began = Instant::now();
    while swept() == 0 {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "it goes when its grace is over"
        );
        std::thread::park_timeout(Duration::from_millis(50));
    }
    assert_eq!(b.text("one"), "");
    assert_eq!(b.text("two"), "two");
    // An attempt that did not begin leaves none either.
    let mut log = a.begin("three");
    log.push(b"x");
    let gate = a.logs.gate("three");
    let here = extent(&a.logs.directory("three")).unwrap().unwrap();
    a.logs.put("three", here, &mut gate.lock()).unwrap();
    a.logs.discard(&run("three"));
    assert!(!a.logs.directory("three").exists());
    assert_eq!(files.get(&key("three")).unwrap(), None);
}

#[test]
fn i18_without_objects_logs_stay_where_they_are() {
    let store = Store::in_memory(&StoreOptions::new("test")).unwrap();
    let folder = TempDir::new().unwrap();
    let logs = RunLogs::open(&test_config(folder.path(), "", ""), &store).unwrap();
    logs.store_ended(&run("one"), Duration::from_secs(10));
    logs.fetch("one").unwrap();
    assert_eq!(logs.trouble(), None);
    assert!(!folder.path().join("data").exists());
}

/// One that knows no run.
fn empty_ledger(folder: &Path) -> Ledger {
    let (live, _writer) = LiveConfig::new(test_config(folder, "", ""), Vec::new(), 0);
    let store = Store::in_memory(&StoreOptions::new("ledger")).unwrap();
    Ledger::open(store, live, Arc::new(|| 0)).unwrap()
}

/// A process forgot it, and was killed before it removed what it had stored.
#[test]
fn i18_what_a_forgotten_run_left_goes_with_the_next_leader() {
    let Pair {
        a,
        b,
        objects: _objects,
    } = Pair::new();
    let mut log = a.begin("one");
    log.push(b"one");
    log.finish();
    a.logs.store_ended(&run("one"), Duration::from_secs(10));
    assert_eq!(b.text("one"), "one");
    let ledger = empty_ledger(b.folder.path());
    b.logs
        .maintain(&ledger, &BTreeSet::new(), &mut LogCleanupState::default());
    let files = b.logs.inner.files.as_ref().unwrap();
    assert_eq!(files.get(&key("one")).unwrap(), None);
    // Directories without a run go where there is no object storage, too.
    let folder = TempDir::new().unwrap();
    let alone = RunLogs::open(
        &test_config(folder.path(), "", ""),
        &Store::in_memory(&StoreOptions::new("test")).unwrap(),
    )
    .unwrap();
    let left = folder.path().join("data/runs/one");
    std::fs::create_dir_all(left.join("log")).unwrap();
    let old = std::time::SystemTime::now() - Duration::from_secs(86_400);
    std::fs::File::open(&left)
        .unwrap()
        .set_modified(old)
        .unwrap();
    alone.maintain(&ledger, &BTreeSet::new(), &mut LogCleanupState::default());
    assert!(!left.exists());
}

#[test]
fn i18_a_log_that_cannot_be_stored_holds_up_no_other() {
    let Pair { objects, a, b } = Pair::new();
    let ids = ["one", "two", "three", "four"];
    for id in ids {
        let mut log = a.begin(id);
        log.push(id.as_bytes());
        log.finish();
        a.logs.store_later(&run(id));
    }
    // What is in the way of the archives of two of them, whichever come first.
    let way = |id: &str| a.logs.directory(id).with_extension("storing");
    for id in ["two", "three"] {
        std::fs::create_dir(way(id)).unwrap();
    }
    // And one object that nothing names, for the sweep.
    let stray = objects.path().join("objects/ab/stray");
    std::fs::create_dir_all(stray.parent().unwrap()).unwrap();
    std::fs::write(&stray, "x").unwrap();
    let old = std::time::SystemTime::now() - Duration::from_secs(60);
    let file = std::fs::File::options().write(true).open(&stray).unwrap();
    file.set_modified(old).unwrap();

    let ledger = empty_ledger(a.folder.path());
    let mut state = LogCleanupState::default();
    let files = a.logs.inner.files.clone().unwrap();
    let mut tend = || {
        a.logs
            .maintain_files(&files, (&ledger, &BTreeSet::new()), &mut state)
    };
    let fault = tend().unwrap_err().to_string();
    assert!(fault.contains(".storing"), "{fault}");
    assert_eq!(
        (b.text("one"), b.text("four")),
        ("one".into(), "four".into())
    );
    assert!(!stray.exists(), "the sweep took place");
    assert_eq!(
        a.logs.inner.uploads.names().len(),
        2,
        "they are tried again"
    );
    for id in ["two", "three"] {
        std::fs::remove_dir(way(id)).unwrap();
    }
    tend().unwrap();
    assert_eq!(
        (b.text("two"), b.text("three")),
        ("two".into(), "three".into())
    );
}
