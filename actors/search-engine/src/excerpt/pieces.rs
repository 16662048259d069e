//! Pieces of a text around a place: where content begins, markup left off.

use std::ops::Range;

use search_core::passages::{is_scaled, passage_starts};
use search_core::snippet::{TermWeights, TextHit};

use crate::extract::{self, TextFormat};

/// Bytes around the best place that are freed from markup, to each side.
const MARKUP_MARGIN: usize = 768;

/// The text around a place in a file with markup.
pub(super) fn plain_around(
    text: &str,
    focus: &Range<usize>,
    range: &Range<usize>,
    format: TextFormat,
    max_chars: usize,
) -> String {
    let slice = margin_range(text, focus, range, MARKUP_MARGIN.max(3 * max_chars));
    let before = &text[range.start.min(slice.start)..slice.start];
    let is_whole = before.is_empty() || before.ends_with('\n');
    let piece = &text[slice];
    match format {
        TextFormat::Html => extract::html_fragment_text(whole_tags(piece)),
        _ if is_whole => extract::markdown_fragment_text(piece),
        _ => extract::markdown_fragment_text(whole_lines(piece)),
    }
}

/// The part of a text that is content: without front matter, without a page's furniture.
pub(super) fn content_range(text: &str, format: TextFormat) -> Range<usize> {
    match format {
        TextFormat::Html => extract::html_main_range(text.as_bytes()),
        TextFormat::Markdown => extract::front_matter_end(text)..text.len(),
        TextFormat::Text | TextFormat::Code | TextFormat::Data => 0..text.len(),
    }
}

/// The bytes of a passage of a text that is `bytes` long and begins with `text`; none where it does
/// not end there, or where another text decides how it was cut.
pub(crate) fn passage_range(text: &str, passage: usize, bytes: usize) -> Option<Range<usize>> {
    if is_scaled(bytes) && text.len() < bytes {
        return None;
    }
    let starts = passage_starts(text);
    let start = match passage.checked_sub(1) {
        None => 0,
        Some(before) => *starts.get(before)?,
    };
    let end = starts.get(passage).copied();
    let end = end.or_else(|| (text.len() >= bytes).then_some(text.len()))?;
    Some(start..end)
}

/// Whether the nearest angle bracket before `at` opens a tag.
pub(super) fn is_inside_tag(page: &[u8], at: usize) -> bool {
    memchr::memrchr2(b'<', b'>', &page[..at]).is_some_and(|bracket| page[bracket] == b'<')
}

pub(super) fn whole_text(text: &str, format: TextFormat) -> String {
    match format {
        TextFormat::Html => extract::html_text(text),
        _ => extract::markdown_fragment_text(text),
    }
}

/// `focus` and up to `margin` bytes to each side, inside `range`, between characters.
pub(super) fn margin_range(
    text: &str,
    focus: &Range<usize>,
    range: &Range<usize>,
    margin: usize,
) -> Range<usize> {
    let start = focus.start.saturating_sub(margin).max(range.start);
    let end = focus.end.saturating_add(margin).min(range.end).max(start);
    text.ceil_char_boundary(start).min(focus.start)..text.floor_char_boundary(end)
}

/// A piece of a page without the halves of tags at its ends.
fn whole_tags(piece: &str) -> &str {
    let bytes = piece.as_bytes();
    let start = match memchr::memchr2(b'<', b'>', bytes) {
        Some(at) if bytes[at] == b'>' => at + 1,
        _ => 0,
    };
    let end = match memchr::memrchr2(b'<', b'>', bytes) {
        Some(at) if bytes[at] == b'<' && at >= start => at,
        _ => piece.len(),
    };
    &piece[start..end]
}

/// A piece of Markdown from the start of a line on: half a line could be taken for another block.
fn whole_lines(piece: &str) -> &str {
    piece
        .split_once('\n')
        .filter(|(line, _)| line.len() < MARKUP_MARGIN / 2)
        .map_or(piece, |(_, rest)| rest)
}

/// From the first to the last byte of hits; nothing at `start` without any.
pub(super) fn extent(hits: &[TextHit], start: usize) -> Range<usize> {
    match hits {
        [first, .., last] => first.start..last.end,
        [one] => one.start..one.end,
        [] => start..start,
    }
}

/// The 1-based line of the best place: where the shortest run of its hits with all its words
/// begins, not where one of these words happened to stand before (a heading, say); where one word
/// says more than the others together, where that stands.
pub(super) fn line(text: &str, best: &[TextHit], weights: &TermWeights) -> Option<usize> {
    let terms_of = |hits: &[TextHit]| hits.iter().fold(0, |all, hit| all | hit.terms);
    let all = terms_of(best);
    let mut first = best;
    // With one word every run is as good as the next: the first occurrence is shown.
    while let [_, rest @ ..] = first
        && all.count_ones() > 1
        && terms_of(rest) == all
    {
        first = rest;
    }
    let is_telling = |hit: &&TextHit| 2.0 * weights.total(hit.terms) > weights.total(all);
    let telling = first.iter().find(is_telling);
    let at = telling.or(first.first())?.start;
    Some(memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count() + 1)
}

/// The words inside `slice` that the hits are parts of, counted from its start.
pub(super) fn whole_words(hits: &[TextHit], text: &str, slice: &Range<usize>) -> Vec<TextHit> {
    let bytes = &text.as_bytes()[slice.clone()];
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    let mut words: Vec<TextHit> = Vec::new();
    for hit in hits {
        if hit.start < slice.start || hit.end > slice.end || hit.start == hit.end {
            continue;
        }
        let (start, end) = (hit.start - slice.start, hit.end - slice.start);
        match words.last_mut() {
            Some(last) if start < last.end => last.terms |= hit.terms,
            _ if hit.terms == TextHit::PATTERN => words.push(TextHit {
                start,
                end,
                terms: hit.terms,
            }),
            _ => words.push(TextHit {
                start: start - bytes[..start].iter().rev().take_while(is_word).count(),
                end: end + bytes[end..].iter().take_while(is_word).count(),
                terms: hit.terms,
            }),
        }
    }
    words
}
