//! The best results by their passages: a long document holds many words somewhere, what is meant
//! holds them together.
//!
//! The index says where each occurrence of a word is, and where passages begin, so that no text is
//! read.
//! Passages are about equally long: their scores have no length norm. A short document is one
//! passage, whose score is the document's; the longer one is, the more its passages count, and the
//! more words are looked for.

use rustc_hash::FxHashMap;
use search_core::query::ParsedQuery;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, TantivyError};

use super::error::IndexError;
use super::lexical::{LexicalMatches, QueryTerms};
use super::places::{is_everywhere, passage_of};
use super::pool::ScoredDocument;
use super::schema::BEGIN_TERM;
use super::snapshot::{IndexSnapshot, SegmentView, find_term};
use super::term_matches::best_of;

/// Terms of a document that is ranked as a whole: about six passages.
const WHOLE_TERMS: f32 = 1_200.0;

/// What the best passages of a document count, best first.
const SHARES: [f32; 3] = [1.0, 0.8, 0.6];

/// How much of the score of long documents is that of their passages: their words as a whole say
/// something, too.
const OF_PASSAGES: f32 = 0.8;

/// Saturation of frequencies, as BM25 has it.
const SATURATION: f32 = 1.2;

/// What passages have changed.
#[derive(Debug, Default)]
pub(super) struct PassageScores(FxHashMap<(u32, u32, u32), PassageScore>);

/// What the passages of a document say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PassageScore {
    /// What they add to the score of the document's words, or take away.
    pub(super) change: f32,
    /// The best of them, from 0; none where the words stand outside of the text alone.
    pub(super) best: Option<usize>,
    /// Whether that one holds half of what is looked for, or more, by weight.
    pub(super) says_most: bool,
}

impl PassageScores {
    /// What the passages of a document say, if they were looked at.
    pub(super) fn get(&self, candidate: &ScoredDocument) -> Option<PassageScore> {
        self.0.get(&candidate.location()).copied()
    }

    /// Scores candidates anew by their passages; what they were scored by were their words.
    pub(super) fn rescore(
        sources: &[IndexSnapshot],
        query: &ParsedQuery,
        outcome: &LexicalMatches,
        candidates: &mut [ScoredDocument],
    ) -> Result<Self, IndexError> {
        let mut changed = Self::default();
        let words = query.words().iter();
        let words = words.filter(|word| query.is_looked_for(word)).count();
        if words < 2 {
            return Ok(changed);
        }
        let share = OF_PASSAGES * (1.0 - 1.0 / words as f32);
        let terms = query.terms().iter().zip(&outcome.term_weights);
        let ranking = terms.filter(|(term, _)| term.count > 0 && !is_everywhere(&term.text));
        let weights: Vec<f32> = ranking.map(|(_, weight)| *weight).collect();
        let highest = weights.iter().copied().fold(0.0, f32::max);
        // What no document holds is at least as rare as what some do.
        let weights = weights.iter();
        let all: f32 = weights
            .map(|&one| if one > 0.0 { one } else { highest })
            .sum();
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_unstable_by_key(|&at| candidates[at].location());
        let segment = |at: usize| (candidates[at].source, candidates[at].segment);
        let groups: Vec<&[usize]> = order.chunk_by(|a, b| segment(*a) == segment(*b)).collect();
        let mut scores: Vec<(usize, PassageScore)> = Vec::with_capacity(candidates.len());
        for group in groups {
            let (source, segment) = segment(group[0]);
            let snapshot = &sources[source as usize];
            let reader = &snapshot.segments()[segment as usize].reader;
            let norms = reader.get_fieldnorms_reader(snapshot.fields().text);
            let norms = norms.map_err(IndexError::from)?;
            let documents: Vec<DocId> = group.iter().map(|&at| candidates[at].document).collect();
            let passages = passages(sources, query, (source, segment), outcome, &documents)?;
            for (&at, passages) in group.iter().zip(&passages) {
                let best = best_index(passages);
                let length = norms.fieldnorm(candidates[at].document) as f32;
                let part = share * (1.0 - WHOLE_TERMS / length.max(WHOLE_TERMS));
                let of_words = candidates[at].score;
                scores.push((
                    at,
                    PassageScore {
                        change: part * (best_together(passages) - of_words),
                        best,
                        says_most: best.is_some_and(|best| 2.0 * passages[best] >= all),
                    },
                ));
            }
        }
        for (at, score) in scores {
            candidates[at].score += score.change;
            changed.0.insert(candidates[at].location(), score);
        }
        Ok(changed)
    }
}

