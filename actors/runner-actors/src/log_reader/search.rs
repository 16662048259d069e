//! Lines of a log that hold a text: the file is searched as it lies there, and only what may match
//! is read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use config_core::without_colours;
use regex::bytes::{Regex, RegexBuilder};

use crate::log::LogLine;

/// Bytes that are searched at once.
const BLOCK: usize = 1 << 20;
/// Bytes that tell which part of the text is rare.
const SAMPLE: u64 = 192 << 10;
/// Bytes of such a part.
const PART: usize = 4;
/// Parts that are compared.
const MAX_PARTS: usize = 10;
/// Below this one thread is enough.
const WORTH_A_THREAD: u64 = 8 << 20;
const MAX_THREADS: usize = 4;
/// Before the text in a line of the log; within a text each of its quotes is escaped.
const TEXT: &[u8] = b"\",\"text\":\"";
/// How the file has the escape that colours begin with: they may stand within what is looked for.
const ESCAPE: &[u8] = b"\\u001b";

/// What is looked for, in any case.
pub(super) struct LogSearchQuery {
    /// Parts of it as they stand in the file, or a colour: where it is, each finds something.
    parts: Vec<Regex>,
    /// As it stands in the file, where JSON escapes some characters.
    written: Regex,
    /// As people see it.
    shown: Regex,
    /// How lines of the only step begin behind their time.
    only: Option<Vec<u8>>,
}

/// Why a text cannot be looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a text of 1 to {} bytes can be looked for", LogSearchQuery::MAX_BYTES)]
pub struct WrongQuery;

impl LogSearchQuery {
    /// Longest text.
    pub(super) const MAX_BYTES: usize = 1000;

    pub(super) fn new(text: &str, only: Option<Vec<u8>>) -> Result<Self, WrongQuery> {
        if text.is_empty() || text.len() > Self::MAX_BYTES {
            return Err(WrongQuery);
        }
        let json = serde_json::to_string(text).map_err(|_| WrongQuery)?;
        let regex = |expression: &str| {
            RegexBuilder::new(expression)
                .case_insensitive(true)
                .build()
                .map_err(|_| WrongQuery)
        };
        let written = &json[1..json.len() - 1];
        let colour = String::from_utf8_lossy(ESCAPE);
        let part = |part: &str| {
            regex(&format!(
                "{}|{}",
                regex::escape(part),
                regex::escape(&colour)
            ))
        };
        Ok(Self {
            parts: parts_of(written).map(part).collect::<Result<_, _>>()?,
            written: regex(&regex::escape(written))?,
            shown: regex(&regex::escape(text))?,
            only,
        })
    }

