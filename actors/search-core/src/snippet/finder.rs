//! Finding a query's words in much text, fast.
//!
//! A vectorised search for the beginnings of the terms goes over the text first; only a word that
//! begins like a term is analysed, and each form of it once.

mod non_ascii;
mod non_ascii_words;
mod scan;

use std::ops::ControlFlow;

use aho_corasick::packed;
use rustc_hash::FxHashMap;

use self::non_ascii_words::WideWords;
use super::TextHit;
use crate::analysis::words;
use crate::query::{ParsedQuery, QueryTerm, TermMatcher};

/// Longest beginning of a term that is searched for, in bytes.
const MAX_NEEDLE: usize = 8;

/// Text is folded and searched in pieces of this size, so that stopping early saves the rest.
const PIECE: usize = 8 * 1024;

/// Longest run of word characters that is looked at; longer ones are data.
const MAX_RUN: usize = 256;

/// Forms of words that are remembered before the memory is emptied.
const MAX_KNOWN: usize = 4096;

/// Finds the words of one query in texts. Keeps buffers: use one for many texts.
pub struct TermFinder {
    matcher: TermMatcher,
    /// `None` where the processor has no vector unit that serves: every word is analysed then.
    needles: Option<packed::Searcher>,
    /// By term: the bits of the term and of the parts it stands for.
    masks: Vec<u64>,
    /// Words seen and the terms they stand for, 0 for none.
    known: FxHashMap<Box<str>, u64>,
    folded: Vec<u8>,
}

impl std::fmt::Debug for TermFinder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TermFinder")
            .field("matcher", &self.matcher)
            .finish_non_exhaustive()
    }
}

impl TermFinder {
    /// A finder for the words of a query.
    #[must_use]
    pub fn new(query: &ParsedQuery) -> Self {
        let known = query.terms().len() + query.prefixes().len();
        let mut masks: Vec<u64> = (0..known).map(bit).collect();
        for word in query.words() {
            let parts = word
                .parts
                .iter()
                .map(|&part| bit(part))
                .fold(0, |all, part| all | part);
            if let Some(mask) = masks.get_mut(word.whole) {
                *mask |= parts;
            }
        }
        for (mask, term) in masks.iter_mut().zip(query.terms()) {
            if term.count == 0 {
                *mask = 0;
            }
        }
        let wide = query
            .words()
            .iter()
            .filter(|word| query.is_looked_for(word));
        let wide = wide.filter(|word| !word.surface.is_ascii());
        let mut surfaces: Vec<String> = wide.map(|word| word.surface.to_lowercase()).collect();
        for (mask, prefix) in masks[query.terms().len()..]
            .iter_mut()
            .zip(query.prefixes())
        {
            if prefix.scores {
                // A needle leaves off the last letter, which may be a stem's; here none is.
                surfaces.push(format!("{}*", prefix.folded));
            } else {
                *mask = 0;
            }
        }
        Self {
            matcher: query.matcher(),
            needles: searcher(query.terms(), &surfaces),
            masks,
            known: FxHashMap::default(),
            folded: Vec::new(),
        }
    }

    /// A finder for terms; `matcher` is that of the same terms.
    pub(crate) fn from_terms(matcher: TermMatcher, terms: &[QueryTerm]) -> Self {
        Self {
            matcher,
            needles: searcher(terms, &[]),
            masks: (0..terms.len()).map(bit).collect(),
            known: FxHashMap::default(),
            folded: Vec::new(),
        }
    }

    /// The bits of all terms of the query.
    #[must_use]
    pub fn all_terms(&self) -> u64 {
        self.masks.iter().fold(0, |all, mask| all | mask)
    }

    /// The bits of a term of the query, and of those it stands for.
    #[must_use]
    pub fn bits_of(&self, term: usize) -> u64 {
        self.masks.get(term).copied().unwrap_or(0)
    }

    /// Whether the query looks for nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.matcher.is_empty()
    }

    /// Hands the hits of `text` to `on_hit` in ascending order, until it breaks.
    pub fn find(&mut self, text: &str, mut on_hit: impl FnMut(TextHit) -> ControlFlow<()>) {
        if self.is_empty() {
            return;
        }
        let mut found = false;
        let _ = self.find_needles(text, &mut |hit| {
            found = true;
            on_hit(hit)
        });
        if !found && !text.is_ascii() {
            // Words of other scripts may be written in another way than typed.
            let _ = self.find_wide(text, 0..text.len(), WideWords::ALL, &mut on_hit);
        }
    }

    /// All hits of a text.
    pub fn hits(&mut self, text: &str) -> Vec<TextHit> {
        let mut hits = Vec::new();
        self.find(text, |hit| {
            hits.push(hit);
            ControlFlow::Continue(())
        });
        hits
    }

    fn find_needles(
        &mut self,
        text: &str,
        on_hit: &mut dyn FnMut(TextHit) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(needles) = self.needles.take() else {
            return self.find_each(text, on_hit);
        };
        let mut folded = std::mem::take(&mut self.folded);
        let (mut at, mut behind) = (0, 0);
        let mut gathered = Vec::new();
        let mut flow = ControlFlow::Continue(());
        while at < text.len() && flow.is_continue() {
            let end = piece_end(text.as_bytes(), at);
            folded.clear();
            folded.extend_from_slice(&text.as_bytes()[at..end]);
            folded.make_ascii_lowercase();
            let is_ascii = folded.is_ascii();
            for found in needles.find_iter(&folded) {
                let start = at + found.start();
                if start < behind || !is_part_start(text.as_bytes(), start) {
                    continue;
                }
                let run = run_around(text.as_bytes(), start);
                behind = run.end;
                flow = if is_ascii {
                    self.check_run(text, run, on_hit)
                } else {
                    self.check_run(text, run, &mut collect_into(&mut gathered))
                };
                if flow.is_break() {
                    break;
                }
            }
            if !is_ascii {
                self.add_accented(text, at..end, &needles, &mut gathered);
                flow = gathered.drain(..).try_for_each(&mut *on_hit);
            }
            at = end;
        }
        (self.needles, self.folded) = (Some(needles), folded);
        flow
    }

    /// Analyses the words of one run of word characters.
    fn check_run(
        &mut self,
        text: &str,
        run: std::ops::Range<usize>,
        on_hit: &mut dyn FnMut(TextHit) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // A cut at `MAX_RUN` may have split a character.
        let start = text.ceil_char_boundary(run.start);
        let end = text.floor_char_boundary(run.end);
        self.find_each_from(text.get(start..end).unwrap_or_default(), start, on_hit)
    }

    fn find_each(
        &mut self,
        text: &str,
        on_hit: &mut dyn FnMut(TextHit) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.find_each_from(text, 0, on_hit)
    }

    fn find_each_from(
        &mut self,
        text: &str,
        offset: usize,
        on_hit: &mut dyn FnMut(TextHit) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for word in words(text) {
            let terms = self.terms_of(word.text);
            if terms != 0 {
                on_hit(TextHit {
                    start: offset + word.start,
                    end: offset + word.end(),
                    terms,
                })?;
            }
        }
        ControlFlow::Continue(())
    }

    /// The terms a word stands for.
    fn terms_of(&mut self, word: &str) -> u64 {
        if let Some(&terms) = self.known.get(word) {
            return terms;
        }
        let found = self.matcher.matches(word);
        let terms = found
            .and_then(|term| self.masks.get(term))
            .copied()
            .unwrap_or_default();
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(word.into(), terms);
        terms
    }
}

