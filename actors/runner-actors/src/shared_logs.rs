//! Logs that every process can read: each run's log so far, stored whenever a job of it ends.
//!
//! ```text
//! a job ends ─▶ runs/<run>.jsonl as it is ─▶ SharedFiles        later, where the storage is away
//! a line or a reader comes ─▶ is this file the newest? ─▶ else it is fetched first
//! ```
//! A row says which data folder wrote it. A file that is at least as long as what its own folder
//! stored is the newest; every other one is replaced by what is stored, before a line is added.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cluster_actors::replica::{FileKey, FirstFault, PendingUploads, SharedFile, SharedFiles};
use parking_lot::Mutex;

/// What they are, for [`SharedFiles`].
pub(crate) const KIND: &str = "logs";
/// Logs below this are stored with every job; larger ones when they have grown by a quarter, and at
/// their end.
const SMALL: u64 = 8 << 20;

/// The logs; clones share them. Methods block.
#[derive(Clone)]
pub(crate) struct SharedLogs {
    inner: Arc<Inner>,
}

struct Inner {
    files: SharedFiles,
    directory: PathBuf,
    /// The logs of runs; those wait that are longer than what is stored.
    uploads: PendingUploads<Gate>,
}

/// What is known of a run's file on this machine.
#[derive(Default)]
struct Gate {
    state: FileState,
    /// Bytes that were stored from here.
    stored: u64,
}

#[derive(Default)]
enum FileState {
    #[default]
    Unknown,
    /// It is the newest.
    Newest,
    /// The storage was away when the first line came: what was stored belongs in front of it.
    Apart(SharedFile),
}

impl SharedLogs {
    /// Logs in `directory`.
    pub(crate) fn open(directory: &Path, files: &SharedFiles) -> Self {
        Self {
            inner: Arc::new(Inner {
                files: files.clone(),
                directory: directory.to_owned(),
                uploads: PendingUploads::default(),
            }),
        }
    }

    fn path(&self, run: &str) -> PathBuf {
        self.inner.directory.join(format!("{run}.jsonl"))
    }

    fn gate(&self, run: &str) -> Arc<Mutex<Gate>> {
        self.inner.uploads.gate(run)
    }

    /// Makes this machine's file of a run the newest.
    pub(crate) fn fetch(&self, run: &str) -> io::Result<()> {
        let gate = self.gate(run);
        let mut gate = gate.lock();
        if !matches!(gate.state, FileState::Unknown) {
            return Ok(());
        }
        if let Some(row) = self.inner.files.get(&key(run))? {
            if self.is_older(run, &row) {
                self.inner.files.fetch_to(&row, &self.path(run))?;
            }
            gate.stored = row.bytes;
        }
        gate.state = FileState::Newest;
        Ok(())
    }

    /// The same before the first line of this incarnation; a line comes whatever happens.
    pub(crate) fn fetch_to_append(&self, run: &str) {
        let Err(error) = self.fetch(run) else { return };
        tracing::error!(event = "objects.log_apart", run, %error, "what a run has printed before cannot be read now; it is put in front when the log is stored");
        let gate = self.gate(run);
        let mut gate = gate.lock();
        if let Ok(Some(row)) = self.inner.files.get(&key(run))
            && matches!(gate.state, FileState::Unknown)
        {
            let _ = std::fs::remove_file(self.path(run));
            gate.state = FileState::Apart(row);
        }
    }

    fn is_older(&self, run: &str, row: &SharedFile) -> bool {
        let length = std::fs::metadata(self.path(run)).map_or(0, |file| file.len());
        row.about != self.inner.files.writer() || length < row.bytes
    }

