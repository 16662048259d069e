//! Logs as pages read them: some lines of a step by their numbers, a search, what there is.
//!
//! ```text
//! runs/<run>.jsonl ──looked at once, then what was added──▶ LogIndex (in memory, the last few logs)
//!        ▲                                                    │ line 700,000 of a step: bytes 81 to 82 million
//!        └────────────── only those bytes are read ───────────┘
//! ```

mod index;
mod search;
mod text;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use utoipa::ToSchema;

use self::index::{LogIndex, SectionIndex, is_note};
use self::search::LogSearchQuery;
pub use self::search::WrongQuery;
use self::text::cut;
use crate::log::{LineKind, LogLine, Logs};

/// Bytes that are read at once while a log is looked at.
const BLOCK: usize = 1 << 20;
/// Lines of all logs that are remembered together; the log read last stays, however long it is.
const MAX_REMEMBERED: usize = 6_000_000;
/// Most lines of one answer.
pub const MAX_RANGE: usize = 5_000;
/// Most bytes of lines of one answer.
const MAX_RANGE_BYTES: u64 = 4 << 20;
/// Most found lines of one answer.
pub const MAX_FOUND: usize = 10_000;
/// Bytes of a note's text in an overview.
const MAX_NOTE_BYTES: usize = 1000;

/// Reads logs by line; clones share what is remembered. Its methods block.
#[derive(Clone)]
pub struct LogReader {
    logs: Logs,
    /// The log read last is at the end.
    remembered: Arc<Mutex<VecDeque<RememberedLog>>>,
}

type RememberedLog = (String, Arc<Mutex<LogIndex>>);

/// What there is in a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct LogOverview {
    /// Lines in all.
    pub lines: usize,
    /// Bytes of whole lines in the file: a follower goes on from here.
    pub bytes: u64,
    /// By step, in the order in which they began to write.
    pub sections: Vec<LogSection>,
    /// Notices, warnings and errors, the first 1,000.
    pub notes: Vec<LogNote>,
}

/// What one step wrote, or a job outside of its steps, or the run itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct LogSection {
    /// The job's name; empty for the run itself.
    pub job: String,
    /// The step's number from 1; 0 outside of steps.
    pub step: u32,
    /// Its lines, without the heading that names the step and the ends of groups.
    pub lines: usize,
    /// Notices among them.
    pub notices: u32,
    /// Warnings among them.
    pub warnings: u32,
    /// Errors among them.
    pub errors: u32,
}

/// A notice, warning or error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct LogNote {
    /// The job's name.
    pub job: String,
    /// The step's number.
    pub step: u32,
    /// Which line of the step, from 1.
    pub line: usize,
    /// What it is.
    pub kind: LineKind,
    /// Its text, cut after 1,000 bytes.
    pub text: String,
}

/// Some lines of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct LogRange {
    /// How many lines there are.
    pub total: usize,
    /// The lines; fewer than were asked for at the end, or where they are very long.
    pub lines: Vec<NumberedLine>,
}

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct NumberedLine {
    /// Which line of what was asked for, from 1.
    pub n: usize,
    /// The line.
    #[serde(flatten)]
    pub line: LogLine,
}

/// Where a text was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct LogMatches {
    /// The lines that hold it, in the order of the log.
    pub matches: Vec<LogMatch>,
    /// There are more than were asked for.
    pub more: bool,
}

/// A line that holds the text that was looked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct LogMatch {
    /// The job's name.
    pub job: String,
    /// The step's number.
    pub step: u32,
    /// Which line of the step, from 1.
    pub line: usize,
}

/// The lines of one step, or of a job outside of its steps (step 0).
#[derive(Debug, Clone, Copy)]
pub struct SectionName<'a> {
    /// The job's name.
    pub job: &'a str,
    /// The step's number.
    pub step: u32,
}

impl LogReader {
    pub(crate) fn new(logs: Logs) -> Self {
        Self {
            logs,
            remembered: Arc::default(),
        }
    }

