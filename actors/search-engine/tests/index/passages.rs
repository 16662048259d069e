//! Ranking by passages: words that stand together count, in long documents; and what the names,
//! definitions and roles of files add in questions about code.

use search_engine::index::{PageRequest, SearchScope, search_in};

use super::deciding::ask;
use super::*;

/// Some 1,200 bytes without words that are looked for.
fn padding() -> String {
    "    step(over, these, words);\n".repeat(40)
}

/// Functions of some 1,200 bytes, each with the line given for it.
fn functions(lines: &[&str]) -> String {
    let functions = lines.iter().zip('a'..);
    functions
        .map(|(line, name)| format!("fn {name}() {{\n    {line}\n{}}}\n\n", padding()))
        .collect()
}

fn put_code(index: &mut SourceIndex, key: &str, body: &str) {
    let document = ExtractedDocument {
        kind: ContentKind::Code,
        ..document(key, "", body)
    };
    let file = FileState::default();
    index.put(&document, file).expect("it is indexed");
}

/// Two long files with the same words: in one of them they stand in one function.
fn together_and_apart(index: &mut SourceIndex) {
    let with = |lines: [&'static str; 6]| [lines, [""; 6]].concat();
    let apart = ["a lease;", "", "that is stale;", "", "we renew it;", ""];
    put_code(index, "src/apart.rs", &functions(&with(apart)));
    let together = ["", "", "", "renew(a stale lease);", "", ""];
    put_code(index, "src/together.rs", &functions(&with(together)));
    for number in 0..20 {
        let key = format!("src/{number}.rs");
        put_code(index, &key, &functions(&["a lease;", ""]));
    }
}

fn bm25f(snapshot: &IndexSnapshot, text: &str) -> Hits {
    let sources = std::slice::from_ref(snapshot);
    search(sources, text, RelevanceFunction::BM25F)
}

#[test]
fn i16_words_that_stand_together_come_first_whatever_the_history() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    together_and_apart(&mut index);
    let snapshot = commit(&mut index);
    let hits = bm25f(&snapshot, "renew stale lease");
    assert_eq!(keys(&hits)[..2], ["src/together.rs", "src/apart.rs"]);
    assert_eq!(hits.hits[0].passage, Some(3));

    // The same from several segments, after a merge, and opened again.
    together_and_apart(&mut index);
    commit(&mut index);
    let merged = index.merge().expect("merges");
    drop((index, snapshot));
    let (mut index, outcome) = open(folder.path());
    assert!(matches!(outcome, OpenOutcome::Existing), "{outcome:?}");
    for snapshot in [merged, commit(&mut index)] {
        let again = bm25f(&snapshot, "renew stale lease");
        assert_eq!(keys(&again), keys(&hits));
        assert_eq!(again.hits[0].passage, Some(3));
        assert!((again.hits[0].score - hits.hits[0].score).abs() < 1e-4);
    }
}

#[test]
fn i16_passages_have_a_part_in_the_explanation_and_none_for_one_word() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    together_and_apart(&mut index);
    let snapshot = commit(&mut index);
    for (query, has_part) in [("renew stale lease", true), ("renew", false)] {
        let hits = ask(&snapshot, query, RelevanceFunction::BM25F, 0).hits;
        let hit = hits.iter().find(|hit| hit.record.key == "src/together.rs");
        let explanation = hit.and_then(|hit| hit.explanation.clone());
        let explanation = explanation.expect("it is found");
        let sum: f32 = explanation.parts.iter().map(|part| part.score).sum();
        assert!((sum - explanation.score).abs() < 1e-3, "{explanation:?}");
        let part = explanation.parts.iter().any(|part| part.kind == "passages");
        assert_eq!(part, has_part, "{explanation:?}");
    }
}

#[test]
fn i16_a_number_of_the_query_is_not_the_name_of_a_row() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    put(&mut index, "41", "", "wings of other birds");
    put(&mut index, "7", "", "wings, by 41 authors");
    let snapshot = commit(&mut index);
    let hits = bm25f(&snapshot, "41 authors on wings");
    assert_eq!(keys(&hits), ["7", "41"]);
    let words = bm25f(&snapshot, "41 authors");
    assert_eq!(keys(&words), ["7"]);
}

