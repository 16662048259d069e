//! One source line with the place of a mistake, in columns of a terminal.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use crate::redact::secret_ranges;
use crate::secret::MASK;
use crate::source::{NamedText, Span};
use crate::untrusted_text::is_hidden;

/// Tabs go to the next multiple of this many columns.
const TAB: usize = 4;
/// Longer lines (a minified file) are cut around the mistake, in columns.
const MAX_WIDTH: usize = 120;
/// How much is kept before the mistake on a line that is cut.
const KEPT_BEFORE: usize = 50;

/// A line as it is shown, and where its carets go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceSnippet {
    /// The line without tabs, control characters and secrets.
    pub(crate) text: String,
    /// Columns before the first caret.
    pub(crate) indent: usize,
    /// How many carets.
    pub(crate) carets: usize,
}

/// What must not be shown.
#[derive(Debug, Default)]
pub(crate) struct SecretSpans {
    /// Places of values that are secret by their meaning.
    known: Vec<Span>,
    /// What looks like a secret on the line that was asked for last: a minified file has one line
    /// and many mistakes.
    line: Option<(usize, Vec<Range<usize>>)>,
}

impl SecretSpans {
    pub(crate) fn new(known: Vec<Span>) -> Self {
        Self { known, line: None }
    }

    fn ranges_in_line(&mut self, start: usize, line: &str) -> Vec<Range<usize>> {
        match &self.line {
            Some((known, ranges)) if *known == start => ranges.clone(),
            _ => self.line.insert((start, secret_ranges(line))).1.clone(),
        }
    }
}

/// Of a longer line only this many bytes on each side of the mistake are looked at.
const MAX_BYTES: usize = 1024;

/// A piece of the shown line.
struct Cell {
    text: String,
    width: usize,
    /// Whether the mistake begins here or before.
    reached: bool,
    marked: bool,
}

impl SourceSnippet {
    /// The line that holds the start of `span`; `secrets` are spans to mask beside those found by
    /// their name.
    pub(crate) fn new(source: &NamedText, span: Span, secrets: &mut SecretSpans) -> Self {
        let (line_start, line) = source.line_at(span.start.min(source.text().len()));
        let local = |span: &Span| {
            span.start.saturating_sub(line_start)..span.end.saturating_sub(line_start)
        };
        let marked = local(&span);
        let near = near(line, &marked);
        let mut masked = secrets.ranges_in_line(line_start, line);
        masked.extend(
            secrets
                .known
                .iter()
                .map(local)
                .filter(|range| !range.is_empty()),
        );
        masked.retain(|range| range.start < near.end && range.end > near.start);
        let (before, after) = (near.start > 0, near.end < line.len());
        cut(&cells(line, near, &masked, &marked), before, after)
    }
}

/// The part of a very long line that can be shown at all.
fn near(line: &str, marked: &Range<usize>) -> Range<usize> {
    let start = line.floor_char_boundary(marked.start.saturating_sub(MAX_BYTES));
    let end = line.ceil_char_boundary(marked.start.saturating_add(MAX_BYTES));
    start..end
}

/// The line piece by piece.
fn cells(
    line: &str,
    near: Range<usize>,
    masked: &[Range<usize>],
    marked: &Range<usize>,
) -> Vec<Cell> {
    let mut column = 0;
    let mut cells = Vec::new();
    for (index, character) in line[near.clone()].char_indices() {
        let index = near.start + index;
        let (text, width) = match masked.iter().find(|range| range.contains(&index)) {
            // Of the same width for every secret: its length is nobody's business either.
            Some(range) if range.start.max(near.start) == index => (MASK.to_owned(), MASK.len()),
            Some(_) => (String::new(), 0),
            None => display_character(character, column),
        };
        column += width;
        // A span may begin inside a character (a wrong byte); it marks that character.
        let reached = index + character.len_utf8() > marked.start;
        let marked = index < marked.end && reached;
        cells.push(Cell {
            text,
            width,
            reached,
            marked,
        });
    }
    cells
}

/// A character as it is shown at a column, and its width (Unicode Standard Annex 11).
fn display_character(character: char, column: usize) -> (String, usize) {
    match character {
        '\t' => {
            let width = TAB - column % TAB;
            (" ".repeat(width), width)
        }
        _ if is_hidden(character) => ("\u{fffd}".to_owned(), 1),
        _ => (character.to_string(), character.width().unwrap_or(0)),
    }
}

