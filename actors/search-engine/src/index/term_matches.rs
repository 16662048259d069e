//! Which terms of a query the words of a name stand for: of a path, of what a file defines.

use std::ops::Range;

use rustc_hash::FxHashMap;
use search_core::analysis::{TermKind, WordAnalyzer, WordTerms, fold, identifier_parts, words};
use search_core::defined_names::NAME_SEAM;
use search_core::names::{is_called_by_folder, is_number, stem};
use search_core::query::ParsedQuery;

use super::letter_pairs::LetterPairs;

/// Letters from which on the beginning of a word stands for it.
const MIN_BEGINNING: usize = 3;

/// How much less the folder's words count than the file's, by rarity.
const FOLDER: f32 = 0.5;

/// What the best names of definitions count, best first: one says what a file is about, more that
/// it is about nothing else.
const DEFINED_SHARES: [f32; 3] = [1.0, 0.25, 0.125];

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
    /// What terms with a share begin with.
    pairs: LetterPairs,
    /// Words, and the place of the terms that they stand for.
    known: FxHashMap<String, usize>,
    /// Terms by place; at [`NO_TERMS`] are none.
    matched: Vec<Vec<usize>>,
    analyzer: WordAnalyzer,
    buffer: WordTerms,
    parts: Vec<Range<usize>>,
}

/// The place of words that stand for no term.
const NO_TERMS: usize = 0;

/// How the names of a file and of its folder go with a query, each 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct PathMatch {
    /// How much of the query, by rarity, stands in the file's name, and half of it in the folder's.
    pub(super) by_rarity: f32,
    /// How near the file's name comes to the query, as [`DefinedMatch::share`] says it.
    pub(super) near: f32,
    /// How much of the query stands in the file's name, each word counting alike.
    pub(super) of_file: f32,
    /// The same of the folder's name, without what stands in the file's.
    pub(super) of_folder: f32,
    /// How much of the file's name stands in the query.
    pub(super) held: f32,
}

/// How what a file defines goes with a query.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct DefinedMatch {
    /// How near the names come to the query, the best first: how much of the query each holds,
    /// times how much of it the query holds.
    pub(super) share: f32,
    /// How many names hold any of the query's words.
    pub(super) alike: usize,
}

/// The best of some numbers, best first.
pub(super) fn best_of<const N: usize>(numbers: impl Iterator<Item = f32>) -> [f32; N] {
    let mut best = [0.0_f32; N];
    for mut number in numbers {
        for place in &mut best {
            if number > *place {
                std::mem::swap(place, &mut number);
            }
        }
    }
    best
}

/// The parts of a word of a name, in place of what is there; a word without parts is one.
fn parts_of(word: &str, parts: &mut Vec<Range<usize>>) {
    identifier_parts(word, parts);
    if parts.is_empty() {
        parts.push(0..word.len());
    }
}

/// Whether one of two words begins with the other: `serializer` is about what is serialized.
fn is_beginning(term: &str, word: &str) -> bool {
    let (shorter, longer) = match term.len() <= word.len() {
        true => (term, word),
        false => (word, term),
    };
    longer.starts_with(shorter) && shorter.chars().nth(MIN_BEGINNING - 1).is_some()
}

impl<'q> TermMatches<'q> {
    /// Of a query whose terms are worth so much.
    pub(super) fn new(query: &'q ParsedQuery, weights: &[f32]) -> Self {
        let all: f32 = weights.iter().sum();
        let shares = weights
            .iter()
            .map(|weight| weight / all.max(f32::MIN_POSITIVE));
        let shares: Vec<f32> = shares.collect();
        let counting = query.terms().iter().zip(&shares);
        let counting = counting.filter(|(_, share)| **share > 0.0);
        Self {
            query,
            pairs: LetterPairs::from_terms(counting.map(|(term, _)| term.text.as_str())),
            shares,
            known: FxHashMap::default(),
            matched: vec![Vec::new()],
            analyzer: WordAnalyzer::default(),
            buffer: WordTerms::default(),
            parts: Vec::new(),
        }
    }

    /// How the path of a document goes with the query.
    pub(super) fn path(&mut self, key: &str) -> PathMatch {
        let mut folders = key.rsplit('/').skip(1);
        let (mut file, mut folder) = (stem(key), folders.next().unwrap_or_default());
        if is_called_by_folder(file) && !folder.is_empty() {
            (file, folder) = (folder, folders.next().unwrap_or_default());
        }
        let mut of_file = Vec::new();
        let held = self.read_path_name(file, &mut of_file);
        let mut all = of_file.clone();
        self.read_path_name(folder, &mut all);
        let of_folder = &all[of_file.len()..];
        let terms = self.shares.iter().filter(|share| **share > 0.0).count();
        let alike = |terms_of: &[usize]| terms_of.len() as f32 / terms.max(1) as f32;
        let by_rarity =
            |terms_of: &[usize]| -> f32 { terms_of.iter().map(|&term| self.shares[term]).sum() };
        PathMatch {
            by_rarity: by_rarity(&of_file) + FOLDER * by_rarity(of_folder),
            near: (held * by_rarity(&of_file)).powf(EASE),
            of_file: alike(&of_file),
            of_folder: alike(of_folder),
            held,
        }
    }

