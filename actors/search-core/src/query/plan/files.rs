//! Files that a query names, and the lines of them that it asks for.

use std::ops::Range;

use super::{MAX_NAME_WORDS, Planner};
use crate::analysis::is_stop_word;
use crate::names::squeezed;
use crate::wanted_files::WantedFile;

/// Files that one query names.
const MAX_FILES: usize = 8;

impl Planner<'_> {
    /// Keeps the files that a text names, and the words beside them. Gives where numbers of lines
    /// stand, which are no words.
    pub(super) fn note_files(&mut self, text: &str) -> Vec<Range<usize>> {
        let mut numbers = Vec::new();
        for token in text.split_whitespace() {
            let at = token.as_ptr().addr() - text.as_ptr().addr();
            match WantedFile::of_token(token).filter(|_| self.query.files.len() < MAX_FILES) {
                Some((file, number)) => {
                    numbers.push(at + number.start..at + number.end);
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
        numbers
    }
}
