//! Where the regular expressions and exact texts of a query stand in the texts that are shown.

use std::time::{Duration, Instant};

use search_core::query::{ParsedQuery, PatternFinder};
use search_core::snippet::TextHit;

/// Longest time that the texts of one page of results are looked through for them. What is shown of
/// the rest is as if they stood nowhere.
const MAX_PATTERN_TIME: Duration = Duration::from_secs(2);

/// The patterns of a query, and the time there is for them.
#[derive(Debug)]
pub(super) struct PatternPlaces {
    finders: Vec<PatternFinder>,
    /// From the first text on.
    deadline: Option<Instant>,
    was_late: bool,
}

impl PatternPlaces {
    pub(super) fn new(query: &ParsedQuery) -> Self {
        Self {
            finders: query.highlight_patterns(),
            deadline: None,
            was_late: false,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.finders.is_empty()
    }

    /// Whether there are several, whose places may cross.
    pub(super) fn are_several(&self) -> bool {
        self.finders.len() > 1
    }

    /// Whether the clock ended the looking for them.
    pub(super) fn was_late(&self) -> bool {
        self.was_late
    }

    /// Adds the first `most` places of each in a text, as hits behind `offset`.
    pub(super) fn add(&mut self, text: &str, offset: usize, most: usize, hits: &mut Vec<TextHit>) {
        if self.finders.is_empty() || self.was_late {
            return;
        }
        let deadline = *self
            .deadline
            .get_or_insert_with(|| Instant::now() + MAX_PATTERN_TIME);
        for finder in &self.finders {
            let mut goes_on = || Instant::now() <= deadline;
            let (places, is_all) = finder.places_while(text, most, &mut goes_on);
            self.was_late |= !is_all;
            hits.extend(places.into_iter().map(|place| TextHit {
                start: offset + place.start,
                end: offset + place.end,
                terms: TextHit::PATTERN,
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use search_core::query::{SearchRequest, parse};

    use super::PatternPlaces;

    #[test]
    fn i16_excerpts_stop_looking_for_expressions_when_time_is_up() {
        let query = parse(&SearchRequest::for_text(r"re:/=>[ -~]{200}</")).expect("it parses");
        let sign = format!("=>{}<\n", "-".repeat(200));
        let text = "some words of a line\n".repeat(10_000) + &sign;
        let (mut places, mut hits) = (PatternPlaces::new(&query), Vec::new());
        places.add(&text, 7, 9, &mut hits);
        assert_eq!((hits.len(), hits[0].start), (1, 7 + 210_000));
        assert!(!places.was_late());
        let mut late = PatternPlaces::new(&query);
        let now = Instant::now();
        while Instant::now() <= now {}
        late.deadline = Some(now);
        late.add(&text, 0, 9, &mut hits);
        assert_eq!(hits.len(), 1);
        assert!(late.was_late());
    }
}
