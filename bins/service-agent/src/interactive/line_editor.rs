//! One line that is typed: text and cursor, edited by whole characters as people see them.

use command_line::terminal::text;
use unicode_segmentation::UnicodeSegmentation;

/// Longest text that is taken, in bytes: the server takes no longer queries.
const MAX_BYTES: usize = 8192;

/// The text of an input, and where the cursor stands in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LineEditor {
    text: String,
    /// In bytes, between two graphemes.
    cursor: usize,
}

/// A change of the text or the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edit {
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    Backspace,
    Delete,
    DeleteWord,
    DeleteToStart,
    DeleteToEnd,
}

impl LineEditor {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Puts another text in the place of this one, the cursor behind it.
    pub(crate) fn set(&mut self, text: &str) {
        self.text.clear();
        self.cursor = 0;
        self.insert(text);
    }

    /// Inserts what was typed or pasted: one line, without characters that are not seen.
    pub(crate) fn insert(&mut self, typed: &str) {
        let typed: String = typed
            .chars()
            .map(|c| {
                if matches!(c, '\n' | '\r' | '\t') {
                    ' '
                } else {
                    c
                }
            })
            .filter(|c| !text::is_hidden(*c) || *c == '\u{200d}')
            .collect();
        let room = MAX_BYTES.saturating_sub(self.text.len());
        let mut end = typed.len().min(room);
        while !typed.is_char_boundary(end) {
            end -= 1;
        }
        self.text.insert_str(self.cursor, &typed[..end]);
        self.cursor += end;
    }

    /// Makes a change. Whether the text is another one then.
    pub(crate) fn apply(&mut self, edit: Edit) -> bool {
        let before = self.text.len();
        let (left, right) = (self.grapheme_before(), self.grapheme_after());
        match edit {
            Edit::Left => self.cursor = left,
            Edit::Right => self.cursor = right,
            Edit::WordLeft => self.cursor = self.word_before(),
            Edit::WordRight => self.cursor = self.word_after(),
            Edit::Home => self.cursor = 0,
            Edit::End => self.cursor = self.text.len(),
            Edit::Backspace => self.remove(left, self.cursor),
            Edit::Delete => self.remove(self.cursor, right),
            Edit::DeleteWord => self.remove(self.word_before(), self.cursor),
            Edit::DeleteToStart => self.remove(0, self.cursor),
            Edit::DeleteToEnd => self.remove(self.cursor, self.text.len()),
        }
        self.text.len() != before
    }

    /// What `columns` can show of it, and the cursor's column there.
    pub(crate) fn view(&self, columns: usize) -> (&str, usize) {
        let columns = columns.max(2);
        let before = &self.text[..self.cursor];
        let mut start = 0;
        // One column is kept for the cursor behind the text.
        for (at, grapheme) in before.grapheme_indices(true) {
            if text::width(&before[start..]) < columns {
                break;
            }
            start = at + grapheme.len();
        }
        let shown = text::head(&self.text[start..], columns);
        (shown, text::width(&before[start..]))
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    fn grapheme_before(&self) -> usize {
        let mut all = self.text[..self.cursor].grapheme_indices(true);
        all.next_back().map_or(0, |(at, _)| at)
    }

    fn grapheme_after(&self) -> usize {
        let next = self.text[self.cursor..].graphemes(true).next();
        self.cursor + next.map_or(0, str::len)
    }

    fn word_before(&self) -> usize {
        let mut words = self.text[..self.cursor].unicode_word_indices();
        words.next_back().map_or(0, |(at, _)| at)
    }

    fn word_after(&self) -> usize {
        let mut words = self.text[self.cursor..].unicode_word_indices();
        let next = words.next();
        next.map_or(self.text.len(), |(at, word)| self.cursor + at + word.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_go_by_what_is_seen() {
        use Edit::{
            Backspace, Delete, DeleteToEnd, DeleteToStart, DeleteWord, Home, Left, Right, WordLeft,
            WordRight,
        };
        for (text, edits, expected, cursor) in [
            ("abc", &[Backspace][..], "ab", 2),
            ("naïve", &[Left, Left, Left, Backspace], "nïve", 1),
            ("e\u{301}", &[Backspace], "", 0),
            ("a👩‍🚀b", &[Left, Backspace], "ab", 1),
            ("漢字", &[Home, Delete], "字", 0),
            ("one two", &[DeleteWord], "one ", 4),
            ("one two", &[WordLeft, DeleteToStart], "two", 0),
            ("one two", &[Home, WordRight, DeleteToEnd], "one", 3),
            ("x", &[Home, Left, Right, Right], "x", 1),
        ] {
            let mut line = LineEditor::default();
            line.set(text);
            for edit in edits {
                line.apply(*edit);
            }
            assert_eq!((line.text(), line.cursor), (expected, cursor), "{text}");
        }
    }

    #[test]
    fn what_is_pasted_is_one_line_of_text_that_is_seen() {
        let mut line = LineEditor::default();
        line.insert("a\nb\u{1b}[31m\u{202e}c");
        assert_eq!(line.text(), "a b[31mc");
        line.insert(&"é".repeat(9000));
        assert!(line.text().len() <= MAX_BYTES);
    }

    #[test]
    fn the_cursor_is_always_in_view() {
        let mut line = LineEditor::default();
        line.set("0123456789漢字");
        let (shown, cursor) = line.view(6);
        assert!(text::width(shown) <= 6 && cursor < 6, "{shown} {cursor}");
        assert!(shown.ends_with('字'), "{shown}");
        line.apply(Edit::Home);
        assert_eq!(line.view(6), ("012345", 0));
    }
}
