//! Files that a query names, and the lines of them that it asks for.

use std::ops::Range;

use super::{MAX_NAME_WORDS, Planner};
use crate::analysis::is_stop_word;
use crate::names::squeezed;
use crate::wanted_files::WantedFile;

/// Files that one query names.
const MAX_FILES: usize = 8;

/// What stands behind a file that is followed by the word `line`.
const END_OF_FILE: [char; 6] = ['"', '\'', '`', ',', ':', '('];

/// What stands before the path of a file that code includes.
const INCLUDING: [&str; 8] = [
    "#include",
    "#import",
    "@import",
    "from",
    "import",
    "include",
    "require",
    "require_relative",
];

impl Planner<'_> {
    /// Whether a text in quotes is the file of a stack trace, with its line behind the quotes:
    /// `"/app/trace.py", line 451`.
    pub(super) fn is_frame(&self, text: &str) -> bool {
        let file = WantedFile::from_token(text).filter(|_| !text.contains(char::is_whitespace));
        file.is_some_and(|(mut file, _)| file.take_line(self.text_after(text)).is_some())
    }

    /// Whether a text in quotes is what a line of code includes: `#include "db/version_set.h"`.
    pub(super) fn is_included(&self, text: &str) -> bool {
        let is_path = text.contains(['/', '.']) && !text.contains(char::is_whitespace);
        let before = self.place_of(text).filter(|_| is_path);
        let before = before.and_then(|at| self.text.get(..at)?.strip_suffix('"'));
        let word = before.and_then(|before| before.split_whitespace().next_back());
        word.is_some_and(|word| INCLUDING.contains(&word.trim_end_matches('(')))
    }

    /// Where a part of the query begins; none of a text that is none of its parts.
    fn place_of(&self, part: &str) -> Option<usize> {
        let at = part
            .as_ptr()
            .addr()
            .checked_sub(self.text.as_ptr().addr())?;
        (at + part.len() <= self.text.len()).then_some(at)
    }

    /// What stands behind a part of the query.
    fn text_after(&self, part: &str) -> &str {
        let end = self.place_of(part).map(|at| at + part.len());
        end.and_then(|end| self.text.get(end..)).unwrap_or_default()
    }

    /// Keeps the files that a text names, and the words beside them. Gives where the text says what
    /// line is meant, or where a forge keeps the file, which are no words.
    pub(super) fn record_files(&mut self, text: &str) -> Vec<Range<usize>> {
        let at_text = self.place_of(text);
        // What the file of the quotes before has taken.
        let taken = at_text.map_or(0, |at| self.taken_until.saturating_sub(at));
        let mut noise: Vec<Range<usize>> = std::iter::once(0..taken).collect();
        for token in text.split_whitespace() {
            let at = token.as_ptr().addr() - text.as_ptr().addr();
            if noise.last().is_some_and(|known| known.contains(&at)) {
                continue;
            }
            match WantedFile::from_token(token).filter(|_| self.query.files.len() < MAX_FILES) {
                Some((mut file, parts)) => {
                    noise.extend(parts.map(|part| at + part.start..at + part.end));
                    let end = at + token.trim_end_matches(END_OF_FILE).len();
                    let behind = match at_text {
                        Some(_) => self.text_after(&text[..end]),
                        None => &text[end..],
                    };
                    if let Some(length) = file.take_line(behind) {
                        noise.push(end..end + length);
                        self.taken_until = at_text.unwrap_or(0) + end + length;
                    }
                    if !self.query.files.contains(&file) {
                        self.query.files.push(file);
                    }
                }
                None if self.query.beside_files.len() < MAX_NAME_WORDS => {
                    let word = squeezed(token);
                    if !word.is_empty() && !is_stop_word(&word) {
                        self.query.beside_files.push(word);
                    }
                }
                None => {}
            }
        }
        noise
    }
}
