//! Where a text is cut into the passages that documents are ranked by.
//!
//! The index says in which passages a word stands, so the cut has to be the same whenever a text is
//! read: it depends on the text alone.

use std::ops::Range;

/// Bytes from which on a passage ends at the next seam.
const ENOUGH: usize = 700;

/// Bytes at which it ends wherever it is.
const MOST: usize = 1_500;

/// Passages of one text; those of longer texts are longer.
const MAX_PASSAGES: usize = 250;

/// Whether the length of a text, in bytes, decides how long its passages are. Others have the same
/// passages however much follows, but for the last.
#[must_use]
pub const fn is_scaled(bytes: usize) -> bool {
    bytes >= ENOUGH * MAX_PASSAGES
}

/// The bytes of `text` at which a passage begins, without the first: none where it is one passage.
///
/// A seam is a heading, or a line at the margin behind an empty one: the next function or
/// paragraph. Lines are kept whole where they are no longer than a passage.
#[must_use]
pub fn passage_starts(text: &str) -> Vec<usize> {
    let scale = 1 + text.len() / (ENOUGH * MAX_PASSAGES);
    let (enough, most) = (ENOUGH * scale, MOST * scale);
    let mut starts = Vec::new();
    if text.len() <= most {
        return starts;
    }
    let (mut open, mut at, mut is_behind_gap) = (0, 0, false);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let length = memchr::memchr(b'\n', &bytes[at..]);
        let line = &text[at..length.map_or(bytes.len(), |length| at + length + 1)];
        let size = at - open;
        let is_seam = size >= enough && is_block_start(line, is_behind_gap);
        if size > 0 && (is_seam || size + line.len() > most) {
            starts.push(at);
            open = at;
        }
        let end = at + line.len();
        while end - open > most {
            open = cut_in_line(text, open, open + most);
            starts.push(open);
        }
        at = end;
        is_behind_gap = line.trim_ascii().is_empty();
    }
    starts
}

/// The passages of a text, one behind the other: all of it. A short text is one passage.
#[must_use]
pub(super) fn passages(text: &str) -> Vec<Range<usize>> {
    let starts = passage_starts(text);
    let begins = std::iter::once(0).chain(starts.iter().copied());
    let ends = starts.iter().copied().chain([text.len()]);
    begins.zip(ends).map(|(begin, end)| begin..end).collect()
}

/// Some `most` of the numbers below `count`, from 0 on in even steps; all where they are no more.
pub(super) fn evenly(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let chosen = count.min(most);
    (0..chosen).map(move |number| number * count / chosen)
}

/// Whether a line is a heading, or stands at the margin behind an empty line.
fn is_block_start(line: &str, is_behind_gap: bool) -> bool {
    let is_at_margin = !line.starts_with([' ', '\t', '\r', '\n', '}', ')']);
    is_at_margin && (is_behind_gap || line.starts_with("# ") || line.starts_with("##"))
}

/// A place to cut `text[from..to]` in the latter half: behind a sentence, else behind a blank.
fn cut_in_line(text: &str, from: usize, to: usize) -> usize {
    let to = text.floor_char_boundary(to);
    let half = text.ceil_char_boundary(from + (to - from) / 2);
    let latter = &text[half..to];
    let sentence = latter.rfind(". ").map(|at| at + 2);
    let gap = || latter.rfind(' ').map(|at| at + 1);
    sentence.or_else(gap).map_or(to, |at| half + at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn i16_short_texts_are_one_passage() {
        assert!(passage_starts("").is_empty());
        assert!(passage_starts(&"one\n\ntwo\n".repeat(100)).is_empty());
    }

    #[test]
    fn i16_passages_begin_at_functions_and_headings() {
        let body = "    something(with, many, words);\n".repeat(25);
        let code = format!("fn a() {{\n{body}}}\n\nfn b() {{\n{body}}}\n\nfn c() {{\n{body}}}\n");
        let starts = passage_starts(&code);
        let begun: Vec<&str> = starts.iter().map(|&at| &code[at..at + 4]).collect();
        assert_eq!(begun, ["fn b", "fn c"]);
        let text = format!(
            "# One\n{0}## Two\n{0}",
            "Some words of a paragraph.\n".repeat(40)
        );
        let starts = passage_starts(&text);
        assert!(text[starts[0]..].starts_with("## Two"), "{starts:?}");
    }

    #[test]
    fn i16_a_long_line_is_cut_behind_sentences() {
        let text = "A sentence of some words. ".repeat(200);
        let starts = passage_starts(&text);
        assert!(starts.len() >= 3);
        assert!(
            starts
                .iter()
                .all(|&at| text[at..].starts_with("A sentence"))
        );
    }

    #[test]
    fn i16_many_passages_are_chosen_evenly() {
        let chosen = |count| evenly(count, 16).collect::<Vec<_>>();
        assert_eq!(chosen(0), Vec::<usize>::new());
        assert_eq!(chosen(16), (0..16).collect::<Vec<_>>());
        assert_eq!(chosen(32), (0..16).map(|at| 2 * at).collect::<Vec<_>>());
        let of_some = chosen(17);
        assert_eq!((of_some.len(), of_some[0], of_some[15]), (16, 0, 15));
    }

    proptest! {
        #[test]
        fn i16_any_text_is_cut_into_bounded_passages(
            // Repeated, as most of the time would go into drawing letters.
            parts in prop::collection::vec(("[a-z é漢.\n]{0,40}", 1_usize..=10), 0..80),
            times in 1_usize..40,
        ) {
            let parts = parts.iter().map(|(part, times)| part.repeat(*times));
            let text = parts.collect::<String>().repeat(times);
            let all = passages(&text);
            let joined: String = all.iter().map(|range| &text[range.clone()]).collect();
            prop_assert_eq!(&joined, &text);
            let starts = passage_starts(&text);
            prop_assert_eq!(all.len(), starts.len() + 1);
            let most = MOST * (1 + text.len() / (ENOUGH * MAX_PASSAGES));
            prop_assert!(starts.len() <= 2 * MAX_PASSAGES);
            let mut before = 0;
            for at in starts.into_iter().chain([text.len()]) {
                prop_assert!(text.is_char_boundary(at));
                prop_assert!(at - before <= most && (at > before || text.is_empty()));
                before = at;
            }
        }
    }
}
