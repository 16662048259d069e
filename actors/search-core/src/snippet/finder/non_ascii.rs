//! Words beyond ASCII, which needles do not see where they are written with other accents than they
//! are typed with: `Kündigung` for `kundigung`, `é` as one character or as two.

use std::ops::{ControlFlow, Range};

use aho_corasick::packed::Searcher;

use super::non_ascii_words::WideWords;
use super::{TermFinder, collect_into, run_around};
use crate::analysis::{is_joiner, is_word_char};
use crate::snippet::TextHit;

/// Whether an accent, or a character that is left off, may hide a word with `c` from the needles:
/// not in scripts that have none, whose words would all be looked at.
fn may_hide(c: char) -> bool {
    !matches!(c, '\u{2e80}'..='\u{d7ff}' | '\u{20000}'..)
}

/// The first byte beyond ASCII.
fn first_wide(bytes: &[u8]) -> Option<usize> {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let plain = blocks.iter().take_while(|block| block.is_ascii()).count() * BLOCK;
    let rest = bytes[plain..].iter().position(|byte| !byte.is_ascii());
    rest.map(|at| plain + at)
}

/// Bytes that are looked at together.
const BLOCK: usize = 32;

impl TermFinder {
    /// Adds the hits of a piece that accents hide from the `needles` to those `found` there. What
    /// holds none of them without its accents either is not analysed.
    pub(super) fn add_accented(
        &mut self,
        text: &str,
        piece: Range<usize>,
        needles: &Searcher,
        found: &mut Vec<TextHit>,
    ) {
        let mut more = Vec::new();
        let words = WideWords {
            counts: may_hide,
            needles: Some(needles),
        };
        let _ = self.find_wide(text, piece, words, &mut collect_into(&mut more));
        let known = found.len();
        for hit in more {
            // Those found are in ascending order, and do not overlap.
            let after = found[..known].partition_point(|one| one.end <= hit.start);
            let is_known = found[..known]
                .get(after)
                .is_some_and(|one| one.start < hit.end);
            if !is_known {
                found.push(hit);
            }
        }
        found.sort_by_key(|hit| hit.start);
    }

    /// Only those words of a piece that are not plain ASCII; signs beyond ASCII cost next to
    /// nothing.
    pub(super) fn find_wide(
        &mut self,
        text: &str,
        piece: Range<usize>,
        words: WideWords<'_>,
        on_hit: &mut dyn FnMut(TextHit) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let bytes = text.as_bytes();
        let mut folded = String::new();
        let mut at = piece.start;
        while let Some(found) = first_wide(&bytes[at..piece.end]) {
            let start = at + found;
            let character = text[start..].chars().next().unwrap_or_default();
            at = start + character.len_utf8();
            if (is_word_char(character) || is_joiner(character)) && (words.counts)(character) {
                let run = run_around(bytes, start);
                at = text
                    .ceil_char_boundary(run.end.max(at))
                    .min(piece.end.max(at));
                let inside = text.ceil_char_boundary(run.start)..text.floor_char_boundary(run.end);
                if words.may_hold(text.get(inside).unwrap_or_default(), &mut folded) {
                    self.check_run(text, run, on_hit)?;
                }
            }
        }
        ControlFlow::Continue(())
    }
}
