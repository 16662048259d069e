//! Conditions, phrases, corrections, explanations and the second look, over an index.

use std::sync::atomic::{AtomicUsize, Ordering};

use search_engine::index::{
    DocumentRecord, LackedTerms, LexicalResult, MAX_VERIFIED, PageRequest, RerankedDocument,
    Reranker, SearchScope, TextSource, closest_identifier, closest_word, search_in,
};

use super::*;

/// Texts by key, counted when they are read.
#[derive(Default)]
pub(super) struct Library {
    pub(super) texts: BTreeMap<String, String>,
    pub(super) reads: AtomicUsize,
}

impl TextSource for Library {
    fn text(&self, _: usize, record: &DocumentRecord) -> Option<String> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.texts.get(&record.key).cloned()
    }
}

pub(super) fn page(limit: usize) -> PageRequest {
    PageRequest {
        limit,
        ..PageRequest::default()
    }
}

pub(super) fn scope<'s>(
    snapshots: &'s [IndexSnapshot],
    texts: Option<&'s dyn TextSource>,
) -> SearchScope<'s> {
    SearchScope {
        snapshots,
        names: &["Here"],
        texts,
        reranker: None,
    }
}

pub(super) fn ask(scope: &SearchScope<'_>, text: &str, page: PageRequest) -> Hits {
    let query = parse(&SearchRequest::for_text(text)).expect("the query parses");
    search_in(scope, &query, RelevanceFunction::BM25F, page).expect("the search succeeds")
}

/// A condition as text and as what it says of a document's words.
#[derive(Debug, Clone)]
enum Tree {
    Word(String),
    Phrase(String, String),
    Prefix(String),
    Not(Box<Tree>),
    And(Vec<Tree>),
    Or(Vec<Tree>),
}

impl Tree {
    fn text(&self) -> String {
        let join = |list: &[Self], by: &str| {
            let list: Vec<String> = list.iter().map(Self::text).collect();
            format!("({})", list.join(by))
        };
        match self {
            Self::Word(word) => word.clone(),
            Self::Phrase(a, b) => format!("\"{a} {b}\""),
            Self::Prefix(start) => format!("{start}*"),
            Self::Not(inner) => format!("NOT {}", inner.text()),
            Self::And(list) => join(list, " AND "),
            Self::Or(list) => join(list, " OR "),
        }
    }

    fn holds(&self, words: &[String]) -> bool {
        match self {
            Self::Word(word) => words.contains(word),
            Self::Phrase(a, b) => words.windows(2).any(|pair| pair[0] == *a && pair[1] == *b),
            Self::Prefix(start) => words.iter().any(|word| word.starts_with(start)),
            Self::Not(inner) => !inner.holds(words),
            Self::And(list) => list.iter().all(|one| one.holds(words)),
            Self::Or(list) => list.iter().any(|one| one.holds(words)),
        }
    }
}

/// Words that are their own stems.
const WORDS: &str = "(red|fox|dog|tree|sky)";

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        4 => WORDS.prop_map(Tree::Word),
        2 => (WORDS, WORDS).prop_map(|(a, b)| Tree::Phrase(a, b)),
        1 => "(re|fo|tr|sk)".prop_map(Tree::Prefix),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|one| Tree::Not(Box::new(one))),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Tree::And),
            prop::collection::vec(inner, 2..4).prop_map(Tree::Or),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn what_is_found_is_what_meets_the_condition(
        texts in prop::collection::vec(prop::collection::vec(WORDS, 0..6), 1..12),
        gone in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        queries in prop::collection::vec(trees(), 1..8),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut index, _) = open(folder.path());
        let mut library = Library::default();
        for (number, words) in texts.iter().enumerate() {
            let key = format!("{number}");
            put(&mut index, &key, "", &words.join(" "));
            library.texts.insert(key, words.join(" "));
            if number % 3 == 0 {
                commit(&mut index);
            }
        }
        commit(&mut index);
        for one in gone {
            let key = format!("{}", one.index(texts.len()));
            index.delete(&key).expect("deletes");
            library.texts.remove(&key);
        }
        let snapshot = commit(&mut index);
        let sources = [snapshot];
        for query in queries {
            // A positive word beside it: a query that only excludes is refused.
            let text = format!("({}) OR zebra", query.text());
            let hits = ask(&scope(&sources, Some(&library)), &text, page(100));
            let mut found: Vec<String> = hits.hits.iter().map(|hit| hit.record.key.clone()).collect();
            found.sort();
            let meets = |text: &str| query.holds(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
            let expected: Vec<String> = library.texts.iter().filter(|(_, text)| meets(text)).map(|(key, _)| key.clone()).collect();
            prop_assert_eq!(&found, &expected, "{}", text);
            prop_assert_eq!(hits.total, expected.len() as u64, "{}", text);
        }
    }
}

