//! F08: the disk is full, freed, full again, 200 times: never an answer without a commit, `Full`
//! by name, health that says so, and recovery by itself. On real file systems of a few megabytes
//! where they may be mounted, and on a disk in memory everywhere, which can also fail otherwise.

#![allow(clippy::print_stdout, reason = "says why a test is skipped")]
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails here should say where"
)]

use crate::faulty_disk::FaultyDisk;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use store::{Blob, Extent, RawBytes, ReadRows, Store, StoreError, StoreOptions, StoreState, Table};

const ROWS: Table<u64, RawBytes> = Table::new("rows");
/// The same bytes, appended.
const EXTENTS: Table<u64, Extent> = Table::new("extents");
const ROUNDS: usize = 200;
const ROUNDS_PER_FILE: usize = 10;
const ROW_BYTES: usize = 100_000;
const DEADLINE: Duration = Duration::from_secs(60);

fn options() -> StoreOptions {
    let mut options = StoreOptions::new("test");
    options.probe_every = Duration::from_millis(5);
    options.segment_bytes = 500_000;
    options
}

/// A disk whose free space the test decides on.
trait Space {
    /// Takes all free space away.
    fn fill(&mut self);
    /// Gives it back.
    fn free(&mut self);
}

/// The rows that must be there, and those of which nobody knows.
#[derive(Default)]
struct Ledger {
    next: u64,
    stored: BTreeSet<u64>,
    unknown: BTreeSet<u64>,
}

impl Ledger {
    /// Writes a row and books the answer.
    fn write(&mut self, store: &Store) -> Result<(), StoreError> {
        let id = self.next;
        self.next += 1;
        let row = RawBytes(vec![id as u8; ROW_BYTES]);
        let answer = store.write_blocking(move |txn| {
            let extent = txn.append(&Blob::new(row.0.clone().into()))?;
            txn.put(&EXTENTS, &id, &extent)?;
            txn.put(&ROWS, &id, &row)
        });
        match &answer {
            Ok(()) => drop(self.stored.insert(id)),
            Err(StoreError::Unknown { .. }) => drop(self.unknown.insert(id)),
            Err(_) => {}
        }
        answer
    }

    /// Compares with the store: nothing stored is missing, nothing refused is there.
    fn check(&mut self, store: &Store) {
        let rows = store.read_blocking(|rows| rows.range(&ROWS, .., usize::MAX));
        let rows = rows.unwrap_or_else(|e: StoreError| panic!("{e}"));
        let found: BTreeSet<u64> = rows.iter().map(|(id, _)| *id).collect();
        self.stored.extend(self.unknown.intersection(&found));
        self.unknown.clear();
        assert_eq!(found, self.stored);
        let bytes = |id: u64| vec![id as u8; ROW_BYTES];
        assert!(rows.iter().all(|(id, row)| row.0 == bytes(*id)));
        let blobs = store.read_blocking(|rows| {
            let extents = rows.range(&EXTENTS, .., usize::MAX)?;
            let blob = |(id, extent)| Ok((id, rows.blob(&extent)?));
            extents.into_iter().map(blob).collect()
        });
        let blobs: Vec<_> = blobs.unwrap_or_else(|e: StoreError| panic!("{e}"));
        assert_eq!(blobs.len(), rows.len());
        assert!(blobs.iter().all(|(id, blob)| *blob == Some(bytes(*id))));
    }

    /// What was stored is there after a power cut.
    fn check_survives(&self, disk: &FaultyDisk) {
        let left = disk.platter().factory();
        let left = Store::open_with("after a cut", left, &options()).unwrap();
        let rows = left.read_blocking(|rows| rows.range(&ROWS, .., usize::MAX));
        let rows = rows.unwrap_or_else(|e: StoreError| panic!("{e}"));
        let found: BTreeSet<u64> = rows.into_iter().map(|(id, _)| id).collect();
        let lost: Vec<_> = self.stored.difference(&found).collect();
        assert!(lost.is_empty(), "answered and lost: {lost:?}");
    }

    /// Removes all rows but the last, so that rounds are alike.
    fn prune(&mut self, store: &Store) {
        let keep = self.stored.pop_last();
        let gone = std::mem::take(&mut self.stored);
        self.stored.extend(keep);
        let pruned = store.write_blocking(move |txn| {
            gone.iter().try_for_each(|id| {
                if let Some(extent) = txn.get(&EXTENTS, id)? {
                    txn.release(&extent);
                }
                txn.delete(&EXTENTS, id)?;
                txn.delete(&ROWS, id).map(drop)
            })
        });
        pruned.unwrap_or_else(|e: StoreError| panic!("{e}"));
    }
}

fn wait_until_ready(store: &Store) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(wait_for_ready(store));
}

async fn wait_for_ready(store: &Store) {
    let mut state = store.watch_state();
    let ready = state.wait_for(|state| *state == StoreState::Ready);
    let ready = tokio::time::timeout(DEADLINE, ready).await.is_ok();
    assert!(ready, "did not recover by itself: {:?}", store.health());
}

fn full_and_freed(store: &Store, space: &mut dyn Space, rounds: usize) {
    let mut ledger = Ledger::default();
    ledger.write(store).unwrap();
    for round in 0..rounds {
        let mut state = store.watch_state();
        state.mark_unchanged();
        space.fill();
        let refusal = (0..500).find_map(|_| ledger.write(store).err());
        let refusal = refusal.expect("the disk never got full");
        let full = matches!(refusal, StoreError::Full { .. });
        assert!(full, "round {round}: {refusal}");
        assert!(refusal.is_temporary());
        assert!(
            state.has_changed().unwrap(),
            "round {round}: health said nothing"
        );
        space.free();
        wait_until_ready(store);
        ledger.write(store).unwrap();
        ledger.check(store);
        ledger.prune(store);
    }
    assert!(store.health().reopened >= rounds as u64);
}

