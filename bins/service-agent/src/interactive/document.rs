//! The document that is read: its text with the matches marked, wrapped to the width it has.

use command_line::terminal::text::{push_visible, width};
use search_core::answer::{DocumentView, SearchResult};
use unicode_segmentation::UnicodeSegmentation;

/// Columns of a tab.
const TAB: usize = 4;

/// A piece of a line; whether it matches the query.
pub(crate) type TextRun = (String, bool);

/// A document, or the excerpt of it while it is being read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DocumentPane {
    pub(crate) id: String,
    pub(crate) title: String,
    /// Path or address.
    pub(crate) place: String,
    /// Whether this is the text, and not an excerpt that came with the result.
    pub(crate) is_whole: bool,
    /// Whether only the beginning of the text was given.
    pub(crate) is_truncated: bool,
    /// Lines as they are in the text, everything in them visible.
    lines: Vec<Vec<TextRun>>,
    /// The same at `columns`.
    pub(crate) wrapped: Vec<Vec<TextRun>>,
    columns: usize,
    /// Wrapped lines above the first one that is shown.
    pub(crate) scroll: usize,
}

impl DocumentPane {
    /// The excerpt that came with a result.
    pub(crate) fn excerpt(result: &SearchResult) -> Self {
        Self {
            id: result.id.clone(),
            title: result.title.clone(),
            place: result.path.clone().unwrap_or_else(|| result.url.clone()),
            lines: lines(&result.snippet, &result.highlights),
            ..Self::default()
        }
    }

    /// The whole text.
    pub(crate) fn from_view(view: &DocumentView) -> Self {
        Self {
            id: view.id.clone(),
            title: view.title.clone(),
            place: view.path.clone().unwrap_or_else(|| view.url.clone()),
            is_whole: true,
            is_truncated: view.truncated,
            lines: lines(&view.body, &view.highlights),
            ..Self::default()
        }
    }

    /// Wraps it to a width; the line at the top stays about where it is.
    pub(crate) fn wrap(&mut self, columns: usize) {
        let columns = columns.max(1);
        if self.columns == columns {
            return;
        }
        let share = (self.wrapped.len() > 1).then(|| self.scroll * 1000 / self.wrapped.len());
        self.columns = columns;
        self.wrapped = self
            .lines
            .iter()
            .flat_map(|line| wrap(line, columns))
            .collect();
        self.scroll = share.map_or(0, |share| share * self.wrapped.len() / 1000);
    }

    /// Moves by lines; the last line stays in a view of `height`.
    pub(crate) fn scroll_by(&mut self, lines: isize, height: usize) {
        let last = self.wrapped.len().saturating_sub(height.max(1));
        self.scroll = self.scroll.saturating_add_signed(lines).min(last);
    }

    /// The wrapped lines that hold a match.
    fn matches(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        let lines = self.wrapped.iter().enumerate();
        let marked = lines.filter(|(_, line)| line.iter().any(|(_, is_match)| *is_match));
        marked.map(|(at, _)| at)
    }

    /// Shows the next match below the one on top, or the one above it; false without one.
    pub(crate) fn show_match(&mut self, forward: bool, height: usize) -> bool {
        let above = height / 3;
        let now = self.scroll + above.min(self.scroll);
        let found = if forward {
            self.matches().find(|at| *at > now)
        } else {
            self.matches().rev().find(|at| *at < now)
        };
        let Some(at) = found else { return false };
        let last = self.wrapped.len().saturating_sub(height.max(1));
        self.scroll = at.saturating_sub(above).min(last);
        true
    }

    /// Shows the first match.
    pub(crate) fn show_first_match(&mut self, height: usize) {
        let first = self.matches().next().unwrap_or(0);
        let last = self.wrapped.len().saturating_sub(height.max(1));
        self.scroll = first.saturating_sub(height / 3).min(last);
    }
}

