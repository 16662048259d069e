//! What runs print: one file a run, a JSON object a line, followed while it grows.
//!
//! ```text
//! job ──Line──▶ bounded channel ──▶ writer thread ──▶ runs/<run>.jsonl
//!                                        └── length ──▶ followers (they read the file)
//! ```
//! A job that prints faster than the disk takes waits; nothing is held in memory beyond the
//! channel.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};
use utoipa::ToSchema;

use crate::shared_logs::SharedLogs;

/// Longest that a job's end waits for its log to be stored.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);
/// Lines on their way to the disk.
const CAPACITY: usize = 1024;

/// One line of a run's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogLine {
    /// Milliseconds since the Unix epoch.
    pub at: u64,
    /// The job's name, empty for the run itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub job: String,
    /// The step's number from 1; 0 outside of steps.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub step: u32,
    /// What kind of line it is.
    pub kind: LineKind,
    /// Its text, masked; never with a line end.
    pub text: String,
}

/// Kinds of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum LineKind {
    /// The runner says what it does.
    Info,
    /// A step's standard output.
    Out,
    /// A step's standard error.
    Err,
    /// A group of lines begins.
    Group,
    /// It ends.
    EndGroup,
    /// A notice of a step.
    Notice,
    /// A warning of a step.
    Warning,
    /// An error of a step, or of the runner about it.
    Error,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

enum LogCommand {
    Line(String, Box<LogLine>),
    Flush(oneshot::Sender<()>),
}

/// The logs of all runs; clones share the writer.
#[derive(Clone)]
pub struct Logs {
    directory: PathBuf,
    commands: mpsc::Sender<LogCommand>,
    lengths: Arc<Mutex<HashMap<String, watch::Sender<u64>>>>,
    shared: Option<SharedLogs>,
}

impl Logs {
    /// Logs in `directory`, which is made.
    ///
    /// # Errors
    /// When the directory or the thread cannot be made.
    pub fn open(directory: &Path) -> std::io::Result<Self> {
        Self::open_shared(directory, None)
    }

    /// The same, that every process can read.
    pub(crate) fn open_shared(
        directory: &Path,
        shared: Option<SharedLogs>,
    ) -> std::io::Result<Self> {
        std::fs::create_dir_all(directory)?;
        let (commands, receiver) = mpsc::channel(CAPACITY);
        let lengths: Arc<Mutex<HashMap<String, watch::Sender<u64>>>> = Arc::default();
        let mut writer = LogFiles {
            directory: directory.to_owned(),
            files: HashMap::new(),
            lengths: Arc::clone(&lengths),
            shared: shared.clone(),
        };
        let thread = std::thread::Builder::new().name("run-logs".to_owned());
        thread.spawn(move || writer.run(receiver))?;
        Ok(Self {
            directory: directory.to_owned(),
            commands,
            lengths,
            shared,
        })
    }

    /// Adds a line; waits while the disk is behind.
    pub async fn write(&self, run: &str, line: LogLine) {
        // The writer ends only with the program.
        let _ = self
            .commands
            .send(LogCommand::Line(run.to_owned(), Box::new(line)))
            .await;
    }

    /// Waits until all lines so far are in their files.
    pub async fn flush(&self) {
        let (done, waiting) = oneshot::channel();
        if self.commands.send(LogCommand::Flush(done)).await.is_ok() {
            let _ = waiting.await;
        }
    }

    /// Makes this machine's file of a run's log the newest there is. Blocks.
    ///
    /// # Errors
    /// When another process wrote it, and it cannot be read where it is stored.
    pub fn fetch(&self, run: &str) -> std::io::Result<()> {
        self.shared
            .as_ref()
            .map_or(Ok(()), |shared| shared.fetch(run))
    }

