//! Where the terms of a query stand in much text, without a close look at each word.
//!
//! A place is chosen among thousands of words, and only the words of the place are shown. So a
//! candidate is judged by the part of a word that begins there alone, and each form of a part is
//! analysed once: the identifiers of source code are all different, their parts are not. What only
//! the analysis of the whole word can tell is left to it.

use std::ops::{ControlFlow, Range};

use super::non_ascii_words::WideWords;
use super::{TermFinder, collect_into, is_part_start, is_word_byte, piece_end, run_around};
use crate::analysis::MAX_PARTS;
use crate::snippet::TextHit;

impl TermFinder {
    /// Hands the places of the query's terms to `on_hit` in ascending order, until it breaks: parts
    /// of identifiers by themselves. [`find`](Self::find) gives the words of a place as a whole.
    pub fn scan(&mut self, text: &str, mut on_hit: impl FnMut(TextHit) -> ControlFlow<()>) {
        let Some(needles) = self.needles.take() else {
            return self.find(text, on_hit);
        };
        let mut folded = std::mem::take(&mut self.folded);
        let bytes = text.as_bytes();
        let (mut at, mut behind, mut found) = (0, 0, false);
        let mut gathered = Vec::new();
        let mut flow = ControlFlow::Continue(());
        let mut told = |hit| {
            found = true;
            on_hit(hit)
        };
        while at < text.len() && flow.is_continue() {
            let end = piece_end(bytes, at);
            folded.clear();
            folded.extend_from_slice(&bytes[at..end]);
            folded.make_ascii_lowercase();
            let is_ascii = folded.is_ascii();
            for needle in needles.find_iter(&folded) {
                let start = at + needle.start();
                if start < behind || !is_part_start(bytes, start) {
                    continue;
                }
                let candidate = start..at + needle.end();
                (behind, flow) = if is_ascii {
                    self.check_needle(text, behind, candidate, &mut told)
                } else {
                    self.check_needle(text, behind, candidate, &mut collect_into(&mut gathered))
                };
                if flow.is_break() {
                    break;
                }
            }
            if !is_ascii {
                self.add_accented(text, at..end, &needles, &mut gathered);
                flow = gathered.drain(..).try_for_each(&mut told);
            }
            at = end;
        }
        (self.needles, self.folded) = (Some(needles), folded);
        if !found && !text.is_ascii() {
            // Words of other scripts may be written in another way than typed.
            let _ = self.find_wide(text, 0..text.len(), WideWords::ALL, &mut on_hit);
        }
    }

    /// Judges what begins with the bytes of `needle`, which are like the beginning of a term; what
    /// lies before `behind` has been judged. Returns the end of what was looked at.
    fn check_needle(
        &mut self,
        text: &str,
        behind: usize,
        needle: Range<usize>,
        on_hit: &mut dyn FnMut(TextHit) -> ControlFlow<()>,
    ) -> (usize, ControlFlow<()>) {
        let (bytes, start) = (text.as_bytes(), needle.start);
        let end = part_end(bytes, start);
        let before = start.checked_sub(1).map(|before| bytes[before]);
        let next = bytes.get(end).copied();
        let is_wide = |byte: Option<u8>| byte.is_some_and(|byte| !byte.is_ascii());
        let is_joined = |byte: Option<u8>| byte.is_some_and(is_word_byte);
        // A needle across a seam is the beginning of an identifier that is looked for as a whole; a
        // single letter is a word, but no part of one.
        let is_part = needle.end <= end
            && !is_wide(before)
            && !is_wide(next)
            && (end > start + 1 || !is_joined(before) && !is_joined(next));
        let run = run_around(bytes, start);
        if is_part {
            let terms = self.terms_of(&text[start..end]);
            if terms != 0 && may_have_parts(bytes, run.clone()) {
                return (end, on_hit(TextHit { start, end, terms }));
            }
            // The term may still go on behind the seam.
            if terms == 0 && !next.is_some_and(|next| next.is_ascii_alphanumeric()) {
                return (end, ControlFlow::Continue(()));
            }
        }
        let rest = run.start.max(behind)..run.end;
        (run.end, self.check_run(text, rest, on_hit))
    }
}

/// Whether the run is taken apart where it is an identifier; what has too many parts is data.
fn may_have_parts(text: &[u8], run: Range<usize>) -> bool {
    run.len() <= MAX_PARTS
        || run
            .filter(|&at| is_part_start(text, at))
            .nth(MAX_PARTS)
            .is_none()
}

/// Where the part of an identifier that begins at `start` ends: letters up to a digit, or a capital
/// that begins another part; digits up to a letter.
fn part_end(text: &[u8], start: usize) -> usize {
    let rest = &text[start..];
    let run = |from: usize, sort: fn(&u8) -> bool| {
        let more = rest[from..].iter().position(|byte| !sort(byte));
        more.map_or(rest.len(), |more| from + more)
    };
    let length = match rest.first() {
        Some(first) if first.is_ascii_digit() => run(1, u8::is_ascii_digit),
        Some(first) if first.is_ascii_uppercase() => match run(1, u8::is_ascii_uppercase) {
            1 => run(1, u8::is_ascii_lowercase),
            // The last capital of `HTTPServer` begins the next part.
            capitals if rest.get(capitals).is_some_and(u8::is_ascii_lowercase) => capitals - 1,
            capitals => capitals,
        },
        Some(_) => run(1, u8::is_ascii_lowercase),
        None => 0,
    };
    start + length
}
