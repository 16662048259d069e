//! Excerpts at query time: the best place of a file for a query, read from the file itself.
//!
//! The index holds no bodies. For each result shown the file is opened again, its first 256 KiB
//! are searched for the words of the query, and the place where most of them stand closest
//! together becomes the snippet. A file that is gone or unreadable gives its title instead.

use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::ops::{ControlFlow, Range};

use search_core::query::ParsedQuery;
use search_core::snippet::{Hit, TermFinder, best_window, covers, cut};

use crate::extract::{self, Format};
use crate::walk::{RootFolder, SkipReason};

/// Only so much of the beginning of a file is searched for a place to show, in bytes.
pub const MAX_EXCERPT_BYTES: usize = 256 * 1024;

/// Read at first; most files are no longer.
const FIRST_READ: usize = 64 * 1024;

/// Once all words of the query were seen together, so much further a denser place is looked for.
const LOOK_FURTHER: usize = 4 * 1024;

/// Hits that are enough to choose from.
const MAX_HITS: usize = 512;

/// Bytes around the best place that are freed from markup, to each side.
const MARKUP_MARGIN: usize = 768;

/// Places that are tried before the whole page is freed from markup.
const MARKUP_ATTEMPTS: usize = 4;

/// A piece of a file that shows why it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// Plain text on one line. It may hold any character: escape it before showing it as HTML.
    pub snippet: String,
    /// Matches: `[start, end)` in characters of `snippet`, ascending.
    pub highlights: Vec<[usize; 2]>,
    /// 1-based line of the file where the words found stand together, where the place is known.
    pub line: Option<usize>,
}

/// Cuts excerpts for one query. Keeps buffers: use one for all results of a page.
#[derive(Debug)]
pub struct Excerpter {
    finder: TermFinder,
    max_chars: usize,
    bytes: Vec<u8>,
    hits: Vec<Hit>,
}

thread_local! {
    /// The buffers of the thread's last excerpter: giving 64 KiB back and asking for them again
    /// costs more than reading a file into them.
    static BUFFERS: RefCell<(Vec<u8>, Vec<Hit>)> = RefCell::default();
}

impl Drop for Excerpter {
    fn drop(&mut self) {
        let buffers = (
            std::mem::take(&mut self.bytes),
            std::mem::take(&mut self.hits),
        );
        // At the end of a thread there is nobody left to keep them for.
        let _ = BUFFERS.try_with(|kept| kept.replace(buffers));
    }
}

impl Excerpter {
    /// Excerpts of at most `max_chars` characters for the words of `query`.
    #[must_use]
    pub fn new(query: &ParsedQuery, max_chars: usize) -> Self {
        let (bytes, hits) = BUFFERS.take();
        Self {
            finder: TermFinder::new(query),
            max_chars,
            bytes,
            hits,
        }
    }

    /// The excerpt of a file. `title` is shown where the file has nothing to show any more.
    pub fn excerpt(&mut self, root: &RootFolder, key: &str, title: &str) -> Excerpt {
        let found = root
            .open_file(key)
            .and_then(|file| self.of_file(file, Format::of_key(key)));
        match found {
            Ok(Some(excerpt)) => excerpt,
            Ok(None) | Err(_) => self.of_text(title),
        }
    }

    /// The excerpt of a text that is at hand.
    pub fn of_text(&mut self, text: &str) -> Excerpt {
        self.find(text, 0..text.len());
        self.cut_plain(text, 0..text.len())
    }

    /// Matches of the query in a text, in characters.
    pub fn highlights(&mut self, text: &str) -> Vec<[usize; 2]> {
        let hits = self.finder.hits(text);
        let mut counted = (0, 0);
        let mut chars_at = |at: usize| {
            counted = (at, counted.1 + text[counted.0..at].chars().count());
            counted.1
        };
        hits.iter()
            .map(|hit| [chars_at(hit.start), chars_at(hit.end)])
            .collect()
    }

    fn of_file(&mut self, file: File, format: Format) -> Result<Option<Excerpt>, SkipReason> {
        let mut bytes = std::mem::take(&mut self.bytes);
        let excerpt = self.of_opened(file, format, &mut bytes);
        self.bytes = bytes;
        excerpt
    }