    /// Where the lines begin that hold the text, at most `limit`, among those in this part of the
    /// file; whether there may be more.
    pub(super) fn find(
        &self,
        path: &Path,
        (from, to): (u64, u64),
        limit: usize,
    ) -> io::Result<(Vec<u64>, bool)> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if to - from < WORTH_A_THREAD {
            1
        } else {
            threads.min(MAX_THREADS) as u64
        };
        let part = (to - from).div_ceil(threads);
        let rare = self.rarest_part(path, (from, to))?;
        let parts = std::thread::scope(|scope| {
            let begun: Vec<_> = (0..threads)
                .map(|number| {
                    let begin = from + number * part;
                    let end = (begin + part).min(to);
                    scope.spawn(move || {
                        self.find_in_part(path, rare, (begin, end, to), limit, begin > from)
                    })
                })
                .collect();
            begun
                .into_iter()
                .map(|thread| {
                    thread
                        .join()
                        .map_err(|_| io::Error::other("a search crashed"))?
                })
                .collect::<io::Result<Vec<_>>>()
        })?;
        let mut found: Vec<u64> = parts.into_iter().flatten().collect();
        let more = found.len() >= limit;
        found.truncate(limit);
        Ok((found, more))
    }

    /// The part of the text that stands in fewest places in the middle of the file: the whole text
    /// is looked for only where that is.
    fn rarest_part(&self, path: &Path, (from, to): (u64, u64)) -> io::Result<&Regex> {
        let mut file = File::open(path)?;
        let middle = from + (to - from) / 2;
        file.seek(SeekFrom::Start(middle.saturating_sub(SAMPLE / 2).max(from)))?;
        let mut sample = Vec::new();
        file.take(SAMPLE.min(to - from)).read_to_end(&mut sample)?;
        let count = |part: &&Regex| part.find_iter(&sample).count();
        Ok(self.parts.iter().min_by_key(count).unwrap_or(&self.written))
    }

    /// Lines that begin in `begin..end`; the last of them may end behind it. Where a part does not
    /// begin the search, its first line is the rest of one of the part before.
    fn find_in_part(
        &self,
        path: &Path,
        rare: &Regex,
        (begin, end, to): (u64, u64, u64),
        limit: usize,
        cut: bool,
    ) -> io::Result<Vec<u64>> {
        let mut file = File::open(path)?;
        // One byte more tells whether a line begins exactly here.
        let begin = if cut { begin - 1 } else { begin };
        file.seek(SeekFrom::Start(begin))?;
        let mut skip = cut;
        let mut file = file.take(to - begin);
        let mut found = Vec::new();
        let mut block: Vec<u8> = Vec::with_capacity(BLOCK + BLOCK / 2);
        let mut at = begin;
        while at < end && found.len() < limit {
            let read = (&mut file).take(BLOCK as u64).read_to_end(&mut block)?;
            let Some(last) = memchr::memrchr(b'\n', &block) else {
                if read == 0 {
                    break;
                }
                continue;
            };
            let mut start = 0;
            if std::mem::take(&mut skip) {
                start = memchr::memchr(b'\n', &block).map_or(0, |first| first + 1);
            }
            self.find_in_lines(rare, &block[..=last], start, |offset| {
                let offset = at + offset as u64;
                if offset < end {
                    found.push(offset);
                }
                offset < end && found.len() < limit
            });
            block.drain(..=last);
            at += last as u64 + 1;
        }
        Ok(found)
    }

    /// Tells where matching lines begin until nobody wants to know.
    fn find_in_lines(
        &self,
        rare: &Regex,
        lines: &[u8],
        mut from: usize,
        mut found: impl FnMut(usize) -> bool,
    ) {
        while let Some(hit) = rare.find_at(lines, from) {
            let begin = memchr::memrchr(b'\n', &lines[..hit.start()]).map_or(0, |end| end + 1);
            let end = memchr::memchr(b'\n', &lines[hit.start()..])
                .map_or(lines.len(), |end| hit.start() + end);
            // In the part before what was skipped.
            if begin >= from && self.matches(&lines[begin..end]) && !found(begin) {
                return;
            }
            from = end + 1;
            if from >= lines.len() {
                return;
            }
        }
    }

    /// Whether the text of a line holds it, and not its fields or colours only.
    fn matches(&self, line: &[u8]) -> bool {
        if let Some(only) = &self.only
            && !is_of(line, only)
        {
            return false;
        }
        let Some(text) = memchr::memmem::find(line, TEXT).map(|at| at + TEXT.len()) else {
            return false;
        };
        let has_colours = memchr::memmem::find(&line[text..], ESCAPE).is_some();
        if !has_colours && self.written.find_at(line, text).is_none() {
            return false;
        }
        // Without escapes in it, the text is what is written.
        if memchr::memchr(b'\\', &line[text..]).is_none() {
            let end = line.len().saturating_sub(2).max(text);
            return self.shown.is_match(&line[text..end]);
        }
        serde_json::from_slice::<LogLine>(line)
            .is_ok_and(|line| self.shown.is_match(without_colours(&line.text).as_bytes()))
    }
}

/// Some parts of a text, over its whole length; the text itself where it is short.
fn parts_of(text: &str) -> impl Iterator<Item = &str> {
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let last = starts.iter().rposition(|at| text.len() - at >= PART);
    let count = last.map_or(1, |last| last + 1);
    let step = count.div_ceil(MAX_PARTS);
    (0..count).step_by(step).map(move |first| {
        let begin = starts[first];
        &text[begin..text.ceil_char_boundary(begin + PART).min(text.len())]
    })
}

