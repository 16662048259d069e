//! The index of a source through its public interface: what is put is found, in the right order,
//! whatever happened to the segments and files in between.

mod among_notes;
mod beginnings;
mod beside;
mod conditions;
mod corpus;
mod damage;
mod deciding;
mod defining;
mod facets;
mod histories;
mod lacking;
mod meant;
mod passages;
mod patterns;
mod phrases;
mod streaming;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use search_core::analysis::{TermKind, WordAnalyzer, WordTerms, words};
use search_core::document::{ContentKind, ExtractedDocument};
use search_core::query::{Operator, SearchRequest, parse};
use search_core::role::RelevanceFunction;
use search_engine::index::{
    Durability, FileState, Hits, IndexError, IndexOptions, IndexSnapshot, MAX_LIMIT, OpenOutcome,
    SourceIndex, search_across,
};

fn document(key: &str, title: &str, body: &str) -> ExtractedDocument {
    ExtractedDocument {
        key: key.to_owned(),
        title: title.to_owned(),
        body: body.to_owned(),
        ..ExtractedDocument::default()
    }
}

fn open(folder: &Path) -> (SourceIndex, OpenOutcome) {
    SourceIndex::open(folder, IndexOptions::default()).expect("the index opens")
}

fn put(index: &mut SourceIndex, key: &str, title: &str, body: &str) {
    let file = FileState {
        size: body.len() as u64,
        modified_ns: 7,
        hash: FileState::hash_of(body.as_bytes()),
    };
    index
        .put(&document(key, title, body), file)
        .expect("the document is put");
}

fn commit(index: &mut SourceIndex) -> IndexSnapshot {
    index.commit(Durability::Fast).expect("the commit succeeds")
}

fn search(sources: &[IndexSnapshot], text: &str, function: RelevanceFunction) -> Hits {
    let query = parse(&SearchRequest::for_text(text)).expect("a short query parses");
    search_across(sources, &query, function, 0, 10).expect("the search succeeds")
}

fn keys(hits: &Hits) -> Vec<&str> {
    hits.hits
        .iter()
        .map(|hit| hit.record.key.as_str())
        .collect()
}

fn found(snapshot: &IndexSnapshot, text: &str) -> Vec<String> {
    let hits = search(
        std::slice::from_ref(snapshot),
        text,
        RelevanceFunction::BM25F,
    );
    assert_eq!(hits.total, hits.hits.len() as u64, "total of {text:?}");
    hits.hits.into_iter().map(|hit| hit.record.key).collect()
}

