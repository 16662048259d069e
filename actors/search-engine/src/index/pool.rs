//! The best candidates of a search, ties included.

use super::error::IndexError;

/// Scores closer than this share are sums of the same numbers in another order.
const NOISE: f32 = 4e-6;

/// Candidates that room is made for before there are any.
const MAX_ROOM: usize = 1 << 15;

/// A document with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub(super) score: f32,
    pub(super) source: u32,
    pub(super) segment: u32,
    pub(super) document: u32,
}

impl Candidate {
    /// Where the document lies; inside a segment this is the order of keys.
    pub(super) fn place(&self) -> (u32, u32, u32) {
        (self.source, self.segment, self.document)
    }
}

/// Keeps the best `wanted` candidates and all that tie with the last of them.
pub(super) struct Pool {
    wanted: usize,
    candidates: Vec<Candidate>,
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

    /// Candidates have to score more than this to matter.
    pub(super) fn threshold(&self) -> f32 {
        self.threshold
    }

    /// Takes a candidate; returns the new threshold.
    #[inline]
    pub(super) fn push(&mut self, candidate: Candidate) -> f32 {
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
    pub(super) fn best(&mut self) -> &mut [Candidate] {
        self.compact();
        &mut self.candidates
    }

    /// The candidates from `skip` on, best first; equal scores by source, then by key.
    pub(super) fn into_ranked(
        mut self,
        skip: usize,
        limit: usize,
        key: impl Fn(&Candidate) -> Result<String, IndexError>,
    ) -> Result<Vec<Candidate>, IndexError> {
        self.compact();
        let mut candidates = self.candidates;
        candidates
            .sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.place().cmp(&b.place())));
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
                order_ties(group, &key)?;
            }
            at += ties;
        }
        ranked.extend(candidates.into_iter().take(end).skip(skip));
        Ok(ranked)
    }
}

/// Orders candidates of one score by source and key. They come in order of place, so keys are
/// looked up only where a source's candidates lie in several segments.
fn order_ties(
    group: &mut [Candidate],
    key: &impl Fn(&Candidate) -> Result<String, IndexError>,
) -> Result<(), IndexError> {
    for group in group.chunk_by_mut(|a, b| a.source == b.source) {
        if group.first().map(|c| c.segment) == group.last().map(|c| c.segment) {
            continue;
        }
        let mut keyed = Vec::with_capacity(group.len());
        for candidate in group.iter() {
            keyed.push((key(candidate)?, *candidate));
        }
        keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (place, (_, candidate)) in group.iter_mut().zip(keyed) {
            *place = candidate;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Candidate, Pool};

    proptest! {
        #[test]
        fn the_pool_gives_what_a_full_sort_gives(
            scores in prop::collection::vec((1_u8..20, 0_u32..3, 0_u32..3), 0..200),
            skip in 0_usize..20,
            limit in 1_usize..20,
        ) {
            let candidates: Vec<Candidate> = scores
                .iter()
                .enumerate()
                .map(|(at, &(score, source, segment))| Candidate {
                    score: f32::from(score),
                    source,
                    segment,
                    document: at as u32,
                })
                .collect();
            // Keys run against the order of segments.
            let key = |candidate: &Candidate| format!("{:03}", candidate.document * 7 % 211);
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
