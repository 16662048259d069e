//! Where the lines of a log begin, and which of them a step wrote: what a page asks for by number
//! is found without reading what stands before it.

use std::collections::HashMap;

use memchr::memmem;

use crate::log::{LineKind, LogLine};

/// Notes of a log that are remembered.
const MAX_NOTES: usize = 1000;
/// Before the kind in a line of the log; within a text each of its quotes is escaped.
const KIND: &[u8] = b"\"kind\":\"";
const AT: &[u8] = b"{\"at\":";

/// The lines of a log, as far as it was looked at.
#[derive(Debug, Default)]
pub(super) struct LogIndex {
    /// Bytes that were looked at: whole lines.
    pub(super) bytes: u64,
    /// Where each line begins.
    offsets: Vec<u64>,
    pub(super) sections: Vec<SectionIndex>,
    by_head: HashMap<Vec<u8>, usize>,
    /// The section of the last line, and how its lines go on after their time.
    last: Option<(usize, Vec<u8>)>,
    /// Section, line in it.
    pub(super) notes: Vec<(usize, u32)>,
}

/// The lines of a step, or of a job outside of its steps, or of the run itself.
#[derive(Debug, Default)]
pub(super) struct SectionIndex {
    pub(super) job: String,
    pub(super) step: u32,
    /// Which lines of the log: without the group that names the step, and the ends of groups.
    pub(super) lines: Vec<u32>,
    pub(super) notices: u32,
    pub(super) warnings: u32,
    pub(super) errors: u32,
    has_heading: bool,
}

/// What the beginning of a line tells.
struct LineHead<'a> {
    /// Job and step as they are written, up to the kind's value.
    section: &'a [u8],
    kind: &'a [u8],
}

impl<'a> LineHead<'a> {
    fn parse(line: &'a [u8], last: Option<&[u8]>) -> Option<Self> {
        let rest = line.strip_prefix(AT)?;
        let digits = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        let rest = &rest[digits..];
        let end = match last {
            Some(last) if rest.starts_with(last) => last.len(),
            _ => memmem::find(rest, KIND)? + KIND.len(),
        };
        let kind = &rest[end..];
        let quote = memchr::memchr(b'"', kind)?;
        Some(Self {
            section: &rest[..end],
            kind: &kind[..quote],
        })
    }
}

impl LogIndex {
    /// Lines in all.
    pub(super) fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Memory in lines, for those who bound it.
    pub(super) fn weight(&self) -> usize {
        self.offsets.len() + 1024
    }

    /// Adds bytes that follow those it has; gives how many of them are whole lines.
    pub(super) fn push(&mut self, bytes: &[u8]) -> usize {
        let mut begun = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            self.line(&bytes[begun..end], self.bytes + begun as u64);
            begun = end + 1;
        }
        self.bytes += begun as u64;
        begun
    }

    fn line(&mut self, line: &[u8], offset: u64) {
        let number = u32::try_from(self.offsets.len()).unwrap_or(u32::MAX);
        self.offsets.push(offset);
        let last = self.last.as_ref().map(|(_, head)| head.as_slice());
        let Some(head) = LineHead::parse(line, last) else {
            return;
        };
        let section = match &self.last {
            Some((section, last)) if last == head.section => *section,
            _ => {
                let Some(section) = self.section_of(line, head.section) else {
                    return;
                };
                self.last = Some((section, head.section.to_vec()));
                section
            }
        };
        let index = &mut self.sections[section];
        match head.kind {
            b"endgroup" => return,
            b"group" if index.step > 0 && !index.has_heading && index.lines.is_empty() => {
                index.has_heading = true;
                return;
            }
            b"notice" => index.notices += 1,
            b"warning" => index.warnings += 1,
            b"error" => index.errors += 1,
            _ => {}
        }
        index.lines.push(number);
        if matches!(head.kind, b"notice" | b"warning" | b"error") && self.notes.len() < MAX_NOTES {
            let line = u32::try_from(index.lines.len()).unwrap_or(u32::MAX);
            self.notes.push((section, line));
        }
    }

    /// The section that lines with this head are of; made when it is new.
    fn section_of(&mut self, line: &[u8], head: &[u8]) -> Option<usize> {
        if let Some(known) = self.by_head.get(head) {
            return Some(*known);
        }
        let line: LogLine = serde_json::from_slice(line).ok()?;
        let section = self.sections.len();
        self.sections.push(SectionIndex {
            job: line.job,
            step: line.step,
            ..SectionIndex::default()
        });
        self.by_head.insert(head.to_vec(), section);
        Some(section)
    }

    /// The section of a job and step.
    pub(super) fn section(&self, job: &str, step: u32) -> Option<(usize, &SectionIndex)> {
        let mut sections = self.sections.iter().enumerate();
        sections.find(|(_, section)| section.step == step && section.job == job)
    }

    /// Where a line of the log lies: its first byte and the one behind its last.
    pub(super) fn bytes_of(&self, line: usize) -> Option<(u64, u64)> {
        let begin = *self.offsets.get(line)?;
        let end = self.offsets.get(line + 1).copied().unwrap_or(self.bytes);
        Some((begin, end))
    }

    /// How the lines of a step begin behind their time.
    pub(super) fn head_of(&self, job: &str, step: u32) -> Option<Vec<u8>> {
        let (section, _) = self.section(job, step)?;
        let mut heads = self.by_head.iter();
        let found = heads.find(|(_, known)| **known == section);
        found.map(|(head, _)| head.clone())
    }

    /// Which lines of which steps begin at these bytes of the file; headings and ends of groups
    /// are none.
    pub(super) fn places(&self, offsets: &[u64]) -> Vec<(&SectionIndex, usize)> {
        let mut found = Vec::with_capacity(offsets.len());
        let mut last: Option<usize> = None;
        for offset in offsets {
            let Some(line) = self.line_at(*offset) else {
                continue;
            };
            let number = u32::try_from(line).unwrap_or(u32::MAX);
            let within = |section: usize| {
                let at = self.sections[section].lines.binary_search(&number);
                at.ok().map(|at| (section, at + 1))
            };
            // Mostly of the same step as the one before; a log has few steps otherwise.
            let place = last
                .and_then(within)
                .or_else(|| (0..self.sections.len()).find_map(within));
            let Some((section, line)) = place else {
                continue;
            };
            last = Some(section);
            found.push((&self.sections[section], line));
        }
        found
    }

    /// The line of the log that begins at this byte.
    pub(super) fn line_at(&self, offset: u64) -> Option<usize> {
        self.offsets.binary_search(&offset).ok()
    }
}