/// Puts the pieces together, leaving out what is far from the mistake on a long line.
fn cut(cells: &[Cell], more_before: bool, more_after: bool) -> SourceSnippet {
    let width = |cells: &[Cell]| cells.iter().map(|cell| cell.width).sum::<usize>();
    let first = cells
        .iter()
        .position(|cell| cell.reached)
        .unwrap_or(cells.len());
    let carets = cells[first..].iter().take_while(|cell| cell.marked).count();
    let mut from = 0;
    let mut to = cells.len();
    if width(cells) > MAX_WIDTH {
        from = backwards(&cells[..first], KEPT_BEFORE);
        to = from + forwards(&cells[from..], MAX_WIDTH);
    }
    let marked_end = (first + carets).min(to);
    let mut text: String = cells[from..to]
        .iter()
        .map(|cell| cell.text.as_str())
        .collect();
    let mut indent = width(&cells[from..first]);
    if from > 0 || more_before {
        text.insert(0, '…');
        indent += 1;
    }
    if to < cells.len() || more_after {
        text.push('…');
    }
    SourceSnippet {
        text,
        indent,
        carets: width(&cells[first..marked_end]).max(1),
    }
}

/// The index of the first of the last cells that fit into `columns`.
fn backwards(cells: &[Cell], columns: usize) -> usize {
    let mut left = columns;
    let fits = |cell: &&Cell| {
        let fits = cell.width <= left;
        left = left.saturating_sub(cell.width);
        fits
    };
    cells.len() - cells.iter().rev().take_while(fits).count()
}

/// How many of the first cells fit into `columns`.
fn forwards(cells: &[Cell], columns: usize) -> usize {
    let mut left = columns;
    let fits = |cell: &&Cell| {
        let fits = cell.width <= left;
        left = left.saturating_sub(cell.width);
        fits
    };
    cells.iter().take_while(fits).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn display_character(text: &str, word: &str) -> String {
        let source = NamedText::new("file", text.to_owned());
        let start = text.find(word).unwrap();
        let snippet = SourceSnippet::new(
            &source,
            Span::new(start, start + word.len()),
            &mut SecretSpans::default(),
        );
        let carets = "^".repeat(snippet.carets);
        format!("{}\n{}{carets}", snippet.text, " ".repeat(snippet.indent))
    }

    #[test]
    fn carets_stand_under_the_place() {
        assert_eq!(display_character("a: bad,", "bad"), "a: bad,\n   ^^^");
        assert_eq!(
            display_character("\ta:\tbad", "bad"),
            "    a:  bad\n        ^^^"
        );
        assert_eq!(
            display_character("\"日本\": bad", "bad"),
            "\"日本\": bad\n        ^^^"
        );
        assert_eq!(
            display_character("e\u{301} bad", "bad"),
            "e\u{301} bad\n  ^^^"
        );
        assert_eq!(display_character("日本", "本"), "日本\n  ^^");
        assert_eq!(display_character("{ a\n b }", "{ a\n b }"), "{ a\n^^^");
    }

    #[test]
    fn nothing_on_the_line_can_steer_the_terminal() {
        assert_eq!(
            display_character("\u{1b}[31m\u{202e} bad", "bad"),
            "\u{fffd}[31m\u{fffd} bad\n       ^^^"
        );
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let line = format!("{}bad{}", "x".repeat(5000), "y".repeat(5000));
        let shown = display_character(&line, "bad");
        let (text, carets) = shown.split_once('\n').unwrap();
        assert_eq!(text.chars().count(), MAX_WIDTH + 2);
        assert!(text.starts_with("…x") && text.ends_with("y…"));
        assert_eq!(
            text.find("bad"),
            carets.find('^').map(|at| at + "…".len() - 1)
        );
    }

    #[test]
    fn secrets_are_masked() {
        assert_eq!(
            display_character("token = \"sk-1234\" bad", "bad"),
            "token = \"***\" bad\n              ^^^"
        );
        let source = NamedText::new("file", "word bad".to_owned());
        let mut secrets = SecretSpans::new(vec![Span::new(0, 4)]);
        let snippet = SourceSnippet::new(&source, Span::new(5, 8), &mut secrets);
        assert_eq!(snippet.text, "*** bad");
    }
}
