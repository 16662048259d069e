//! The last look at the best results: what a document is beside the words it holds.
//!
//! Statistics of words know nothing of names. A document that is called like the query, or holds an
//! identifier of it whole, where few do, comes before those that hold the parts, and vectors have
//! no say in that. Words of the query in the name of the file and of its folder add a share. Tests,
//! copies and what programs write are seldom meant: their words count less, unless the query asks
//! for them.

use rustc_hash::FxHashMap;
use search_core::analysis::{TermKind, WordAnalyzer, WordTerms, fold, identifier_parts, words};
use search_core::file_roles::FileRole;
use search_core::names::{NameKind, stem};
use search_core::query::{Field, ParsedQuery};

use super::error::IndexError;
use super::lexical::LexicalMatches;
use super::pool::Candidate;
use super::record::DocumentRecord;
use super::refinement::Refinement;
use super::rerank::RankedCandidate;
use super::snapshot::IndexSnapshot;

/// Results of a lexical search that are looked at; of a fused one all.
pub(super) const REFINE_DEPTH: usize = 100;

// What is added is in units of the best lexical score: 1 is more than words can.

/// What holding an identifier adds: more than any name, which is in the text as well where it is
/// written so.
const IDENTIFIER: f32 = 3.0;

/// What being called like the query adds, by how.
const fn name_bonus(kind: NameKind) -> f32 {
    match kind {
        NameKind::File => 2.2,
        NameKind::Stem | NameKind::Title => 1.8,
        NameKind::Folder => 1.4,
    }
}

/// What defining what the query names adds; a file that is called so as well has both.
const DEFINITION: f32 = 1.6;

/// From how much of a definition on vectors have no say.
const DECIDING: f32 = 0.5;

/// What is left of that in files that the query does not ask for.
const DEFINED_ASIDE: f32 = 0.5;

/// What a name adds that is written just as it was typed, case and all.
const SAME_SPELLING: f32 = 0.4;

/// What a name adds that is the whole query, not its last part.
const WHOLE: f32 = 0.3;

/// How much of that what a qualified name lies in has (`Vec` of `Vec::push`).
const OWNER: f32 = 0.6;

/// What is left of the score of the words where a document is called like the query: several such
/// differ by their names first.
const WORDS_OF_NAMED: f32 = 0.3;

/// What the words of a path add where they are all words of the query.
const PATH: f32 = 1.0;

/// The same where the document is called like the query, which counts by itself.
const PATH_OF_NAMED: f32 = 0.3;

/// Letters from which on the beginning of a word stands for it, in bytes.
const MIN_BEGINNING: usize = 3;

/// How much less the folder's words count than the file's.
const FOLDER: f32 = 0.5;

/// What a file's role leaves of the score of its words, where the query does not ask for such
/// files.
const fn role_factor(role: FileRole) -> f32 {
    match role {
        FileRole::Main | FileRole::Documentation => 1.0,
        FileRole::Example => 0.7,
        FileRole::History => 0.3,
        FileRole::Test | FileRole::Lock => 0.1,
        FileRole::Generated | FileRole::Vendored => 0.2,
    }
}

/// The same of a manual, for somebody who asks how to do something.
const MANUAL: f32 = 1.5;

/// What is left of manuals beside code, in the same source.
const MANUAL_BESIDE_CODE: f32 = 0.85;

/// The same where somebody asks how something works, which the code says.
const MANUAL_OF_WORKINGS: f32 = 0.4;

/// Looks at the best results of one search.
pub(super) struct Refiner<'r> {
    sources: &'r [IndexSnapshot],
    query: &'r ParsedQuery,
    outcome: &'r LexicalMatches,
    /// What each term is worth, as a share of the query.
    shares: Vec<f32>,
    /// Words of paths, and the terms of the query that they stand for.
    known_words: FxHashMap<String, Vec<usize>>,
    /// Roles that the query asks for.
    named_roles: Vec<FileRole>,
    /// By source: whether anything else than manuals is among the results.
    has_code: Vec<bool>,
    analyzer: WordAnalyzer,
    buffer: WordTerms,
}

/// The highest scores, for comparison.
struct Scale {
    /// The highest lexical score.
    lexical: f32,
    /// What it is worth in the scores given: the lexical score itself, or 1 where they are fused.
    unit: f32,
}

impl Scale {
    fn of(ranked: &[RankedCandidate]) -> Self {
        let lexical = |one: &RankedCandidate| {
            let fusion = one.fusion.as_ref();
            fusion.map_or(one.candidate.score, |fusion| fusion.lexical_score)
        };
        let lexical = ranked.iter().map(lexical).fold(0.0, f32::max);
        let is_fused = ranked.iter().any(|one| one.fusion.is_some());
        Self {
            lexical,
            unit: if is_fused { 1.0 } else { lexical },
        }
    }
}

/// What was not looked at follows, with scores that are not above those before.
fn append_below(ranked: &mut Vec<RankedCandidate>, rest: Vec<RankedCandidate>) {
    let lowest = ranked.last().map_or(f32::MAX, |last| last.candidate.score);
    let highest = rest.first().map_or(0.0, |first| first.candidate.score);
    let factor = if highest > lowest {
        lowest / highest
    } else {
        1.0
    };
    ranked.extend(rest.into_iter().map(|mut one| {
        one.candidate.score *= factor;
        one
    }));
}

/// The roles that the query asks for: by a word, or all of them by a path.
fn named_roles(query: &ParsedQuery) -> Vec<FileRole> {
    let has_path = query.filters().iter().any(|one| one.field == Field::Path);
    let words = || {
        query
            .words()
            .iter()
            .filter(|word| query.is_looked_for(word))
    };
    let is_named = |role: &FileRole| has_path || words().any(|word| role.is_named_by(&word.folded));
    FileRole::ALL.into_iter().filter(is_named).collect()
}

