//! The second look of ServiceGraph: the best lexical results, and documents near the query without
//! its words, in one order.
//!
//! What nearness is, is not known here: whoever has the vectors of the sources is a [`Reranker`].

use std::cell::RefCell;

use rustc_hash::{FxHashMap, FxHashSet};
use search_core::query::ParsedQuery;

use super::error::IndexError;
use super::lexical::LexicalMatches;
use super::missing_terms::LackedTerms;
use super::pool::ScoredDocument;
use super::records::RecordReader;
use super::refinement::Refinement;
use super::snapshot::IndexSnapshot;

/// Lexical results that are ranked again.
pub const RERANK_DEPTH: usize = 200;

/// Terms of a document that one vector says all of; of one with several each as many.
const WHOLE_TERMS: f32 = 800.0;

/// What is left of the vector's part of a score where a document is far longer.
const LEAST_OF_VECTOR: f32 = 0.2;

/// More of a score no vector has.
const MOST_OF_VECTOR: f32 = 0.95;

/// A lexical result that is to be ranked again.
#[derive(Debug, Clone, PartialEq)]
pub struct LexicalResult {
    /// Which of the sources it is from.
    pub source: usize,
    /// Its key there.
    pub key: String,
    /// Its lexical score.
    pub score: f32,
    /// Its terms, about.
    pub length: u32,
}

/// By what the nearness of a document to a query was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nearness {
    /// By nothing: the document has no vector.
    Unknown,
    /// By vectors learnt from the corpus.
    Learnt,
    /// By an embedding model.
    Model,
    /// By both.
    Blended,
}

impl Nearness {
    /// For people who ask how a score came about.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Unknown => "the document has no vector (yet): its words count alone",
            Self::Learnt => "nearness of the document to the query by what the words mean here",
            Self::Model => "nearness of the document to the query by the embedding model",
            Self::Blended => {
                "nearness of the document to the query by what the words mean here and by the \
                 embedding model"
            }
        }
    }
}

/// A document in its new place.
#[derive(Debug, Clone, PartialEq)]
pub struct RerankedDocument {
    /// Which of the sources it is from.
    pub source: usize,
    /// Its key there.
    pub key: String,
    /// The new score, higher is better.
    pub score: f32,
    /// What of it the words gave, with those that it lacks and may say otherwise.
    pub lexical_part: f32,
    /// What of that it may say otherwise.
    pub otherwise_part: f32,
    /// What of it the nearness of concepts gave.
    pub concept_part: f32,
    /// The most that it could give.
    pub vector_weight: f32,
    /// Vectors that nearness was measured by, one of each passage or one of all.
    pub vectors: usize,
    /// Which of several embedded passages is the nearest to the query.
    pub nearest: Option<usize>,
    /// By what nearness was measured.
    pub nearness: Nearness,
    /// The concepts that led to it.
    pub concepts: Vec<String>,
}

/// Ranks by more than words. The same call on the same sources always gives the same answer.
pub trait Reranker: Send + Sync {
    /// The results in their new order, best first; `lacked` tells what they lack of the terms. With
    /// `finds_more` documents without any of the words may be among them. `None` where nothing is
    /// known that could change the order.
    fn rerank(
        &self,
        terms: &[(&str, u32)],
        results: &[LexicalResult],
        lacked: &LackedTerms<'_>,
        finds_more: bool,
    ) -> Option<Vec<RerankedDocument>>;
}

/// A ranked document, and how it came to its place.
#[derive(Debug, Clone)]
pub(super) struct RankedCandidate {
    pub(super) candidate: ScoredDocument,
    pub(super) fusion: Option<Fusion>,
    /// What the last look added to the score.
    pub(super) refinement: Refinement,
}

/// How a score came about in the second look.
#[derive(Debug, Clone)]
pub(super) struct Fusion {
    /// The lexical score; 0 where no word was found.
    pub(super) lexical_score: f32,
    pub(super) lexical_part: f32,
    /// What of that is said in other words.
    pub(super) otherwise_part: f32,
    pub(super) concept_part: f32,
    /// How much of the score the vector had a say in, from 0 to 1.
    pub(super) vector_weight: f32,
    pub(super) nearness: Nearness,
    /// Which of several embedded passages is the nearest to the query.
    pub(super) nearest: Option<usize>,
    pub(super) concepts: Vec<String>,
}

impl Fusion {
    /// Gives vectors that the corpus taught at most this part of the score; the score.
    pub(super) fn limit_learnt(&mut self, most: f32) -> f32 {
        if self.nearness == Nearness::Learnt && self.vector_weight > most && self.concept_part > 0.0
        {
            let more = (1.0 - most) / (1.0 - self.vector_weight);
            self.lexical_part *= more;
            self.otherwise_part *= more;
            self.concept_part *= most / self.vector_weight;
            self.vector_weight = most;
        }
        self.lexical_part + self.concept_part
    }

    /// Takes off what is said in other words.
    pub(super) fn drop_otherwise(&mut self) {
        self.lexical_part -= self.otherwise_part;
        self.otherwise_part = 0.0;
    }
}

/// Candidates in lexical order, as they stand.
pub(super) fn unchanged(candidates: Vec<ScoredDocument>) -> Vec<RankedCandidate> {
    let placed = candidates.into_iter().map(|candidate| RankedCandidate {
        candidate,
        fusion: None,
        refinement: Refinement::default(),
    });
    placed.collect()
}

