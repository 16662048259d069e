//! Cutting one line out of a text.

use std::ops::Range;

use super::TextHit;

/// A piece of a text on one line: white space folded, no control characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snippet {
    /// Plain text; it may hold any other character.
    pub text: String,
    /// Matches: `[start, end)` in characters of `text`, ascending, not overlapping.
    pub highlights: Vec<[usize; 2]>,
}

/// Marks text left out before or behind.
const ELLIPSIS: char = '…';

/// How far before the focus a line or sentence start is looked for, in parts of the free room.
const LEAD: usize = 3;

/// At most `max_chars` characters of `text` around `focus` (a byte range), with the hits in it
/// marked. `hits` are in ascending order; those that do not lie in the text are left out.
#[must_use]
pub fn cut(text: &str, hits: &[TextHit], focus: Range<usize>, max_chars: usize) -> Snippet {
    let room = max_chars.saturating_sub(4);
    let start = start_of(text, &focus, room);
    let mut line = Line {
        text: String::with_capacity(max_chars + max_chars / 8),
        ..Line::default()
    };
    if !text[..start].trim().is_empty() {
        line.push_all([ELLIPSIS, ' ']);
    }
    line.fill(text, start, hits, max_chars.saturating_sub(2));
    line.finish(max_chars)
}

/// Where the piece begins: some words before the focus, at the start of a line if one is near.
fn start_of(text: &str, focus: &Range<usize>, room: usize) -> usize {
    let begin = floor_char_boundary(text, focus.start);
    let end = floor_char_boundary(text, focus.end.max(begin));
    let free = room.saturating_sub(folded_length(&text[begin..end], room));
    // What the text behind the focus does not need is given to the text before it.
    let behind = folded_length(&text[end..], free);
    let lead = (free / LEAD).max(free - behind);
    let mut word_start = begin;
    let mut line_start = None;
    let (mut used, mut before) = (0, 'x');
    for (at, character) in text[..begin].char_indices().rev() {
        if is_gap(character) {
            if !is_gap(before) {
                word_start = at + character.len_utf8();
                used += 1;
            }
            if character == '\n' {
                line_start = Some(word_start);
            }
        } else {
            used += 1;
        }
        before = character;
        if used > lead {
            return line_start.filter(|_| behind > 0).unwrap_or(word_start);
        }
    }
    0
}

#[inline]
fn is_gap(character: char) -> bool {
    if character.is_ascii() {
        return character <= ' ' || character == '\u{7f}';
    }
    character.is_whitespace() || character.is_control()
}