/// Whether a line has this job and step.
fn is_of(line: &[u8], head: &[u8]) -> bool {
    let comma = memchr::memchr(b',', line).unwrap_or(line.len());
    line[comma..].starts_with(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, lines: &[&str], limit: usize) -> (Vec<usize>, bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut bytes = Vec::new();
        let mut begins = Vec::new();
        for text in lines {
            begins.push(bytes.len() as u64);
            let text = serde_json::to_string(text).unwrap();
            bytes.extend_from_slice(
                format!(
                    "{{\"at\":1,\"job\":\"build\",\"step\":1,\"kind\":\"out\",\"text\":{text}}}\n"
                )
                .as_bytes(),
            );
        }
        std::fs::write(&path, &bytes).unwrap();
        let query = LogSearchQuery::new(text, None).unwrap();
        let (offsets, more) = query.find(&path, (0, bytes.len() as u64), limit).unwrap();
        // In parts of any size the same lines are found.
        for parts in [2, 3, 7] {
            let part = (bytes.len() as u64).div_ceil(parts);
            let mut all = Vec::new();
            for number in 0..parts {
                let begin = (number * part).min(bytes.len() as u64);
                let end = (begin + part).min(bytes.len() as u64);
                let found = query.find_in_part(
                    &path,
                    &query.parts[query.parts.len() / 2],
                    (begin, end, bytes.len() as u64),
                    usize::MAX,
                    begin > 0,
                );
                all.extend(found.unwrap());
            }
            all.truncate(limit);
            assert_eq!(all, offsets, "{text} in {parts} parts");
        }
        let line = |offset: &u64| begins.binary_search(offset).unwrap();
        (offsets.iter().map(line).collect(), more)
    }

    #[test]
    fn i14_the_text_of_a_line_is_searched_and_nothing_else_of_it() {
        let lines = [
            "Compiling orrery",
            "error: it is BROKEN",
            "\u{1b}[31mError\u{1b}[0m \"quoted\" \\ back",
            "out of the way",
            "Ärger, straße, 日本",
            "a<b>&tab\there",
            "",
            "a.c:1: \u{1b}[01;31m\u{1b}[Kfatal: \u{1b}[m\u{1b}[Kx undeclared",
        ];
        for (text, expected) in [
            ("error", vec![1, 2]),
            ("ERROR", vec![1, 2]),
            ("broken", vec![1]),
            ("\"QUOTED\" \\", vec![2]),
            ("out", vec![3]),
            ("kind", vec![]),
            ("31m", vec![]),
            ("u001b", vec![]),
            ("build", vec![]),
            ("ärger", vec![4]),
            ("STRASSE", vec![]),
            ("日本", vec![4]),
            ("tab\tHERE", vec![5]),
            ("<b>&", vec![5]),
            (".*", vec![]),
            ("fatal: x", vec![7]),
            ("FATAL", vec![7]),
            ("[K", vec![]),
            ("}", vec![]),
        ] {
            assert_eq!(found(text, &lines, 100), (expected, false), "{text}");
        }
    }

    #[test]
    fn parts_of_a_text_stand_in_it() {
        let parts = |text| parts_of(text).collect::<Vec<_>>();
        assert_eq!(parts("ab"), ["ab"]);
        assert_eq!(parts("abcdef"), ["abcd", "bcde", "cdef"]);
        assert_eq!(parts("äöü"), ["äö", "öü"]);
        assert_eq!(parts("日本語"), ["日本", "本語"]);
        let long = "x".repeat(900) + "é" + &"y".repeat(90);
        assert!(
            parts(&long).len() <= MAX_PARTS && parts(&long).iter().all(|part| long.contains(part))
        );
    }

    #[test]
    fn a_search_ends_at_its_limit_and_says_so() {
        let lines = vec!["again and again"; 50];
        assert_eq!(found("again", &lines, 3), (vec![0, 1, 2], true));
        assert_eq!(found("again", &lines, 100).0.len(), 50);
        assert!(LogSearchQuery::new("", None).is_err());
        assert!(LogSearchQuery::new(&"x".repeat(1001), None).is_err());
    }
}
