//! Queries drawn from the documents, and the CPU that one takes.

use search_core::query::SearchRequest;
use search_core::role::RelevanceFunction;
use search_engine::answering::{SearchParams, SearchableRole, search};

use crate::corpus::Sample;
use crate::random::Random;
use crate::usage::Usage;

/// Queries of a kind.
const QUERIES: usize = 60;

/// CPU seconds that a kind is measured for at least, and rounds at most.
const LEAST_CPU: f64 = 1.5;
const MOST_ROUNDS: usize = 40;

/// What is asked.
pub(crate) const KINDS: [&str; 4] = ["words", "prefixes", "phrases", "ServiceGraph"];

/// CPU milliseconds of a query of each kind.
pub(crate) fn cost(role: &SearchableRole, sample: &Sample) -> [f64; 4] {
    KINDS.map(|kind| {
        let function = match kind {
            "ServiceGraph" => RelevanceFunction::ServiceGraph,
            _ => RelevanceFunction::BM25F,
        };
        let role = SearchableRole {
            function,
            ..role.clone()
        };
        let queries = queries(kind, sample);
        // What a search reads first stays in memory.
        ask(&role, &queries);
        let (before, mut rounds) = (Usage::now(), 0);
        while rounds < MOST_ROUNDS && Usage::since(before).cpu < LEAST_CPU {
            ask(&role, &queries);
            rounds += 1;
        }
        Usage::since(before).cpu * 1e3 / (rounds * queries.len()) as f64
    })
}

fn ask(role: &SearchableRole, queries: &[String]) {
    for text in queries {
        let params = SearchParams {
            request: SearchRequest::for_text(text),
            limit: 10,
            ..SearchParams::default()
        };
        let answer = search(role, &params);
        assert!(answer.is_ok(), "{text} is answered");
    }
}

fn queries(kind: &str, sample: &Sample) -> Vec<String> {
    let mut random = Random::new(2);
    let one = |_| {
        let words = &sample.lines[random.below(sample.lines.len())];
        let at = random.below(words.len() - 2);
        let mut long: Vec<&str> = words.iter().map(String::as_str).collect();
        long.sort_by_key(|word| std::cmp::Reverse(word.len()));
        match kind {
            "prefixes" => format!("{}*", &long[0][..(2 + random.below(2)).min(long[0].len())]),
            "phrases" => format!("\"{}\"", words[at..at + 3].join(" ")),
            _ => format!("{} {}", long[0], long[1]),
        }
    };
    (0..QUERIES).map(one).collect()
}