#[test]
fn a_merge_in_the_background_keeps_what_changes_meanwhile_and_scores_as_a_fresh_index() {
    // The last five documents have four versions, the first five one.
    let last = |number: usize| (number / 5).min(3);
    let write = |index: &mut SourceIndex, number: usize, version: usize| {
        let body = format!("wing lift {}", "flow ".repeat(version * number % 7));
        put(index, &format!("{number:02}.md"), "Notes", &body);
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for version in 0..4 {
        for number in (0..20).filter(|&number| version <= last(number)) {
            write(&mut index, number, version);
        }
        commit(&mut index);
    }
    let merging = index.start_merge().expect("begins").expect("is worth it");
    put(&mut index, "new.md", "Notes", "wing of paper");
    index.delete("07.md").expect("deletes");
    commit(&mut index);
    // tantivy's own merges of segments with deletions may have been first; what is left is merged
    // by another one.
    let _ = merging.wait();
    while let Some(merging) = index.start_merge().expect("begins") {
        let _ = merging.wait();
    }
    let merged = index.take_merged().expect("takes over");
    assert_eq!(merged.document_count(), 20);

    let folder = tempfile::tempdir().expect("a folder");
    let (mut fresh, _) = open(folder.path());
    for number in 0..20 {
        write(&mut fresh, number, last(number));
    }
    put(&mut fresh, "new.md", "Notes", "wing of paper");
    fresh.delete("07.md").expect("deletes");
    commit(&mut fresh);
    let fresh = fresh.merge().expect("merges");
    let scores = |snapshot: &IndexSnapshot| -> Vec<(String, f32)> {
        let hits = search(
            std::slice::from_ref(snapshot),
            "lift of a flow wing",
            RelevanceFunction::BM25F,
        );
        let hits = hits.hits.into_iter();
        hits.map(|hit| (hit.record.key, hit.score)).collect()
    };
    assert_eq!(scores(&merged), scores(&fresh));
}

#[test]
fn documents_are_found_replaced_and_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, opened) = open(folder.path());
    assert_eq!(opened, OpenOutcome::Created);
    put(&mut index, "a.md", "Wings", "lift of a wing");
    put(&mut index, "b.md", "Pages", "memory pages");
    assert!(
        found(&index.snapshot(), "wing").is_empty(),
        "not before the commit"
    );
    let first = commit(&mut index);
    assert_eq!(found(&first, "wings"), ["a.md"]);

    put(&mut index, "a.md", "Wings", "now about engines");
    put(&mut index, "a.md", "Motors", "now about motors");
    index.delete("b.md").expect("the document is deleted");
    index.delete("never.md").expect("nothing happens");
    let second = commit(&mut index);
    assert_eq!(found(&second, "motor"), ["a.md"]);
    assert!(found(&second, "wing engine memory").is_empty());
    assert_eq!(second.document_count(), 1);
    assert!(second.generation() > first.generation());
    assert_eq!(
        found(&first, "memory"),
        ["b.md"],
        "a snapshot stays as it was"
    );

    put(&mut index, "b.md", "Pages", "memory again");
    index
        .delete("b.md")
        .expect("a document not committed yet is deleted");
    put(&mut index, "b.md", "Pages", "memory thrice");
    assert_eq!(found(&commit(&mut index), "thrice"), ["b.md"]);
}

#[test]
fn the_index_is_the_account_of_what_is_indexed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let mut original = document("docs/ä.md", "Title", "body");
    original.tags = vec!["one".to_owned(), "two".to_owned()];
    original.kind = ContentKind::Code;
    original.modified = Some(-5);
    let file = FileState {
        size: 1 << 40,
        modified_ns: i64::MIN,
        hash: [9; 16],
    };
    index.put(&original, file).expect("the document is put");
    put(&mut index, "gone.md", "", "x");
    commit(&mut index);
    index.delete("gone.md").expect("deleted");
    index
        .commit(Durability::Synced)
        .expect("the commit succeeds");
    drop(index);

    let (index, opened) = open(folder.path());
    assert_eq!(opened, OpenOutcome::Existing);
    let mut records = Vec::new();
    index
        .snapshot()
        .for_each_document(|record| records.push(record))
        .expect("records are read");
    let record = index
        .snapshot()
        .document("docs/ä.md")
        .expect("is read")
        .expect("is there");
    assert_eq!(records, std::slice::from_ref(&record));
    assert_eq!(
        (record.key, record.title, record.tags),
        (original.key, original.title, original.tags)
    );
    assert_eq!(
        (record.kind, record.modified, record.file),
        (ContentKind::Code, Some(-5), file)
    );
    assert_eq!(index.snapshot().document("gone.md").expect("is read"), None);
    assert!(index.size_on_disk().expect("the folder is read") > 0);
}

#[test]
fn a_killed_process_costs_nothing_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    put(&mut index, "a.md", "", "kept words");
    commit(&mut index);
    put(&mut index, "b.md", "", "lost words");
    // As after a kill: nothing is synced, a run lies about, and nobody cleaned up.
    drop(index);
    fs::write(folder.path().join("run-0"), "half").expect("writes");
    let (index, opened) = open(folder.path());
    assert_eq!(opened, OpenOutcome::Existing);
    assert_eq!(found(&index.snapshot(), "words"), ["a.md"]);
    assert!(!folder.path().join("run-0").exists());
    assert!(
        index.sync().expect("syncs") > 0,
        "what the other process left is made durable"
    );
}