/// The kind of a line that was read.
pub(super) fn is_note(kind: LineKind) -> bool {
    matches!(kind, LineKind::Notice | LineKind::Warning | LineKind::Error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(job: &str, step: u32, kind: LineKind, text: &str) -> Vec<u8> {
        let line = LogLine {
            at: 1_795_276_800_000,
            job: job.to_owned(),
            step,
            kind,
            text: text.to_owned(),
        };
        let mut line = serde_json::to_vec(&line).unwrap();
        line.push(b'\n');
        line
    }

    #[test]
    fn lines_are_counted_by_step_without_headings_and_ends_of_groups() {
        use LineKind::{EndGroup, Error, Group, Info, Out, Warning};
        let bytes = [
            line("", 0, Info, "run"),
            line("a \"kind\":\"x", 0, Info, "waits"),
            line("a \"kind\":\"x", 1, Group, "Build"),
            line("b", 1, Group, "Test"),
            line("a \"kind\":\"x", 1, Out, "one {\"kind\":\"error\"}"),
            line("b", 1, Warning, "careful"),
            line("a \"kind\":\"x", 1, Group, "inner"),
            line("a \"kind\":\"x", 1, Error, "two"),
            line("a \"kind\":\"x", 1, EndGroup, ""),
        ]
        .concat();
        let mut index = LogIndex::default();
        // However the bytes are cut.
        let mut rest = Vec::new();
        for byte in &bytes {
            rest.push(*byte);
            let whole = index.push(&rest);
            rest.drain(..whole);
        }
        assert_eq!((index.len(), index.bytes), (9, bytes.len() as u64));
        let (_, a) = index.section("a \"kind\":\"x", 1).unwrap();
        assert_eq!((a.lines.as_slice(), a.errors), ([4, 6, 7].as_slice(), 1));
        let (b, section) = index.section("b", 1).unwrap();
        assert_eq!(
            (section.lines.as_slice(), section.warnings),
            ([5].as_slice(), 1)
        );
        assert_eq!(index.notes[0], (b, 1));
        assert_eq!(index.notes.len(), 2);
        let (begin, end) = index.bytes_of(5).unwrap();
        let slice = |at: u64| usize::try_from(at).unwrap();
        let read: LogLine = serde_json::from_slice(&bytes[slice(begin)..slice(end)]).unwrap();
        assert_eq!(read.text, "careful");
        assert_eq!(index.line_at(begin), Some(5));
    }

    #[test]
    fn what_is_no_line_of_ours_is_a_line_of_no_step() {
        let mut index = LogIndex::default();
        index.push(b"garbage\n{\"at\":1}\n\n{\"at\":1,\"kind\":\"out\",\"text\":\"x\"}\nhalf");
        assert_eq!((index.len(), index.sections.len()), (4, 1));
        assert_eq!(index.sections[0].lines, [3]);
    }
}
