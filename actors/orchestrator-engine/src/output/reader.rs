//! Reading the log of a run, while it is written or afterwards.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::log::{END_FILE, LogError, LogSummary, segment_path, write_end};

/// What comes next in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogPart {
    /// Output.
    Bytes(Vec<u8>),
    /// So many bytes are not kept.
    Skipped(u64),
    /// Nothing yet: the run goes on.
    Waiting,
    /// That was all.
    End(LogSummary),
}

/// A place in the log of a run. Never holds up the writer.
#[derive(Debug)]
pub struct AgentLogReader {
    folder: PathBuf,
    at: u64,
}

impl AgentLogReader {
    /// Reads from byte `at` of the output. A log that is not there (yet) is one that waits.
    pub fn new(folder: &Path, at: u64) -> Self {
        Self {
            folder: folder.to_owned(),
            at,
        }
    }

    /// The place of the next byte, to go on from later.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// The next part, of at most `most` bytes.
    ///
    /// # Errors
    /// [`LogError`] when the log cannot be read.
    pub fn next(&mut self, most: usize) -> Result<LogPart, LogError> {
        // Looked at first: whatever was written before the end is found below.
        let end = end_of(&self.folder)?;
        let starts = starts(&self.folder)?;
        let current = starts
            .iter()
            .rev()
            .find(|start| **start <= self.at)
            .copied();
        if let Some(bytes) = current
            .map(|start| self.read(start, most))
            .transpose()?
            .flatten()
        {
            self.at += bytes.len() as u64;
            return Ok(LogPart::Bytes(bytes));
        }
        if let Some(next) = starts.into_iter().find(|start| *start > self.at) {
            return Ok(LogPart::Skipped(self.jump(next)));
        }
        match end {
            Some(end) if end.bytes > self.at => Ok(LogPart::Skipped(self.jump(end.bytes))),
            Some(end) => Ok(LogPart::End(end)),
            None => Ok(LogPart::Waiting),
        }
    }

    /// All that is kept, at most `most` bytes of it from the end back, as text; for the
    /// classification of a finished run.
    ///
    /// # Errors
    /// [`LogError`] when the log cannot be read.
    pub fn tail(folder: &Path, most: usize) -> Result<String, LogError> {
        let mut reader = Self::new(folder, 0);
        let mut text: Vec<u8> = Vec::new();
        loop {
            match reader.next(1 << 20)? {
                LogPart::Bytes(bytes) => text.extend(bytes),
                LogPart::Skipped(count) => {
                    text.extend(format!("\n[{count} bytes left out]\n").bytes());
                }
                LogPart::Waiting | LogPart::End(_) => break,
            }
            let over = text.len().saturating_sub(most);
            text.drain(..over);
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn jump(&mut self, to: u64) -> u64 {
        let skipped = to - self.at;
        self.at = to;
        skipped
    }

    /// Bytes of the segment that begins at `start`, from the current place; `None` when it has none
    /// there, or was given up meanwhile.
    fn read(&self, start: u64, most: usize) -> Result<Option<Vec<u8>>, LogError> {
        let path = segment_path(&self.folder, start);
        let mut file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(LogError::at_path(&path))?,
        };
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(self.at - start))
            .map_err(LogError::at_path(&path))?;
        file.take(most as u64)
            .read_to_end(&mut bytes)
            .map_err(LogError::at_path(&path))?;
        Ok((!bytes.is_empty()).then_some(bytes))
    }
}

/// Closes a log whose writer has died with its process, so that readers do not wait for ever. One
/// that is closed already stays as it is.
///
/// # Errors
/// [`LogError`] when the log is not there or cannot be written.
pub fn abandon(folder: &Path) -> Result<LogSummary, LogError> {
    if let Some(summary) = end_of(folder)? {
        return Ok(summary);
    }
    let (bytes, kept) = kept_bytes(folder)?;
    let summary = LogSummary {
        bytes,
        dropped: bytes - kept,
        ..LogSummary::default()
    };
    write_end(folder, &summary)?;
    Ok(summary)
}

/// How its writer, or whoever came after it, closed the log.
pub(super) fn end_of(folder: &Path) -> Result<Option<LogSummary>, LogError> {
    let path = folder.join(END_FILE);
    match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .map_err(io::Error::from)
            .map_err(LogError::at_path(&path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(LogError { path, source }),
    }
}

/// Bytes of the output up to the last that is kept, and how many are kept.
pub(super) fn kept_bytes(folder: &Path) -> Result<(u64, u64), LogError> {
    let (mut bytes, mut kept) = (0, 0);
    for start in starts(folder)? {
        let path = segment_path(folder, start);
        let length = match fs::metadata(&path) {
            // Given up meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            about => about.map_err(LogError::at_path(&path))?.len(),
        };
        bytes = start + length;
        kept += length;
    }
    Ok((bytes, kept))
}

/// Where the kept segments begin, in order.
fn starts(folder: &Path) -> Result<Vec<u64>, LogError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(LogError::at_path(folder))?,
    };
    let start = |entry: fs::DirEntry| {
        entry
            .file_name()
            .to_str()?
            .strip_suffix(".log")?
            .parse()
            .ok()
    };
    let mut starts: Vec<u64> = entries.flatten().filter_map(start).collect();
    starts.sort_unstable();
    Ok(starts)
}