#[test]
fn little_memory_gives_the_same_index() {
    let build = |memory_bytes| {
        let folder = tempfile::tempdir().expect("a folder");
        let options = IndexOptions { memory_bytes };
        let (mut index, _) = SourceIndex::open(folder.path(), options).expect("the index opens");
        for number in 0..200 {
            let body = format!(
                "shared words, word{number} and getWord{} {}",
                number % 7,
                "more ".repeat(number % 5)
            );
            put(
                &mut index,
                &format!("{:03}.md", number * 37 % 200),
                "A title",
                &body,
            );
        }
        for number in 0..50 {
            put(
                &mut index,
                &format!("{number:03}.md"),
                "Replaced",
                "shared replacement",
            );
        }
        let snapshot = commit(&mut index);
        ["shared more", "word33", "replacement title", "word"].map(|text| {
            let hits = search(
                std::slice::from_ref(&snapshot),
                text,
                RelevanceFunction::BM25,
            );
            assert_eq!(snapshot.document_count(), 200);
            (
                hits.total,
                hits.hits
                    .iter()
                    .map(|hit| hit.record.key.clone())
                    .collect::<Vec<_>>(),
            )
        })
    };
    // A segment in memory alone, and one from many runs.
    assert_eq!(build(64 << 20), build(400_000));
}

#[test]
fn titles_rank_exact_then_prefix_then_all_words_then_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    put(
        &mut index,
        "1",
        "Memry management",
        "fuzzy: one letter is missing",
    );
    put(&mut index, "2", "The management of memory", "all words");
    put(&mut index, "3", "Memory management in kernels", "prefix");
    put(&mut index, "4", "memory Management!", "exact");
    put(&mut index, "5", "Page cache", "memory management");
    let snapshot = commit(&mut index);
    let hits = search(
        &[snapshot],
        "Memory management",
        RelevanceFunction::TitleScorer,
    );
    assert_eq!(keys(&hits), ["4", "3", "2", "1"]);
    assert_eq!(hits.total, 4);
    assert!(hits.hits.is_sorted_by(|a, b| a.score > b.score));
}

#[test]
fn operators_and_quotes_leave_documents_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    put(&mut index, "1", "", "page fault handler");
    put(&mut index, "2", "", "page cache");
    put(&mut index, "3", "", "handle_page_fault()");
    let snapshot = [commit(&mut index)];
    let ask = |text: &str, terms: &[&str], operator| {
        let terms = terms.iter().map(|&term| term.to_owned()).collect();
        let request = SearchRequest {
            text: text.to_owned(),
            terms,
            operator,
            is_words_alone: false,
        };
        let query = parse(&request).expect("a short query parses");
        let hits =
            search_across(&snapshot, &query, RelevanceFunction::BM25F, 0, 10).expect("searches");
        let mut keys: Vec<String> = hits.hits.iter().map(|hit| hit.record.key.clone()).collect();
        assert_eq!(hits.total, keys.len() as u64);
        keys.sort();
        keys.join(" ")
    };
    assert_eq!(ask("page fault", &[], None), "1 2 3");
    assert_eq!(ask("page fault", &[], Some(Operator::And)), "1 3");
    assert_eq!(ask("page", &["fault", "handler"], Some(Operator::And)), "1");
    assert_eq!(ask("cache", &["fault"], Some(Operator::Or)), "1 2 3");
    assert_eq!(ask("page \"cache\"", &[], None), "2");
    assert_eq!(
        ask("page_fault", &[], Some(Operator::And)),
        "1 3",
        "all parts stand for the whole"
    );
    assert_eq!(ask("page nowhere", &[], Some(Operator::And)), "");
    assert_eq!(ask("", &[], None), "");
}

#[test]
fn headings_and_tags_count_in_bm25f_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for key in ["1", "2"] {
        let mut page = document(key, "", "about scheduling and other things");
        if key == "2" {
            page.headings = vec!["Scheduling".to_owned()];
        }
        index
            .put(&page, FileState::default())
            .expect("the document is put");
    }
    let snapshot = [commit(&mut index)];
    let plain = search(&snapshot, "scheduling", RelevanceFunction::BM25);
    assert_eq!(keys(&plain), ["1", "2"]);
    assert_eq!(plain.hits[0].score, plain.hits[1].score);
    let weighted = search(&snapshot, "scheduling", RelevanceFunction::BM25F);
    assert_eq!(keys(&weighted), ["2", "1"]);
    assert_eq!(
        search(&snapshot, "scheduling", RelevanceFunction::ServiceGraph),
        weighted
    );
}

