//! The line of a text that is meant before any words are looked for: the definition of what the
//! query names, or the line that it asks for by its number.

use std::ops::Range;

use search_core::definitions::Language;
use search_core::snippet::TextHit;

use super::{Excerpter, span};
use crate::extract::TextFormat;

/// Most bytes of a line that are marked as what is meant.
const MAX_MARKED: usize = 200;

impl Excerpter {
    /// Shows the definition of what the query names in the next text, which has this path. Phrases
    /// and patterns are shown where they stand.
    pub fn prefer_definition(&mut self, key: Option<&str>) {
        let is_free = self.phrases.is_empty() && self.patterns.is_empty();
        let key = key.filter(|key| is_free && Language::from_key(key).is_some());
        let key = key.filter(|_| self.definitions.is_some());
        self.meant.defines = key.map(str::to_owned);
        self.meant.found = None;
    }

    /// Shows this line of the next text, from 1, before all else.
    pub fn prefer_line(&mut self, line: Option<usize>) {
        self.meant.line = line;
    }

    /// Whether a line of the next text is meant before any words.
    pub(super) fn means_a_place(&self) -> bool {
        self.meant.line.is_some() || self.meant.defines.is_some()
    }

    /// Collects the hits of the line that is meant, and of what follows it. Whether there is one.
    pub(super) fn scan_meant(&mut self, text: &str, format: TextFormat) -> bool {
        if format == TextFormat::Html {
            return false;
        }
        let Some((line, name)) = self.meant_line(text) else {
            return false;
        };
        self.mark_line(text, &line, name);
        true
    }

    /// Collects the hits of a line, else the name in it, and those of what follows it.
    pub(super) fn mark_line(&mut self, text: &str, line: &Range<usize>, name: Range<usize>) {
        self.hits.clear();
        self.scan_on(text, line.clone());
        if self.hits.is_empty() {
            self.hits.push(TextHit {
                start: name.start,
                end: name.end,
                terms: TextHit::PATTERN,
            });
        }
        let count = self.hits.len();
        let end = text.floor_char_boundary(line.end.saturating_add(span(self.max_chars)));
        self.scan_on(text, line.end..end.max(line.end));
        self.pinned = Some(count);
    }

    /// The bytes of the line that is meant, and of the name in it.
    fn meant_line(&mut self, text: &str) -> Option<(Range<usize>, Range<usize>)> {
        let asked = self.meant.line.and_then(|number| line_range(text, number));
        if let Some(line) = asked {
            let shown = &text[line.clone()];
            let start = line.start + shown.len() - shown.trim_start().len();
            let end = text.floor_char_boundary((line.start + shown.trim_end().len()).max(start));
            let end = text.floor_char_boundary(end.min(start + MAX_MARKED));
            // A blank line is shown as well, with nothing marked: what is around it tells more than
            // the definition of a word beside.
            return Some((line, start..end));
        }
        let (finder, key) = (self.definitions.as_ref()?, self.meant.defines.as_ref()?);
        let found = finder.best(key, text)?;
        self.meant.set(&found);
        let length = memchr::memchr(b'\n', &text.as_bytes()[found.at..]);
        let line = found.at..length.map_or(text.len(), |length| found.at + length);
        let name = line.start + text[line.clone()].find(found.name)?;
        Some((line, name..name + found.name.len()))
    }
}

/// The bytes of a line, from 1.
fn line_range(text: &str, number: usize) -> Option<Range<usize>> {
    let mut start = 0;
    for _ in 1..number {
        start += memchr::memchr(b'\n', &text.as_bytes()[start..])? + 1;
    }
    let length = memchr::memchr(b'\n', &text.as_bytes()[start..]);
    Some(start..length.map_or(text.len(), |length| start + length))
}
