//! The extents that a text is cut into: whole lines, cut at its seams.

use std::ops::Range;

use super::tokens::tokens;

/// Tokens from which on a piece ends at the next seam.
const ENOUGH: usize = 60;

/// Tokens at which it ends wherever it is.
const MOST: usize = 180;

/// Longest line that stays whole, in bytes.
const MAX_LINE: usize = 800;

/// A piece of a text: its bytes and lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PassageExtent {
    pub(super) range: Range<usize>,
    /// Its first line, from 1.
    pub(super) line: usize,
    /// Its last line.
    pub(super) end_line: usize,
}

/// The pieces of a text, one behind the other. A seam is a line at the margin behind an empty one:
/// the next function, heading or paragraph.
pub(super) fn extents(text: &str) -> Vec<PassageExtent> {
    let mut extents = Vec::new();
    let mut open = PassageExtent {
        range: 0..0,
        line: 1,
        end_line: 1,
    };
    let (mut size, mut line, mut is_behind_gap) = (0, 1, false);
    for whole in text.split_inclusive('\n') {
        for part in short_parts(whole) {
            let length = tokens(part);
            let is_seam = is_behind_gap && part.starts_with(|c: char| !c.is_whitespace());
            if size > 0 && ((is_seam && size >= ENOUGH) || size + length > MOST) {
                let next = open.range.end;
                extents.push(std::mem::replace(
                    &mut open,
                    PassageExtent {
                        range: next..next,
                        line,
                        end_line: line,
                    },
                ));
                size = 0;
            }
            open.range.end += part.len();
            if !part.trim().is_empty() {
                open.end_line = line;
            }
            size += length;
        }
        is_behind_gap = whole.trim().is_empty();
        line += 1;
    }
    if !open.range.is_empty() {
        extents.push(open);
    }
    extents
}

/// A line in parts of at most [`MAX_LINE`] bytes, cut behind white space where there is some.
fn short_parts(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.len();
        if end > MAX_LINE {
            end = rest.floor_char_boundary(MAX_LINE);
            let gap = rest[..end].rfind(char::is_whitespace);
            end = gap.filter(|&gap| gap > MAX_LINE / 2).map_or(end, |gap| {
                gap + rest[gap..].chars().next().map_or(0, char::len_utf8)
            });
        }
        let (part, behind) = rest.split_at(end);
        rest = behind;
        Some(part)
    })
}