#[test]
fn i16_the_main_package_and_no_twin_for_windows_come_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for key in [
        "pond-extra/frog.rs",
        "pond/frog.rs",
        "pond/win/toad.rs",
        "pond/unix/toad.rs",
    ] {
        let body = format!(
            "// {}\nlet kind = leap; // over windows\n",
            key.rsplit('/').next().expect("a name")
        );
        put_code(&mut index, key, &body);
    }
    let snapshot = commit(&mut index);
    let found = |names: &[&str], text: &str| {
        let scope = SearchScope {
            snapshots: std::slice::from_ref(&snapshot),
            names,
            texts: None,
            reranker: None,
        };
        let query = parse(&SearchRequest::for_text(text)).expect("parses");
        let page = PageRequest {
            limit: 1,
            ..PageRequest::default()
        };
        let hits = search_in(&scope, &query, RelevanceFunction::BM25F, page).expect("searches");
        keys(&hits)[0].to_owned()
    };
    assert_eq!(found(&["pond"], "leap of a frog"), "pond/frog.rs");
    assert_eq!(found(&[], "leap of a toad"), "pond/unix/toad.rs");
    assert_eq!(found(&[], "leap of a toad on windows"), "pond/win/toad.rs");
}

#[test]
fn i16_short_documents_are_ranked_by_all_of_their_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let filler = "something else stands here. ".repeat(20);
    put(&mut index, "one", "", &format!("wing {filler} lift"));
    put(&mut index, "two", "", &format!("wing lift {filler}"));
    put(&mut index, "three", "", &filler);
    let snapshot = commit(&mut index);
    let sources = std::slice::from_ref(&snapshot);
    let weighted = bm25f(&snapshot, "wing lift");
    let plain = search(sources, "wing lift", RelevanceFunction::BM25);
    let scores = |hits: &Hits| hits.hits.iter().map(|hit| hit.score).collect::<Vec<_>>();
    assert_eq!(scores(&weighted), scores(&plain));
    assert_eq!(keys(&weighted), ["one", "two"]);
}

#[test]
fn i16_paths_names_and_manuals_weigh_in_questions_about_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let talk = "value serialization of the cursor and its tree ".repeat(3);
    put_code(&mut index, "src/talk.rs", &talk);
    put_code(
        &mut index,
        "src/serializer.rs",
        "fn write() {} // serialization of a value",
    );
    put_code(
        &mut index,
        "src/tree.rs",
        "pub struct HeadCursor {}\n// other words",
    );
    put_code(
        &mut index,
        "src/user.rs",
        "HeadCursor and HeadCursor navigation of trees",
    );
    put(
        &mut index,
        "docs/events.md",
        "",
        "the event loop runs timers and timers",
    );
    put_code(&mut index, "src/core.rs", "// the event loop runs timers");
    put(
        &mut index,
        "CHANGELOG.md",
        "",
        "queue limits, queue limits, queue limits",
    );
    put_code(
        &mut index,
        "src/work.rs",
        "// limits of the queue, and other words",
    );
    for number in 0..30 {
        put_code(
            &mut index,
            &format!("src/{number}.rs"),
            "other words of code",
        );
    }
    let snapshot = commit(&mut index);
    for (query, first) in [
        // A word of the path that begins like one of the query.
        ("serialization of a value", "src/serializer.rs"),
        // The definition of a name among other words.
        (
            "how HeadCursor and its navigation of trees work",
            "src/tree.rs",
        ),
        // How something works is in the code, how it is used in manuals.
        ("how the event loop runs timers", "src/core.rs"),
        (
            "how do I see that the event loop runs timers",
            "docs/events.md",
        ),
        ("queue limits", "src/work.rs"),
        ("changelog of queue limits", "CHANGELOG.md"),
    ] {
        assert_eq!(keys(&bm25f(&snapshot, query))[0], first, "{query}");
    }
}

#[test]
fn i16_names_of_files_say_how_near_they_come_to_a_question() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for key in [
        // The words of the question and no others, beside others, and in the folder's name.
        "src/a/lease_renewal_for_pages_and_trees.rs",
        "src/a/lease_renewal.rs",
        "src/b/other.rs",
        "src/lease/thing.rs",
    ] {
        put_code(&mut index, key, "// the renewal of a lease");
    }
    // The same definition, further from the root and nearer to it.
    put_code(&mut index, "src/deep/down/store.rs", "struct PageStore;");
    put_code(&mut index, "src/store.rs", "struct PageStore;");
    put(&mut index, "docs/a.md", "", "PageStore ".repeat(9).as_str());
    for number in 0..30 {
        let key = format!("src/c/{number}.rs");
        put_code(&mut index, &key, "// other words of code");
    }
    let snapshot = commit(&mut index);
    let called = [
        "src/a/lease_renewal.rs",
        "src/a/lease_renewal_for_pages_and_trees.rs",
        "src/lease/thing.rs",
        "src/b/other.rs",
    ];
    let defining = ["src/store.rs", "src/deep/down/store.rs", "docs/a.md"];
    for (query, expected) in [
        ("renewal of leases", &called[..]),
        ("PageStore", &defining[..]),
    ] {
        let hits = bm25f(&snapshot, query);
        assert_eq!(keys(&hits)[..expected.len()], *expected, "{query}");
    }
}
