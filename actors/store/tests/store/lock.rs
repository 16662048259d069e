//! O17 for the store: a second process on the same data folder is refused, by name.

#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use store::{LocalStateKind, LockError, OpenError, Store, StoreOptions};

const CHILD: &str = "ORRERY_STORE_HOLDER";

/// The other process: does nothing in a normal run of the tests.
#[test]
fn child_that_holds_the_folder() {
    let Ok(folder) = std::env::var(CHILD) else {
        return;
    };
    let _store = Store::open(Path::new(&folder), &StoreOptions::new("workflow-runner")).unwrap();
    let mut out = std::io::stdout().lock();
    out.write_all(b"\nholding\n").unwrap();
    out.flush().unwrap();
    // Until the parent closes the pipe, or kills.
    let _ = std::io::stdin().read(&mut [0]);
}

fn hold(folder: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "lock::child_that_holds_the_folder",
            "--nocapture",
        ])
        .env(CHILD, folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let holding = lines.any(|line| line.unwrap() == "holding");
    assert!(holding, "the child ended early");
    child
}

#[test]
fn o17_a_second_process_is_told_who_holds_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = hold(folder.path());
    let error = Store::open(folder.path(), &StoreOptions::new("platform")).unwrap_err();
    let text = error.to_string();
    let OpenError::Lock(LockError::Held { holder, .. }) = error else {
        panic!("{text}");
    };
    assert_eq!(holder.pid, child.id());
    assert_eq!(holder.program, "workflow-runner");
    let started: jiff::Timestamp = holder.started.parse().unwrap();
    let age = jiff::Timestamp::now().duration_since(started);
    assert!((0..600).contains(&age.as_secs()), "{}", holder.started);
    let expected = format!(
        "the data folder {} is in use by workflow-runner (pid {}, since {}); \
         stop it or choose another folder",
        folder.path().display(),
        holder.pid,
        holder.started
    );
    assert_eq!(text, expected);
    for kind in [LocalStateKind::Sqlite, LocalStateKind::Redb] {
        let error = kind.open(folder.path(), "platform").unwrap_err();
        assert_eq!(error.to_string(), expected, "{kind}");
    }
    // However the holder ends, the folder is free then, whatever the file says.
    child.kill().unwrap();
    child.wait().unwrap();
    Store::open(folder.path(), &StoreOptions::new("platform")).unwrap();
}
