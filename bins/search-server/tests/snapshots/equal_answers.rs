//! Searchers that are asked many queries by every function answer as one machine does.

use serde_json::Value;

use super::equality::{Comparison, Differs, difference};
use super::servers::{FUNCTIONS, Home, Server, write_corpus};

/// Queries of two to four words that stand in the corpus, some beside each other and some not.
pub(crate) fn queries(docs: &std::path::Path, count: usize) -> Vec<String> {
    let mut words = Vec::new();
    for folder in 0..5 {
        for entry in std::fs::read_dir(docs.join(format!("part{folder}"))).expect("a folder") {
            let path = entry.expect("an entry").path();
            let text = std::fs::read_to_string(path).expect("text");
            words.extend(text.split_whitespace().map(str::to_owned));
        }
    }
    words.sort_unstable();
    words.dedup();
    let word = |number: usize| words[number * 7_919 % words.len()].as_str();
    let query = |number: usize| {
        let length = 2 + number % 3;
        let picked = (0..length).map(|place| word(number * 5 + place * 31));
        picked.collect::<Vec<_>>().join(" ")
    };
    (0..count).map(query).collect()
}

/// The small form of `cargo xtask bench searchers`.
#[test]
fn i18_three_searchers_answer_every_query_like_one_machine() {
    const DOCUMENTS: usize = 400;
    let home = Home::new();
    write_corpus(&home.docs(), DOCUMENTS);
    home.write_roles(&FUNCTIONS);
    let mut alone = home.start("alone", "local");
    let mut indexer = home.start("indexer", "indexer");
    let start = |number: usize| home.start(&format!("searcher-{number}"), "searcher");
    let mut searchers: Vec<Server> = (0..3).map(start).collect();
    for server in [&mut alone, &mut indexer].into_iter().chain(&mut searchers) {
        server.settle(DOCUMENTS, true);
    }
    let queries = queries(&home.docs(), 120);
    for searcher in &searchers {
        for function in FUNCTIONS {
            let mut comparison = Comparison::default();
            comparison.ask(&alone, searcher, function, &queries);
            assert_eq!(comparison.count(Differs::Order), 0, "{function}");
            assert_eq!(
                comparison.equal, 120,
                "{function}: {:?}",
                comparison.differing
            );
            let least = if function == "TitleScorer" {
                100
            } else {
                1_000
            };
            assert!(
                comparison.results > least,
                "{function}: {}",
                comparison.results
            );
        }
    }
}

#[test]
fn i18_what_differs_is_said() {
    let answer = |results: &[(&str, f64)], total: u64| {
        let results: Vec<Value> = results
            .iter()
            .map(|(id, score)| serde_json::json!({"id": id, "score": score}))
            .collect();
        serde_json::json!({"results": results, "total": total})
    };
    let one = answer(&[("a", 2.0), ("b", 1.0)], 2);
    let cases = [
        (answer(&[("b", 2.0), ("a", 1.0)], 2), Differs::Order),
        (answer(&[("a", 2.0)], 2), Differs::Order),
        (answer(&[("a", 2.0), ("b", 1.5)], 2), Differs::Scores),
        (answer(&[("a", 2.0), ("b", 1.0)], 3), Differs::Rest),
    ];
    for (other, how) in cases {
        let found = difference(&one, &other);
        assert_eq!(found.map(|(how, _)| how), Some(how), "{other}");
    }
    assert_eq!(difference(&one, &one), None);
}
