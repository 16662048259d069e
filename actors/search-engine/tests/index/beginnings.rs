//! Beginnings that stand for many words: their documents are kept, and are right whatever is
//! deleted and merged, in the states of before, too.

use super::*;

/// Words of one document that begin with the same two letters, and more than are read again.
const WORDS: usize = 540;

#[derive(Debug, Clone)]
enum Edit {
    Put(u8, bool),
    Delete(u8),
    Commit,
    Merge,
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        5 => (0_u8..6, any::<bool>()).prop_map(|(key, other)| Edit::Put(key, other)),
        2 => (0_u8..6).prop_map(Edit::Delete),
        3 => Just(Edit::Commit),
        1 => Just(Edit::Merge),
    ]
}

/// Words that begin with `wo`, or with `qu`; `wo` alone is a beginning of some of the others, too.
fn body(key: u8, other: bool) -> String {
    let beginning = if other { "qu" } else { "wo" };
    let words: String = (0..WORDS)
        .map(|at| format!("{beginning}{:04}z ", at * 7 + usize::from(key)))
        .collect();
    format!("{words} {}", if key == 3 { "wool" } else { "plain" })
}

const BEGINNINGS: [&str; 6] = ["wo", "qu", "woo", "wo0", "zz", "pl"];

/// The keys with a word that begins so, and the bits of what each scores.
fn ask(snapshot: &IndexSnapshot, beginning: &str) -> Vec<(String, u32)> {
    let text = format!("{beginning}*");
    let hits = search(
        std::slice::from_ref(snapshot),
        &text,
        RelevanceFunction::BM25F,
    );
    assert_eq!(hits.total, hits.hits.len() as u64, "total of {text}");
    let mut found: Vec<(String, u32)> = hits
        .hits
        .into_iter()
        .map(|hit| (hit.record.key, hit.score.to_bits()))
        .collect();
    found.sort();
    found
}

/// What a state has to answer, now and later.
struct State {
    snapshot: IndexSnapshot,
    answers: Vec<Vec<(String, u32)>>,
}

impl State {
    /// Asks twice, and compares with the documents there are and with a fresh index of them.
    fn check(snapshot: IndexSnapshot, corpus: &BTreeMap<u8, bool>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut fresh, _) = open(folder.path());
        for (key, other) in corpus {
            put(&mut fresh, &key.to_string(), "", &body(*key, *other));
        }
        let fresh = commit(&mut fresh);
        let answers = BEGINNINGS.map(|beginning| {
            let first = ask(&snapshot, beginning);
            assert_eq!(first, ask(&snapshot, beginning), "{beginning} again");
            assert_eq!(
                first,
                ask(&fresh, beginning),
                "{beginning} of a fresh index"
            );
            let holds = |(key, other): &(&u8, &bool)| {
                let text = body(**key, **other);
                text.split(' ').any(|word| word.starts_with(beginning))
            };
            let expected = corpus.iter().filter(holds).map(|(key, _)| key.to_string());
            let found: Vec<&String> = first.iter().map(|(key, _)| key).collect();
            assert_eq!(
                found,
                expected.collect::<Vec<_>>().iter().collect::<Vec<_>>()
            );
            first
        });
        Self {
            snapshot,
            answers: answers.to_vec(),
        }
    }

    fn check_again(&self) {
        for (beginning, expected) in BEGINNINGS.iter().zip(&self.answers) {
            assert_eq!(
                &ask(&self.snapshot, beginning),
                expected,
                "{beginning} later"
            );
        }
    }
}

/// Words that begin with the same letters, however many there are, in any alphabet, are all found.
#[test]
fn i16_two_letters_stand_for_all_words_that_begin_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let letter = |at: usize| char::from(b'a' + (at % 26) as u8);
    let word = |at: usize| [at / 17_576, at / 676, at / 26, at].map(letter);
    for document in 0..7 {
        let words = (document * 3_000..(document + 1) * 3_000).map(word);
        let body: String = words
            .map(|word| format!("be{}x ", String::from_iter(word)))
            .collect();
        put(&mut index, &format!("{document:02}"), "", &body);
    }
    put(&mut index, "last", "", "Bézier");
    put(
        &mut index,
        "other",
        "",
        "слово и дело, თბილისი and get_beta and XBean",
    );
    let snapshot = commit(&mut index);
    let keys = |beginning| -> Vec<String> {
        ask(&snapshot, beginning)
            .into_iter()
            .map(|(key, _)| key)
            .collect()
    };
    assert_eq!(keys("be").len(), 9);
    for (beginning, expected) in [
        ("сл", 1),
        ("თბ", 1),
        ("ge", 1),
        ("xb", 1),
        ("an", 1),
        ("bf", 0),
    ] {
        assert_eq!(keys(beginning).len(), expected, "{beginning}");
    }
}

/// The same of three letters and more, in texts and in titles.
#[test]
fn i16_three_letters_stand_for_all_words_that_begin_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for document in 0..7 {
        let words = (document * 3_000..(document + 1) * 3_000).map(|at| format!("get{at:05}x "));
        let words: String = words.collect();
        put(&mut index, &format!("{document:02}"), &words, &words);
    }
    put(&mut index, "last", "getz of all", "getz");
    let snapshot = commit(&mut index);
    let keys = |beginning| ask(&snapshot, beginning).len();
    assert_eq!(
        (keys("ge"), keys("get"), keys("get2"), keys("getz")),
        (8, 8, 1, 1)
    );
    let sources = std::slice::from_ref(&snapshot);
    let titled = search(sources, "get*", RelevanceFunction::TitleScorer);
    assert_eq!(titled.total, 8);
}

/// Distinct titles that begin alike.
const TITLES: usize = 10_050;

/// Titles that begin with the query rank above those that hold its words, however many there are.
#[test]
fn i16_all_titles_that_begin_with_the_query_rank_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for document in 0..TITLES {
        let title = format!("pump {document:05}");
        put(&mut index, &document.to_string(), &title, "");
    }
    put(&mut index, "other", "The pump", "");
    let snapshot = commit(&mut index);
    let sources = std::slice::from_ref(&snapshot);
    let function = RelevanceFunction::TitleScorer;
    let query = parse(&SearchRequest::for_text("pump")).expect("a query");
    let page = search_across(sources, &query, function, TITLES - 55, 60).expect("searches");
    let low = page.hits.iter().filter(|hit| hit.score < 3.0);
    let low: Vec<&str> = low.map(|hit| hit.record.key.as_str()).collect();
    assert_eq!((page.total, low), (TITLES as u64 + 1, vec!["other"]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn i16_beginnings_stay_right_with_deletions_and_merges(edits in prop::collection::vec(edit(), 1..30)) {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut index, _) = open(folder.path());
        let (mut corpus, mut states) = (BTreeMap::new(), Vec::<State>::new());
        for edit in edits {
            match edit {
                Edit::Put(key, other) => {
                    put(&mut index, &key.to_string(), "", &body(key, other));
                    corpus.insert(key, other);
                }
                Edit::Delete(key) => {
                    index.delete(&key.to_string()).expect("deletes");
                    corpus.remove(&key);
                }
                Edit::Commit => {
                    let snapshot = commit(&mut index);
                    states.push(State::check(snapshot, &corpus));
                }
                Edit::Merge => {
                    commit(&mut index);
                    let merged = index.merge().expect("merges");
                    states.push(State::check(merged, &corpus));
                }
            }
        }
        states.iter().for_each(State::check_again);
    }
}