/// The candidates in their new order; those below [`RERANK_DEPTH`] follow as they were. Also gives
/// the number of documents that were added, by source: `is_counted` tells of a document without a
/// place among the candidates whether its words have led to it nevertheless.
pub(super) fn reranked(
    records: &RecordReader<'_>,
    (query, outcome): (&ParsedQuery, &LexicalMatches),
    reranker: &dyn Reranker,
    mut candidates: Vec<ScoredDocument>,
    is_counted: &dyn Fn(&ScoredDocument) -> bool,
) -> Result<(Vec<RankedCandidate>, Vec<u64>), IndexError> {
    let sources = records.snapshots;
    let mut added = vec![0; sources.len()];
    let rest = candidates.split_off(candidates.len().min(RERANK_DEPTH));
    let mut results = Vec::with_capacity(candidates.len());
    let read = records.records(&candidates)?;
    for (candidate, record) in candidates.iter().zip(read) {
        results.push(LexicalResult {
            source: candidate.source as usize,
            key: record.key.clone(),
            score: candidate.score,
            length: length(sources, candidate)?,
        });
    }
    let terms = query.terms().iter().filter(|term| term.count > 0);
    let terms: Vec<(&str, u32)> = terms.map(|term| (term.text.as_str(), term.count)).collect();
    let finds_more = query.condition().is_none();
    let lacked = LackedTerms {
        sources,
        query,
        outcome,
        candidates: &candidates,
        failure: RefCell::default(),
    };
    let ranked = reranker.rerank(&terms, &results, &lacked, finds_more);
    if let Some(failure) = lacked.into_failure() {
        return Err(failure);
    }
    let Some(ranked) = ranked else {
        candidates.extend(rest);
        return Ok((unchanged(candidates), added));
    };
    let mut known: FxHashMap<(usize, String), ScoredDocument> = FxHashMap::default();
    for (result, candidate) in results.into_iter().zip(&candidates) {
        known.insert((result.source, result.key), *candidate);
    }
    let mut placed = Vec::with_capacity(ranked.len() + rest.len());
    for mut new in ranked {
        let lexical = known.remove(&(new.source, new.key.clone()));
        let found = match lexical {
            Some(candidate) => Some(candidate),
            None if finds_more => found_more(sources, &new)?,
            None => None,
        };
        // A vector may outlive its document by a moment.
        let Some(candidate) = found else { continue };
        weigh_by_length(&mut new, length(sources, &candidate)?);
        if lexical.is_none() && !is_counted(&candidate) {
            added[new.source] += 1;
        }
        placed.push(RankedCandidate {
            candidate: ScoredDocument {
                score: new.score,
                ..candidate
            },
            fusion: Some(Fusion {
                lexical_score: lexical.map_or(0.0, |candidate| candidate.score),
                lexical_part: new.lexical_part,
                otherwise_part: new.otherwise_part,
                concept_part: new.concept_part,
                vector_weight: new.vector_weight,
                nearness: new.nearness,
                nearest: new.nearest,
                concepts: new.concepts,
            }),
            refinement: Refinement::default(),
        });
    }
    // What ties stays in the order of the reranker.
    placed.sort_by(|a, b| b.candidate.score.total_cmp(&a.candidate.score));
    append_rest(&mut placed, unchanged(rest));
    Ok((placed, added))
}

/// The terms of a document, about.
pub(super) fn length(
    sources: &[IndexSnapshot],
    candidate: &ScoredDocument,
) -> Result<u32, IndexError> {
    let source = &sources[candidate.source as usize];
    let reader = &source.segments()[candidate.segment as usize].reader;
    let norms = reader.get_fieldnorms_reader(source.fields().text)?;
    Ok(norms.fieldnorm(candidate.document))
}

/// The longer a document is, the less its vectors say of it: words get that part of the score.
fn weigh_by_length(document: &mut RerankedDocument, length: u32) {
    let said = WHOLE_TERMS * document.vectors.max(1) as f32;
    let share = said / (length as f32).max(said);
    let left = LEAST_OF_VECTOR + (1.0 - LEAST_OF_VECTOR) * share;
    let of_vectors = document.vector_weight.min(MOST_OF_VECTOR);
    let to_words = of_vectors * (1.0 - left) / (1.0 - of_vectors);
    let unsaid = document.otherwise_part * (1.0 - left);
    document.lexical_part = (document.lexical_part - unsaid) * (1.0 + to_words);
    document.otherwise_part = (document.otherwise_part - unsaid) * (1.0 + to_words);
    document.concept_part *= left;
    document.vector_weight = of_vectors * left;
    document.score = document.lexical_part + document.concept_part;
}

/// A document that no word led to.
fn found_more(
    sources: &[IndexSnapshot],
    new: &RerankedDocument,
) -> Result<Option<ScoredDocument>, IndexError> {
    let Some(snapshot) = sources.get(new.source) else {
        return Ok(None);
    };
    let place = snapshot.locate(&new.key)?;
    Ok(place.map(|(segment, document)| ScoredDocument {
        score: new.score,
        source: new.source as u32,
        segment,
        document,
    }))
}

/// What was not looked at again follows with scores on the new scale, below all that was.
fn append_rest(placed: &mut Vec<RankedCandidate>, rest: Vec<RankedCandidate>) {
    let lowest = placed.last().map_or(1.0, |last| last.candidate.score);
    let highest = rest.first().map_or(1.0, |first| first.candidate.score);
    let seen: FxHashSet<_> = placed.iter().map(|one| one.candidate.location()).collect();
    for mut one in rest {
        if seen.contains(&one.candidate.location()) {
            continue;
        }
        let share = one.candidate.score / highest.max(f32::MIN_POSITIVE);
        one.candidate.score = lowest * share.min(1.0);
        placed.push(one);
    }
}