/// The lines of a text. `ranges` are in characters, ascending.
fn lines(text: &str, ranges: &[[usize; 2]]) -> Vec<Vec<TextRun>> {
    let mut all: Vec<Vec<TextRun>> = vec![Vec::new()];
    let mut ranges = ranges.iter().filter(|range| range[0] < range[1]).peekable();
    let mut columns = 0;
    let mut characters = text.chars().enumerate().peekable();
    while let Some((at, c)) = characters.next() {
        while ranges.next_if(|range| range[1] <= at).is_some() {}
        let is_match = ranges.peek().is_some_and(|range| range[0] <= at);
        // A line end of Windows is one, too.
        if c == '\r' && characters.peek().is_some_and(|(_, next)| *next == '\n') {
            continue;
        }
        if c == '\n' {
            all.push(Vec::new());
            columns = 0;
            continue;
        }
        let mut shown = String::new();
        if c == '\t' {
            shown.push_str(&" ".repeat(TAB - columns % TAB));
        } else {
            push_visible(&mut shown, c);
        }
        columns += width(&shown);
        let line = all.last_mut().expect("there is always a line");
        match line.last_mut() {
            Some((piece, same)) if *same == is_match => piece.push_str(&shown),
            _ => line.push((shown, is_match)),
        }
    }
    all
}

/// A line on as many as it needs, cut at spaces where there are some.
pub(crate) fn wrap(line: &[TextRun], columns: usize) -> Vec<Vec<TextRun>> {
    let mut out: Vec<Vec<TextRun>> = vec![Vec::new()];
    let mut taken = 0;
    for (piece, is_match) in line {
        for word in piece.split_word_bounds() {
            let needed = width(word);
            if taken + needed > columns && taken > 0 && needed <= columns {
                out.push(Vec::new());
                taken = 0;
                if word.trim().is_empty() {
                    continue;
                }
            }
            if needed <= columns {
                push(&mut out, word, *is_match);
                taken += needed;
                continue;
            }
            for grapheme in word.graphemes(true) {
                let needed = width(grapheme);
                if taken + needed > columns && taken > 0 {
                    out.push(Vec::new());
                    taken = 0;
                }
                push(&mut out, grapheme, *is_match);
                taken += needed;
            }
        }
    }
    out
}

fn push(out: &mut [Vec<TextRun>], text: &str, is_match: bool) {
    let Some(line) = out.last_mut() else { return };
    match line.last_mut() {
        Some((piece, same)) if *same == is_match => piece.push_str(text),
        _ => line.push((text.to_owned(), is_match)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(body: &str, highlights: &[[usize; 2]]) -> DocumentPane {
        DocumentPane::from_view(&DocumentView {
            body: body.to_owned(),
            highlights: highlights.to_vec(),
            ..DocumentView::default()
        })
    }

    fn text(line: &[TextRun]) -> String {
        line.iter().map(|(piece, _)| piece.as_str()).collect()
    }

    #[test]
    fn matches_are_marked_by_characters_and_hostile_text_is_visible() {
        let mut document = document("naïve orbit\r\n\u{1b}[2J\u{202e}\tx", &[[6, 11]]);
        document.wrap(80);
        assert_eq!(
            document.wrapped[0],
            [("naïve ".to_owned(), false), ("orbit".to_owned(), true)]
        );
        let second = text(&document.wrapped[1]);
        assert!(second.starts_with("<U+001B>[2J<U+202E>"), "{second}");
        assert!(second.ends_with('x') && !second.contains('\t'), "{second}");
    }

    #[test]
    fn lines_are_wrapped_at_words_and_never_wider_than_the_view() {
        let long = format!("{} {}", "planets move in ellipses", "x".repeat(50));
        for columns in [1, 2, 7, 10, 33] {
            let mut document = document(&format!("{long}\n\n漢字漢字漢字"), &[]);
            document.wrap(columns);
            for line in &document.wrapped {
                assert!(width(&text(line)) <= columns.max(2), "{columns}: {line:?}");
            }
        }
        let mut document = document("planets move", &[]);
        document.wrap(8);
        assert_eq!(text(&document.wrapped[1]), "move");
    }

    #[test]
    fn one_goes_from_match_to_match() {
        let body = (0..100)
            .map(|line| format!("line{:03}", line))
            .collect::<Vec<_>>()
            .join("\n");
        // Lines 20 and 60 of eight characters each, line end included.
        let mut document = document(&body, &[[160, 164], [480, 484]]);
        document.wrap(40);
        document.show_first_match(9);
        assert_eq!(document.scroll, 17);
        assert!(document.show_match(true, 9));
        assert_eq!(document.scroll, 57);
        assert!(!document.show_match(true, 9), "there is no third");
        assert!(document.show_match(false, 9));
        assert_eq!(document.scroll, 17);
        document.scroll_by(1000, 9);
        assert_eq!(document.scroll, 91, "the last lines stay in view");
        document.scroll_by(-2000, 9);
        assert_eq!(document.scroll, 0);
    }
}