#[test]
fn sources_share_their_statistics() {
    let folders = [
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    ];
    let mut snapshots = Vec::new();
    for (folder, common) in folders.iter().zip(["rare", "often"]) {
        let (mut index, _) = open(folder.path());
        for number in 0..20 {
            put(
                &mut index,
                &format!("{number:02}"),
                "",
                if number == 0 { "rare" } else { common },
            );
        }
        snapshots.push(commit(&mut index));
    }
    // In its own source the word is common, in the other rare; together both documents tie, and the
    // first source comes first.
    let hits = search(&snapshots, "rare", RelevanceFunction::BM25F);
    assert_eq!(hits.total, 21);
    let scores: Vec<f32> = hits.hits.iter().map(|hit| hit.score).collect();
    assert!(
        scores.windows(2).all(|pair| pair[0] == pair[1]),
        "{scores:?}"
    );
    let query = parse(&SearchRequest::for_text("rare")).expect("parses");
    let last =
        search_across(&snapshots, &query, RelevanceFunction::BM25F, 20, 10).expect("searches");
    assert_eq!(
        (last.hits[0].source, last.hits[0].record.key.as_str()),
        (1, "00")
    );
}

#[test]
fn s11_no_limit_is_too_high_and_no_skip_too_far() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for number in 0..1200 {
        put(&mut index, &format!("{number:04}"), "", "same");
    }
    let snapshot = [commit(&mut index)];
    let query = parse(&SearchRequest::for_text("same")).expect("parses");
    let ask = |skip, limit| {
        search_across(&snapshot, &query, RelevanceFunction::BM25F, skip, limit).expect("searches")
    };
    let most = ask(0, usize::MAX);
    assert_eq!((most.total, most.hits.len()), (1200, MAX_LIMIT));
    assert_eq!(
        keys(&ask(1195, 10)),
        ["1195", "1196", "1197", "1198", "1199"]
    );
    assert!(ask(usize::MAX, usize::MAX).hits.is_empty());
    assert!(ask(0, 0).hits.is_empty());
}

#[test]
fn a_second_writer_is_refused_and_the_first_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let second = SourceIndex::open(folder.path(), IndexOptions::default());
    assert!(
        matches!(second, Err(IndexError::Locked { .. })),
        "{second:?}"
    );
    // Nor may it be emptied because it looks old.
    fs::write(folder.path().join("format"), "0").expect("writes");
    let second = SourceIndex::open(folder.path(), IndexOptions::default());
    assert!(
        matches!(second, Err(IndexError::Locked { .. })),
        "{second:?}"
    );
    put(&mut index, "a", "", "still here");
    assert_eq!(found(&commit(&mut index), "still"), ["a"]);
}

#[test]
fn searches_go_on_while_documents_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let (handle, done) = (index.handle(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let searcher = scope.spawn(|| {
            let (mut searches, mut generation) = (0, 0);
            while !done.load(Ordering::Relaxed) || searches == 0 {
                let snapshot = handle.snapshot();
                assert!(snapshot.generation() >= generation);
                generation = snapshot.generation();
                let hits = search(
                    std::slice::from_ref(&snapshot),
                    "common words",
                    RelevanceFunction::BM25F,
                );
                assert_eq!(hits.total, snapshot.document_count());
                searches += 1;
            }
        });
        for number in 0..60 {
            put(
                &mut index,
                &format!("{}", number % 40),
                "",
                &format!("common words {number}"),
            );
            commit(&mut index);
        }
        done.store(true, Ordering::Relaxed);
        searcher.join().expect("the searcher met no error");
    });
    let hits = search(&[index.snapshot()], "common", RelevanceFunction::BM25F);
    assert_eq!(hits.total, 40);
}
