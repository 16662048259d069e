//! Files so long that the place to show lies behind their beginning: where their passages begin,
//! and what they define.
//!
//! Both follow from the whole text, and finding them out takes milliseconds for a megabyte. The
//! same few long files have the words of most queries, so what was found out is kept, by the
//! identity and the times of the file: the next excerpt reads the beginning and the place alone.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, LazyLock};

use quick_cache::sync::Cache;
use search_core::definitions::{Definition, DefinitionKind, definitions};
use search_core::passages::passage_starts;
use search_core::snippet::TextHit;

use super::head::plain_utf8;
use super::{Excerpt, Excerpter, span};
use crate::extract::TextFormat;

/// Most bytes of what is known of long files.
const MAX_KNOWN: u64 = 8 << 20;

/// Longest line with a definition, and what follows it, in bytes.
const MAX_LINE: usize = 1024;

/// What is known of long files, of all sources.
static KNOWN: LazyLock<Cache<FileVersion, Arc<LongText>, LongTextWeight>> =
    LazyLock::new(|| Cache::with_weighter(128, MAX_KNOWN, LongTextWeight));

/// A file at one moment: device, number, length, and when it was changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct FileVersion([u64; 3], [i64; 4], String);

impl FileVersion {
    /// Its kind is told by its key, which therefore counts, too.
    fn from_file(file: &File, key: &str) -> Option<Self> {
        let data = file.metadata().ok()?;
        let times = [
            data.mtime(),
            data.mtime_nsec(),
            data.ctime(),
            data.ctime_nsec(),
        ];
        Some(Self(
            [data.dev(), data.ino(), data.size()],
            times,
            key.to_owned(),
        ))
    }
}

#[derive(Debug, Clone)]
struct LongTextWeight;

impl quick_cache::Weighter<FileVersion, Arc<LongText>> for LongTextWeight {
    fn weight(&self, version: &FileVersion, text: &Arc<LongText>) -> u64 {
        let rows = text.starts.len() * size_of::<Start>()
            + text.defined.len() * size_of::<NamedDefinition>();
        (rows + text.names.len() + version.2.len() + 256) as u64
    }
}

/// A long text without its words.
#[derive(Debug)]
struct LongText {
    /// Where its passages begin, the first included.
    starts: Box<[Start]>,
    /// What it defines, in order.
    defined: Box<[NamedDefinition]>,
    /// The names of that, one behind the other.
    names: Box<str>,
    bytes: usize,
}

/// Where a passage begins.
#[derive(Debug, Clone, Copy)]
struct Start {
    at: u32,
    /// Its line, from 1.
    line: u32,
}

/// A definition whose name ends in [`LongText::names`].
#[derive(Debug)]
struct NamedDefinition {
    kind: DefinitionKind,
    line: u32,
    at: u32,
    name_end: u32,
}

impl LongText {
    fn new(key: &str, text: &str) -> Option<Self> {
        u32::try_from(text.len()).ok()?;
        let (mut line, mut counted) = (1, 0);
        let mut start = |at: usize| {
            line += memchr::memchr_iter(b'\n', &text.as_bytes()[counted..at]).count() as u32;
            counted = at;
            let at = at as u32;
            Start { at, line }
        };
        let starts = std::iter::once(0).chain(passage_starts(text));
        let starts = starts.map(&mut start).collect();
        let mut names = String::new();
        let named = |found: Definition<'_>| {
            names.push_str(found.name);
            NamedDefinition {
                kind: found.kind,
                line: found.line as u32,
                at: found.at as u32,
                name_end: names.len() as u32,
            }
        };
        Some(Self {
            starts,
            defined: definitions(key, text).map(named).collect(),
            names: names.into(),
            bytes: text.len(),
        })
    }

    /// The bytes of a passage, from 0, and the line it begins with.
    fn passage(&self, passage: usize) -> Option<(Range<usize>, usize)> {
        let start = self.starts.get(passage)?;
        let end = self.starts.get(passage + 1);
        let end = end.map_or(self.bytes, |end| end.at as usize);
        Some((start.at as usize..end, start.line as usize))
    }

    fn definitions(&self) -> impl Iterator<Item = Definition<'_>> {
        let mut from = 0;
        self.defined.iter().map(move |one| {
            let name = &self.names[from as usize..one.name_end as usize];
            from = one.name_end;
            Definition {
                kind: one.kind,
                name,
                line: one.line as usize,
                at: one.at as usize,
            }
        })
    }
}

/// A piece of a long file.
struct Window {
    text: String,
    /// Where it begins in the file, in bytes.
    start: usize,
}

