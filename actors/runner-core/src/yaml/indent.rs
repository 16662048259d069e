//! Lines that stand too far to the left inside brackets, braces or quotes.
//!
//! YAML wants them deeper than the block around them; GitHub's reader does not mind, and neither do
//! workflows that are found in the field. Such lines are moved to the right and the text is read
//! again: inside of brackets and quotes indentation means nothing. Places stay those of the file.

use std::borrow::Cow;
use std::collections::BTreeSet;

use saphyr_parser::{Marker, ScanError};

/// How far a line is moved: deeper than blocks are in earnest.
const INDENT: usize = 64;
/// How many bytes are read again at most.
const MAX_BYTES: usize = 8 << 20;

/// The lines that were moved, from 0.
#[derive(Debug, Default)]
pub(super) struct IndentCorrections {
    lines: BTreeSet<usize>,
    spent: usize,
}

impl IndentCorrections {
    /// The text with its lines moved.
    pub(super) fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.lines.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut moved = String::with_capacity(text.len() + self.lines.len() * INDENT);
        for (index, line) in text.split_inclusive('\n').enumerate() {
            if self.lines.contains(&index) {
                moved.extend(std::iter::repeat_n(' ', INDENT));
            }
            moved.push_str(line);
        }
        Cow::Owned(moved)
    }

    /// The column of a marker in the file, from 0.
    pub(super) fn column(&self, marker: Marker) -> usize {
        let moved = self.lines.contains(&marker.line().saturating_sub(1));
        marker.col().saturating_sub(if moved { INDENT } else { 0 })
    }

    /// Whether the text should be read again, since the lines that the error is about were moved.
    pub(super) fn repair(&mut self, text: &str, error: &ScanError) -> bool {
        let line = error.marker().line().saturating_sub(1);
        let more = match error.info() {
            // Outside of brackets and braces less indentation ends a block: this is said inside
            // only.
            "invalid indentation" | "invalid indentation in flow construct" => {
                self.lines.insert(line)
            }
            "invalid indentation in quoted scalar" => {
                let column = self.column(*error.marker());
                let last = line + lines_of_quoted(text, line, column);
                let before = self.lines.len();
                self.lines.extend(line + 1..=last);
                self.lines.len() > before
            }
            _ => false,
        };
        self.spent += text.len() + self.lines.len() * INDENT;
        more && self.spent <= MAX_BYTES
    }
}

/// How many lines a quoted text takes after the one it begins in.
fn lines_of_quoted(text: &str, line: usize, column: usize) -> usize {
    let start = text.split_inclusive('\n').take(line).map(str::len).sum();
    let mut characters = text[start..].chars().skip(column).peekable();
    let Some(quote) = characters.next() else {
        return 0;
    };
    let mut lines = 0;
    while let Some(character) = characters.next() {
        match character {
            '\n' => lines += 1,
            // What follows is no end: `\"` and `''`.
            '\\' if quote == '"' => lines += usize::from(characters.next() == Some('\n')),
            '\'' if quote == '\'' && characters.peek() == Some(&'\'') => drop(characters.next()),
            _ if character == quote => break,
            _ => {}
        }
    }
    lines
}