impl Space for FaultyDisk {
    fn fill(&mut self) {
        self.limit(Some(0));
    }
    fn free(&mut self) {
        self.limit(None);
    }
}

#[test]
fn f08_full_and_freed_in_memory() {
    for _ in 0..ROUNDS / ROUNDS_PER_FILE {
        let mut disk = FaultyDisk::default();
        let store = Store::open_with("small disk", disk.factory(), &options()).unwrap();
        full_and_freed(&store, &mut disk, ROUNDS_PER_FILE);
    }
}

/// The disk fails once at a random operation, sync included, and a failed sync forgets what it
/// should have kept, as Linux does. What was answered is on the platter nevertheless.
#[test]
fn a_disk_that_fails_at_any_point_never_makes_a_liar_of_the_store() {
    let disk = FaultyDisk::default();
    let store = Store::open_with("failing disk", disk.factory(), &options()).unwrap();
    let mut ledger = Ledger::default();
    let mut failures = 0;
    for round in 0..300 {
        disk.fail_after(round % 23);
        for _ in 0..3 {
            failures += usize::from(ledger.write(&store).is_err());
            // Cut the power right now: a later commit would repair what this one left undone.
            ledger.check_survives(&disk);
        }
        disk.heal();
        wait_until_ready(&store);
        ledger.check(&store);
        ledger.check_survives(&disk);
        ledger.prune(&store);
    }
    assert!(
        failures > 100,
        "only {failures} failures: the test is not what it was"
    );
}

/// A refusal that rests on a row of the same group must not be told if the group was not stored.
#[tokio::test]
async fn a_refusal_derived_from_a_row_that_was_lost_is_not_answered() {
    #[derive(Debug, PartialEq)]
    enum Answer {
        Known,
        Store(StoreError),
    }
    impl From<StoreError> for Answer {
        fn from(error: StoreError) -> Self {
            Self::Store(error)
        }
    }
    let disk = FaultyDisk::default();
    let store = Store::open_with("small disk", disk.factory(), &options()).unwrap();
    let (unplug, plug) = std::sync::mpsc::channel();
    let (inside, ready) = std::sync::mpsc::channel();
    let held = store.write(move |_| {
        inside.send(()).unwrap();
        let _ = plug.recv_timeout(DEADLINE);
        Ok::<_, StoreError>(())
    });
    // Those asked from now on share the next group.
    ready.recv_timeout(DEADLINE).unwrap();
    let deliver = || {
        store.write(|txn| match txn.contains(&ROWS, &1)? {
            true => Err(Answer::Known),
            false => Ok(txn.put(&ROWS, &1, &RawBytes(vec![1; ROW_BYTES]))?),
        })
    };
    let (first, again) = (deliver(), deliver());
    disk.limit(Some(0));
    unplug.send(()).unwrap();
    held.await.unwrap();
    let full = Err(Answer::Store(StoreError::Full {
        place: "small disk".to_owned(),
    }));
    assert_eq!(first.await, full);
    assert_eq!(again.await, full);
    disk.limit(None);
    wait_for_ready(&store).await;
    assert_eq!(deliver().await, Ok(()));
    assert_eq!(deliver().await, Err(Answer::Known));
}

/// A file system of 16 MiB mounted for the test.
struct Mount {
    point: tempfile::TempDir,
    _image: Option<tempfile::NamedTempFile>,
}

impl Mount {
    fn tmpfs() -> Result<Self, String> {
        let point = tempfile::tempdir().unwrap();
        run(Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=16m", "tmpfs"])
            .arg(point.path()))?;
        let _image = None;
        Ok(Self { point, _image })
    }

    fn ext4() -> Result<Self, String> {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(16 * 1024 * 1024).unwrap();
        run(Command::new("mkfs.ext4")
            .args(["-q", "-m", "0"])
            .arg(image.path()))?;
        let point = tempfile::tempdir().unwrap();
        run(Command::new("mount")
            .args(["-o", "loop"])
            .args([image.path(), point.path()]))?;
        let _image = Some(image);
        Ok(Self { point, _image })
    }

    fn ballast(&self) -> PathBuf {
        self.point.path().join("ballast")
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = run(Command::new("umount").arg(self.point.path()));
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

impl Space for Mount {
    fn fill(&mut self) {
        let mut ballast = File::create(self.ballast()).unwrap();
        for size in [64 * 1024, 512] {
            while ballast.write_all(&vec![0xAA; size]).is_ok() {}
        }
        // Only what is allocated counts, and ext4 allocates late.
        let _ = ballast.sync_all();
    }
    fn free(&mut self) {
        std::fs::remove_file(self.ballast()).unwrap();
        let _ = File::open(self.point.path()).and_then(|folder| folder.sync_all());
    }
}

fn on_mount(mount: Result<Mount, String>) {
    let mut mount = match mount {
        Ok(mount) => mount,
        Err(reason) => {
            println!("skipped, nothing can be mounted here: {reason}");
            return;
        }
    };
    // Each round leaves the store's file a bit longer, so it starts afresh now and then.
    for _ in 0..ROUNDS / ROUNDS_PER_FILE {
        let folder = mount.point.path().join("data");
        let store = Store::open(&folder, &options()).unwrap();
        full_and_freed(&store, &mut mount, ROUNDS_PER_FILE);
        drop(store);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn f08_full_and_freed_on_tmpfs() {
    on_mount(Mount::tmpfs());
}

#[test]
fn f08_full_and_freed_on_ext4() {
    on_mount(Mount::ext4());
}
