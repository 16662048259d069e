//! Words of the query that a result does not hold, and may say in other words.

use std::sync::Mutex;

use super::*;
use search_engine::index::{
    LackedTerm, LackedTerms, LexicalResult, Nearness, PageRequest, RerankedDocument, Reranker,
    SearchScope, search_in,
};

/// Notes what each result lacks, and gives those that lack a word a little for it.
#[derive(Default)]
struct Otherwise(Mutex<BTreeMap<String, Vec<LackedTerm>>>);

impl Reranker for Otherwise {
    fn rerank(
        &self,
        _: &[(&str, u32)],
        results: &[LexicalResult],
        lacked: &LackedTerms<'_>,
        _: bool,
    ) -> Option<Vec<RerankedDocument>> {
        let mut noted = self.0.lock().expect("no other search has failed");
        let lacked = lacked.of_results();
        assert_eq!(lacked.len(), results.len());
        let ranked = results.iter().zip(lacked).map(|(result, lacks)| {
            let otherwise_part = if lacks.is_empty() { 0.0 } else { 0.25 };
            noted.insert(result.key.clone(), lacks);
            RerankedDocument {
                source: result.source,
                key: result.key.clone(),
                score: 0.5 + otherwise_part,
                lexical_part: 0.5 + otherwise_part,
                otherwise_part,
                concept_part: 0.0,
                vector_weight: 0.5,
                vectors: 1,
                nearest: None,
                nearness: Nearness::Learnt,
                concepts: Vec::new(),
            }
        });
        Some(ranked.collect())
    }
}

fn ask(snapshots: &[IndexSnapshot], reranker: &Otherwise) -> Hits {
    let scope = SearchScope {
        snapshots,
        names: &[],
        texts: None,
        reranker: Some(reranker),
    };
    let page = PageRequest {
        limit: 10,
        explain: true,
        ..PageRequest::default()
    };
    let query = parse(&SearchRequest::for_text(
        "flutter of wings, wings and zeppelins",
    ));
    let query = query.expect("a query");
    search_in(&scope, &query, RelevanceFunction::ServiceGraph, page).expect("searches")
}

#[test]
fn i16_a_result_tells_which_words_it_lacks_in_any_segment_and_source() {
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let snapshots = folders.each_ref().map(|folder| {
        let (mut index, _) = open(folder.path());
        put(&mut index, "both", "", "the flutter of a wing");
        put(&mut index, "gone", "", "a wing");
        commit(&mut index);
        put(&mut index, "wing", "", "a wing of paper");
        put(&mut index, "flutter", "", "flutter and noise");
        put(&mut index, "other", "", "neither");
        index.delete("gone").expect("deletes");
        commit(&mut index)
    });
    let reranker = Otherwise::default();
    assert_eq!(ask(&snapshots, &reranker).hits.len(), 6);
    let lacked = reranker.0.into_inner().expect("no search has failed");
    let numbers = |key: &str| -> Vec<usize> { lacked[key].iter().map(|one| one.term).collect() };
    // Nobody knows what `zeppelin` means here: no document holds it.
    assert_eq!(numbers("both"), [0; 0]);
    assert_eq!(numbers("wing"), [0]);
    assert_eq!(numbers("flutter"), [1]);
    // Typed twice, and as rare.
    let (flutter, wing) = (lacked["wing"][0].weight, lacked["flutter"][0].weight);
    assert!((wing - 2.0 * flutter).abs() < 1e-5, "{wing} {flutter}");
}

#[test]
fn i16_what_is_said_otherwise_is_explained_and_counts_for_nothing_in_files_of_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    put(&mut index, "page", "", "a wing of paper");
    put(&mut index, "held", "", "the flutter of a wing");
    let code = ExtractedDocument {
        kind: ContentKind::Code,
        ..document("src/parts.rs", "", "fn wing() {}")
    };
    let put = index.put(&code, FileState::default());
    put.expect("the document is put");
    let snapshot = commit(&mut index);
    let hits = ask(std::slice::from_ref(&snapshot), &Otherwise::default()).hits;
    let part = |key: &str| {
        let hit = hits.iter().find(|hit| hit.record.key == key);
        let explained = hit.expect("it is found").explanation.as_ref();
        let parts = &explained.expect("it is explained").parts;
        let part = parts.iter().find(|part| part.kind == "otherwise");
        part.map(|part| part.score)
    };
    assert_eq!(part("page"), Some(0.25));
    assert_eq!(part("held"), None, "it lacks nothing");
    assert_eq!(
        part("src/parts.rs"),
        None,
        "in code other words are other things"
    );
}
