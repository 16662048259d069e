//! The score is a function of the corpus: what was there before, and how the segments lie, makes no
//! difference.

use super::*;
use search_engine::index::{
    LackedTerms, LexicalResult, Nearness, PageRequest, RerankedDocument, Reranker, SearchScope,
    search_in,
};

/// Everything that a search says of each document, with the bits of its score.
fn phrase(
    snapshot: &IndexSnapshot,
    text: &str,
    function: RelevanceFunction,
) -> (u64, Vec<(String, u32)>) {
    let query = parse(&SearchRequest::for_text(text)).expect("parses");
    let hits = search_across(
        std::slice::from_ref(snapshot),
        &query,
        function,
        0,
        MAX_LIMIT,
    );
    let hits = hits.expect("searches");
    let found = hits.hits.into_iter();
    (
        hits.total,
        found
            .map(|hit| (hit.record.key, hit.score.to_bits()))
            .collect(),
    )
}

const QUERIES: [&str; 6] = [
    "wing",
    "lift of flow",
    "wing memPage x flows",
    "wing AND lift",
    "fl* wing",
    "x -wing",
];

const FUNCTIONS: [RelevanceFunction; 3] = [
    RelevanceFunction::BM25,
    RelevanceFunction::BM25F,
    RelevanceFunction::TitleScorer,
];

#[test]
fn u7_files_that_are_rewritten_and_put_back_score_as_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let write = |index: &mut SourceIndex, number: usize, word: &str| {
        let body = format!(
            "{word} lift {} {}",
            "flow ".repeat(number % 9),
            "x ".repeat(number % 70)
        );
        put(index, &format!("{number:04}.md"), "Notes on a wing", &body);
    };
    for number in 0..1_000 {
        write(&mut index, number, "wing");
    }
    let before = commit(&mut index);
    let told: Vec<_> = QUERIES
        .iter()
        .flat_map(|text| FUNCTIONS.map(|function| phrase(&before, text, function)))
        .collect();
    for word in ["changed memPage of other words", "wing"] {
        for number in 0..90 {
            write(&mut index, number * 11, word);
        }
        commit(&mut index);
    }
    let after = index.snapshot();
    assert!(after.has_deletions(), "deleted documents still lie there");
    for (place, text) in QUERIES.iter().enumerate() {
        for (function, expected) in FUNCTIONS.iter().zip(&told[place * FUNCTIONS.len()..]) {
            let now = phrase(&after, text, *function);
            assert_eq!(now.0, expected.0, "total of {text:?} by {function:?}");
            assert!(
                now.1 == expected.1,
                "{text:?} by {function:?} gives other scores"
            );
        }
    }
}

#[derive(Debug, Clone)]
enum Edit {
    Put(u8, usize),
    Delete(u8),
    Commit,
}