    /// Stores what a run has printed so far, unless that has been done; `whole`: it prints no more.
    pub(crate) fn store(&self, run: &str, whole: bool) -> io::Result<()> {
        self.inner.uploads.insert(run);
        self.fetch(run)?;
        let gate = self.gate(run);
        let mut gate = gate.lock();
        let length = std::fs::metadata(self.path(run)).map_or(0, |file| file.len());
        let base = match &gate.state {
            FileState::Apart(row) => Some(row.clone()),
            _ => None,
        };
        let before = base.as_ref().map_or(0, |row| row.bytes);
        let grown = (length + before).saturating_sub(gate.stored);
        if grown > 0 && (whole || length < SMALL || grown > gate.stored / 4) {
            // As long as it is now: lines go on coming.
            let part = self.inner.directory.join(format!("{run}.storing"));
            self.copy(base.as_ref(), (run, length), &part)?;
            let put = self.inner.files.put_without_copy(
                key(run),
                &part,
                self.inner.files.writer().to_owned(),
            );
            let _ = std::fs::remove_file(&part);
            put?;
            gate.stored = length + before;
        }
        if whole || grown == 0 {
            self.inner.uploads.remove(run);
        }
        Ok(())
    }

    fn copy(
        &self,
        base: Option<&SharedFile>,
        (run, length): (&str, u64),
        to: &Path,
    ) -> io::Result<()> {
        let mut to = File::create(to)?;
        if let Some(base) = base {
            let mut before = File::open(self.inner.files.open_file(base)?)?;
            io::copy(&mut before, &mut to)?;
        }
        let mut lines = File::open(self.path(run))?.take(length);
        io::copy(&mut lines, &mut to).map(drop)
    }

    /// Looks which logs of this folder are not stored, or not as long as they are: those of a
    /// previous incarnation, and those from before there was object storage. Only those of `known`
    /// runs; all where none is known: it is a new store, or another one than that of this folder.
    pub(crate) fn find_unstored(&self, known: &HashSet<String>) -> io::Result<()> {
        let stored = self.inner.files.list(KIND, None)?.into_iter();
        let stored: HashMap<String, SharedFile> =
            stored.map(|((_, run, _), row)| (run, row)).collect();
        for file in std::fs::read_dir(&self.inner.directory)?.flatten() {
            let path = file.path();
            let run = path.file_stem().and_then(|stem| stem.to_str());
            let is_log = path.extension().is_some_and(|end| end == "jsonl");
            let is_wanted = |run: &&str| known.is_empty() || known.contains(*run);
            let Some(run) = run.filter(|run| is_log && is_wanted(run)) else {
                continue;
            };
            let is_newer = stored.get(run).is_none_or(|row| {
                row.about == self.inner.files.writer()
                    && file.metadata().is_ok_and(|file| file.len() > row.bytes)
            });
            if is_newer {
                self.inner.uploads.insert(run);
            }
        }
        Ok(())
    }

    /// Stores what could not be stored before. A log that cannot be read holds up no other; gives
    /// the first fault.
    pub(crate) fn store_pending(&self) -> io::Result<()> {
        let mut faults = FirstFault::default();
        for run in &self.inner.uploads.names() {
            let stored = faults.record(self.store(run, true));
            // Where the storage is away each would wait for it.
            if stored.is_none() && self.inner.files.trouble().is_some() {
                break;
            }
        }
        faults.end()
    }

    /// The runs whose logs are stored.
    pub(crate) fn runs(&self) -> io::Result<Vec<String>> {
        let stored = self.inner.files.list(KIND, None)?.into_iter();
        Ok(stored.map(|((_, run, _), _)| run).collect())
    }

    /// Forgets a run's log.
    pub(crate) fn remove(&self, run: &str) -> io::Result<()> {
        self.inner.uploads.forget(run);
        self.inner.files.remove(&key(run))
    }
}

/// Makes the file of a run's log below `directory` one that needs no storage.
pub(crate) fn bring_log(
    directory: &Path,
    files: &SharedFiles,
    (run, row): (&str, &SharedFile),
) -> io::Result<()> {
    let logs = SharedLogs::open(directory, files);
    let path = logs.path(run);
    if logs.is_older(run, row) {
        return files.bring_to(row, &path);
    }
    match row.is_begin_of(&path)? {
        true => Ok(()),
        false => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn key(run: &str) -> FileKey {
    (KIND.to_owned(), run.to_owned(), String::new())
}
