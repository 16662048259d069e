//! The best candidates of a search, ties included.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::error::IndexError;

/// Scores closer than this share are sums of the same numbers in another order.
const NOISE: f32 = 4e-6;

/// Candidates that room is made for before there are any.
const MAX_ROOM: usize = 1 << 15;

/// A document with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ScoredDocument {
    pub(super) score: f32,
    pub(super) source: u32,
    pub(super) segment: u32,
    pub(super) document: u32,
}

impl ScoredDocument {
    /// Where the document lies; inside a segment this is the order of keys.
    pub(super) fn location(&self) -> (u32, u32, u32) {
        (self.source, self.segment, self.document)
    }
}

/// Keeps the best `wanted` candidates and all that tie with the last of them.
pub(super) struct Pool {
    wanted: usize,
    candidates: Vec<ScoredDocument>,
    /// Candidates below this are out. Starts below every score.
    threshold: f32,
    /// Number of candidates at which the worst are thrown out.
    full_at: usize,
}

impl Pool {
    pub(super) fn new(wanted: usize) -> Self {
        let room = 2 * wanted.max(1);
        Self {
            wanted: wanted.max(1),
            candidates: Vec::with_capacity(room.min(MAX_ROOM)),
            threshold: 0.0,
            full_at: room,
        }
    }

    /// Number of candidates that are wanted.
    pub(super) fn wanted_count(&self) -> usize {
        self.wanted
    }

    /// Candidates have to score more than this to matter.
    pub(super) fn threshold(&self) -> f32 {
        self.threshold
    }

    /// Takes a candidate; returns the new threshold.
    #[inline]
    pub(super) fn push(&mut self, candidate: ScoredDocument) -> f32 {
        if candidate.score > self.threshold {
            self.candidates.push(candidate);
            if self.candidates.len() >= self.full_at {
                self.compact();
            }
        }
        self.threshold
    }

    /// Throws out all that cannot be among the best any more.
    pub(super) fn compact(&mut self) {
        if self.candidates.len() <= self.wanted {
            return;
        }
        let (_, last, _) = self
            .candidates
            .select_nth_unstable_by(self.wanted - 1, |a, b| b.score.total_cmp(&a.score));
        self.threshold = last.score * (1.0 - NOISE);
        let threshold = self.threshold;
        self.candidates
            .retain(|candidate| candidate.score > threshold);
        self.full_at = (2 * self.wanted).max(self.candidates.len() * 2);
    }

    /// Fewer are wanted than were gathered.
    pub(super) fn narrow(&mut self, wanted: usize) {
        self.wanted = self.wanted.min(wanted.max(1));
        self.compact();
    }

    /// The best candidates and those that may tie with them, in any order.
    pub(super) fn best_mut(&mut self) -> &mut [ScoredDocument] {
        self.compact();
        &mut self.candidates
    }

    /// The candidates from `skip` on, best first; equal scores by source, then by key.
    pub(super) fn into_ranked(
        mut self,
        skip: usize,
        limit: usize,
        key: impl Fn(&ScoredDocument) -> Result<String, IndexError>,
    ) -> Result<Vec<ScoredDocument>, IndexError> {
        self.compact();
        let mut candidates = self.candidates;
        drop_needless_ties(&mut candidates, skip + limit);
        candidates.sort_unstable_by(|a, b| {
            b.score
                .total_cmp(&a.score)
                .then(a.location().cmp(&b.location()))
        });
        let end = (skip + limit).min(candidates.len());
        let mut ranked = Vec::with_capacity(end.saturating_sub(skip));
        let mut at = 0;
        while at < end {
            let score = candidates[at].score;
            let ties = candidates[at..]
                .iter()
                .take_while(|candidate| candidate.score == score)
                .count();
            let group = &mut candidates[at..at + ties];
            if at + ties > skip {
                order_ties(group, end - at, &key)?;
            }
            at += ties;
        }
        ranked.extend(candidates.into_iter().take(end).skip(skip));
        Ok(ranked)
    }
}

/// Leaves the `wanted` best and those that tie with the last of them, of each segment no more than
/// are wanted: documents lie there in the order of their keys, so the first of them come first.
fn drop_needless_ties(candidates: &mut Vec<ScoredDocument>, wanted: usize) {
    if wanted == 0 || candidates.len() <= wanted {
        return;
    }
    let by_score = |a: &ScoredDocument, b: &ScoredDocument| b.score.total_cmp(&a.score);
    let (_, last, _) = candidates.select_nth_unstable_by(wanted - 1, by_score);
    let last = last.score;
    let mut ties: FxHashMap<(u32, u32), Vec<ScoredDocument>> = FxHashMap::default();
    candidates.retain(|one| {
        if one.score == last {
            let segment = ties.entry((one.source, one.segment)).or_default();
            segment.push(*one);
        }
        one.score > last
    });
    for mut segment in ties.into_values() {
        if segment.len() > wanted {
            segment.select_nth_unstable_by_key(wanted - 1, |one| one.document);
            segment.truncate(wanted);
        }
        candidates.extend(segment);
    }
}

