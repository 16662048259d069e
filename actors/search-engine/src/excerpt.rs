//! Excerpts at query time: the best place of a file for a query, read from the file itself.
//!
//! The index holds no bodies. For each result shown the file is opened again, its first 256 KiB are
//! searched for the words of the query, and the place where most of them stand closest together
//! becomes the snippet; where that says nothing of why it was found, all of it. A file that is gone
//! or unreadable gives its title instead.

mod best_hits;
mod head;
mod large_file;
mod late_match;
mod long_text;
mod patterns;
mod pieces;
mod places;
mod target;
mod target_line;

use std::cell::RefCell;
use std::fs::File;
use std::ops::Range;

use search_core::answer::DefinitionView;
use search_core::definition_finder::DefinitionFinder;
use search_core::query::{ParsedQuery, PhraseFinder};
use search_core::snippet::{TermFinder, TermWeights, TextHit, best_window, cut};

use self::best_hits::{MAX_HITS, TellingHits};
use self::head::{FileHead, plain_utf8};
pub(crate) use self::head::{is_deep, needs_decoding};
pub(crate) use self::large_file::FilePiece;
use self::patterns::PatternPlaces;
pub(crate) use self::pieces::passage_range;
use self::pieces::{
    content_range, extent, is_inside_tag, line, margin_range, plain_around, whole_text, whole_words,
};
use self::target::MeantPlace;
use crate::extract::TextFormat;
use crate::files::SourceFiles;
use crate::walk::SkipReason;

/// Only so much of the beginning of a file is searched for a place to show, in bytes.
pub const MAX_EXCERPT_BYTES: usize = 256 * 1024;

/// Read at first; most files are no longer.
const FIRST_READ: usize = 64 * 1024;

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
    /// What the query names, where the file defines it.
    pub definition: Option<DefinitionView>,
}

/// Cuts excerpts for one query. Keeps buffers: use one for all results of a page.
#[derive(Debug)]
pub struct Excerpter {
    finder: TermFinder,
    /// How much each term says.
    weights: TermWeights,
    max_chars: usize,
    beginning: FileHead,
    hits: Vec<TextHit>,
    /// Phrases that are shown where they stand.
    phrases: Vec<PhraseFinder>,
    /// Regular expressions and exact texts, of which the first place is shown.
    patterns: PatternPlaces,
    /// The passage of the next text that says most, from 0.
    passage: Option<usize>,
    /// What finds the definition of what the query names.
    definitions: Option<DefinitionFinder>,
    /// What is meant in the next text.
    meant: MeantPlace,
    /// How many of the hits, the first, are those of a place that is meant.
    pinned: Option<usize>,
    /// The bits of the identifier that is all that is looked for.
    identifier: u64,
    bytes_read: u64,
    /// Bytes of files that are too long to be read whole.
    deep_bytes: u64,
}

thread_local! {
    /// The buffers of the thread's last excerpter.
    static BUFFERS: RefCell<(FileHead, Vec<TextHit>)> = RefCell::default();
}

