//! Finding a query's words in much text, fast.
//!
//! A vectorised search for the beginnings of the terms goes over the text first; only a word that
//! begins like a term is analysed, and each form of it once.

use std::ops::ControlFlow;

use aho_corasick::packed;
use rustc_hash::FxHashMap;

use super::Hit;
use crate::analysis::words;
use crate::query::{ParsedQuery, TermMatcher};

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
        let mut masks: Vec<u64> = (0..query.terms().len()).map(bit).collect();
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
        Self {
            matcher: query.matcher(),
            needles: searcher(query),
            masks,
            known: FxHashMap::default(),
            folded: Vec::new(),
        }
    }

    /// The bits of all terms of the query.
    #[must_use]
    pub fn all_terms(&self) -> u64 {
        self.masks.iter().fold(0, |all, mask| all | mask)
    }

    /// Whether the query looks for nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.matcher.is_empty()
    }

    /// Hands the hits of `text` to `on_hit` in ascending order, until it breaks.
    pub fn find(&mut self, text: &str, mut on_hit: impl FnMut(Hit) -> ControlFlow<()>) {
        if self.is_empty() {
            return;
        }
        let mut found = false;
        let _ = self.find_needles(text, &mut |hit| {
            found = true;
            on_hit(hit)
        });
        if !found && !text.is_ascii() {
            // Accents at the start of a word hide it from the needles.
            let _ = self.find_wide(text, &mut on_hit);
        }
    }

    /// All hits of a text.
    pub fn hits(&mut self, text: &str) -> Vec<Hit> {
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
        on_hit: &mut dyn FnMut(Hit) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(needles) = self.needles.take() else {
            return self.find_each(text, on_hit);
        };
        let mut folded = std::mem::take(&mut self.folded);
        let (mut at, mut behind) = (0, 0);
        let mut flow = ControlFlow::Continue(());
        while at < text.len() && flow.is_continue() {
            let end = piece_end(text.as_bytes(), at);
            folded.clear();
            folded.extend_from_slice(&text.as_bytes()[at..end]);
            folded.make_ascii_lowercase();
            for found in needles.find_iter(&folded) {
                let start = at + found.start();
                if start < behind || !begins_part(text.as_bytes(), start) {
                    continue;
                }
                let run = run_around(text.as_bytes(), start);
                behind = run.end;
                flow = self.check_run(text, run, on_hit);
                if flow.is_break() {
                    break;
                }
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
        on_hit: &mut dyn FnMut(Hit) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // A cut at `MAX_RUN` may have split a character.
        let start = text.ceil_char_boundary(run.start);
        let end = text.floor_char_boundary(run.end);
        self.find_each_from(text.get(start..end).unwrap_or_default(), start, on_hit)
    }

    fn find_each(
        &mut self,
        text: &str,
        on_hit: &mut dyn FnMut(Hit) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.find_each_from(text, 0, on_hit)
    }

    fn find_each_from(
        &mut self,
        text: &str,
        offset: usize,
        on_hit: &mut dyn FnMut(Hit) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for word in words(text) {
            let terms = self.terms_of(word.text);
            if terms != 0 {
                on_hit(Hit {
                    start: offset + word.start,
                    end: offset + word.end(),
                    terms,
                })?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Only the words that are not plain ASCII; signs beyond ASCII cost next to nothing.
    fn find_wide(
        &mut self,
        text: &str,
        on_hit: &mut dyn FnMut(Hit) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(found) = bytes[at..].iter().position(|byte| !byte.is_ascii()) {
            let start = at + found;
            let character = text[start..].chars().next().unwrap_or_default();
            at = start + character.len_utf8();
            if character.is_alphanumeric() {
                let run = run_around(bytes, start);
                at = text.ceil_char_boundary(run.end.max(at));
                self.check_run(text, run, on_hit)?;
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

/// The bit of a term; terms beyond the 64th share the last one.
fn bit(term: usize) -> u64 {
    1 << term.min(63)
}

fn searcher(query: &ParsedQuery) -> Option<packed::Searcher> {
    let mut needles: Vec<Vec<u8>> = query
        .terms()
        .iter()
        .flat_map(|term| needles(&term.text))
        .collect();
    for word in query.words().iter().filter(|word| !word.surface.is_ascii()) {
        needles.extend(self::needles(&word.surface.to_lowercase()));
    }
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
    let start: String = term.chars().take(4).collect();
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
fn begins_part(text: &[u8], at: usize) -> bool {
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
    at - before..at + behind
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{SearchRequest, parse};
    use proptest::prelude::*;

    fn finder(query: &str) -> TermFinder {
        TermFinder::new(&parse(&SearchRequest::for_text(query)).expect("the query is short"))
    }

    fn found<'t>(query: &str, text: &'t str) -> Vec<&'t str> {
        finder(query)
            .hits(text)
            .iter()
            .map(|hit| &text[hit.start..hit.end])
            .collect()
    }

    #[test]
    fn forms_of_words_and_parts_of_identifiers_are_found() {
        for (query, text, expected) in [
            (
                "allocate memory",
                "Memory allocation; memories ALLOCATED",
                &["Memory", "allocation", "memories", "ALLOCATED"][..],
            ),
            ("hope", "hoping and hopes, shop", &["hoping", "hopes"]),
            (
                "port",
                "support sPort port_nr airPort exports",
                &["sPort", "port_nr", "airPort"],
            ),
            (
                "cache",
                "kmem_cache_alloc getCacheSize",
                &["kmem_cache_alloc", "getCacheSize"],
            ),
            ("память", "Память и ПАМЯТЬ", &["Память", "ПАМЯТЬ"]),
            ("éclair", "Éclair, eclair", &["Éclair", "eclair"]),
            ("eclair", "un éclair", &["éclair"]),
            ("漢", "a漢字", &["漢"]),
            ("c", "a c b", &["c"]),
            ("", "text", &[]),
        ] {
            assert_eq!(found(query, text), expected, "{query}");
        }
    }

    #[test]
    fn an_identifier_stands_for_its_parts() {
        let mut finder = finder("getUserName");
        let hits = finder.hits("getUserName user");
        assert_eq!(hits[0].terms, finder.all_terms());
        assert_eq!(hits[1].terms.count_ones(), 1);
    }

    #[test]
    fn the_search_stops_when_told() {
        let mut count = 0;
        finder("a1").find(&"a1 ".repeat(10_000), |_| {
            count += 1;
            if count == 3 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        assert_eq!(count, 3);
    }

    #[test]
    fn words_at_the_seams_of_pieces_are_found_once() {
        let text = "needle filler ".repeat(5000);
        assert_eq!(found("needle", &text).len(), 5000);
        let joined = format!("{}needle", "x".repeat(3 * PIECE) + " ");
        assert_eq!(found("needle", &joined), ["needle"]);
    }

    proptest! {
        #[test]
        fn hits_are_words_of_the_text(query in "[a-zA-Zé漢_0-9 ]{0,20}", text in "(\\PC|[a-zé漢_A-Z ]){0,120}") {
            let mut end = 0;
            for hit in finder(&query).hits(&text) {
                prop_assert!(hit.start >= end && hit.start < hit.end && hit.terms != 0);
                prop_assert!(text.get(hit.start..hit.end).is_some());
                end = hit.end;
            }
        }

        #[test]
        fn no_word_that_begins_like_its_term_is_missed(query in "[a-zA-Z]{2,9}( [a-z]{2,9})?", text in "[a-zA-Z_0-9 ]{0,80}") {
            let parsed = parse(&SearchRequest::for_text(&query)).expect("the query is short");
            let text = format!("{text} {query} {}s", query.to_uppercase());
            let matcher = parsed.matcher();
            let hits: Vec<_> = TermFinder::new(&parsed).hits(&text).iter().map(|hit| hit.start).collect();
            for word in words(&text) {
                let term = matcher.matches(word.text).map(|term| parsed.terms()[term].text.as_str());
                let begins = term.is_some_and(|term| word.text.to_lowercase().as_bytes().starts_with(&needles(term)[0]));
                prop_assert!(!begins || hits.contains(&word.start), "{}", word.text);
                prop_assert!(term.is_some() || !hits.contains(&word.start), "{}", word.text);
            }
        }
    }
}