/// However many documents hold an identifier as a whole, only so many texts are read, and the
/// answer says so.
#[test]
fn a_phrase_with_a_whole_identifier_reads_a_bounded_number_of_texts() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let mut library = Library::default();
    for number in 0..MAX_VERIFIED + 50 {
        let key = format!("{number:05}");
        let text = if number % 2 == 0 {
            "redFox dog"
        } else {
            "dog redFox"
        };
        put(&mut index, &key, "", text);
        library.texts.insert(key, text.to_owned());
    }
    let sources = [commit(&mut index)];
    // Whoever wants more of them reads no more: pages are of one list.
    for limit in [10, 1_000] {
        library.reads.store(0, Ordering::Relaxed);
        let scope = scope(&sources, Some(&library));
        let hits = ask(&scope, "\"redfox dog\"", page(limit));
        assert_eq!(library.reads.load(Ordering::Relaxed), MAX_VERIFIED);
        assert_eq!((hits.unread, hits.total), (50, MAX_VERIFIED as u64 / 2));
        assert_eq!(hits.hits.len(), limit);
    }
    // A field narrows what has to be read.
    library.reads.store(0, Ordering::Relaxed);
    let hits = ask(
        &scope(&sources, Some(&library)),
        "\"redfox dog\" path:0000",
        page(10),
    );
    assert_eq!(
        (
            library.reads.load(Ordering::Relaxed),
            hits.unread,
            hits.total
        ),
        (10, 0, 5)
    );
}

/// A phrase that nothing holds, among other words, is no reason to show nothing.
#[test]
fn beside_words_a_phrase_that_nothing_holds_is_its_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let mut library = Library::default();
    for (key, text) in [("a", "red dog"), ("b", "fox tree"), ("c", "sky")] {
        put(&mut index, key, "", text);
        library.texts.insert(key.to_owned(), text.to_owned());
    }
    let sources = [commit(&mut index)];
    let scope = scope(&sources, Some(&library));
    for (query, total, unheld) in [
        ("tree \"red fox\"", 2, &["red fox"][..]),
        ("tree \"red dog\"", 1, &[]),
        ("\"red fox\"", 0, &[]),
        ("tree AND \"red fox\"", 0, &[]),
        ("tree \"red fox\" path:a", 0, &[]),
        ("tree \"red fox\" -sky", 0, &[]),
    ] {
        let hits = ask(&scope, query, page(10));
        assert_eq!(
            (hits.total, hits.unheld.as_slice()),
            (
                total,
                &unheld
                    .iter()
                    .map(|one| (*one).to_owned())
                    .collect::<Vec<_>>()[..]
            ),
            "{query}"
        );
    }
}

#[test]
fn words_that_are_nearly_right_are_told_apart_by_distance_then_frequency() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for (key, text) in [
        ("a", "kernel colonel"),
        ("b", "kernel"),
        ("c", "kerner"),
        ("d", "scheduling memories"),
        ("e", "completing, completing, and completed"),
        ("f", "completing one of the kernels"),
    ] {
        put(&mut index, key, "", text);
    }
    let sources = [commit(&mut index)];
    for (typed, expected) in [
        ("kernal", Some("kernel")),
        ("kernex", Some("kernel")),
        ("kenrel", Some("kernel")),
        ("schedlung", Some("scheduling")),
        ("shcedlung", None),
        ("shceduling", Some("scheduling")),
        ("memoreis", Some("memories")),
        ("kern", None),
        // A stem is shown as the form that most documents have; a word stays what it is.
        ("complwt", Some("completing")),
        ("compleet", Some("completing")),
        ("x8kernel", None),
    ] {
        let found = closest_word(&sources, typed).expect("the index can be read");
        assert_eq!(found.as_deref(), expected, "{typed}");
    }
}

/// An identifier is missing where no document has it, nor all of its parts; what is put right has
/// the same numbers and underscores.
#[test]
fn mistyped_identifiers_are_put_right() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for (key, text) in [
        ("a", "let map = HashMap::new(); a hash of 5 MPa"),
        ("b", "pressure in mpa"),
        ("c", "read_exact_at(offset) and utf8 topic5"),
        ("d", "user names of people"),
    ] {
        put(&mut index, key, "", text);
    }
    let sources = [commit(&mut index)];
    for (typed, is_missing, expected) in [
        ("HashMpa", false, Some("hashmap")),
        ("HashMqp", true, Some("hashmap")),
        ("HashMap", false, None),
        ("hasMap", true, Some("hashmap")),
        ("read_exat_at", true, Some("read_exact_at")),
        ("readExactAt", false, None),
        ("userNames", false, None),
        ("topic7x", true, None),
    ] {
        let query = parse(&SearchRequest::for_text(typed)).expect("an identifier");
        let found = search_across(&sources, &query, RelevanceFunction::BM25F, 0, 10);
        let found = found.expect("the index can be read");
        assert_eq!(!found.missing.is_empty(), is_missing, "{typed}");
        let folded = &query.words()[0].folded;
        let close = closest_identifier(&sources, folded).expect("the index can be read");
        if expected.is_some() {
            assert_eq!(close.as_deref(), expected, "{typed}");
        }
    }
}