/// The parts of a word of a path; a word without parts is one.
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

impl<'r> Refiner<'r> {
    pub(super) fn new(
        sources: &'r [IndexSnapshot],
        query: &'r ParsedQuery,
        outcome: &'r LexicalMatches,
    ) -> Self {
        let all: f32 = outcome.term_weights.iter().sum();
        let weights = outcome.term_weights.iter();
        let shares = weights.map(|weight| weight / all.max(f32::MIN_POSITIVE));
        Self {
            sources,
            query,
            outcome,
            shares: shares.collect(),
            known_words: FxHashMap::default(),
            named_roles: named_roles(query),
            has_code: Vec::new(),
            analyzer: WordAnalyzer::default(),
            buffer: WordTerms::default(),
        }
    }

    /// The results in their last order.
    pub(super) fn refine(
        &mut self,
        mut ranked: Vec<RankedCandidate>,
    ) -> Result<Vec<RankedCandidate>, IndexError> {
        let fused = ranked.iter().take_while(|one| one.fusion.is_some()).count();
        let depth = if fused > 0 { fused } else { REFINE_DEPTH };
        let rest = ranked.split_off(depth.min(ranked.len()));
        let scale = Scale::of(&ranked);
        let mut records = Vec::with_capacity(ranked.len());
        for one in &ranked {
            records.push(self.record(&one.candidate)?);
        }
        self.has_code = vec![false; self.sources.len()];
        for (one, record) in ranked.iter().zip(&records) {
            self.has_code[one.candidate.source as usize] |= record.role == FileRole::Main;
        }
        for (one, record) in ranked.iter_mut().zip(&records) {
            self.look_at(one, record, &scale);
        }
        ranked.sort_by(|a, b| b.candidate.score.total_cmp(&a.candidate.score));
        append_below(&mut ranked, rest);
        Ok(ranked)
    }

    fn record(&self, candidate: &Candidate) -> Result<DocumentRecord, IndexError> {
        let source = &self.sources[candidate.source as usize];
        source.record(candidate.segment, candidate.document)
    }

    fn look_at(&mut self, one: &mut RankedCandidate, record: &DocumentRecord, scale: &Scale) {
        let held = self.outcome.holders.count(&one.candidate);
        let name = self.name_bonus(record);
        let defined = self.outcome.definers.weight(&one.candidate);
        let decides = held > 0 || name > 0.0 || defined >= DECIDING;
        if let Some(fusion) = one.fusion.as_mut().filter(|_| decides) {
            fusion.lexical_part = fusion.lexical_score / scale.lexical.max(f32::MIN_POSITIVE);
            fusion.concept_part = 0.0;
            one.candidate.score = fusion.lexical_part;
        }
        let of_words = one.candidate.score;
        let path = if name > 0.0 { PATH_OF_NAMED } else { PATH };
        let path = path * self.path_share(&record.key) * scale.unit;
        // Identifiers and names decide, whatever the file is for; among them it orders.
        let of_words_and_path = path + of_words * if name > 0.0 { WORDS_OF_NAMED } else { 1.0 };
        let role = self.role_factor(record.role, one.candidate.source);
        let aside = if role < DEFINED_ASIDE {
            DEFINED_ASIDE
        } else {
            1.0
        };
        one.refinement = Refinement {
            definition: DEFINITION * defined * aside * scale.unit,
            identifiers: IDENTIFIER * held as f32 * scale.unit,
            name: match name {
                0.0 => 0.0,
                name => name * scale.unit - (1.0 - WORDS_OF_NAMED) * of_words,
            },
            path,
            role: (role - 1.0) * of_words_and_path,
            role_of: record.role,
        };
        one.candidate.score += one.refinement.sum();
    }

    fn role_factor(&self, role: FileRole, source: u32) -> f32 {
        match role {
            FileRole::Documentation if self.query.asks_how() => MANUAL,
            FileRole::Documentation if self.has_code[source as usize] => {
                if self.query.asks_how_it_works() {
                    MANUAL_OF_WORKINGS
                } else {
                    MANUAL_BESIDE_CODE
                }
            }
            role if self.named_roles.contains(&role) => 1.0,
            role => role_factor(role),
        }
    }

    fn name_bonus(&self, record: &DocumentRecord) -> f32 {
        let names = self.query.names().iter();
        let bonuses = names.filter_map(|name| {
            let (kind, is_same) = name.kind_of(&record.key, &record.title)?;
            let mut bonus = name_bonus(kind);
            if is_same {
                bonus += SAME_SPELLING;
            }
            if name.within.is_empty() {
                bonus += WHOLE;
            }
            Some(if name.is_owner { OWNER * bonus } else { bonus })
        });
        bonuses.fold(0.0, f32::max)
    }

    /// How much of the query stands in the name of the file, or in that of its folder.
    fn path_share(&mut self, key: &str) -> f32 {
        let (folders, _) = key.rsplit_once('/').unwrap_or(("", key));
        let folder = folders.rsplit('/').next().unwrap_or_default();
        let mut seen: Vec<usize> = Vec::new();
        let mut share = 0.0;
        for (text, part) in [(stem(key), 1.0), (folder, FOLDER)] {
            for word in words(text) {
                for term in self.terms_of(word.text) {
                    if !seen.contains(&term) {
                        seen.push(term);
                        share += part * self.shares[term];
                    }
                }
            }
        }
        share
    }

    /// The terms of the query that a word of a path stands for. Paths share most of their words.
    fn terms_of(&mut self, word: &str) -> Vec<usize> {
        if let Some(known) = self.known_words.get(word) {
            return known.clone();
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
        self.known_words.insert(word.to_owned(), found.clone());
        found
    }
}