    /// How the names of what a file defines go with the query.
    pub(super) fn definitions(&mut self, names: &str) -> DefinedMatch {
        if names.is_empty() {
            return DefinedMatch::default();
        }
        let (mut seen, mut alike) = (Vec::new(), 0);
        let shares = names.split(NAME_SEAM).take(MAX_DEFINED).map(|name| {
            if !self.pairs.may_hold(name) {
                return 0.0;
            }
            seen.clear();
            let held = self.read_name(name, &mut seen);
            alike += usize::from(!seen.is_empty());
            held * seen.iter().map(|&term| self.shares[term]).sum::<f32>()
        });
        let best: [f32; DEFINED_SHARES.len()] = best_of(shares);
        let eased = best.iter().map(|share| share.powf(EASE));
        let share = eased
            .zip(DEFINED_SHARES)
            .map(|(one, share)| one * share)
            .sum();
        DefinedMatch { share, alike }
    }

    /// As [`Self::read_name`]; an identifier of the query that the name holds whole counts, too. A
    /// number alone is the name of a row, not what the query speaks of.
    fn read_path_name(&mut self, name: &str, seen: &mut Vec<usize>) -> f32 {
        if is_number(name) {
            return 0.0;
        }
        for word in words(name) {
            self.add_terms(word.text, seen);
        }
        self.read_name(name, seen)
    }

    /// Adds the terms that the parts of a name stand for, each once; gives how many of these parts
    /// stand for any, as a share.
    fn read_name(&mut self, name: &str, seen: &mut Vec<usize>) -> f32 {
        let (mut all, mut held) = (0_u16, 0_u16);
        let mut parts = std::mem::take(&mut self.parts);
        for word in words(name) {
            parts_of(word.text, &mut parts);
            for part in &parts {
                all += 1;
                held += u16::from(self.add_terms(&word.text[part.clone()], seen));
            }
        }
        self.parts = parts;
        f32::from(held) / f32::from(all.max(1))
    }

    /// Adds the terms that a word stands for, each once; whether there are any.
    fn add_terms(&mut self, word: &str, seen: &mut Vec<usize>) -> bool {
        let matched = self.terms_of(word);
        let matched = &self.matched[matched];
        for &term in matched {
            if !seen.contains(&term) {
                seen.push(term);
            }
        }
        !matched.is_empty()
    }

    /// The place of the terms of the query that a word stands for.
    fn terms_of(&mut self, word: &str) -> usize {
        if !self.pairs.may_hold(word) {
            return NO_TERMS;
        }
        if let Some(&known) = self.known.get(word) {
            return known;
        }
        let found = self.found_for(word);
        let place = if found.is_empty() {
            NO_TERMS
        } else {
            self.matched.push(found);
            self.matched.len() - 1
        };
        self.known.insert(word.to_owned(), place);
        place
    }