/// Orders the first `wanted` candidates of one score by source and key. They come in order of
/// place, so keys are looked up only where a source's candidates lie in several segments, and of
/// these only of the next in each: the segments are merged.
fn order_ties(
    group: &mut [ScoredDocument],
    mut wanted: usize,
    key: &impl Fn(&ScoredDocument) -> Result<String, IndexError>,
) -> Result<(), IndexError> {
    for group in group.chunk_by_mut(|a, b| a.source == b.source) {
        if wanted == 0 {
            break;
        }
        if group.first().map(|c| c.segment) != group.last().map(|c| c.segment) {
            merge_segments(group, wanted, key)?;
        }
        wanted = wanted.saturating_sub(group.len());
    }
    Ok(())
}

/// Puts the `wanted` candidates with the lowest keys first; the rest follows in any order.
fn merge_segments(
    group: &mut [ScoredDocument],
    wanted: usize,
    key: &impl Fn(&ScoredDocument) -> Result<String, IndexError>,
) -> Result<(), IndexError> {
    let all = group.to_vec();
    let segments: Vec<&[ScoredDocument]> = all.chunk_by(|a, b| a.segment == b.segment).collect();
    let mut next = BinaryHeap::with_capacity(segments.len());
    for (number, segment) in segments.iter().enumerate() {
        next.push(Reverse((key(&segment[0])?, number, 0_usize)));
    }
    let mut merged = Vec::with_capacity(group.len());
    let mut taken = vec![0; segments.len()];
    while merged.len() < wanted
        && let Some(Reverse((_, number, at))) = next.pop()
    {
        merged.push(segments[number][at]);
        taken[number] = at + 1;
        if let Some(behind) = segments[number].get(at + 1) {
            next.push(Reverse((key(behind)?, number, at + 1)));
        }
    }
    for (segment, taken) in segments.iter().zip(taken) {
        merged.extend_from_slice(&segment[taken..]);
    }
    group.copy_from_slice(&merged);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::cell::Cell;

    use super::{Pool, ScoredDocument};

    #[test]
    fn i16_of_many_ties_only_the_keys_of_the_page_are_read() {
        let mut pool = Pool::new(30);
        for document in 0..100_000 {
            for segment in 0..4 {
                pool.push(ScoredDocument {
                    score: 1.0,
                    source: 0,
                    segment,
                    document,
                });
            }
        }
        let reads = Cell::new(0);
        let key = |candidate: &ScoredDocument| {
            reads.set(reads.get() + 1);
            Ok(format!(
                "{:06}/{}",
                candidate.document,
                3 - candidate.segment
            ))
        };
        let ranked = pool.into_ranked(20, 10, key).expect("keys are there");
        let found: Vec<_> = ranked
            .iter()
            .map(|one| (one.document, one.segment))
            .collect();
        let expected: Vec<_> = (20..30).map(|at| (at / 4, 3 - at % 4)).collect();
        assert_eq!(found, expected);
        assert!(reads.get() <= 34, "{} keys were read", reads.get());
    }

    proptest! {
        #[test]
        fn the_pool_gives_what_a_full_sort_gives(
            scores in prop::collection::vec((1_u8..20, 0_u32..3, 0_u32..3), 0..200),
            skip in 0_usize..20,
            limit in 1_usize..20,
        ) {
            let candidates: Vec<ScoredDocument> = scores
                .iter()
                .enumerate()
                .map(|(at, &(score, source, segment))| ScoredDocument {
                    score: f32::from(score),
                    source,
                    segment,
                    document: at as u32,
                })
                .collect();
            // Keys run against the order of segments.
            let key = |candidate: &ScoredDocument| format!("{:03}", candidate.document * 7 % 211);
            let mut pool = Pool::new(skip + limit);
            for candidate in &candidates {
                pool.push(*candidate);
            }
            // Inside a segment, places are in key order; make it so.
            let mut expected = candidates;
            expected.sort_by(|a, b| {
                b.score.total_cmp(&a.score).then(a.source.cmp(&b.source)).then(key(a).cmp(&key(b)))
            });
            let expected: Vec<f32> = expected.iter().skip(skip).take(limit).map(|c| c.score).collect();
            let ranked = pool.into_ranked(skip, limit, |candidate| Ok(key(candidate))).expect("keys are there");
            prop_assert_eq!(ranked.iter().map(|c| c.score).collect::<Vec<_>>(), expected);
            for pair in ranked.windows(2) {
                let same = pair[0].score == pair[1].score;
                prop_assert!(!same || pair[0].source <= pair[1].source);
            }
        }
    }
}
