//! Queries drawn from the documents, and the CPU that one takes.

use search_core::query::SearchRequest;
use search_core::role::RelevanceFunction;
use search_engine::answering::{SearchParams, SearchableRole, search};

use crate::corpus::Sample;
use crate::random::Random;
use crate::usage::{Usage, cpu_of_thread};

/// Queries of a kind.
const QUERIES: usize = 60;

/// CPU seconds that a kind is measured for at least, and rounds at most.
const LEAST_CPU: f64 = 1.5;
const MOST_ROUNDS: usize = 40;

/// What is asked.
pub(crate) const KINDS: [&str; 6] = [
    "words",
    "prefixes of 1 letter",
    "prefixes of 2 letters",
    "prefixes of 3 letters",
    "phrases",
    "ServiceGraph",
];

/// CPU milliseconds of a query of each kind; none of what is refused.
pub(crate) fn cost(role: &SearchableRole, sample: &Sample) -> [Option<f64>; KINDS.len()] {
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
        if !ask(&role, &queries) {
            return None;
        }
        let (before, mut rounds) = (Usage::now(), 0);
        while rounds < MOST_ROUNDS && Usage::since(before).cpu < LEAST_CPU {
            ask(&role, &queries);
            rounds += 1;
        }
        Some(Usage::since(before).cpu * 1e3 / (rounds * queries.len()) as f64)
    })
}

/// CPU milliseconds of a beginning of two letters that nobody has asked for before: each of those
/// that the sample has, once; and of the first of them alone, with all that the first search of a
/// process reads.
pub(crate) fn cost_of_new_beginnings(role: &SearchableRole, sample: &Sample) -> [f64; 2] {
    let role = SearchableRole {
        function: RelevanceFunction::BM25F,
        ..role.clone()
    };
    let mut asked: Vec<String> = queries("prefixes of 2 letters", sample);
    asked.sort_unstable();
    asked.dedup();
    let cost = |queries: &[String]| {
        let before = cpu_of_thread();
        ask(&role, queries);
        (cpu_of_thread() - before) * 1e3
    };
    let (first, others) = asked.split_at(1);
    let first = cost(first);
    [(first + cost(others)) / asked.len() as f64, first]
}

/// Asks all queries; whether they were answered.
fn ask(role: &SearchableRole, queries: &[String]) -> bool {
    queries.iter().all(|text| {
        let params = SearchParams {
            request: SearchRequest::for_text(text),
            limit: 10,
            ..SearchParams::default()
        };
        search(role, &params).is_ok()
    })
}

fn queries(kind: &str, sample: &Sample) -> Vec<String> {
    let mut random = Random::new(2);
    let one = |_| {
        let words = &sample.lines[random.below(sample.lines.len())];
        let at = random.below(words.len() - 2);
        let mut long: Vec<&str> = words.iter().map(String::as_str).collect();
        long.sort_by_key(|word| std::cmp::Reverse(word.len()));
        let prefix = |letters: usize| format!("{}*", &long[0][..letters.min(long[0].len())]);
        match kind {
            "prefixes of 1 letter" => prefix(1),
            "prefixes of 2 letters" => prefix(2),
            "prefixes of 3 letters" => prefix(3),
            "phrases" => format!("\"{}\"", words[at..at + 3].join(" ")),
            _ => format!("{} {}", long[0], long[1]),
        }
    };
    (0..QUERIES).map(one).collect()
}