impl Drop for Excerpter {
    fn drop(&mut self) {
        let buffers = (
            std::mem::take(&mut self.beginning),
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
        let (beginning, hits) = BUFFERS.take();
        let finder = TermFinder::new(query);
        let identifier = query.only_identifier();
        Self {
            definitions: DefinitionFinder::from_query(query),
            meant: MeantPlace::default(),
            pinned: None,
            identifier: identifier.map_or(0, |word| finder.bits_of(word.whole)),
            finder,
            weights: TermWeights::default(),
            max_chars,
            beginning,
            hits,
            phrases: Vec::new(),
            patterns: PatternPlaces::new(query),
            passage: None,
            bytes_read: 0,
            deep_bytes: 0,
        }
    }

    /// Shows this passage of the next text, from 0, where it is known and holds words of the query.
    /// Phrases and patterns are shown where they stand.
    pub fn set_passage(&mut self, passage: Option<usize>) {
        let is_free = self.phrases.is_empty() && self.patterns.is_empty();
        self.passage = passage.filter(|_| is_free);
    }

    /// Of places that hold some of the words shows the one whose words are the rarest; `rarities`
    /// are those of the query's terms, none where they are not known.
    #[must_use]
    pub fn weighing(mut self, rarities: &[f32]) -> Self {
        if !rarities.is_empty() {
            self.weights = TermWeights::from_rarities(rarities);
        }
        self
    }

    /// Shows the place of a phrase rather than one where its words merely stand close together.
    #[must_use]
    pub fn showing(mut self, phrases: Vec<PhraseFinder>) -> Self {
        self.phrases = phrases;
        self
    }

    /// The excerpt of a file. `title` is shown where the file has nothing to show any more.
    pub fn excerpt(&mut self, root: &dyn SourceFiles, key: &str, title: &str) -> Excerpt {
        let found = root
            .open_file(key)
            .and_then(|file| self.excerpt_file(&file, key));
        match found {
            Ok(Some(excerpt)) => Excerpt {
                definition: self.meant.found.take(),
                ..excerpt
            },
            Ok(None) | Err(_) => self.excerpt_text(title),
        }
    }

    /// The excerpt of a text that is at hand and may be long: only its beginning is looked at where
    /// it shows why the text was found.
    pub fn excerpt_long_text(&mut self, text: &str) -> Excerpt {
        let mut beginning = &text[..text.floor_char_boundary(MAX_EXCERPT_BYTES)];
        if self.is_past_beginning(beginning, TextFormat::Text, text.len()) {
            beginning = text;
        }
        if self.scan_preferred(beginning, TextFormat::Text, text.len()) {
            return self.cut_plain(beginning, 0..beginning.len());
        }
        self.excerpt_text(beginning)
    }

    /// The excerpt of a text that is at hand.
    pub fn excerpt_text(&mut self, text: &str) -> Excerpt {
        self.scan(text, 0..text.len());
        self.cut_plain(text, 0..text.len())
    }

    /// Matches of the query in a text, in bytes: of its patterns, where it has any.
    pub(crate) fn all_hits(&mut self, text: &str) -> Vec<TextHit> {
        self.hits.clear();
        if self.add_pattern_hits(text, 0..text.len(), usize::MAX) {
            return std::mem::take(&mut self.hits);
        }
        self.finder.hits(text)
    }

    /// Matches of the query in a text, in characters.
    pub fn highlights(&mut self, text: &str) -> Vec<[usize; 2]> {
        let hits = self.all_hits(text);
        let mut counted = (0, 0);
        let mut chars_at = |at: usize| {
            counted = (at, counted.1 + text[counted.0..at].chars().count());
            counted.1
        };
        hits.iter()
            .map(|hit| [chars_at(hit.start), chars_at(hit.end)])
            .collect()
    }

    fn excerpt_file(&mut self, file: &File, key: &str) -> Result<Option<Excerpt>, SkipReason> {
        let mut beginning = std::mem::take(&mut self.beginning);
        beginning.filled = 0;
        let excerpt = self.excerpt_opened(file, key, &mut beginning);
        self.bytes_read += beginning.filled as u64;
        self.beginning = beginning;
        excerpt
    }

    /// Reads the beginning, and more of it where not all words were found in the beginning.
    fn excerpt_opened(
        &mut self,
        file: &File,
        key: &str,
        beginning: &mut FileHead,
    ) -> Result<Option<Excerpt>, SkipReason> {
        let format = TextFormat::from_key(key);
        let data = file
            .metadata()
            .map_err(|error| SkipReason::from_io_error(&error))?;
        if !data.is_file() {
            return Err(SkipReason::NotARegularFile);
        }
        let mut scanned = None;
        if !beginning.read_on(file, FIRST_READ)? {
            if let Some(text) = plain_utf8(beginning.bytes()) {
                let format = format.or_by_content(text);
                let range = content_range(text, format);
                if self.means_a_place() {
                    // It may stand in the rest: nothing else is looked for meanwhile.
                    if self.scan_meant(text, format) {
                        return Ok(Some(self.excerpt_scanned(text, range, format)));
                    }
                } else {
                    let is_shown = self.scan_passage(text, format, data.len() as usize);
                    if is_shown || self.scan(text, range.clone()) || self.has_seen_all() {
                        return Ok(Some(self.excerpt_scanned(text, range, format)));
                    }
                    scanned = self.resumption(text, format);
                }
            }
            let is_whole = beginning.read_on(file, MAX_EXCERPT_BYTES)?;
            if !is_whole && self.is_behind(beginning.bytes(), format, data.len()) {
                if let Some(excerpt) = self.excerpt_long_file(file, key, format, beginning.bytes())
                {
                    return Ok(Some(excerpt));
                }
                if is_deep(format, data.len())
                    && let Some(excerpt) = self.excerpt_deep_file(file)
                {
                    return Ok(Some(excerpt));
                }
                let whole = beginning.and_rest(file)?;
                self.bytes_read += (whole.len() - beginning.filled) as u64;
                self.cache_long_file(file, key, &whole);
                return Ok(self.excerpt_bytes(whole, format));
            }
        }
        let Some(text) = plain_utf8(beginning.bytes()) else {
            return Ok(self.excerpt_bytes(beginning.bytes().to_vec(), format));
        };
        // The passage that says most may lie in what was read now.
        let Some(from) = scanned.filter(|_| self.passage.is_none()) else {
            return Ok(self.excerpt_content(text, format));
        };
        let format = format.or_by_content(text);
        self.hits.retain(|hit| hit.end <= from);
        self.scan_on(text, from..text.len());
        Ok(Some(self.excerpt_scanned(
            text,
            content_range(text, format),
            format,
        )))
    }

    /// Where to go on in a text of which this is the beginning; nowhere when all has to be looked
    /// at again, because its end decides what is content.
    fn resumption(&self, text: &str, format: TextFormat) -> Option<usize> {
        if format == TextFormat::Html || !self.phrases.is_empty() || !self.patterns.is_empty() {
            return None;
        }
        let gap = text.rfind(char::is_whitespace);
        gap.filter(|&gap| gap >= content_range(text, format).start)
    }

    /// Whether all words of the query were found.
    fn has_seen_all(&self) -> bool {
        if !self.patterns.is_empty() {
            return self.hits.iter().any(|hit| hit.terms == TextHit::PATTERN);
        }
        let seen = self.hits.iter().fold(0, |all, hit| all | hit.terms);
        seen == self.finder.all_terms()
    }

    fn excerpt_content(&mut self, text: &str, format: TextFormat) -> Option<Excerpt> {
        if text.trim_start().is_empty() {
            return None;
        }
        let format = format.or_by_content(text);
        let range = content_range(text, format);
        if !self.scan_preferred(text, format, text.len()) {
            self.scan(text, range.clone());
        }
        Some(self.excerpt_scanned(text, range, format))
    }

    /// The excerpt of a text whose hits are known.
    fn excerpt_scanned(&mut self, text: &str, range: Range<usize>, format: TextFormat) -> Excerpt {
        if format == TextFormat::Html {
            self.hits
                .retain(|hit| !is_inside_tag(text.as_bytes(), hit.start));
        }
        match format {
            TextFormat::Html | TextFormat::Markdown if !self.patterns.is_empty() => {
                // They were found in the text without its markup.
                let line = line(text, self.best_hits(), &self.weights)
                    .filter(|_| format == TextFormat::Markdown);
                let body = whole_text(text, format);
                Excerpt {
                    line,
                    ..self.excerpt_text(&body)
                }
            }
            TextFormat::Html | TextFormat::Markdown => self.cut_markup(text, range, format),
            TextFormat::Text | TextFormat::Code | TextFormat::Data => self.cut_plain(text, range),
        }
    }

    /// Collects hits into `self.hits`, as many as it takes to choose a place; those around the
    /// first phrase where one is looked for. Whether it ended before the end of the text.
    fn scan(&mut self, text: &str, range: Range<usize>) -> bool {
        self.hits.clear();
        self.pinned = None;
        if self.add_pattern_hits(text, range.clone(), MAX_HITS) {
            return true;
        }
        let phrases = self.phrases.iter_mut();
        let place = phrases
            .filter_map(|phrase| phrase.find(&text[range.clone()]))
            .next();
        let Some(place) = place else {
            return self.scan_on(text, range);
        };
        let (start, end) = (range.start + place.start, range.start + place.end);
        // The phrase, and what follows it on the same line of the excerpt.
        let end = text.ceil_char_boundary((end + span(self.max_chars) / 2).min(range.end));
        self.scan_on(text, start..end);
        true
    }

    /// Collects the hits of the place that is meant, else of the passage that says most. Whether
    /// there are any.
    fn scan_preferred(&mut self, text: &str, format: TextFormat, bytes: usize) -> bool {
        self.means_a_place() && self.scan_meant(text, format)
            || self.scan_passage(text, format, bytes)
    }

    /// Collects the hits of the passage that says most, where the text is what was indexed. `bytes`
    /// is the length of all of it, of which `text` is the beginning. Whether there are any.
    fn scan_passage(&mut self, text: &str, format: TextFormat, bytes: usize) -> bool {
        let is_as_indexed = matches!(
            format,
            TextFormat::Text | TextFormat::Code | TextFormat::Data
        );
        let Some(passage) = self.passage.filter(|_| is_as_indexed) else {
            return false;
        };
        let Some(range) = passage_range(text, passage, bytes) else {
            return false;
        };
        self.scan_range(text, range)
    }

    /// Whether the clock ended the looking for patterns: asked again, more may be shown.
    pub(crate) fn was_late(&self) -> bool {
        self.patterns.was_late()
    }

    /// Adds the first `most` places of the patterns in a range, ascending. Whether there are any.
    fn add_pattern_hits(&mut self, text: &str, range: Range<usize>, most: usize) -> bool {
        let part = &text[range.clone()];
        self.patterns.add(part, range.start, most, &mut self.hits);
        if self.patterns.are_several() {
            self.hits.sort_unstable_by_key(|hit| (hit.start, hit.end));
            self.hits.dedup_by(|next, last| next.start < last.end);
        }
        !self.hits.is_empty()
    }

    /// Adds the hits of a range to those before it. Whether there were enough before its end.
    fn scan_on(&mut self, text: &str, range: Range<usize>) -> bool {
        let (terms, span, offset) = (self.finder.all_terms(), span(self.max_chars), range.start);
        let mut telling = TellingHits::new(&mut self.hits, &self.weights, span, terms);
        let mut stopped = false;
        self.finder.scan(&text[range], |hit| {
            let flow = telling.add(hit.shifted(offset));
            stopped = flow.is_break();
            flow
        });
        stopped
    }

    /// The hits of the best place.
    fn best_hits(&self) -> &[TextHit] {
        if let Some(count) = self.pinned {
            return &self.hits[..count.min(self.hits.len())];
        }
        let window = best_window(&self.hits, span(self.max_chars), &self.weights);
        window.map_or(&[], |window| &self.hits[window])
    }

    fn cut_plain(&mut self, text: &str, range: Range<usize>) -> Excerpt {
        let best = self.best_hits();
        let focus = extent(best, range.start);
        let line = line(text, best, &self.weights);
        // Far more than a snippet holds, so that its edges are found in the slice.
        let slice = margin_range(text, &focus, &range, 4 * self.max_chars);
        let near = whole_words(&self.hits, text, &slice);
        let snippet = cut(
            &text[slice.clone()],
            &near,
            focus.start - slice.start..focus.end - slice.start,
            self.max_chars,
        );
        Excerpt {
            snippet: snippet.text,
            highlights: snippet.highlights,
            line,
            definition: None,
        }
    }

    /// Frees the surroundings of the best place from markup and cuts the text that is left.
    ///
    /// A place whose words are gone then lay in a script, a sign or the like: the next best one is
    /// tried, and after some attempts the text of the whole page.
    fn cut_markup(&mut self, text: &str, range: Range<usize>, format: TextFormat) -> Excerpt {
        for _ in 0..MARKUP_ATTEMPTS {
            let best = self.best_hits();
            let (focus, is_hit) = (extent(best, range.start), !best.is_empty());
            let line = line(text, best, &self.weights);
            let plain = plain_around(text, &focus, &range, format, self.max_chars);
            if !is_hit && plain.trim_start().is_empty() {
                break;
            }
            let places = std::mem::take(&mut self.hits);
            self.scan(&plain, 0..plain.len());
            if !is_hit || !self.hits.is_empty() {
                return Excerpt {
                    line,
                    ..self.cut_plain(&plain, 0..plain.len())
                };
            }
            self.hits = places;
            self.pinned = None;
            self.hits
                .retain(|hit| hit.end <= focus.start || hit.start >= focus.end);
        }
        let body = whole_text(text, format);
        Excerpt {
            line: None,
            ..self.excerpt_text(&body)
        }
    }
}

/// Hits farther apart than this are not shown together, in bytes.
fn span(max_chars: usize) -> usize {
    max_chars * 3 / 4
}
