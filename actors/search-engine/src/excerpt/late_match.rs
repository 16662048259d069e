//! Long texts whose beginning does not show why they were found: books, mailboxes, logs.

use super::pieces::{content_range, passage_range};
use super::{Excerpt, Excerpter, plain_utf8};
use crate::extract::{self, TextFormat};

impl Excerpter {
    /// Whether what is to be shown lies behind the beginning of a file of this many `bytes`.
    pub(super) fn is_behind(&mut self, beginning: &[u8], format: TextFormat, bytes: u64) -> bool {
        match plain_utf8(beginning) {
            Some(text) => {
                let format = format.or_by_content(text);
                self.is_past_beginning(text, format, usize::try_from(bytes).unwrap_or(usize::MAX))
            }
            None => extract::decode(beginning.to_vec(), format)
                .is_some_and(|decoded| self.is_past_beginning(&decoded.text, format, usize::MAX)),
        }
    }

    /// Whether what is to be shown lies behind the beginning `text` of a text of this many `bytes`:
    /// the passage that says most, a phrase or a pattern, or the words that say most.
    pub(super) fn is_past_beginning(
        &mut self,
        text: &str,
        format: TextFormat,
        bytes: usize,
    ) -> bool {
        if text.len() >= bytes {
            return false;
        }
        let range = content_range(text, format);
        if !self.patterns.is_empty() {
            self.hits.clear();
            return !self.add_pattern_hits(text, range, 1);
        }
        if self.means_a_place() && self.scan_meant(text, format) {
            return false;
        }
        if !self.phrases.is_empty() {
            let mut phrases = self.phrases.iter_mut();
            return phrases.all(|phrase| phrase.find(&text[range.clone()]).is_none());
        }
        let is_as_indexed = matches!(
            format,
            TextFormat::Text | TextFormat::Code | TextFormat::Data
        );
        if let Some(passage) = self.passage.filter(|_| is_as_indexed) {
            return passage_range(text, passage, bytes).is_none();
        }
        self.scan(text, range);
        // Most of what the query says is not there.
        let seen = self.hits.iter().fold(0, |all, hit| all | hit.terms);
        2.0 * self.weights.total(seen) < self.weights.total(self.finder.all_terms())
    }

    /// The excerpt of the bytes of a file.
    pub(super) fn excerpt_bytes(&mut self, bytes: Vec<u8>, format: TextFormat) -> Option<Excerpt> {
        if let Some(text) = plain_utf8(&bytes) {
            return self.excerpt_content(text, format);
        }
        let decoded = extract::decode(bytes, format)?;
        self.excerpt_content(&decoded.text, format)
    }
}