    /// Stores what a run has printed so far where every process can read it. What cannot be stored
    /// in time is stored later: nobody's end waits for that.
    pub(crate) async fn store(&self, run: &str, whole: bool) {
        self.flush().await;
        let Some(shared) = self.shared.clone() else {
            return;
        };
        let name = run.to_owned();
        let storing = tokio::task::spawn_blocking(move || shared.store(&name, whole));
        let failed = match tokio::time::timeout(STORE_TIMEOUT, storing).await {
            Ok(stored) => stored.map_err(std::io::Error::other).flatten().err(),
            Err(_) => Some(std::io::ErrorKind::TimedOut.into()),
        };
        if let Some(error) = failed {
            tracing::warn!(event = "objects.log_waits", run, %error, "the log of a run is not stored yet");
        }
    }

    /// What is shared with other processes.
    pub(crate) fn shared(&self) -> Option<&SharedLogs> {
        self.shared.as_ref()
    }

    /// The files of runs, as they are now.
    pub(crate) fn files(&self) -> Vec<(String, PathBuf)> {
        let files = std::fs::read_dir(&self.directory);
        let paths = files
            .into_iter()
            .flatten()
            .flatten()
            .map(|file| file.path());
        let of_run = |path: PathBuf| {
            let run = path.file_stem()?.to_str()?.to_owned();
            path.is_file().then_some((run, path))
        };
        paths.filter_map(of_run).collect()
    }

    /// The file of a run's log; it may not exist yet.
    #[must_use]
    pub fn path(&self, run: &str) -> PathBuf {
        self.directory.join(format!("{run}.jsonl"))
    }

    /// Tells the length of a run's log whenever it grows.
    #[must_use]
    pub fn watch(&self, run: &str) -> watch::Receiver<u64> {
        let mut lengths = self.lengths.lock();
        let length = std::fs::metadata(self.path(run)).map_or(0, |file| file.len());
        lengths
            .entry(run.to_owned())
            .or_insert_with(|| watch::channel(length).0)
            .subscribe()
    }

    /// Forgets who watched a run that has ended.
    pub fn close(&self, run: &str) {
        self.lengths.lock().remove(run);
    }
}

struct LogFiles {
    shared: Option<SharedLogs>,
    directory: PathBuf,
    files: HashMap<String, (BufWriter<File>, u64)>,
    lengths: Arc<Mutex<HashMap<String, watch::Sender<u64>>>>,
}

/// Files kept open.
const MAX_OPEN_FILES: usize = 64;

impl LogFiles {
    fn run(&mut self, mut commands: mpsc::Receiver<LogCommand>) {
        while let Some(command) = commands.blocking_recv() {
            let mut next = Some(command);
            while let Some(command) = next {
                match command {
                    LogCommand::Line(run, line) => self.line(&run, &line),
                    LogCommand::Flush(done) => {
                        self.flush();
                        let _ = done.send(());
                    }
                }
                next = commands.try_recv().ok();
            }
            self.flush();
        }
    }

    fn line(&mut self, run: &str, line: &LogLine) {
        let Ok(mut text) = serde_json::to_string(line) else {
            return;
        };
        text.push('\n');
        if !self.files.contains_key(run) {
            if self.files.len() >= MAX_OPEN_FILES {
                self.flush();
                self.files.clear();
            }
            if let Some(shared) = &self.shared {
                shared.fetch_to_append(run);
            }
            let path = self.directory.join(format!("{run}.jsonl"));
            match OpenOptions::new().create(true).append(true).open(&path) {
                Ok(file) => {
                    let length = file.metadata().map_or(0, |meta| meta.len());
                    self.files
                        .insert(run.to_owned(), (BufWriter::new(file), length));
                }
                Err(error) => {
                    tracing::error!(event = "run.log_failed", run, %error, "the log of a run cannot be written");
                    return;
                }
            }
        }
        if let Some((file, length)) = self.files.get_mut(run) {
            match file.write_all(text.as_bytes()) {
                Ok(()) => *length += text.len() as u64,
                Err(error) => {
                    tracing::error!(event = "run.log_failed", run, %error, "the log of a run cannot be written");
                }
            }
        }
    }

    fn flush(&mut self) {
        let lengths = self.lengths.lock();
        for (run, (file, length)) in &mut self.files {
            if file.flush().is_ok()
                && let Some(watch) = lengths.get(run)
            {
                watch.send_replace(*length);
            }
        }
    }
}