    /// What there is in a log.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn overview(&self, run: &str) -> io::Result<LogOverview> {
        let path = self.logs.path(run);
        let index = self.index(run)?;
        let index = index.lock();
        let section = |section: &SectionIndex| LogSection {
            job: section.job.clone(),
            step: section.step,
            lines: section.lines.len(),
            notices: section.notices,
            warnings: section.warnings,
            errors: section.errors,
        };
        let mut notes = Vec::new();
        let mut file = None;
        for (section, line) in &index.notes {
            let section = &index.sections[*section];
            let at = section.lines[*line as usize - 1] as usize;
            let Some(read) = read_line(&mut file, &path, index.bytes_of(at))? else {
                continue;
            };
            let mut text = read.text;
            cut(&mut text, MAX_NOTE_BYTES);
            debug_assert!(is_note(read.kind), "only notes are remembered as such");
            notes.push(LogNote {
                job: section.job.clone(),
                step: section.step,
                line: *line as usize,
                kind: read.kind,
                text,
            });
        }
        Ok(LogOverview {
            lines: index.len(),
            bytes: index.bytes,
            sections: index.sections.iter().map(section).collect(),
            notes,
        })
    }

    /// Lines of a step, or of the whole log, from this number (from 1) on.
    ///
    /// # Errors
    /// When the log is there and cannot be read.
    pub fn range(
        &self,
        run: &str,
        section: Option<SectionName<'_>>,
        (from, count): (usize, usize),
    ) -> io::Result<LogRange> {
        let path = self.logs.path(run);
        let first = from.max(1);
        let count = count.min(MAX_RANGE);
        let (total, places) = {
            let index = self.index(run)?;
            let index = index.lock();
            let line_of = |number: usize| match section {
                None => Some(number),
                Some(SectionName { job, step }) => {
                    let (_, section) = index.section(job, step)?;
                    section.lines.get(number).map(|line| *line as usize)
                }
            };
            let total = match section {
                None => index.len(),
                Some(SectionName { job, step }) => index
                    .section(job, step)
                    .map_or(0, |(_, section)| section.lines.len()),
            };
            let numbers = first..first.saturating_add(count).min(total + 1);
            let places = numbers.map_while(|n| Some((n, index.bytes_of(line_of(n - 1)?)?)));
            (total, places.collect::<Vec<_>>())
        };
        let lines = read_lines(&path, &places)?;
        Ok(LogRange { total, lines })
    }

    /// Lines that hold a text, in any case; at most `limit`. A text that is cut by colours is not
    /// found.
    ///
    /// # Errors
    /// When the log is there and cannot be read; the inner one, when such a text cannot be looked
    /// for.
    pub fn find(
        &self,
        run: &str,
        section: Option<SectionName<'_>>,
        text: &str,
        limit: usize,
    ) -> io::Result<Result<LogMatches, WrongQuery>> {
        let path = self.logs.path(run);
        let remembered = self.index(run)?;
        let (only, bytes) = {
            let index = remembered.lock();
            let only = section.map(|name| index.head_of(name.job, name.step).unwrap_or_default());
            (only, index.bytes)
        };
        let none = LogMatches {
            matches: Vec::new(),
            more: false,
        };
        let nothing_there = only.as_ref().is_some_and(Vec::is_empty) || bytes == 0;
        let query = match LogSearchQuery::new(text, only) {
            Ok(query) => query,
            Err(wrong) => return Ok(Err(wrong)),
        };
        if nothing_there {
            return Ok(Ok(none));
        }
        let (offsets, more) = query.find(&path, (0, bytes), limit.min(MAX_FOUND))?;
        let index = remembered.lock();
        let places = index.places(&offsets).into_iter();
        let matches = places.map(|(section, line)| LogMatch {
            job: section.job.clone(),
            step: section.step,
            line,
        });
        let matches = matches.collect();
        Ok(Ok(LogMatches { matches, more }))
    }

    /// A log's index, up to date.
    fn index(&self, run: &str) -> io::Result<Arc<Mutex<LogIndex>>> {
        self.logs.fetch(run)?;
        let index = self.cached_index(run);
        let mut known = index.lock();
        match File::open(self.logs.path(run)) {
            Ok(file) => read_appended(&mut known, file)?,
            // Nothing was written yet, or it is forgotten.
            Err(error) if error.kind() == io::ErrorKind::NotFound => *known = LogIndex::default(),
            Err(error) => return Err(error),
        }
        drop(known);
        self.forget_oldest();
        Ok(index)
    }

    fn cached_index(&self, run: &str) -> Arc<Mutex<LogIndex>> {
        let mut remembered = self.remembered.lock();
        let known = remembered.iter().position(|(known, _)| known == run);
        let entry = match known.and_then(|at| remembered.remove(at)) {
            Some(entry) => entry,
            None => (run.to_owned(), Arc::default()),
        };
        let index = Arc::clone(&entry.1);
        remembered.push_back(entry);
        index
    }

    fn forget_oldest(&self) {
        let mut remembered = self.remembered.lock();
        let mut left = MAX_REMEMBERED;
        let mut kept = 0;
        for (_, index) in remembered.iter().rev() {
            // One that is being looked at is in use.
            let weight = index.try_lock().map_or(0, |index| index.weight());
            if kept > 0 && weight > left {
                break;
            }
            left = left.saturating_sub(weight);
            kept += 1;
        }
        let excess = remembered.len() - kept;
        remembered.drain(..excess);
    }
}