/// The nearest offset at or below `at` where a character begins.
fn floor_char_boundary(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

/// Characters of `text` after folding, counted up to `limit`.
fn folded_length(text: &str, limit: usize) -> usize {
    let (mut length, mut gap) = (0, false);
    for character in text.chars() {
        let is_gap = is_gap(character);
        length += usize::from(!(is_gap && gap));
        gap = is_gap;
        if length >= limit {
            return limit;
        }
    }
    length
}

/// A snippet while it is written.
#[derive(Default)]
struct Line {
    text: String,
    /// Characters in `text`.
    length: usize,
    highlights: Vec<[usize; 2]>,
    /// Length in characters and bytes behind the last whole word.
    last_gap: Option<(usize, usize)>,
    /// Something of the text did not fit.
    is_cut: bool,
}

impl Line {
    fn push(&mut self, character: char) {
        self.text.push(character);
        self.length += 1;
    }

    fn push_all(&mut self, characters: [char; 2]) {
        for character in characters {
            self.push(character);
        }
    }

    /// Appends the signs of ASCII that `text` begins with, at most `room` of them, or its first
    /// character. Returns their bytes.
    fn push_run(&mut self, text: &str, room: usize) -> usize {
        let bytes = &text.as_bytes()[..room.min(text.len())];
        let run = bytes.iter().take_while(|byte| byte.is_ascii_graphic());
        let run = run.count();
        if run > 0 {
            self.text.push_str(&text[..run]);
            self.length += run;
            return run;
        }
        let first = text.chars().next().unwrap_or_default();
        self.push(first);
        first.len_utf8()
    }

    /// Appends the text from `start` on until `max_chars` are reached.
    fn fill(&mut self, text: &str, start: usize, hits: &[TextHit], max_chars: usize) {
        let mut hits = hits.iter().skip_while(|hit| hit.start < start).peekable();
        // The end of the match that is open and where it began, and the start of the next one.
        let mut open: Option<(usize, usize)> = None;
        let mut next = hits.peek().map_or(usize::MAX, |hit| hit.start);
        let mut gap = true;
        let mut at = start;
        while let Some(character) = text[at..].chars().next() {
            if let Some((_, from)) = open.take_if(|(end, _)| *end <= at) {
                self.highlight(from);
            }
            if is_gap(character) {
                if !gap {
                    self.last_gap = Some((self.length, self.text.len()));
                }
                gap = true;
                at += character.len_utf8();
                continue;
            }
            if self.length + usize::from(gap) >= max_chars {
                self.is_cut = true;
                return;
            }
            if gap && self.length > 0 && !self.text.ends_with(' ') {
                self.push(' ');
            }
            gap = false;
            if next <= at {
                while hits.next_if(|hit| hit.start < at).is_some() {}
                if open.is_none()
                    && let Some(hit) = hits.next_if(|hit| hit.start == at && hit.end > at)
                {
                    open = Some((hit.end, self.length));
                }
                next = hits.peek().map_or(usize::MAX, |hit| hit.start);
            }
            let seam = open.map_or(next, |(end, _)| end.min(next));
            let room = (max_chars - self.length).min(seam.saturating_sub(at));
            at += self.push_run(&text[at..], room.max(1));
        }
        if let Some((_, from)) = open {
            self.highlight(from);
        }
        self.last_gap = Some((self.length, self.text.len()));
    }

    fn highlight(&mut self, from: usize) {
        if from < self.length {
            self.highlights.push([from, self.length]);
        }
    }

    /// Ends the line at a whole word, unless it is all one word.
    fn finish(mut self, max_chars: usize) -> Snippet {
        if self.is_cut {
            if let Some((length, bytes)) =
                self.last_gap.filter(|(length, _)| *length * 2 > max_chars)
            {
                self.text.truncate(bytes);
                self.length = length;
                self.highlights.retain(|[_, end]| *end <= length);
            }
            if max_chars > 1 {
                self.push_all([' ', ELLIPSIS]);
            }
        }
        Snippet {
            text: self.text,
            highlights: self.highlights,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hit(text: &str, word: &str) -> TextHit {
        let start = text.find(word).expect("the word is there");
        TextHit {
            start,
            end: start + word.len(),
            terms: 1,
        }
    }

    fn marked(snippet: &Snippet) -> Vec<String> {
        let text: Vec<char> = snippet.text.chars().collect();
        snippet
            .highlights
            .iter()
            .map(|&[start, end]| text[start..end].iter().collect())
            .collect()
    }

    #[test]
    fn short_texts_are_shown_whole_and_folded() {
        let text = "  The\tquick\n\n  brown\u{1b} fox ";
        let found = hit(text, "brown");
        let snippet = cut(text, &[found], found.start..found.end, 100);
        assert_eq!(snippet.text, "The quick brown fox");
        assert_eq!(snippet.highlights, [[10, 15]]);
    }

    #[test]
    fn long_texts_are_cut_at_words_around_the_focus() {
        let text = format!("{}needle {}", "before ".repeat(40), "after ".repeat(40));
        let found = hit(&text, "needle");
        let snippet = cut(&text, &[found], found.start..found.end, 60);
        assert_eq!(marked(&snippet), ["needle"]);
        assert!(
            snippet.text.starts_with("… before") && snippet.text.ends_with("after …"),
            "{}",
            snippet.text
        );
        assert!(snippet.text.chars().count() <= 60);
    }

    #[test]
    fn a_line_start_nearby_is_preferred() {
        let text = format!(
            "{}\n  start of needle {}",
            "x ".repeat(100),
            "y ".repeat(100)
        );
        let found = hit(&text, "needle");
        let snippet = cut(&text, &[found], found.start..found.end, 100);
        assert!(
            snippet.text.starts_with("… start of needle y"),
            "{}",
            snippet.text
        );
    }

    #[test]
    fn at_the_end_of_a_text_more_is_shown_before() {
        let text = format!("{}needle", "word ".repeat(100));
        let found = hit(&text, "needle");
        let snippet = cut(&text, &[found], found.start..found.end, 80);
        assert!(snippet.text.chars().count() > 70, "{}", snippet.text);
        assert_eq!(marked(&snippet), ["needle"]);
    }

    #[test]
    fn highlights_count_characters_not_bytes() {
        let text = "Größe über größe";
        let found = hit(text, "über");
        assert_eq!(cut(text, &[found], 0..2, 50).highlights, [[6, 10]]);
    }

    #[test]
    fn s05_markup_is_plain_text() {
        let text = "<script>alert('needle')</script>";
        let found = hit(text, "needle");
        let snippet = cut(text, &[found], 0..0, 100);
        assert_eq!(
            (snippet.text.as_str(), marked(&snippet)),
            (text, vec!["needle".to_owned()])
        );
    }

    proptest! {
        #[test]
        fn highlights_lie_in_the_snippet_and_texts_are_short(
            text in "(\\PC|[ \\n\\t\u{0}a-cé漢\u{301}]){0,200}",
            ranges in proptest::collection::vec((0usize..300, 0usize..20), 0..12),
            focus in (0usize..300, 0usize..40), max_chars in 0usize..120) {
            let mut hits: Vec<TextHit> = ranges.iter()
                .map(|&(start, length)| TextHit { start, end: start + length, terms: 1 }).collect();
            hits.sort_by_key(|hit| hit.start);
            let snippet = cut(&text, &hits, focus.0..focus.0 + focus.1, max_chars);
            let length = snippet.text.chars().count();
            prop_assert!(length <= max_chars.max(4), "{length} > {max_chars}");
            prop_assert!(!snippet.text.chars().any(char::is_control));
            let mut last = 0;
            for [start, end] in snippet.highlights {
                prop_assert!(last <= start && start < end && end <= length);
                last = end;
            }
        }

        #[test]
        fn a_highlight_is_the_word_that_was_hit(words in proptest::collection::vec("[a-z]{1,8}|[é漢]{1,3}", 1..60), nth in 0usize..60) {
            let nth = nth % words.len();
            let text = words.join(" \n ");
            let start = words[..nth].iter().map(|word| word.len() + 3).sum();
            let found = TextHit { start, end: start + words[nth].len(), terms: 1 };
            let snippet = cut(&text, &[found], found.start..found.end, 60);
            prop_assert_eq!(marked(&snippet), vec![words[nth].clone()]);
        }
    }
}
