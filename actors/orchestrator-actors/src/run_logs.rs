//! Logs of runs: directories of this machine, and with `[objects]` files that every process reads.
//!
//! ```text
//! a run ends ─▶ its log, packed ─▶ SharedFiles ─▶ its end          later, where the storage is away
//! a run goes on ─▶ its log so far, now and then ─▶ SharedFiles     what is left if the leader dies
//! a reader comes ─▶ is this directory the whole log? ─▶ else it is fetched first
//! ```

mod maintenance;
mod schedule;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use cluster_actors::replica::{
    FileKey, FileMigration, FileTables, PendingUploads, SharedFile, SharedFiles,
};
use forge_core::RunId;
use orchestrator_core::config::Config;
use orchestrator_engine::names::safe_name;
use orchestrator_engine::output::{LogExtent, extent, pack, unpack};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use store::Store;

pub(crate) use self::maintenance::LogCleanupState;
use crate::host::log_directory;

/// Where their rows are.
const FILES: FileTables = FileTables::new("log_files", "log_contents", "installation");
/// What they are, for [`SharedFiles`].
const KIND: &str = "logs";

/// The logs; clones share them. Methods block.
#[derive(Clone)]
pub(crate) struct RunLogs {
    inner: Arc<Inner>,
}

struct Inner {
    data: PathBuf,
    files: Option<SharedFiles>,
    /// The logs of runs; those of ended runs wait that are not stored yet.
    uploads: PendingUploads<UploadedPart>,
}

/// How much of a log that grows was stored from here, and when.
#[derive(Debug, Default, Clone, Copy)]
struct UploadedPart {
    bytes: u64,
    at: Option<Instant>,
}

/// What a row says of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StoredLog {
    /// The data folder that it is from.
    writer: String,
    bytes: u64,
    complete: bool,
}

impl RunLogs {
    /// The logs below the data folder, shared where the configuration says so.
    pub(crate) fn open(config: &Config, store: &Store) -> io::Result<Self> {
        let data = config.directories.data.clone();
        let open = |objects| {
            std::fs::create_dir_all(&data)?;
            SharedFiles::open(&data, objects, store, FILES)
        };
        let files = config.objects.as_ref().map(open).transpose()?;
        Ok(Self::new(data, files))
    }

    fn new(data: PathBuf, files: Option<SharedFiles>) -> Self {
        Self {
            inner: Arc::new(Inner {
                data,
                files,
                uploads: PendingUploads::default(),
            }),
        }
    }

