//! Queries: the first line is the query, the rest a text to search. Any query is understood,
//! refused at one of its characters, or read as words, and every highlight lies between two
//! characters.
#![no_main]

use libfuzzer_sys::fuzz_target;
use search_core::query::{MatchState, Operator, SearchRequest, parse, parse_lenient};
use search_core::snippet::{TermFinder, TermWeights, best_window, cut};

fuzz_target!(|text: &str| {
    let (query, body) = text.split_once('\n').unwrap_or((text, text));
    let operator = query.starts_with('&').then_some(Operator::And);
    let terms = query.split('|').skip(1).map(str::to_owned).collect();
    let request = SearchRequest {
        text: query.to_owned(),
        terms,
        operator,
        is_words_alone: false,
    };
    let parsed = match parse(&request) {
        Ok(parsed) => parsed,
        Err(error) => {
            let length = query.chars().count();
            assert!(error.position().is_none_or(|position| position <= length));
            // Then it is searched for without what is broken, or by its words.
            let Ok(understood) = parse_lenient(&request) else {
                return;
            };
            understood.query
        }
    };
    for phrase in 0..parsed.phrases().len() {
        let found = parsed.phrase_finder(phrase).find(body);
        assert!(found.is_none_or(|place| body.get(place).is_some()));
    }
    for pattern in parsed.highlight_patterns() {
        for place in pattern.places(body).take(64) {
            assert!(!place.is_empty() && body.get(place).is_some());
        }
    }
    if let Some(condition) = parsed.condition() {
        let open = condition.evaluate(&mut |_| Ok::<_, ()>(MatchState::Undecided));
        assert!(open.is_ok());
    }
    for word in parsed.words() {
        let known = |index: &usize| *index < parsed.terms().len();
        assert!(word.parts.iter().chain([&word.whole]).all(known));
    }
    let hits = TermFinder::new(&parsed).hits(body);
    for hit in &hits {
        assert!(
            body.get(hit.start..hit.end)
                .is_some_and(|word| !word.is_empty())
        );
    }
    assert!(hits.is_sorted_by_key(|hit| hit.start));
    let Some(best) = best_window(&hits, 160, &TermWeights::default()) else {
        return;
    };
    let focus = hits[best.start].start..hits[best.end - 1].end;
    let snippet = cut(body, &hits, focus, 160);
    let length = snippet.text.chars().count();
    assert!(length <= 160);
    for [start, end] in snippet.highlights {
        assert!(start < end && end <= length);
    }
});