/// Bodies of up to some hundred words: lengths that are known by their steps alone are among them.
fn body(kind: usize) -> String {
    let words = ["wing ", "lift ", "Flows ", "memPage ", "x "];
    (0..kind * kind % 211)
        .map(|at| words[(at * kind + at / 3) % 5])
        .collect()
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        6 => (0_u8..20, 0_usize..40).prop_map(|(key, kind)| Edit::Put(key, kind)),
        2 => (0_u8..20).prop_map(Edit::Delete),
        2 => Just(Edit::Commit),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn u7_any_edits_that_end_in_a_corpus_score_as_that_corpus(edits in prop::collection::vec(edit(), 1..120)) {
        let (one, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let (mut index, _) = open(one.path());
        let mut corpus: BTreeMap<u8, usize> = BTreeMap::new();
        for edit in edits {
            match edit {
                Edit::Put(key, kind) => {
                    put(&mut index, &format!("k{key:02}"), "Title wing", &body(kind));
                    corpus.insert(key, kind);
                }
                Edit::Delete(key) => {
                    index.delete(&format!("k{key:02}")).expect("deletes");
                    corpus.remove(&key);
                }
                Edit::Commit => drop(commit(&mut index)),
            }
        }
        let edited = commit(&mut index);
        let (mut fresh, _) = open(other.path());
        for (key, kind) in &corpus {
            put(&mut fresh, &format!("k{key:02}"), "Title wing", &body(*kind));
        }
        let fresh = commit(&mut fresh);
        for text in QUERIES {
            for function in FUNCTIONS {
                prop_assert_eq!(phrase(&edited, text, function), phrase(&fresh, text, function), "{} by {:?}", text, function);
            }
        }
    }
}

/// Finds documents near every query, whatever their words.
struct Neighbours(Vec<String>);

impl Reranker for Neighbours {
    fn rerank(
        &self,
        _: &[(&str, u32)],
        results: &[LexicalResult],
        _: &LackedTerms<'_>,
        _: bool,
    ) -> Option<Vec<RerankedDocument>> {
        let known: Vec<&String> = results.iter().map(|result| &result.key).collect();
        let more = self.0.iter().filter(|key| !known.contains(key));
        let keys = known.iter().copied().chain(more);
        let ranked = keys.enumerate().map(|(place, key)| RerankedDocument {
            source: 0,
            key: key.clone(),
            score: 1.0 / (place + 1) as f32,
            lexical_part: 0.0,
            otherwise_part: 0.0,
            concept_part: 0.0,
            vector_weight: 0.5,
            vectors: 1,
            nearest: None,
            nearness: Nearness::Learnt,
            concepts: Vec::new(),
        });
        Some(ranked.collect())
    }
}

#[test]
fn u7_a_total_is_never_above_the_corpus() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for number in 0..1_000 {
        let body = if number < 900 {
            "wing of paper"
        } else {
            "something else"
        };
        put(&mut index, &format!("{number:04}.md"), "", body);
    }
    let snapshot = commit(&mut index);
    let total = |near: std::ops::Range<usize>, text: &str| {
        let neighbours = Neighbours(near.map(|number| format!("{number:04}.md")).collect());
        let scope = SearchScope {
            snapshots: std::slice::from_ref(&snapshot),
            names: &[],
            texts: None,
            reranker: Some(&neighbours),
        };
        let query = parse(&SearchRequest::for_text(text)).expect("parses");
        let page = PageRequest {
            skip: 0,
            limit: 10,
            ..PageRequest::default()
        };
        let hits = search_in(&scope, &query, RelevanceFunction::ServiceGraph, page);
        hits.expect("searches").total
    };
    // Words have led to 900; of the near ones some are beyond the best 200, and are counted
    // already.
    assert_eq!(total(700..800, "wing"), 900);
    assert_eq!(total(880..920, "wing"), 920);
    assert_eq!(total(0..1_000, "wing paper"), 1_000);
    assert_eq!(total(0..1_000, "something wing"), 1_000);
}

#[test]
fn u7_a_number_that_is_typed_is_part_of_the_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for number in 1..=60 {
        put(
            &mut index,
            &format!("{number:02}-about.md"),
            "",
            &format!("about topic{number} and more"),
        );
    }
    put(&mut index, "a.md", "", "Topic5Handler serves it, Utf8Error");
    put(&mut index, "b.md", "", "from_utf8 in the v2 of an api");
    put(&mut index, "c.md", "", "item 2 of a list, base of it all");
    let snapshot = commit(&mut index);
    let total = |text: &str| phrase(&snapshot, text, RelevanceFunction::BM25F).0;
    let first = |text: &str| {
        phrase(&snapshot, text, RelevanceFunction::BM25F).1[0]
            .0
            .clone()
    };
    // The name itself, and names that hold it; not the sixty others.
    assert_eq!(total("topic5"), 2);
    assert_eq!(total("TOPIC5"), 2);
    assert_eq!(first("topic5"), "05-about.md");
    assert_eq!(total("topic5 OR topic6"), 3);
    assert_eq!(total("utf8"), 2);
    // A letter alone is no part: a `2` anywhere is no `v2`.
    assert_eq!(total("v2"), 1);
    // Beside other words it ranks as ever, and these still find.
    assert_eq!(total("topic5 list"), 3);
    // Nobody has it: its parts are looked for, and that is said.
    let query = parse(&SearchRequest::for_text("base64")).expect("parses");
    let hits = search_across(
        std::slice::from_ref(&snapshot),
        &query,
        RelevanceFunction::BM25F,
        0,
        10,
    );
    let hits = hits.expect("searches");
    assert_eq!(
        (hits.total, hits.unheld.as_slice()),
        (1, &["base64".to_owned()][..])
    );
    assert!(phrase(&snapshot, "topic", RelevanceFunction::BM25F).0 >= 60);
}
