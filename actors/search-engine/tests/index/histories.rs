//! Random histories of an index against a naive one, and random segments against one order.

use super::*;
use search_core::query::ParsedQuery;
use search_engine::index::{PageRequest, SearchHit, SearchScope, search_in};

/// BM25F as in the books, over documents in memory.
struct Naive {
    documents: BTreeMap<String, (HashMap<String, f32>, f32)>,
}

impl Naive {
    fn new(documents: &BTreeMap<String, (String, String)>) -> Self {
        let counted = documents.iter().map(|(key, (title, body))| {
            let mut frequencies: HashMap<String, f32> = HashMap::new();
            let mut length = 0.0;
            let mut terms = WordTerms::default();
            for (text, weight) in [(body, 1.0), (key, 1.0), (title, 3.0)] {
                for word in words(text) {
                    WordAnalyzer::default().analyze(word.text, &mut terms);
                    for (term, _) in terms.iter().filter(|(_, kind)| *kind != TermKind::Exact) {
                        *frequencies.entry(term.to_owned()).or_default() += weight;
                        length += weight;
                    }
                }
            }
            (key.clone(), (frequencies, length))
        });
        Self {
            documents: counted.collect(),
        }
    }

    fn search(&self, text: &str) -> Vec<(String, f32)> {
        let query = parse(&SearchRequest::for_text(text)).expect("parses");
        let count = self.documents.len() as f32;
        let average = self
            .documents
            .values()
            .map(|(_, length)| length)
            .sum::<f32>()
            / count;
        let mut scores: Vec<(String, f32)> = Vec::new();
        for (key, (frequencies, length)) in &self.documents {
            let mut score = 0.0;
            for term in query.terms() {
                let with = self
                    .documents
                    .values()
                    .filter(|(terms, _)| terms.contains_key(&term.text))
                    .count() as f32;
                let idf = (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
                let frequency = frequencies.get(&term.text).copied().unwrap_or(0.0);
                let norm = 1.2 * (0.25 + 0.75 * length / average);
                let is_whole = query
                    .words()
                    .iter()
                    .any(|word| query.terms()[word.whole].text == term.text);
                // Parts of identifiers count a quarter more.
                let boost = term.count as f32 * if is_whole { 1.0 } else { 1.25 };
                score += boost * idf * 2.2 * frequency / (frequency + norm);
            }
            if score > 0.0 {
                scores.push((key.clone(), score));
            }
        }
        scores.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        scores
    }
}

fn explained(snapshot: &IndexSnapshot, query: &ParsedQuery, function: RelevanceFunction) -> Hits {
    let scope = SearchScope {
        snapshots: std::slice::from_ref(snapshot),
        names: &[],
        texts: None,
        reranker: None,
    };
    let page = PageRequest {
        limit: 100,
        explain: true,
        ..PageRequest::default()
    };
    search_in(&scope, query, function, page).expect("searches")
}

/// What the words of a hit gave.
fn words_score(hit: &SearchHit) -> f32 {
    let parts = &hit.explanation.as_ref().expect("it was asked for").parts;
    let words = parts.iter().filter(|part| part.kind == "term");
    words.map(|part| part.score).sum()
}

fn score_of(expected: &[(String, f32)], key: &str) -> f32 {
    let found = expected.iter().find(|(known, _)| known == key);
    found.map_or(f32::NAN, |(_, score)| *score)
}

#[derive(Debug, Clone)]
enum Step {
    Put(u8, String, String),
    Delete(u8),
    Commit,
    /// A merge in the background, which ends while other steps go on.
    BeginMerge,
    TakeMerged,
}

fn step() -> impl Strategy<Value = Step> {
    let text = || {
        prop::collection::vec(
            prop::sample::select(vec!["wing", "lift", "Flows", "memPage", "x", "of"]),
            0..8,
        )
    };
    prop_oneof![
        6 => (0_u8..30, text(), text()).prop_map(|(key, title, body)| {
            Step::Put(key, title[..title.len().min(2)].join(" "), body.join(" "))
        }),
        1 => (0_u8..30).prop_map(Step::Delete),
        1 => Just(Step::Commit),
        1 => Just(Step::BeginMerge),
        1 => Just(Step::TakeMerged),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rankings_are_those_of_the_formula_whatever_the_history(steps in prop::collection::vec(step(), 1..80)) {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut index, _) = open(folder.path());
        let mut documents: BTreeMap<String, (String, String)> = BTreeMap::new();
        let mut merging = Vec::new();
        for step in steps {
            match step {
                Step::Put(key, title, body) => {
                    put(&mut index, &format!("k{key:02}"), &title, &body);
                    documents.insert(format!("k{key:02}"), (title, body));
                }
                Step::Delete(key) => {
                    index.delete(&format!("k{key:02}")).expect("deletes");
                    documents.remove(&format!("k{key:02}"));
                }
                Step::Commit => drop(commit(&mut index)),
                Step::BeginMerge => merging.extend(index.start_merge().expect("begins")),
                Step::TakeMerged => {
                    for merge in merging.drain(..) {
                        // A segment may be in another merge already.
                        let _ = merge.wait();
                    }
                    index.take_merged().expect("takes over");
                }
            }
        }
        let before = commit(&mut index);
        prop_assert_eq!(before.document_count(), documents.len() as u64);
        let after = index.merge().expect("merges");
        let naive = Naive::new(&documents);
        for text in ["wing", "lift of flow", "wing memPage x flows", "page page wing"] {
            let expected = naive.search(text);
            let query = parse(&SearchRequest::for_text(text)).expect("parses");
            for function in [RelevanceFunction::BM25F, RelevanceFunction::BM25] {
                let hits = explained(&after, &query, function);
                prop_assert_eq!(hits.total, expected.len() as u64);
                for (at, hit) in hits.hits.iter().enumerate() {
                    // BM25F adds what a document is beside its words, and says so.
                    let (of_words, score) = match function {
                        RelevanceFunction::BM25 => (hit.score, expected[at].1),
                        _ => (words_score(hit), score_of(&expected, &hit.record.key)),
                    };
                    prop_assert!((of_words - score).abs() <= 1e-4 * score, "{} is not {}", of_words, score);
                }
                // Neighbours of one score are in the order of keys.
                for pair in hits.hits.windows(2) {
                    prop_assert!(pair[0].score > pair[1].score || pair[0].record.key < pair[1].record.key);
                }
            }
            // Before the merge the same documents match.
            let unmerged = search_across(std::slice::from_ref(&before), &query, RelevanceFunction::BM25F, 0, 100).expect("searches");
            prop_assert_eq!(unmerged.total, expected.len() as u64);
        }
    }

    #[test]
    fn ties_are_in_the_order_of_keys_however_the_segments_lie(
        order in Just((0_u32..60).collect::<Vec<_>>()).prop_shuffle(),
        commits in prop::collection::vec(any::<bool>(), 60),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut index, _) = open(folder.path());
        for (number, is_last) in order.iter().zip(commits) {
            // Three terms in three orders of addition, and equal texts.
            put(&mut index, &format!("{number:02}"), "", "one two three four");
            if is_last {
                commit(&mut index);
            }
        }
        let snapshot = commit(&mut index);
        let expected: Vec<String> = (0..60).map(|number| format!("{number:02}")).collect();
        for text in ["one", "one two three", "four two one three"] {
            let query = parse(&SearchRequest::for_text(text)).expect("parses");
            let mut paged = Vec::new();
            for skip in (0..60).step_by(7) {
                let hits = search_across(std::slice::from_ref(&snapshot), &query, RelevanceFunction::BM25F, skip, 7).expect("searches");
                paged.extend(hits.hits.into_iter().map(|hit| hit.record.key));
            }
            prop_assert_eq!(&paged, &expected);
        }
    }
}
