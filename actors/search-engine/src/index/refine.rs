//! The last look at the best results: what a document is beside the words it holds.
//!
//! Statistics of words know nothing of names. A document that is called like the query, or holds an
//! identifier of it whole, where few do, comes before those that hold the parts, and vectors have
//! no say in that. Words of the query in the name of the file and of its folder add a share.

use rustc_hash::FxHashMap;
use search_core::analysis::{TermKind, WordAnalyzer, WordTerms, words};
use search_core::names::{NameKind, stem};
use search_core::query::ParsedQuery;

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

/// What a name adds that is written just as it was typed, case and all.
const SAME_SPELLING: f32 = 0.4;

/// What is left of the score of the words where a document is called like the query: several such
/// differ by their names first.
const WORDS_OF_NAMED: f32 = 0.3;

/// What the words of a path add where they are all words of the query.
const PATH: f32 = 0.3;

/// How much less the folder's words count than the file's.
const FOLDER: f32 = 0.5;

/// Looks at the best results of one search.
pub(super) struct Refiner<'r> {
    sources: &'r [IndexSnapshot],
    query: &'r ParsedQuery,
    outcome: &'r LexicalMatches,
    /// What each term is worth, as a share of the query.
    shares: FxHashMap<&'r str, f32>,
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

impl<'r> Refiner<'r> {
    pub(super) fn new(
        sources: &'r [IndexSnapshot],
        query: &'r ParsedQuery,
        outcome: &'r LexicalMatches,
    ) -> Self {
        let all: f32 = outcome.term_weights.iter().sum();
        let terms = query.terms().iter().zip(&outcome.term_weights);
        let shares = terms
            .filter(|&(_, &weight)| weight > 0.0)
            .map(|(term, weight)| (term.text.as_str(), weight / all));
        Self {
            sources,
            query,
            outcome,
            shares: shares.collect(),
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
        for one in &mut ranked {
            let record = self.record(&one.candidate)?;
            self.look_at(one, &record, &scale);
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
        if let Some(fusion) = one.fusion.as_mut().filter(|_| held > 0 || name > 0.0) {
            fusion.lexical_part = fusion.lexical_score / scale.lexical.max(f32::MIN_POSITIVE);
            fusion.concept_part = 0.0;
            one.candidate.score = fusion.lexical_part;
        }
        let of_words = one.candidate.score;
        one.refinement = Refinement {
            identifiers: IDENTIFIER * held as f32 * scale.unit,
            name: match name {
                0.0 => 0.0,
                name => name * scale.unit - (1.0 - WORDS_OF_NAMED) * of_words,
            },
            path: PATH * self.path_share(&record.key) * scale.unit,
        };
        one.candidate.score += one.refinement.sum();
    }

    fn name_bonus(&self, record: &DocumentRecord) -> f32 {
        let names = self.query.names().iter();
        let found = names.filter_map(|name| name.kind_of(&record.key, &record.title));
        let bonuses = found
            .map(|(kind, is_same)| name_bonus(kind) + if is_same { SAME_SPELLING } else { 0.0 });
        bonuses.fold(0.0, f32::max)
    }

    /// How much of the query stands in the name of the file, or in that of its folder.
    fn path_share(&mut self, key: &str) -> f32 {
        let (folders, _) = key.rsplit_once('/').unwrap_or(("", key));
        let folder = folders.rsplit('/').next().unwrap_or_default();
        let mut found: Vec<(String, f32)> = Vec::new();
        for (text, part) in [(stem(key), 1.0), (folder, FOLDER)] {
            for word in words(text) {
                self.analyzer.analyze(word.text, &mut self.buffer);
                for (term, kind) in self.buffer.iter() {
                    let share = self.shares.get(term).filter(|_| kind != TermKind::Exact);
                    if let Some(share) = share
                        && found.iter().all(|(known, _)| known != term)
                    {
                        found.push((term.to_owned(), share * part));
                    }
                }
            }
        }
        found.iter().map(|(_, share)| share).sum()
    }
}