    /// Why the object storage cannot be used, as it was last seen.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.inner.files.as_ref()?.trouble()
    }

    fn directory(&self, run: &str) -> PathBuf {
        log_directory(&self.inner.data, run)
    }

    fn gate(&self, run: &str) -> Arc<Mutex<UploadedPart>> {
        self.inner.uploads.gate(run)
    }

    /// Makes the directory of an ended run the newest that there is of its log.
    pub(crate) fn fetch(&self, run: &str) -> io::Result<()> {
        let Some(files) = &self.inner.files else {
            return Ok(());
        };
        let directory = self.directory(run);
        let gate = self.gate(run);
        let _one = gate.lock();
        let here = extent(&directory).map_err(io::Error::other)?;
        if here.is_some_and(|here| here.complete) {
            return Ok(());
        }
        let Some(row) = files.get(&key(run))? else {
            return Ok(());
        };
        if here.is_none_or(|here| is_newer(&row, here)) {
            let copy = files.open_file(&row)?;
            std::fs::create_dir_all(directory.parent().unwrap_or(&directory))?;
            unpack(&copy, &directory).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Stores the log of a run that has ended, before its end is recorded; waits no longer than
    /// this. What is not stored by then is stored later.
    pub(crate) fn store_ended(&self, run: &RunId, at_most: Duration) {
        let Some(files) = &self.inner.files else {
            return;
        };
        let name = run.to_string();
        self.inner.uploads.insert(&name);
        if files.trouble().is_some() {
            return;
        }
        let (logs, (done, stored)) = (self.clone(), channel());
        let work = move || {
            let _ = done.send(logs.store(&name));
        };
        let thread = std::thread::Builder::new().name("run-log".to_owned());
        let failed = match thread.spawn(work) {
            Ok(_) => match stored.recv_timeout(at_most) {
                Ok(stored) => stored.err(),
                Err(_) => Some(io::ErrorKind::TimedOut.into()),
            },
            Err(error) => Some(error),
        };
        if let Some(error) = failed {
            tracing::warn!(event = "objects.log_waits", %run, %error, "the log of a run is not stored yet");
        }
    }

    /// Stores what a run has printed, if anything.
    fn store(&self, run: &str) -> io::Result<()> {
        let gate = self.gate(run);
        let mut stored = gate.lock();
        if let Some(here) = extent(&self.directory(run)).map_err(io::Error::other)? {
            self.put(run, here, &mut stored)?;
        }
        self.inner.uploads.remove(run);
        Ok(())
    }

    fn put(&self, run: &str, here: LogExtent, stored: &mut UploadedPart) -> io::Result<()> {
        let Some(files) = &self.inner.files else {
            return Ok(());
        };
        let directory = self.directory(run);
        let part = directory.with_extension("storing");
        pack(&directory, &part).map_err(io::Error::other)?;
        let about = StoredLog {
            writer: files.writer().to_owned(),
            bytes: here.bytes,
            complete: here.complete,
        };
        let about = serde_json::to_string(&about)?;
        let put = files.put_without_copy(key(run), &part, about);
        let _ = std::fs::remove_file(&part);
        put?;
        *stored = UploadedPart {
            bytes: here.bytes,
            at: Some(Instant::now()),
        };
        Ok(())
    }

    /// Forgets the log of a run that did not begin: it begins anew, here or elsewhere.
    pub(crate) fn discard(&self, run: &RunId) {
        let _ = std::fs::remove_dir_all(self.directory(run.as_str()));
        let known = self.inner.uploads.forget(run.as_str());
        let was_stored = known.is_some_and(|gate| gate.lock().at.is_some());
        let files = self.inner.files.as_ref().filter(|_| was_stored);
        if let Some(Err(error)) = files.map(|files| files.remove(&key(run.as_str()))) {
            tracing::warn!(event = "run.files_left", %run, %error, "the log of an attempt is left");
        }
    }

    /// Removes what forgotten runs left: here, and for all.
    pub(crate) fn remove(&self, runs: &[RunId]) {
        for run in runs {
            let name = safe_name(run.as_str());
            // A directory that cannot be removed now is an empty name in a directory of its own.
            let _ = std::fs::remove_dir_all(self.inner.data.join("runs").join(name));
            self.inner.uploads.forget(run.as_str());
            let files = self.inner.files.as_ref();
            if let Some(Err(error)) = files.map(|files| files.remove(&key(run.as_str()))) {
                tracing::warn!(event = "run.files_left", %run, %error, "the log of a forgotten run is left");
            }
        }
    }
}

/// What an orchestrator has in object storage, to be moved; nothing where it has none.
#[must_use]
pub fn file_migration(config: &Config, leave_damaged: bool) -> Option<FileMigration> {
    Some(FileMigration {
        data: config.directories.data.clone(),
        from: config.objects.clone()?,
        tables: FILES,
        bring,
        leave_damaged,
    })
}

/// Makes the log of a run a directory that needs no storage.
fn bring(files: &SharedFiles, key: &FileKey, file: &SharedFile) -> io::Result<()> {
    let run = &key.1;
    let logs = RunLogs::new(files.data().to_owned(), Some(files.clone()));
    logs.fetch(run)?;
    let directory = logs.directory(run);
    for entry in std::fs::read_dir(&directory)? {
        std::fs::File::open(entry?.path())?.sync_all()?;
    }
    std::fs::File::open(&directory)?.sync_all()?;
    let here = extent(&directory).map_err(io::Error::other)?;
    match here.filter(|here| here.complete || !is_newer(file, *here)) {
        Some(_) => Ok(()),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Whether a stored log holds more than the one that is here, which its writer has not closed.
fn is_newer(row: &SharedFile, here: LogExtent) -> bool {
    about(row).is_none_or(|row| row.complete || row.bytes > here.bytes)
}

fn about(row: &SharedFile) -> Option<StoredLog> {
    serde_json::from_str(&row.about).ok()
}

fn key(run: &str) -> FileKey {
    (KIND.to_owned(), run.to_owned(), String::new())
}

/// The directories of runs below the data folder.
fn run_directories(data: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(data.join("runs"));
    let entries = entries.into_iter().flatten().flatten();
    let named =
        entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())));
    named.collect()
}