/// However many documents there are, and whether or not the condition asks for it.
#[test]
fn a_beginning_adds_to_the_score_of_every_document_that_has_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for number in 0..2_100 {
        let more = if number % 3 == 0 { "tree" } else { "sky" };
        put(
            &mut index,
            &format!("{number:04}"),
            "",
            &format!("red fox {more}"),
        );
    }
    put(&mut index, "other", "", "trousers");
    let sources = [commit(&mut index)];
    let explained = PageRequest {
        limit: 5,
        explain: true,
        ..PageRequest::default()
    };
    for query in [
        "fox AND tr*",
        "fox AND (tr* OR sky)",
        "\"red fox\" tr*",
        "fox tr*",
        "tr* path:0",
    ] {
        let hits = ask(&scope(&sources, None), query, explained);
        for hit in &hits.hits {
            let number: usize = hit.record.key.parse().expect("a number");
            assert_eq!(number % 3, 0, "{query}: those with a tree come first");
            let parts = &hit.explanation.as_ref().expect("it was asked for").parts;
            let sum: f32 = parts.iter().map(|part| part.score).sum();
            assert!(parts.iter().any(|part| part.kind == "prefix"), "{query}");
            assert!(
                (sum - hit.score).abs() < 1e-4,
                "{query}: {parts:?} {}",
                hit.score
            );
        }
        assert_eq!(hits.hits.len(), 5, "{query}");
    }
}

/// Puts the results in the order of their keys, and one more in front.
struct ByKey {
    more: Option<&'static str>,
}

impl Reranker for ByKey {
    fn rerank(
        &self,
        terms: &[(&str, u32)],
        results: &[LexicalResult],
        _: &LackedTerms<'_>,
        finds_more: bool,
    ) -> Option<Vec<RerankedDocument>> {
        assert!(terms.iter().all(|&(_, count)| count > 0));
        let mut keys: Vec<&str> = results.iter().map(|result| result.key.as_str()).collect();
        keys.extend(self.more.filter(|_| finds_more));
        keys.sort_unstable();
        let count = keys.len() as f32;
        let ranked = keys
            .iter()
            .zip(0_u16..)
            .map(|(key, place)| RerankedDocument {
                nearness: search_engine::index::Nearness::Learnt,
                source: 0,
                key: (*key).to_owned(),
                score: 1.0 - f32::from(place) / count,
                lexical_part: 0.0,
                otherwise_part: 0.0,
                concept_part: 1.0 - f32::from(place) / count,
                vector_weight: 0.5,
                vectors: 1,
                nearest: None,
                concepts: vec!["order".to_owned()],
            });
        Some(ranked.collect())
    }
}

#[test]
fn the_second_look_orders_adds_and_explains() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for number in 0..300 {
        let text = "fox ".repeat(number + 1) + &"tree ".repeat(300 - number);
        put(&mut index, &format!("k{number:03}"), "", &text);
    }
    put(&mut index, "a-wolf", "", "wolf");
    let sources = [commit(&mut index)];
    let reranker = ByKey {
        more: Some("a-wolf"),
    };
    let with = SearchScope {
        reranker: Some(&reranker),
        ..scope(&sources, None)
    };
    let look = |text: &str, page: PageRequest| {
        let query = parse(&SearchRequest::for_text(text)).expect("parses");
        search_in(&with, &query, RelevanceFunction::ServiceGraph, page).expect("searches")
    };
    let explained = PageRequest {
        limit: 3,
        explain: true,
        ..PageRequest::default()
    };
    let hits = look("fox", explained);
    // The best 200 of 300 are ranked again; the other 100 follow.
    assert_eq!(keys(&hits), ["a-wolf", "k100", "k101"]);
    assert_eq!(hits.total, 301);
    assert_eq!(hits.hits[0].concepts, ["order"]);
    for hit in &hits.hits {
        let explanation = hit.explanation.as_ref().expect("it was asked for");
        let sum: f32 = explanation.parts.iter().map(|part| part.score).sum();
        assert!((sum - hit.score).abs() < 1e-4, "{explanation:?}");
    }
    let mut joined = Vec::new();
    let mut last = f32::INFINITY;
    for skip in (0..301).step_by(50) {
        let hits = look(
            "fox",
            PageRequest {
                skip,
                limit: 50,
                ..PageRequest::default()
            },
        );
        for hit in hits.hits {
            assert!(hit.score <= last, "scores fall");
            last = hit.score;
            joined.push(hit.record.key);
        }
    }
    joined.sort();
    joined.dedup();
    assert_eq!(joined.len(), 301);
    // A condition holds for what concepts find, too.
    assert_eq!(keys(&look("fox AND tree", page(1))), ["k050"]);
    let lexical = search_in(
        &with,
        &parse(&SearchRequest::for_text("fox")).expect("parses"),
        RelevanceFunction::BM25F,
        page(1),
    );
    assert_eq!(
        keys(&lexical.expect("searches")),
        ["k299"],
        "other functions stay lexical"
    );
}