    /// Reads the beginning, and more of it where not all words were found in the beginning.
    fn of_opened(
        &mut self,
        mut file: File,
        format: Format,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<Excerpt>, SkipReason> {
        bytes.clear();
        let is_whole = read_more(&mut file, bytes, FIRST_READ)?;
        if !is_whole && !self.satisfied_by(bytes, format) {
            read_more(&mut file, bytes, MAX_EXCERPT_BYTES)?;
        }
        if let Some(text) = plain_utf8(bytes) {
            return Ok(self.of_content(text, format));
        }
        let decoded = extract::decode(std::mem::take(bytes), format);
        Ok(decoded.and_then(|decoded| self.of_content(&decoded.text, format)))
    }

    /// Whether all words of the query stand close together in the bytes read so far.
    fn satisfied_by(&mut self, bytes: &[u8], format: Format) -> bool {
        let Some(text) = plain_utf8(bytes) else {
            return false;
        };
        self.find(text, content_range(text, format));
        let seen = self.hits.iter().fold(0, |all, hit| all | hit.terms);
        seen == self.finder.all_terms()
    }

    fn of_content(&mut self, text: &str, format: Format) -> Option<Excerpt> {
        if text.trim_start().is_empty() {
            return None;
        }
        let format = format.or_by_content(text);
        let range = content_range(text, format);
        self.find(text, range.clone());
        if format == Format::Html {
            self.hits
                .retain(|hit| !is_inside_tag(text.as_bytes(), hit.start));
        }
        Some(match format {
            Format::Html | Format::Markdown => self.cut_markup(text, range, format),
            Format::Text | Format::Code | Format::Data => self.cut_plain(text, range),
        })
    }

    /// Collects hits into `self.hits`, as many as it takes to choose a place.
    fn find(&mut self, text: &str, range: Range<usize>) {
        let hits = &mut self.hits;
        hits.clear();
        let (terms, span, offset) = (self.finder.all_terms(), span(self.max_chars), range.start);
        let mut stop_at = usize::MAX;
        self.finder.find(&text[range], |hit| {
            let hit = Hit {
                start: hit.start + offset,
                end: hit.end + offset,
                ..hit
            };
            if hit.start > stop_at || hits.len() >= MAX_HITS {
                return ControlFlow::Break(());
            }
            hits.push(hit);
            if stop_at == usize::MAX && covers(hits, span, terms) {
                stop_at = hit.end + LOOK_FURTHER;
            }
            ControlFlow::Continue(())
        });
    }

    /// The line of the best place: where the shortest run of hits with all its words begins, not
    /// where one of these words happened to stand before (a heading, say).
    fn line(&self, text: &str) -> Option<usize> {
        let hits = &self.hits[best_window(&self.hits, span(self.max_chars))?];
        let terms_of = |hits: &[Hit]| hits.iter().fold(0, |all, hit| all | hit.terms);
        let all = terms_of(hits);
        let mut first = 0;
        // With one word every run is as good as the next: the first occurrence is shown.
        while all.count_ones() > 1 && terms_of(&hits[first + 1..]) == all {
            first += 1;
        }
        Some(line_of(text, hits[first].start))
    }

    /// The byte range of the best place; the beginning of the text without hits.
    fn focus(&self, start: usize) -> (Range<usize>, bool) {
        match best_window(&self.hits, span(self.max_chars)) {
            Some(window) => {
                let hits = &self.hits[window];
                (hits[0].start..hits[hits.len() - 1].end, true)
            }
            None => (start..start, false),
        }
    }

    fn cut_plain(&mut self, text: &str, range: Range<usize>) -> Excerpt {
        let (focus, _) = self.focus(range.start);
        let line = self.line(text);
        // Far more than a snippet holds, so that its edges are found in the slice.
        let slice = around(text, &focus, &range, 4 * self.max_chars);
        let from = slice.start;
        let near: Vec<Hit> = shifted(&self.hits, &slice).collect();
        let snippet = cut(
            &text[slice],
            &near,
            focus.start - from..focus.end - from,
            self.max_chars,
        );
        Excerpt {
            snippet: snippet.text,
            highlights: snippet.highlights,
            line,
        }
    }

    /// Frees the surroundings of the best place from markup and cuts the text that is left.
    ///
    /// A place whose words are gone then lay in a script, a sign or the like: the next best one is
    /// tried, and after some attempts the text of the whole page.
    fn cut_markup(&mut self, text: &str, range: Range<usize>, format: Format) -> Excerpt {
        for _ in 0..MARKUP_ATTEMPTS {
            let (focus, is_hit) = self.focus(range.start);
            let plain = plain_around(text, &focus, &range, format, self.max_chars);
            if !is_hit && plain.trim_start().is_empty() {
                break;
            }
            let line = self.line(text);
            let places = std::mem::take(&mut self.hits);
            self.find(&plain, 0..plain.len());
            if !is_hit || !self.hits.is_empty() {
                return Excerpt {
                    line,
                    ..self.cut_plain(&plain, 0..plain.len())
                };
            }
            self.hits = places;
            self.hits
                .retain(|hit| hit.end <= focus.start || hit.start >= focus.end);
        }
        let body = whole_text(text, format);
        Excerpt {
            line: None,
            ..self.of_text(&body)
        }
    }
}

/// The text around a place in a file with markup.
fn plain_around(
    text: &str,
    focus: &Range<usize>,
    range: &Range<usize>,
    format: Format,
    max_chars: usize,
) -> String {
    let slice = around(text, focus, range, MARKUP_MARGIN.max(3 * max_chars));
    let piece = &text[slice];
    match format {
        Format::Html => extract::html_fragment_text(whole_tags(piece)),
        _ => extract::markdown_fragment_text(whole_lines(piece)),
    }
}

/// Hits farther apart than this are not shown together, in bytes.
fn span(max_chars: usize) -> usize {
    max_chars * 3 / 4
}

/// Appends to `bytes` until they are `wanted` or the file ends (then true).
fn read_more(file: &mut File, bytes: &mut Vec<u8>, wanted: usize) -> Result<bool, SkipReason> {
    let more = wanted.saturating_sub(bytes.len());
    let data = file
        .metadata()
        .map_err(|error| SkipReason::of_io_error(&error))?;
    if !data.is_file() {
        return Err(SkipReason::NotARegularFile);
    }
    // Room for one byte more than there is lets the last read be the one that finds the end.
    let size = usize::try_from(data.len()).unwrap_or(usize::MAX);
    bytes.reserve(size.saturating_sub(bytes.len()).saturating_add(1).min(more));
    let read = file.take(more as u64).read_to_end(bytes);
    Ok(read.map_err(|error| SkipReason::of_io_error(&error))? < more)
}

/// The bytes as text if they are UTF-8 without a mark; a character cut at the end is left off.
fn plain_utf8(bytes: &[u8]) -> Option<&str> {
    if bytes.starts_with(b"\xef\xbb\xbf")
        || memchr::memchr(0, &bytes[..bytes.len().min(512)]).is_some()
    {
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

/// The part of a text that is content: without front matter, without a page's furniture.
fn content_range(text: &str, format: Format) -> Range<usize> {
    match format {
        Format::Html => extract::html_main_range(text.as_bytes()),
        Format::Markdown => extract::front_matter_end(text)..text.len(),
        Format::Text | Format::Code | Format::Data => 0..text.len(),
    }
}

/// Whether the nearest angle bracket before `at` opens a tag.
fn is_inside_tag(page: &[u8], at: usize) -> bool {
    memchr::memrchr2(b'<', b'>', &page[..at]).is_some_and(|bracket| page[bracket] == b'<')
}

fn whole_text(text: &str, format: Format) -> String {
    match format {
        Format::Html => extract::html_text(text),
        _ => extract::markdown_fragment_text(text),
    }
}

/// `focus` and up to `margin` bytes to each side, inside `range`, between characters.
fn around(text: &str, focus: &Range<usize>, range: &Range<usize>, margin: usize) -> Range<usize> {
    let start = focus.start.saturating_sub(margin).max(range.start);
    let end = focus.end.saturating_add(margin).min(range.end).max(start);
    text.ceil_char_boundary(start).min(focus.start)..text.floor_char_boundary(end)
}

/// The hits inside `slice`, counted from its start.
fn shifted<'a>(hits: &'a [Hit], slice: &'a Range<usize>) -> impl Iterator<Item = Hit> + 'a {
    let inside = hits
        .iter()
        .filter(|hit| hit.start >= slice.start && hit.end <= slice.end);
    inside.map(|hit| Hit {
        start: hit.start - slice.start,
        end: hit.end - slice.start,
        ..*hit
    })
}

/// A piece of a page without the halves of tags at its ends.
fn whole_tags(piece: &str) -> &str {
    let bytes = piece.as_bytes();
    let start = match memchr::memchr2(b'<', b'>', bytes) {
        Some(at) if bytes[at] == b'>' => at + 1,
        _ => 0,
    };
    let end = match memchr::memrchr2(b'<', b'>', bytes) {
        Some(at) if bytes[at] == b'<' && at >= start => at,
        _ => piece.len(),
    };
    &piece[start..end]
}

/// A piece of Markdown from the start of a line on: half a line could be taken for another block.
fn whole_lines(piece: &str) -> &str {
    piece
        .split_once('\n')
        .filter(|(line, _)| line.len() < MARKUP_MARGIN / 2)
        .map_or(piece, |(_, rest)| rest)
}

/// 1-based number of the line that holds the byte at `at`.
fn line_of(text: &str, at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count() + 1
}