    /// The terms of the query that a word stands for, in their order.
    fn found_for(&mut self, word: &str) -> Vec<usize> {
        self.analyzer.analyze(word, &mut self.buffer);
        let terms = self.query.terms();
        let place = |text: &str| terms.iter().position(|term| term.text == text);
        let indexed = self
            .buffer
            .iter()
            .filter(|(_, kind)| *kind != TermKind::Exact);
        let mut found: Vec<usize> = indexed.filter_map(|(text, _)| place(text)).collect();
        let (mut folded, mut parts) = (String::new(), Vec::new());
        parts_of(word, &mut parts);
        for part in parts {
            folded.clear();
            fold(&word[part], &mut folded);
            let alike = terms
                .iter()
                .enumerate()
                .filter(|(_, term)| is_beginning(&term.text, &folded));
            found.extend(alike.map(|(place, _)| place));
        }
        found.retain(|&term| self.shares[term] > 0.0);
        found.sort_unstable();
        found.dedup();
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use search_core::query::{ParsedQuery, SearchRequest, parse};

    use super::{PathMatch, TermMatches};

    proptest! {
        #[test]
        fn i16_a_word_that_is_not_looked_at_stands_for_no_term(
            text in "[a-zA-Z]{1,9}( [a-zA-Z0-9_é]{1,9}){0,3}",
            word in "[a-zA-Z]{1,12}(ing|ies|s|ly|'s|2|_a|é)?",
        ) {
            expect_as_looked_at(&text, &word)?;
        }

        #[test]
        fn i16_few_letters_of_two_words_are_compared_like_many(
            text in "[a-c]{1,3}(y|ed|ing|ies|s|e|[A-C]|1)?( [a-cdlty0-1_]{1,4})?",
            word in "[a-c_]{0,2}[A-C]{0,2}[a-cdlty0-1]{1,3}(y|ed|ing|ies|s|ly|e)?",
        ) {
            expect_as_looked_at(&text, &word)?;
        }

        #[test]
        fn i16_names_that_are_not_looked_at_hold_no_term(
            text in "[a-z]{1,4}( [a-zA-Z0-9_]{1,4}){0,2}",
            name in "[a-zA-Z]{1,4}([:._#+é' ]{0,2}[a-zA-Z0-9]{1,4}){0,4}",
        ) {
            let query = query(&text);
            let weights = vec![1.0; query.terms().len()];
            let mut all = TermMatches::new(&query, &weights);
            let mut seen = Vec::new();
            let held = all.read_name(&name, &mut seen);
            let may_hold = all.pairs.may_hold(&name);
            prop_assert!(may_hold || (held, seen.len()) == (0.0, 0), "{} in {}", text, name);
        }
    }

    /// Words that are not looked at stand for no term.
    fn expect_as_looked_at(text: &str, word: &str) -> Result<(), TestCaseError> {
        let query = query(text);
        let weights = vec![1.0; query.terms().len()];
        let mut all = TermMatches::new(&query, &weights);
        let found = all.found_for(word);
        let place = all.terms_of(word);
        prop_assert_eq!(&all.matched[place], &found, "{} in {}", text, word);
        Ok(())
    }

    #[test]
    fn i16_stems_that_begin_otherwise_than_their_words_are_found() {
        for (text, word) in [("die", "dying"), ("lying", "tell_lying"), ("ties", "tying")] {
            expect_as_looked_at(text, word).expect("both ways agree");
            let query = query(text);
            let weights = vec![1.0; query.terms().len()];
            assert!(
                !TermMatches::new(&query, &weights)
                    .found_for(word)
                    .is_empty(),
                "{word}"
            );
        }
    }

    fn query(text: &str) -> ParsedQuery {
        parse(&SearchRequest::for_text(text)).expect("a query")
    }

    /// Shares where all terms are worth the same.
    fn share<T>(text: &str, of: impl FnOnce(&mut TermMatches<'_>) -> T) -> T {
        let query = query(text);
        let weights: Vec<f32> = query.terms().iter().map(|term| term.count as f32).collect();
        of(&mut TermMatches::new(&query, &weights))
    }

    #[test]
    fn i16_a_definition_is_called_like_the_query_as_far_as_both_agree() {
        let defined = |names: &str| share("download archive", |all| all.definitions(names).share);
        let alike = |names: &str| share("download archive", |all| all.definitions(names).alike);
        assert_eq!(alike(""), 0);
        assert_eq!(alike("parse\ndownload\narchivePage\ndownload_archive"), 3);
        assert_eq!(defined(""), 0.0);
        assert_eq!(defined("parse\nRender"), 0.0);
        assert!((defined("parse\ndownload_archive") - 1.0).abs() < 1e-6);
        assert!((defined("downloadArchives") - 1.0).abs() < 1e-6);
        // Half of the query; half of the query and half of the name.
        let (half, quarter) = (defined("download"), defined("downloadPage"));
        assert!((half - 0.5_f32.powf(0.7)).abs() < 1e-6, "{half}");
        assert!((quarter - 0.25_f32.powf(0.7)).abs() < 1e-6, "{quarter}");
        let both = defined("downloadPage\ndownload");
        assert!((both - half - 0.25 * quarter).abs() < 1e-6, "{both}");
    }

    #[test]
    fn i16_three_letters_of_any_script_are_a_beginning() {
        for (term, word, expected) in [
            ("serializer", "serialization", false),
            ("serial", "serialization", true),
            ("serialization", "ser", true),
            ("se", "serialization", false),
            ("дом", "домашний", true),
            ("до", "домашний", false),
            ("가", "가격", false),
            ("電", "電気", false),
        ] {
            assert_eq!(super::is_beginning(term, word), expected, "{term} {word}");
        }
    }

    #[test]
    fn i16_words_of_files_count_more_than_those_of_folders() {
        let path = |key: &str| share("serialization errors", |all| all.path(key));
        assert_eq!(path("a/b.rs"), PathMatch::default());
        let numbers = share("41 errors of 7", |all| {
            [all.path("41"), all.path("41/7.txt")]
        });
        assert_eq!(numbers, [PathMatch::default(); 2]);
        for (key, by_rarity, of_file, of_folder, held) in [
            ("a/serializer.rs", 0.5, 0.5, 0.0, 1.0),
            // Called by its folder.
            ("serializer/mod.rs", 0.5, 0.5, 0.0, 1.0),
            ("serializer/parts.rs", 0.25, 0.0, 0.5, 0.0),
            ("errors/serializer.rs", 0.75, 0.5, 0.5, 1.0),
            (
                "serializer/serializer_of_pages.rs",
                0.5,
                0.5,
                0.0,
                1.0 / 3.0,
            ),
        ] {
            let found = path(key);
            let near = f32::powf(of_file * held, 0.7);
            let expected = [by_rarity, near, of_file, of_folder, held];
            let found = [
                found.by_rarity,
                found.near,
                found.of_file,
                found.of_folder,
                found.held,
            ];
            let is_near = found
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(is_near, "{key}: {found:?}");
        }
    }
}
