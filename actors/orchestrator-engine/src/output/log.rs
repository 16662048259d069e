//! Writing the log of a run.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::redact::{RedactedStream, Redactor};

/// The file that says that nothing more will come.
pub(super) const END_FILE: &str = "end.json";

/// How much of an output is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSizes {
    /// Bytes of the beginning.
    pub head: u64,
    /// Bytes of the end, at least; at most twice as many.
    pub tail: u64,
}

impl Default for LogSizes {
    /// 4 MiB of the beginning, 4 MiB of the end.
    fn default() -> Self {
        Self {
            head: 4 << 20,
            tail: 4 << 20,
        }
    }
}

/// The log cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[error("the run's log {}: {source}; is there space on the disk?", path.display())]
pub struct LogError {
    /// The file.
    pub path: PathBuf,
    /// The operating system's answer.
    pub source: io::Error,
}

impl LogError {
    pub(super) fn at_path(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self {
            path: path.to_owned(),
            source,
        }
    }
}

/// What became of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LogSummary {
    /// Bytes of the whole output, after masking.
    pub bytes: u64,
    /// Bytes that were given up between beginning and end, or that the disk refused.
    pub dropped: u64,
    /// Secrets that were masked.
    pub masked: u64,
    /// Whether the run was over when the log was closed, rather than found so later.
    pub complete: bool,
}

/// The log of one run, being written.
#[derive(Debug)]
pub struct RunLog {
    folder: PathBuf,
    sizes: LogSizes,
    stream: RedactedStream,
    /// Masked bytes on their way to the disk; kept to be used again.
    ready: Vec<u8>,
    segment: Segment,
    /// Segments after the first, by the place of their first byte; the current one included.
    later: Vec<u64>,
    summary: LogSummary,
    error: Option<LogError>,
}

#[derive(Debug)]
struct Segment {
    /// `None` when the disk refused to make it.
    file: Option<File>,
    written: u64,
    room: u64,
}

/// The file of the segment that begins at `start`. The names sort by place.
pub(super) fn segment_path(folder: &Path, start: u64) -> PathBuf {
    folder.join(format!("{start:020}.log"))
}

impl RunLog {
    /// Makes the log in `folder`, which is made; one that exists already is refused.
    ///
    /// # Errors
    /// [`LogError`] when the folder exists or cannot be made.
    pub fn create(folder: &Path, sizes: LogSizes, redactor: Redactor) -> Result<Self, LogError> {
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(LogError::at_path(parent))?;
        }
        fs::create_dir(folder).map_err(LogError::at_path(folder))?;
        let file = create(folder, 0)?;
        Ok(Self {
            folder: folder.to_owned(),
            sizes,
            stream: RedactedStream::new(redactor),
            ready: Vec::new(),
            segment: Segment {
                file: Some(file),
                written: 0,
                room: sizes.head,
            },
            later: Vec::new(),
            summary: LogSummary::default(),
            error: None,
        })
    }

    /// Takes output in.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut ready = std::mem::take(&mut self.ready);
        self.stream.push(bytes, &mut ready);
        self.write(&ready);
        ready.clear();
        self.ready = ready;
    }

    /// Closes the log: what is kept is on the disk, and readers see that it is complete. The error
    /// is the first that the disk gave; the rest of the output was counted only.
    pub fn finish(mut self) -> (LogSummary, Option<LogError>) {
        let mut ready = std::mem::take(&mut self.ready);
        self.stream.finish(&mut ready);
        self.write(&ready);
        self.summary.masked = self.stream.masked();
        self.summary.complete = true;
        let synced = self.segment.file.as_ref().map_or(Ok(()), File::sync_data);
        let synced = synced.map_err(LogError::at_path(&self.folder));
        let ended = write_end(&self.folder, &self.summary);
        let error = self.error.take().or(synced.err()).or(ended.err());
        (self.summary, error)
    }

    fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.segment.written >= self.segment.room {
                self.next_segment();
            }
            let room =
                usize::try_from(self.segment.room - self.segment.written).unwrap_or(usize::MAX);
            let (now, rest) = bytes.split_at(bytes.len().min(room));
            self.append(now);
            bytes = rest;
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        let length = bytes.len() as u64;
        self.segment.written += length;
        self.summary.bytes += length;
        let Some(file) = &mut self.segment.file else {
            self.summary.dropped += length;
            return;
        };
        if let Err(source) = file.write_all(bytes) {
            self.error.get_or_insert(LogError {
                path: self.folder.clone(),
                source,
            });
            self.summary.dropped += length;
            // A file with a hole would put later bytes in the wrong place.
            self.segment.file = None;
        }
    }

    /// Begins a segment, and gives up the one before the last.
    fn next_segment(&mut self) {
        let start = self.summary.bytes;
        let made = create(&self.folder, start);
        let file = made.map_err(|error| self.error.get_or_insert(error)).ok();
        self.segment = Segment {
            file,
            written: 0,
            room: self.sizes.tail.max(1),
        };
        self.later.push(start);
        if self.later.len() > 2 {
            let gone = self.later.remove(0);
            let path = segment_path(&self.folder, gone);
            let held = fs::metadata(&path).map_or(0, |data| data.len());
            if fs::remove_file(&path).is_ok() {
                self.summary.dropped += held;
            }
        }
    }
}

fn create(folder: &Path, start: u64) -> Result<File, LogError> {
    let path = segment_path(folder, start);
    OpenOptions::new()
        .append(true)
        .create_new(true)
        .open(&path)
        .map_err(LogError::at_path(&path))
}

/// Says that nothing more will come. Readers see all of it or nothing.
pub(super) fn write_end(folder: &Path, summary: &LogSummary) -> Result<(), LogError> {
    let path = folder.join(END_FILE);
    let part = folder.join("end.part");
    let text = serde_json::to_vec(summary).expect("numbers always serialise");
    let write = || {
        let mut file = File::create(&part)?;
        file.write_all(&text)?;
        file.sync_data()?;
        fs::rename(&part, &path)
    };
    write().map_err(LogError::at_path(&path))
}
