//! Text of strangers on a terminal: made visible, measured and cut by what is seen.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Whether a character steers a terminal, turns words around, or is not seen at all. Line ends and
/// tabs are left to the caller; joiners (of letters, of pictures) and what selects how a picture
/// looks are parts of what is seen.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    config_core::is_hidden(c)
        && !matches!(
            c,
            '\n' | '\t' | '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}'
        )
}

/// The text with what is hidden in it written out: `<U+202E>`. Line ends and tabs stay.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        push_visible(&mut out, c);
    }
    Cow::Owned(out)
}

/// Appends a character, written out where it is hidden.
pub fn push_visible(out: &mut String, c: char) {
    if is_hidden(c) {
        out.push_str(&format!("<U+{:04X}>", u32::from(c)));
    } else {
        out.push(c);
    }
}

/// The same on one line: line ends and tabs are spaces, and space at the ends is cut.
#[must_use]
pub fn one_line(text: &str) -> String {
    let text = visible(text);
    let words = text.split(['\n', '\t']);
    words.collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// Columns that a text takes.
#[must_use]
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// As much of the text as `columns` hold; an ellipsis where it is cut. Never half a character.
#[must_use]
pub fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else {
        return String::new();
    };
    let mut out = head(text, room).to_owned();
    out.push('…');
    out
}

/// The longest beginning that takes at most `columns`.
#[must_use]
pub fn head(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        taken += width(grapheme);
        if taken > columns {
            return &text[..at];
        }
    }
    text
}

/// A number with separators: `2,505`.
#[must_use]
pub fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_written_out() {
        for (text, expected) in [
            ("plain é 漢", "plain é 漢"),
            ("\u{1b}[31mred", "<U+001B>[31mred"),
            ("a\u{202e}b", "a<U+202E>b"),
            ("bell\u{7}\r", "bell<U+0007><U+000D>"),
            ("c1 \u{9b}2J", "c1 <U+009B>2J"),
            ("tag \u{e0041}", "tag <U+E0041>"),
            ("\u{2714}\u{fe0f}\u{e0101}", "\u{2714}\u{fe0f}<U+E0101>"),
            ("a\u{3164}\u{34f}", "a<U+3164><U+034F>"),
            ("lines\nand\ttabs", "lines\nand\ttabs"),
        ] {
            assert_eq!(visible(text), expected);
        }
        assert_eq!(one_line(" a\nb\u{1b}\tc "), "a b<U+001B> c");
    }

    #[test]
    fn text_is_cut_by_columns_and_never_inside_a_character() {
        for (text, columns, expected) in [
            ("orbit", 5, "orbit"),
            ("orbits", 5, "orbi…"),
            ("漢字漢字", 5, "漢字…"),
            ("漢字漢字", 4, "漢…"),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            ("👩‍🚀 moon", 3, "👩‍🚀…"),
            ("x", 0, ""),
        ] {
            let cut = fit(text, columns);
            assert_eq!(cut, expected);
            assert!(width(&cut) <= columns);
        }
    }

    #[test]
    fn numbers_have_separators() {
        for (given, expected) in [
            (0, "0"),
            (254, "254"),
            (2505, "2,505"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(number(given), expected);
        }
    }
}
