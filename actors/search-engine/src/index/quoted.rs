//! Sentences that were copied out of a document: an error message, a line of a page. Words alone do
//! not tell them from others; that they stand one behind the other does.

use rustc_hash::FxHashMap;
use search_core::query::ParsedQuery;

use super::error::IndexError;
use super::phrases::documents_among;
use super::pool::ScoredDocument;
use super::snapshot::{IndexSnapshot, find_term};

/// Sentences have at least so many words that are looked for.
const MIN_WORDS: usize = 4;

/// Pairs that are looked up: a pasted page says enough with its first words.
const MAX_PAIRS: usize = 24;

/// Words with more words that nobody looks for between them are no neighbours.
const MAX_APART: usize = 3;

/// From so many words on nobody writes a sentence that a page happens to hold.
const COPIED: usize = 6;

/// What is left of shorter ones: a question in a page's own words, as often as not.
const OF_SHORT: f32 = 0.5;

/// From this share of its pairs on, by rarity, a document holds the sentence.
const QUOTED: f32 = 0.5;

/// Two words of the query, and how far the second stands behind the first.
struct Pair {
    words: [usize; 2],
    apart: u32,
    /// Its share of the rarity of all pairs.
    share: f32,
}

/// Neighbours in a sentence.
pub(super) struct QuotedSentence<'q> {
    query: &'q ParsedQuery,
    /// Words that are looked for.
    words: usize,
    pairs: Vec<Pair>,
}

impl<'q> QuotedSentence<'q> {
    /// The neighbours in a query; `None` where it is no sentence.
    pub(super) fn from_query(query: &'q ParsedQuery, term_weights: &[f32]) -> Option<Self> {
        let words = query
            .words()
            .iter()
            .filter(|word| query.is_looked_for(word));
        let count = words.clone().count();
        if count < MIN_WORDS {
            return None;
        }
        let by_form: FxHashMap<&str, usize> = words
            .map(|word| (word.folded.as_str(), word.whole))
            .collect();
        let mut pairs: Vec<Pair> = Vec::new();
        let mut last: Option<(usize, usize)> = None;
        for (at, form) in query.title_line().split(' ').enumerate() {
            let Some(&term) = by_form.get(form) else {
                continue;
            };
            if let Some((before, first)) = last
                && at - before <= MAX_APART
                && pairs.len() < MAX_PAIRS
            {
                let rarity = |term: usize| term_weights.get(term).copied().unwrap_or(0.0);
                pairs.push(Pair {
                    words: [first, term],
                    apart: (at - before) as u32,
                    share: rarity(first) + rarity(term),
                });
            }
            last = Some((at, term));
        }
        let all: f32 = pairs.iter().map(|pair| pair.share).sum();
        for pair in &mut pairs {
            pair.share /= all.max(f32::MIN_POSITIVE);
        }
        (pairs.len() + 1 >= MIN_WORDS).then_some(Self {
            query,
            words: count,
            pairs,
        })
    }

    /// How much of the sentence each candidate holds, by rarity: 0 for those that hold less than
    /// half of it, and for source code, of which no places are known.
    pub(super) fn fractions(
        &self,
        sources: &[IndexSnapshot],
        candidates: &[ScoredDocument],
    ) -> Result<Vec<f32>, IndexError> {
        let mut shares = vec![0.0; candidates.len()];
        let mut ordered: Vec<usize> = (0..candidates.len()).collect();
        ordered.sort_unstable_by_key(|&at| candidates[at].location());
        let segment_of = |at: usize| (candidates[at].source, candidates[at].segment);
        for group in ordered.chunk_by(|&a, &b| segment_of(a) == segment_of(b)) {
            let (source, segment) = segment_of(group[0]);
            let snapshot = &sources[source as usize];
            let view = &snapshot.segments()[segment as usize];
            let documents: Vec<u32> = group.iter().map(|&at| candidates[at].document).collect();
            let mut infos = FxHashMap::default();
            for &term in self.pairs.iter().flat_map(|pair| &pair.words) {
                let text = &self.query.terms()[term].text;
                infos.insert(term, find_term(&view.text, snapshot.fields().text, text)?);
            }
            for pair in &self.pairs {
                let [Some(Some(first)), Some(Some(second))] =
                    pair.words.map(|term| infos.get(&term))
                else {
                    continue;
                };
                let words = [(0, first), (pair.apart, second)];
                let held = documents_among(snapshot, view, &words, &documents)?;
                for (&at, _) in group.iter().zip(held).filter(|(_, held)| *held) {
                    shares[at] += pair.share;
                }
            }
        }
        let of_length = if self.words < COPIED { OF_SHORT } else { 1.0 };
        for share in &mut shares {
            *share *= if *share < QUOTED { 0.0 } else { of_length };
        }
        Ok(shares)
    }
}
