//! Choosing the place to show: the terms that say most together, then most hits, then the earliest.

use std::ops::Range;

use super::{TermWeights, TextHit};

/// The hits of the best place of at most `span` bytes, as indices of `hits` (ascending by offset).
#[must_use]
pub fn best_window(hits: &[TextHit], span: usize, weights: &TermWeights) -> Option<Range<usize>> {
    let mut best: Option<((f32, usize), Range<usize>)> = None;
    let (mut end, mut known) = (0, (0, 0.0));
    for (first, hit) in hits.iter().enumerate() {
        end = end.max(first + 1);
        while hits
            .get(end)
            .is_some_and(|last| last.end <= hit.start + span)
        {
            end += 1;
        }
        let terms = terms_of(&hits[first..end]);
        if terms != known.0 {
            known = (terms, weights.total(terms));
        }
        let score = (known.1, end - first);
        if best.as_ref().is_none_or(|(highest, _)| score > *highest) {
            best = Some((score, first..end));
        }
    }
    best.map(|(_, range)| range)
}

fn terms_of(hits: &[TextHit]) -> u64 {
    hits.iter().fold(0, |all, hit| all | hit.terms)
}

/// Whether the hits that end with the last one and lie within `span` bytes hold all of `terms`.
#[must_use]
pub fn contains_all_terms(hits: &[TextHit], span: usize, terms: u64) -> bool {
    let Some(last) = hits.last() else {
        return false;
    };
    let near = hits
        .iter()
        .rev()
        .take_while(|hit| hit.start + span >= last.end);
    near.fold(0, |all, hit| all | hit.terms) & terms == terms
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hits(list: &[(usize, u64)]) -> Vec<TextHit> {
        list.iter()
            .map(|&(start, terms)| TextHit {
                start,
                end: start + 3,
                terms,
            })
            .collect()
    }

    #[test]
    fn distinct_terms_count_before_hits_and_hits_before_place() {
        for (list, expected) in [
            (&[][..], None),
            (&[(5, 1)][..], Some(0..1)),
            (&[(0, 1), (10, 1), (20, 1), (500, 1), (510, 2)], Some(3..5)),
            (&[(0, 1), (500, 1), (510, 1)], Some(1..3)),
            (&[(0, 1), (10, 2), (500, 2), (510, 1)], Some(0..2)),
            (&[(0, 1), (10, 1), (500, 0b111)], Some(2..3)),
        ] {
            let found = best_window(&hits(list), 100, &TermWeights::default());
            assert_eq!(found, expected, "{list:?}");
        }
    }

    #[test]
    fn i16_one_rare_term_counts_before_several_frequent_ones() {
        let hits = hits(&[(0, 2), (10, 4), (20, 2), (500, 1), (900, 2), (910, 1)]);
        let weights = TermWeights::from_rarities(&[8.0, 1.0, 1.0]);
        assert_eq!(best_window(&hits, 100, &weights), Some(4..6));
        assert_eq!(best_window(&hits[..4], 100, &weights), Some(3..4));
    }

    #[test]
    fn all_terms_close_together_are_noticed() {
        assert!(contains_all_terms(&hits(&[(0, 1), (50, 2)]), 100, 3));
        assert!(!contains_all_terms(&hits(&[(0, 1), (150, 2)]), 100, 3));
        assert!(!contains_all_terms(&[], 100, 0));
    }

    proptest! {
        #[test]
        fn the_window_is_one_of_the_best(places in proptest::collection::vec((0usize..2000, 1u64..16), 1..30), span in 3usize..300) {
            let mut places = places;
            places.sort_unstable();
            let hits = hits(&places);
            let found = best_window(&hits, span, &TermWeights::default()).expect("there is a hit");
            let score = |range: Range<usize>| (terms_of(&hits[range.clone()]).count_ones(), range.len());
            prop_assert!(hits[found.end - 1].end <= hits[found.start].start + span.max(3));
            for first in 0..hits.len() {
                for end in first + 1..=hits.len() {
                    if hits[end - 1].end <= hits[first].start + span {
                        prop_assert!(score(first..end) <= score(found.clone()));
                    }
                }
            }
        }
    }
}