/// The scores of the passages of documents of a segment, which are ascending.
fn passages(
    sources: &[IndexSnapshot],
    query: &ParsedQuery,
    (source, segment): (u32, u32),
    outcome: &LexicalMatches,
    documents: &[DocId],
) -> Result<Vec<Vec<f32>>, IndexError> {
    let mut scores: Vec<Vec<f32>> = vec![Vec::new(); documents.len()];
    let infos = &outcome.infos[QueryTerms::place_of(sources, source, segment)];
    let view = &sources[source as usize].segments()[segment as usize];
    let begins = passage_starts(&sources[source as usize], view, documents)?;
    let mut places = Vec::new();
    let terms = query.terms().iter().zip(&outcome.term_weights);
    for (info, (term, &weight)) in infos.iter().zip(terms) {
        let counts = weight > 0.0 && !is_everywhere(&term.text);
        let Some(info) = info.as_ref().filter(|_| counts) else {
            continue;
        };
        let option = IndexRecordOption::WithFreqsAndPositions;
        let postings = view.text.read_postings_from_terminfo(info, option);
        let mut postings = postings.map_err(TantivyError::from)?;
        for ((&document, begins), scores) in documents.iter().zip(&begins).zip(&mut scores) {
            if places_in(&mut postings, document, &mut places) {
                let to_passage = |place: &mut u32| *place = passage_of(*place, begins);
                places.iter_mut().for_each(to_passage);
                add_term(weight, &places, scores);
            }
        }
    }
    Ok(scores)
}

/// The places that the passages of documents of a segment begin with.
fn passage_starts(
    snapshot: &IndexSnapshot,
    view: &SegmentView,
    documents: &[DocId],
) -> Result<Vec<Vec<u32>>, IndexError> {
    let field = snapshot.fields().begin;
    let inverted = view.reader.inverted_index(field)?;
    let mut begins: Vec<Vec<u32>> = vec![Vec::new(); documents.len()];
    let Some(info) = find_term(&inverted, field, BEGIN_TERM)? else {
        return Ok(begins);
    };
    let option = IndexRecordOption::WithFreqsAndPositions;
    let postings = inverted.read_postings_from_terminfo(&info, option);
    let mut postings = postings.map_err(TantivyError::from)?;
    for (&document, begins) in documents.iter().zip(&mut begins) {
        if postings.doc() <= document {
            places_in(&mut postings, document, begins);
        }
    }
    Ok(begins)
}

/// The place of each occurrence in a document, which is not before the last one; whether there
/// are any.
fn places_in(postings: &mut SegmentPostings, document: DocId, places: &mut Vec<u32>) -> bool {
    if postings.doc() < document {
        postings.seek(document);
    }
    let is_there = postings.doc() == document;
    if is_there {
        postings.positions(places);
    }
    is_there
}

/// Adds what a term gives to the passages it stands in. Passages are numbered from 1: 0 is the
/// document as a whole.
fn add_term(weight: f32, passages: &[u32], scores: &mut Vec<f32>) {
    for same in passages.chunk_by(|a, b| a == b) {
        let Some(passage) = same[0].checked_sub(1) else {
            continue;
        };
        let passage = passage as usize;
        if scores.len() <= passage {
            scores.resize(passage + 1, 0.0);
        }
        let frequency = same.len() as f32;
        scores[passage] += weight * frequency * (SATURATION + 1.0) / (frequency + SATURATION);
    }
}

/// The best passages together.
fn best_together(scores: &[f32]) -> f32 {
    let best: [f32; SHARES.len()] = best_of(scores.iter().copied());
    best.iter()
        .zip(SHARES)
        .map(|(score, share)| score * share)
        .sum()
}

/// The first of the best passages.
fn best_index(scores: &[f32]) -> Option<usize> {
    let order = |&a: &usize, &b: &usize| scores[a].total_cmp(&scores[b]).then(b.cmp(&a));
    (0..scores.len()).max_by(order)
}

#[cfg(test)]
mod tests {
    use super::{add_term, best_index, best_together};

    #[test]
    fn i16_words_count_by_the_passages_they_stand_in() {
        let mut scores = Vec::new();
        add_term(1.0, &[0, 0, 1, 3, 3], &mut scores);
        add_term(2.0, &[3], &mut scores);
        let expected = [1.0, 0.0, 2.0 * 2.2 / 3.2 + 2.0];
        assert!(
            scores
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-6)
        );
        assert_eq!((scores.len(), best_index(&scores)), (3, Some(2)));
    }

    #[test]
    fn i16_of_the_passages_the_best_three_count() {
        assert_eq!(best_together(&[]), 0.0);
        assert_eq!(best_index(&[]), None);
        assert_eq!(best_together(&[5.0]), 5.0);
        let four = best_together(&[0.5, 5.0, 1.0, 10.0]);
        assert!((four - (10.0 + 4.0 + 0.6)).abs() < 1e-5, "{four}");
        assert_eq!(best_index(&[2.0, 2.0]), Some(0));
    }
}