/// A receiver of hits that keeps them.
fn collect_into(into: &mut Vec<TextHit>) -> impl FnMut(TextHit) -> ControlFlow<()> {
    |hit| {
        into.push(hit);
        ControlFlow::Continue(())
    }
}

/// The bit of a term; terms beyond the 64th share the last one.
fn bit(term: usize) -> u64 {
    1 << term.min(63)
}

fn searcher(terms: &[QueryTerm], surfaces: &[String]) -> Option<packed::Searcher> {
    let mut needles: Vec<Vec<u8>> = terms
        .iter()
        .filter(|term| term.count > 0)
        .map(|term| term.text.as_str())
        .chain(surfaces.iter().map(String::as_str))
        .flat_map(needles)
        .collect();
    needles.sort();
    needles.dedup();
    let mut builder = packed::Config::new()
        .match_kind(packed::MatchKind::LeftmostLongest)
        .builder();
    builder.extend(needles);
    builder.build()
}

/// Beginnings of the words that can give a term. A stem may end otherwise than its words (`memori`,
/// `memory`; `hope`, `hoping`), hence one letter less. Case beyond ASCII is spelt out.
fn needles(term: &str) -> Vec<Vec<u8>> {
    if term.is_ascii() {
        let length = (term.len().saturating_sub(1)).clamp(term.len().min(2), MAX_NEEDLE);
        return vec![term.as_bytes()[..length].to_vec()];
    }
    // What marks a prefix is no letter of it.
    let start: String = term.trim_end_matches('*').chars().take(4).collect();
    let mut rest = start.chars();
    let capital = rest
        .next()
        .map(|first| first.to_uppercase().chain(rest).collect::<String>());
    let forms = [Some(start.to_uppercase()), capital, Some(start)];
    forms
        .into_iter()
        .flatten()
        .map(|form| {
            let mut bytes = form.into_bytes();
            bytes.make_ascii_lowercase();
            bytes
        })
        .collect()
}

/// Where a piece that begins at `at` ends: behind a white space, so that no word is split.
fn piece_end(text: &[u8], at: usize) -> usize {
    let wanted = at + PIECE;
    if wanted >= text.len() {
        return text.len();
    }
    let gap = |byte: &u8| byte.is_ascii_whitespace();
    let length = text[at..wanted].iter().rposition(gap);
    length.map_or_else(
        // A piece without white space: take the next one too.
        || {
            text[wanted..]
                .iter()
                .position(gap)
                .map_or(text.len(), |more| wanted + more + 1)
        },
        |length| at + length + 1,
    )
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Whether a word or a part of an identifier can begin at `at`.
fn is_part_start(text: &[u8], at: usize) -> bool {
    let Some(&before) = at.checked_sub(1).and_then(|before| text.get(before)) else {
        return true;
    };
    let here = text[at];
    if !before.is_ascii_alphanumeric() || here >= 0x80 {
        return true;
    }
    let capital = here.is_ascii_uppercase()
        && (!before.is_ascii_uppercase() || text.get(at + 1).is_some_and(u8::is_ascii_lowercase));
    capital || before.is_ascii_digit() != here.is_ascii_digit()
}

/// The run of word characters around `at`, cut at [`MAX_RUN`] bytes to each side.
fn run_around(text: &[u8], at: usize) -> std::ops::Range<usize> {
    let before = text[..at]
        .iter()
        .rev()
        .take(MAX_RUN)
        .take_while(|&&byte| is_word_byte(byte))
        .count();
    let behind = text[at..]
        .iter()
        .take(MAX_RUN)
        .take_while(|&&byte| is_word_byte(byte))
        .count();
    // A sign may belong to the word: `C++`, `c#`.
    let signs = text[at + behind..]
        .iter()
        .take(2)
        .take_while(|byte| matches!(byte, b'+' | b'#'))
        .count();
    at - before..at + behind + signs
}

#[cfg(test)]
mod tests;
