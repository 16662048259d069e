//! Results of which no passage is shown: named beside the passages, so that a program knows of them
//! and can read them.

use super::tokens::tokens;

/// Tokens of the place of one such result at most, about.
pub const REST_TOKENS: usize = 25;

/// Of a budget the part that places may take is one in so many.
const SHARE: usize = 4;

/// Tokens of a budget that are kept for the places of this many results.
#[must_use]
pub fn rest_budget(budget: usize, results: usize) -> usize {
    (budget / SHARE).min(results * REST_TOKENS)
}

/// The places of results without a passage that are named within a budget of so many tokens for
/// all, best first. A place that is longer than others may be counts as much as they.
#[must_use]
pub fn places_without_passage<T>(
    results: impl ExactSizeIterator<Item = T>,
    has_passage: impl Fn(&T) -> bool,
    place: impl Fn(&T) -> String,
    budget: usize,
) -> Vec<String> {
    let mut left = rest_budget(budget, results.len());
    let mut places = Vec::new();
    for result in results.filter(|result| !has_passage(result)) {
        let place = place(&result);
        let cost = tokens(&place).min(REST_TOKENS);
        if cost > left {
            break;
        }
        left -= cost;
        places.push(place);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_results_without_a_passage_are_named_within_a_quarter() {
        let results = ["src/a.rs:1", "src/b.rs:20", "src/c.rs:300"];
        let named = |budget: usize| {
            let has_passage = |one: &&str| *one == "src/b.rs:20";
            places_without_passage(
                results.into_iter(),
                has_passage,
                |one| (*one).to_owned(),
                budget,
            )
        };
        assert_eq!(named(1_000), ["src/a.rs:1", "src/c.rs:300"]);
        assert_eq!(named(40), ["src/a.rs:1"]);
        assert!(named(0).is_empty());
        assert_eq!((rest_budget(1_000, 10), rest_budget(1_000, 3)), (250, 75));
    }
}