/// Reads what was added to a log since it was last looked at.
fn read_appended(index: &mut LogIndex, mut file: File) -> io::Result<()> {
    let length = file.metadata()?.len();
    if length < index.bytes {
        *index = LogIndex::default();
    }
    if length == index.bytes {
        return Ok(());
    }
    file.seek(SeekFrom::Start(index.bytes))?;
    let mut file = file.take(length - index.bytes);
    let mut block = Vec::with_capacity(BLOCK * 2);
    while (&mut file).take(BLOCK as u64).read_to_end(&mut block)? > 0 {
        let whole = index.push(&block);
        block.drain(..whole);
    }
    Ok(())
}

/// One line, with the file opened when the first is read.
fn read_line(
    file: &mut Option<File>,
    path: &Path,
    place: Option<(u64, u64)>,
) -> io::Result<Option<LogLine>> {
    let Some((begin, end)) = place else {
        return Ok(None);
    };
    let file = match file {
        Some(file) => file,
        None => file.insert(File::open(path)?),
    };
    file.seek(SeekFrom::Start(begin))?;
    let mut bytes = Vec::new();
    file.take(end - begin).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes).ok())
}

/// Lines at these places, which ascend: neighbours are read together.
fn read_lines(path: &Path, places: &[(usize, (u64, u64))]) -> io::Result<Vec<NumberedLine>> {
    let mut lines = Vec::with_capacity(places.len());
    if places.is_empty() {
        return Ok(lines);
    }
    let mut file = File::open(path)?;
    let (mut rest, mut bytes, mut left) = (places, Vec::new(), MAX_RANGE_BYTES);
    while let Some((_, (begin, first_end))) = rest.first() {
        let mut end = *first_end;
        let mut together = 1;
        while let Some((_, (next, next_end))) = rest.get(together)
            && *next == end
            && *next_end - *begin <= left
        {
            end = *next_end;
            together += 1;
        }
        if end - begin > left && !lines.is_empty() {
            break;
        }
        left = left.saturating_sub(end - begin);
        bytes.clear();
        file.seek(SeekFrom::Start(*begin))?;
        (&mut file).take(end - begin).read_to_end(&mut bytes)?;
        for (n, (from, to)) in &rest[..together] {
            let at = |offset: u64| usize::try_from(offset - begin).unwrap_or(usize::MAX);
            let line = bytes.get(at(*from)..at(*to)).unwrap_or_default();
            let line = serde_json::from_slice(line).unwrap_or_else(|_| LogLine {
                at: 0,
                job: String::new(),
                step: 0,
                kind: LineKind::Info,
                text: String::from_utf8_lossy(line).trim_end().to_owned(),
            });
            lines.push(NumberedLine { n: *n, line });
        }
        rest = &rest[together..];
    }
    Ok(lines)
}

#[cfg(test)]
mod tests;
