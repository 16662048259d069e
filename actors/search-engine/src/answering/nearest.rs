//! The passage that a result was found by where its words do not say it: the embedded one nearest
//! to the query.

use std::ops::Range;

use search_core::analysis::words;
use search_core::passages::embedded_range;

use super::source::SearchableSource;
use crate::excerpt::{Excerpt, Excerpter};
use crate::extract::TextFormat;
use crate::index::SearchHit;

/// Longest file whose passage is looked for.
const MAX_FILE: u64 = 1 << 20;

/// Words by which the beginning of a passage is found in a text with markup.
const TELLING_WORDS: usize = 6;

/// A passage of a document.
pub(super) struct NearestPassage {
    /// The document's body, as it was indexed.
    body: String,
    /// The bytes of the passage in it.
    range: Range<usize>,
    format: TextFormat,
}

impl NearestPassage {
    /// That of a result, where one was found by it and its text can be read.
    pub(super) fn find(source: &SearchableSource, hit: &SearchHit) -> Option<Self> {
        let record = &hit.record;
        let number = hit.nearest.filter(|_| record.file.size <= MAX_FILE)?;
        let kept = source.stored_text(record);
        let format = match kept {
            Some(_) => TextFormat::Text,
            None => TextFormat::from_key(&record.key),
        };
        let body = kept.or_else(|| source.body(&record.key))?;
        let range = embedded_range(&body, record.kind, number)?;
        let shown = &body[range.clone()];
        // What a passage begins with in a text is no blank line.
        let start = range.start + (shown.len() - shown.trim_start().len());
        (start < range.end).then_some(Self {
            range: start..range.end,
            body,
            format,
        })
    }

    /// The bytes of it in the document's body.
    pub(super) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Where it begins in the text of the file that it is from.
    pub(super) fn start_in(&self, text: &str) -> Option<usize> {
        match self.format {
            TextFormat::Markdown => {
                place_of_words(text, &self.body[self.range.clone()], self.range.start)
            }
            _ => Some(self.range.start).filter(|start| text.is_char_boundary(*start)),
        }
    }

    /// The excerpt of it.
    pub(super) fn excerpt(
        &self,
        source: &SearchableSource,
        key: &str,
        excerpter: &mut Excerpter,
    ) -> Excerpt {
        let excerpt = excerpter.excerpt_text(&self.body[self.range.clone()]);
        let of_line = |text: &str, start: usize| {
            let before = memchr::memchr_iter(b'\n', &text.as_bytes()[..start]).count();
            before + excerpt.line.unwrap_or(1)
        };
        let line = match self.format {
            // A page is shown without its lines.
            TextFormat::Html => None,
            TextFormat::Markdown => source.file_text(key).and_then(|text| {
                let start = self.start_in(&text)?;
                let before = memchr::memchr_iter(b'\n', &text.as_bytes()[..start]).count();
                Some(before + 1)
            }),
            _ => Some(of_line(&self.body, self.range.start)),
        };
        Excerpt { line, ..excerpt }
    }
}

/// Where a text with markup holds the first words of a passage that is without, from `from` on:
/// taking markup out makes texts shorter.
fn place_of_words(text: &str, passage: &str, from: usize) -> Option<usize> {
    let wanted: Vec<&str> = words(passage)
        .map(|word| word.text)
        .take(TELLING_WORDS)
        .collect();
    let from = text.floor_char_boundary(from);
    let all: Vec<_> = words(&text[from..]).collect();
    let mut places = all.windows(wanted.len().max(1));
    let found = places.find(|place| {
        place
            .iter()
            .map(|word| word.text)
            .eq(wanted.iter().copied())
    })?;
    Some(from + found[0].start)
}

#[cfg(test)]
mod tests {
    use super::place_of_words;

    #[test]
    fn i16_a_passage_is_found_in_a_text_with_its_markup() {
        let text =
            "# One two\n\nthree *four* `five` six\n\n- three **four**\n  five six seven eight\n";
        let second = text.rfind("three");
        for (passage, from, expected) in [
            ("three four five six", 0, text.find("three")),
            ("three four five six", 20, second),
            ("three four five six seven eight", 0, second),
            ("four five seven", 0, None),
            ("", 0, None),
            ("three", text.len() + 9, None),
        ] {
            assert_eq!(place_of_words(text, passage, from), expected, "{passage}");
        }
    }
}