impl Window {
    /// The bytes around `wanted` that a snippet may be cut from.
    fn read(file: &File, wanted: &Range<usize>, margin: usize) -> Option<Self> {
        let from = wanted.start.saturating_sub(margin);
        let mut bytes = vec![0; wanted.end + margin - from];
        let mut filled = 0;
        while filled < bytes.len() {
            let at = (from + filled) as u64;
            let read =
                rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut bytes[filled..], at));
            match read.ok()? {
                0 => break,
                read => filled += read,
            }
        }
        bytes.truncate(filled);
        // Characters that were cut at the ends.
        let is_inside = |byte: &u8| byte & 0xc0 == 0x80;
        let cut = bytes.iter().take(3).take_while(|byte| is_inside(byte));
        let cut = if from == 0 { 0 } else { cut.count() };
        let text = match std::str::from_utf8(&bytes[cut..]) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() => {
                std::str::from_utf8(&bytes[cut..cut + error.valid_up_to()]).ok()?
            }
            Err(_) => return None,
        };
        Some(Self {
            text: text.to_owned(),
            start: from + cut,
        })
    }

    /// A range of the file's bytes in the piece, where it lies there between characters.
    fn locate(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let place = range.start.checked_sub(self.start)?..range.end.checked_sub(self.start)?;
        self.text.get(place.clone()).map(|_| place)
    }
}

impl Excerpter {
    /// The excerpt of a long file by what is known of it; none where nothing is, or something else
    /// has to be looked for in its text. `beginning` is what it begins with.
    pub(super) fn excerpt_long_file(
        &mut self,
        file: &File,
        key: &str,
        format: TextFormat,
        beginning: &[u8],
    ) -> Option<Excerpt> {
        let format = format.or_by_content(plain_utf8(beginning)?);
        let is_as_indexed = matches!(
            format,
            TextFormat::Text | TextFormat::Code | TextFormat::Data
        );
        if !is_as_indexed || !self.shows_passage() {
            return None;
        }
        let known = KNOWN.get(&FileVersion::from_file(file, key)?)?;
        if self.meant.defines.is_some() {
            let finder = self.definitions.as_ref().filter(|one| one.is_by_name())?;
            if let Some(found) = finder.best_of(known.definitions()) {
                return self.excerpt_definition(file, &found);
            }
        }
        let (range, line) = known.passage(self.passage?)?;
        let window = self.window(file, &range)?;
        let place = window.locate(&range)?;
        let text = window.text.as_str();
        if !self.scan_range(text, place.clone()) {
            return None;
        }
        Some(self.excerpt_window(text, place.start, line))
    }

    /// Keeps what follows from the whole text of a long file.
    pub(super) fn cache_long_file(&self, file: &File, key: &str, bytes: &[u8]) {
        if !self.shows_passage() {
            return;
        }
        let text = plain_utf8(bytes).filter(|text| text.len() == bytes.len());
        let version =
            FileVersion::from_file(file, key).filter(|one| one.0[2] == bytes.len() as u64);
        if let (Some(text), Some(version)) = (text, version)
            && KNOWN.peek(&version).is_none()
            && let Some(known) = LongText::new(key, text)
        {
            KNOWN.insert(version, Arc::new(known));
        }
    }

    /// Whether a passage or a definition is to be shown, and nothing else is looked for before.
    fn shows_passage(&self) -> bool {
        let is_free = self.phrases.is_empty() && self.patterns.is_empty();
        let is_wanted = self.passage.is_some() || self.meant.defines.is_some();
        is_free && is_wanted && self.meant.line.is_none()
    }

    /// The excerpt at a definition, as [`scan_meant`](Self::scan_meant) finds it in a whole text.
    fn excerpt_definition(&mut self, file: &File, found: &Definition<'_>) -> Option<Excerpt> {
        let wanted = found.at..found.at + MAX_LINE + span(self.max_chars);
        let window = self.window(file, &wanted)?;
        let text = window.text.as_str();
        let start = window.locate(&(found.at..found.at))?.start;
        let length = memchr::memchr(b'\n', &text.as_bytes()[start..]);
        let line = start..length.map_or(text.len(), |length| start + length);
        let name = line.start + text[line.clone()].find(found.name)?;
        self.mark_line(text, &line, name..name + found.name.len());
        self.meant.set(found);
        Some(self.excerpt_window(text, start, found.line))
    }

    fn window(&mut self, file: &File, wanted: &Range<usize>) -> Option<Window> {
        // What is cut off a character more than what a snippet is cut from.
        let window = Window::read(file, wanted, 4 * self.max_chars + 8)?;
        self.bytes_read += window.text.len() as u64;
        Some(window)
    }

    /// The excerpt of a piece with known hits, in which the line with this number begins at `at`.
    fn excerpt_window(&mut self, text: &str, at: usize, line: usize) -> Excerpt {
        let before = memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count();
        let excerpt = self.cut_plain(text, 0..text.len());
        Excerpt {
            line: excerpt.line.map(|found| found + line - 1 - before),
            ..excerpt
        }
    }

    /// Collects the hits of a passage. Whether they say why the text was found.
    pub(super) fn scan_range(&mut self, text: &str, range: Range<usize>) -> bool {
        self.hits.clear();
        self.pinned = None;
        self.scan_on(text, range);
        // An identifier is meant as a whole: a passage with its parts alone is not it.
        let holds = |hit: &TextHit| hit.terms & self.identifier == self.identifier;
        !self.hits.is_empty() && (self.identifier == 0 || self.hits.iter().any(holds))
    }

    /// Bytes of files that were read so far.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }
}
