//! ServiceGraph over a source in parts: its first part's indexer learns of what all publish.

use super::equal_answers::queries;
use super::equality::Comparison;
use super::servers::{FUNCTIONS, Home, Server, wait, write_corpus};

const DOCUMENTS: usize = 240;

/// An indexer for each of two parts, and a searcher over both.
fn start_parts(home: &Home) -> (Server, Server, Server) {
    let start = |name, mode, part| home.start_part(name, mode, part, 2);
    (
        start("first", "indexer", 1),
        start("second", "indexer", 2),
        start("searcher", "searcher", 1),
    )
}

/// How all functions answer these queries; learning is never quite over at the same moment.
fn compare(alone: &Server, searcher: &Server, queries: &[String]) -> Comparison {
    let mut comparison = Comparison::default();
    for function in FUNCTIONS {
        comparison.ask(alone, searcher, function, queries);
    }
    comparison
}

fn wait_for_equal_answers(alone: &Server, searcher: &Server, queries: &[String]) {
    let mut last = Comparison::default();
    wait(
        "equal answers",
        || {
            last = compare(alone, searcher, queries);
            last.differing.is_empty()
        },
        || format!("{} {}", alone.source(), searcher.source()),
    );
    assert_eq!(last.equal, FUNCTIONS.len() * queries.len());
    assert!(last.results > 1_000, "{}", last.results);
}

#[test]
fn i18_a_source_in_two_parts_is_ranked_as_one_by_learnt_vectors() {
    let home = Home::new();
    write_corpus(&home.docs(), DOCUMENTS);
    home.write_roles(&FUNCTIONS);
    let mut alone = home.start("alone", "local");
    let (first, _second, mut searcher) = start_parts(&home);
    alone.settle(DOCUMENTS, true);
    searcher.settle(DOCUMENTS, true);
    let queries = queries(&home.docs(), 40);
    wait_for_equal_answers(&alone, &searcher, &queries);
    assert_eq!(first.source()["concepts"]["state"], "ready");

    // What is new in either part is ranked by its concepts as well.
    for number in 0..8 {
        let text = format!("# Zeppelin {number}\n\nThe zeppelin stands beside the bicycle.\n");
        std::fs::write(home.docs().join(format!("new-{number}.md")), text).expect("room");
    }
    alone.settle(DOCUMENTS + 8, true);
    searcher.settle(DOCUMENTS + 8, true);
    let asked = ["zeppelin".to_owned(), "bicycle zeppelin chain".to_owned()];
    let mut new = queries;
    new.extend(asked);
    wait_for_equal_answers(&alone, &searcher, &new);
}

#[test]
fn i18_vectors_of_all_parts_stay_when_an_indexer_goes_and_come_back_with_it() {
    let home = Home::new();
    write_corpus(&home.docs(), DOCUMENTS);
    home.write_roles(&["ServiceGraph"]);
    let (mut first, mut second, mut searcher) = start_parts(&home);
    searcher.settle(DOCUMENTS, true);
    first.program.kill();
    second.program.kill();
    assert!(searcher.finds("ServiceGraph", "restart policy"));
    let mut late = home.start_part("late", "searcher", 1, 2);
    late.settle(DOCUMENTS, true);
    // What is written while nobody indexes is learnt of once somebody does.
    for number in 0..40 {
        let text = format!("# Zeppelin {number}\n\nThe zeppelin flies by {number} engines.\n");
        std::fs::write(home.docs().join(format!("new-{number:02}.md")), text).expect("room");
    }
    let _first = home.start_part("first", "indexer", 1, 2);
    let _second = home.start_part("another", "indexer", 2, 2);
    searcher.settle(DOCUMENTS + 40, true);
    wait(
        "the new word's neighbours",
        || searcher.finds("ServiceGraph", "zeppelin engines"),
        || searcher.source().to_string(),
    );
    late.settle(DOCUMENTS + 40, true);
}
