//! Which terms of a query the words of a name stand for: of a path, of what a file defines.

use rustc_hash::FxHashMap;
use search_core::analysis::{TermKind, WordAnalyzer, WordTerms, fold, identifier_parts, words};
use search_core::defined_names::NAME_SEAM;
use search_core::names::stem;
use search_core::query::ParsedQuery;

/// Letters from which on the beginning of a word stands for it, in bytes.
const MIN_BEGINNING: usize = 3;

/// How much less the folder's words count than the file's.
const FOLDER: f32 = 0.5;

/// Names of definitions that are looked at in one file.
const MAX_DEFINED: usize = 400;

/// Below 1, so that half of a match counts for more than a half.
const EASE: f32 = 0.7;

/// The terms of a query among the words of names. Names share most of their words, so that each is
/// looked at once.
pub(super) struct TermMatches<'q> {
    query: &'q ParsedQuery,
    /// What each term is worth, as a share of the query.
    shares: Vec<f32>,
    /// Words, and the place of the terms that they stand for.
    known: FxHashMap<String, usize>,
    matched: Vec<Vec<usize>>,
    analyzer: WordAnalyzer,
    buffer: WordTerms,
}

/// The parts of a word of a name; a word without parts is one.
fn parts_of(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    identifier_parts(word, &mut parts);
    if parts.is_empty() {
        return vec![word];
    }
    parts.into_iter().map(|part| &word[part]).collect()
}

/// Whether one of two words begins with the other: `serializer` is about what is serialized.
fn is_beginning(term: &str, word: &str) -> bool {
    let shorter = term.len().min(word.len());
    shorter >= MIN_BEGINNING && (term.starts_with(word) || word.starts_with(term))
}

impl<'q> TermMatches<'q> {
    /// Of a query whose terms are worth so much.
    pub(super) fn new(query: &'q ParsedQuery, weights: &[f32]) -> Self {
        let all: f32 = weights.iter().sum();
        let shares = weights
            .iter()
            .map(|weight| weight / all.max(f32::MIN_POSITIVE));
        Self {
            query,
            shares: shares.collect(),
            known: FxHashMap::default(),
            matched: Vec::new(),
            analyzer: WordAnalyzer::default(),
            buffer: WordTerms::default(),
        }
    }

    /// How much of the query stands in the name of the file, or in that of its folder.
    pub(super) fn path_share(&mut self, key: &str) -> f32 {
        let (folders, _) = key.rsplit_once('/').unwrap_or(("", key));
        let folder = folders.rsplit('/').next().unwrap_or_default();
        let mut seen: Vec<usize> = Vec::new();
        let mut share = 0.0;
        for (text, part) in [(stem(key), 1.0), (folder, FOLDER)] {
            for word in words(text) {
                let matched = self.terms_of(word.text);
                for &term in &self.matched[matched] {
                    if !seen.contains(&term) {
                        seen.push(term);
                        share += part * self.shares[term];
                    }
                }
            }
        }
        share
    }

    /// How near the best of these names comes to the query, 0 to 1: how much of the query it
    /// holds, times how much of it the query holds.
    pub(super) fn definition_share(&mut self, names: &str) -> f32 {
        let (mut best, mut seen) = (0.0_f32, Vec::new());
        if names.is_empty() {
            return best;
        }
        for name in names.split(NAME_SEAM).take(MAX_DEFINED) {
            seen.clear();
            let (mut all, mut held, mut share) = (0, 0, 0.0);
            for part in parts_of(name) {
                all += 1;
                let matched = self.terms_of(part);
                let matched = &self.matched[matched];
                held += u32::from(!matched.is_empty());
                for &term in matched {
                    if !seen.contains(&term) {
                        seen.push(term);
                        share += self.shares[term];
                    }
                }
            }
            if held > 0 {
                best = best.max(share * held as f32 / all as f32);
            }
        }
        best.powf(EASE)
    }

    /// The place of the terms of the query that a word stands for.
    fn terms_of(&mut self, word: &str) -> usize {
        if let Some(&known) = self.known.get(word) {
            return known;
        }
        self.analyzer.analyze(word, &mut self.buffer);
        let terms = self.query.terms();
        let place = |text: &str| terms.iter().position(|term| term.text == text);
        let indexed = self
            .buffer
            .iter()
            .filter(|(_, kind)| *kind != TermKind::Exact);
        let mut found: Vec<usize> = indexed.filter_map(|(text, _)| place(text)).collect();
        let mut folded = String::new();
        for part in parts_of(word) {
            folded.clear();
            fold(part, &mut folded);
            let alike = terms
                .iter()
                .enumerate()
                .filter(|(_, term)| is_beginning(&term.text, &folded));
            found.extend(alike.map(|(place, _)| place));
        }
        found.retain(|&term| self.shares[term] > 0.0);
        found.sort_unstable();
        found.dedup();
        self.matched.push(found);
        self.known.insert(word.to_owned(), self.matched.len() - 1);
        self.matched.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use search_core::query::{ParsedQuery, SearchRequest, parse};

    use super::TermMatches;

    fn query(text: &str) -> ParsedQuery {
        parse(&SearchRequest::for_text(text)).expect("a query")
    }

    /// Shares where all terms are worth the same.
    fn share(text: &str, of: impl FnOnce(&mut TermMatches<'_>) -> f32) -> f32 {
        let query = query(text);
        let weights: Vec<f32> = query.terms().iter().map(|term| term.count as f32).collect();
        of(&mut TermMatches::new(&query, &weights))
    }

    #[test]
    fn i16_a_definition_is_called_like_the_query_as_far_as_both_agree() {
        let defined = |names: &str| share("download archive", |all| all.definition_share(names));
        assert_eq!(defined(""), 0.0);
        assert_eq!(defined("parse\nRender"), 0.0);
        assert!((defined("parse\ndownload_archive") - 1.0).abs() < 1e-6);
        assert!((defined("downloadArchives") - 1.0).abs() < 1e-6);
        // Half of the query; half of the query and half of the name.
        let (half, quarter) = (defined("download"), defined("downloadPage"));
        assert!((half - 0.5_f32.powf(0.7)).abs() < 1e-6, "{half}");
        assert!((quarter - 0.25_f32.powf(0.7)).abs() < 1e-6, "{quarter}");
        assert_eq!(defined("downloadPage\ndownload"), half);
    }

    #[test]
    fn i16_words_of_files_count_more_than_those_of_folders() {
        let path = |key: &str| share("serialization errors", |all| all.path_share(key));
        assert_eq!(path("a/b.rs"), 0.0);
        assert!((path("a/serializer.rs") - 0.5).abs() < 1e-6);
        assert!((path("serializer/mod.rs") - 0.25).abs() < 1e-6);
        assert!((path("errors/serializer.rs") - 0.75).abs() < 1e-6);
    }
}
