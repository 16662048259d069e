//! What decides beside the words: identifiers that few documents hold whole.

use super::*;
use search_engine::index::{
    Hits, LackedTerms, LexicalResult, Nearness, PageRequest, RerankedDocument, Reranker,
    SearchScope, search_in,
};

/// Puts last what the words put first.
struct Upside;

impl Reranker for Upside {
    fn rerank(
        &self,
        _: &[(&str, u32)],
        results: &[LexicalResult],
        _: &LackedTerms<'_>,
        _: bool,
    ) -> Option<Vec<RerankedDocument>> {
        let count = results.len() as f32;
        let turned = results.iter().rev().zip(0_u16..);
        let ranked = turned.map(|(result, place)| RerankedDocument {
            source: result.source,
            key: result.key.clone(),
            score: 1.0 - f32::from(place) / count,
            lexical_part: 0.0,
            otherwise_part: 0.0,
            concept_part: 1.0 - f32::from(place) / count,
            vector_weight: 0.5,
            vectors: 1,
            nearest: None,
            nearness: Nearness::Learnt,
            concepts: Vec::new(),
        });
        Some(ranked.collect())
    }
}

pub(super) fn ask(
    snapshot: &IndexSnapshot,
    text: &str,
    function: RelevanceFunction,
    skip: usize,
) -> Hits {
    let scope = SearchScope {
        snapshots: std::slice::from_ref(snapshot),
        names: &[],
        texts: None,
        reranker: Some(&Upside),
    };
    let page = PageRequest {
        skip,
        limit: 10,
        explain: true,
        ..PageRequest::default()
    };
    let query = parse(&SearchRequest::for_text(text)).expect("parses");
    search_in(&scope, &query, function, page).expect("searches")
}

pub(super) fn first(snapshot: &IndexSnapshot, text: &str, function: RelevanceFunction) -> String {
    ask(snapshot, text, function, 0).hits[0].record.key.clone()
}

pub(super) const BOTH: [RelevanceFunction; 2] =
    [RelevanceFunction::BM25F, RelevanceFunction::ServiceGraph];

/// Documents that are full of the parts of a name, and three that hold it whole.
fn names_and_parts(folder: &Path) -> IndexSnapshot {
    let (mut index, _) = open(folder);
    for number in 0..300 {
        let body = "read exact at, and read at exact places ".repeat(number % 5 + 1);
        put(&mut index, &format!("p{number:03}"), "read exact at", &body);
    }
    for number in 0..40 {
        let body = format!("commonName stands here {number}");
        put(&mut index, &format!("q{number:02}"), "", &body);
    }
    let long = "words of another kind ".repeat(400);
    put(
        &mut index,
        "whole",
        "",
        &format!("{long} read_exact_at {long}"),
    );
    put(
        &mut index,
        "both",
        "",
        &format!("{long} readExactAt fill_whole_buf"),
    );
    commit(&mut index)
}

#[test]
fn a_document_with_the_whole_identifier_comes_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = names_and_parts(folder.path());
    for function in BOTH {
        assert_eq!(first(&snapshot, "read_exact_at", function), "whole");
        assert_eq!(first(&snapshot, "readExactAt", function), "both");
        let question = "how does read exact at the places use read_exact_at";
        assert_eq!(
            first(&snapshot, question, function),
            "whole",
            "{function:?}"
        );
        // Two of them are more than one.
        let two = "fill_whole_buf readExactAt read_exact_at";
        assert_eq!(first(&snapshot, two, function), "both", "{function:?}");
    }
    // In a sentence `camelCase` is a word like others.
    let sentence = "how does one read exact places at them with readExactAt";
    assert_ne!(first(&snapshot, sentence, RelevanceFunction::BM25F), "both");
    // What many hold decides nothing: vectors have their say.
    let common = ask(&snapshot, "commonName", RelevanceFunction::ServiceGraph, 0);
    assert_eq!(common.hits[0].record.key, "q39");
}

#[test]
fn what_decided_is_explained_and_pages_join() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = names_and_parts(folder.path());
    for function in BOTH {
        let mut keys = Vec::new();
        let mut last = f32::INFINITY;
        for skip in (0..310).step_by(10) {
            for hit in ask(&snapshot, "exact read_exact_at", function, skip).hits {
                assert!(hit.score <= last, "{function:?} {skip}");
                last = hit.score;
                let explanation = hit.explanation.expect("it was asked for");
                let sum: f32 = explanation.parts.iter().map(|part| part.score).sum();
                let kinds = explanation.parts.iter().map(|part| part.kind.as_str());
                let decided = kinds.filter(|kind| *kind == "identifier").count();
                assert_eq!(decided, usize::from(hit.record.key == "whole"));
                if decided > 0 {
                    assert!((sum - hit.score).abs() < 1e-3, "{explanation:?}");
                }
                keys.push(hit.record.key);
            }
        }
        assert_eq!(keys.len(), 302, "{function:?}");
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 302, "each document once: {function:?}");
    }
}

/// A tree of documentation: the page of a type, pages that name it often, a manual.
fn library(folder: &Path) -> IndexSnapshot {
    let (mut index, _) = open(folder);
    let long = "a list that grows, with many methods ".repeat(300);
    let page = format!("Vec {long}");
    put(
        &mut index,
        "std/vec/struct.Vec.html",
        "Vec in std::vec - Rust",
        &page,
    );
    put(
        &mut index,
        "alloc/vec/struct.Vec.html",
        "Vec in alloc::vec - Rust",
        &page,
    );
    put(
        &mut index,
        "std/vec/index.html",
        "std::vec - Rust",
        &format!("Module vec {long}"),
    );
    let query = format!("how questions are written {long}");
    put(&mut index, "docs/QUERIES.md", "Query language", &query);
    for number in 0..300 {
        let body = "Vec vec std vec Vec queries md QUERIES docs query language ".repeat(3);
        put(
            &mut index,
            &format!("notes/{number:03}.md"),
            "Vec and vec",
            &body,
        );
    }
    put(
        &mut index,
        "backup/restore.rs",
        "",
        &format!("archive keeps server {long}"),
    );
    commit(&mut index)
}

#[test]
fn the_page_called_like_the_query_comes_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = library(folder.path());
    for function in BOTH {
        for (text, expected) in [
            ("alloc::vec::Vec", "alloc/vec/struct.Vec.html"),
            ("std::vec::Vec", "std/vec/struct.Vec.html"),
            ("std.vec.Vec", "std/vec/struct.Vec.html"),
            ("std/vec/struct.Vec.html", "std/vec/struct.Vec.html"),
            ("std::vec::Vec::push", "std/vec/struct.Vec.html"),
            ("std::vec", "std/vec/index.html"),
            ("QUERIES.md", "docs/QUERIES.md"),
            ("docs/QUERIES.md", "docs/QUERIES.md"),
            ("queries", "docs/QUERIES.md"),
            ("query language", "docs/QUERIES.md"),
        ] {
            assert_eq!(
                first(&snapshot, text, function),
                expected,
                "{text} {function:?}"
            );
        }
        let types = ask(&snapshot, "Vec", function, 0).hits;
        let mut best: Vec<&str> = types[..2]
            .iter()
            .map(|hit| hit.record.key.as_str())
            .collect();
        best.sort_unstable();
        assert_eq!(
            best,
            ["alloc/vec/struct.Vec.html", "std/vec/struct.Vec.html"]
        );
        let parts = &types[0]
            .explanation
            .as_ref()
            .expect("it was asked for")
            .parts;
        assert!(parts.iter().any(|part| part.kind == "name"), "{parts:?}");
    }
    // Words in the path count where the text hardly has them.
    let path = ask(
        &snapshot,
        "restore a backup of the server",
        RelevanceFunction::BM25F,
        0,
    );
    assert_eq!(path.hits[0].record.key, "backup/restore.rs");
    let parts = &path.hits[0]
        .explanation
        .as_ref()
        .expect("it was asked for")
        .parts;
    assert!(parts.iter().any(|part| part.kind == "path"), "{parts:?}");
}

#[test]
fn names_follow_changes_of_a_document() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for number in 0..20 {
        put(
            &mut index,
            &format!("{number}.md"),
            "",
            "guide to start quickly quick start",
        );
    }
    let long = "words quick start ".to_owned() + &"of another kind ".repeat(200);
    put(&mut index, "a.md", "Quick start", &long);
    let before = commit(&mut index);
    assert_eq!(
        first(&before, "quick start", RelevanceFunction::BM25F),
        "a.md"
    );
    put(&mut index, "a.md", "Slow end", &long);
    index.delete("3.md").expect("deletes");
    let renamed = commit(&mut index);
    assert_ne!(
        first(&renamed, "quick start", RelevanceFunction::BM25F),
        "a.md"
    );
    put(&mut index, "b/quick-start.html", "", &long);
    commit(&mut index);
    let merged = index.merge().expect("merges");
    assert_eq!(
        first(&merged, "Quick Start", RelevanceFunction::BM25F),
        "b/quick-start.html"
    );
}

/// Puts a file of the kind that its name says.
fn put_file(index: &mut SourceIndex, key: &str, body: &str) {
    let is_code = [".rs", ".js"].iter().any(|end| key.ends_with(end));
    let document = ExtractedDocument {
        kind: if is_code {
            ContentKind::Code
        } else {
            ContentKind::Prose
        },
        ..document(key, "", body)
    };
    index
        .put(&document, FileState::default())
        .expect("it is indexed");
}

/// A source with files of every role, all of which hold the same words.
fn roles(folder: &Path) -> IndexSnapshot {
    let (mut index, _) = open(folder);
    let text = "retry the delivery of a webhook later ";
    for (key, times) in [
        ("src/retry.rs", 1),
        ("src/tests/delivery_of_a_webhook.rs", 3),
        ("tests/retry_test.rs", 3),
        ("dist/app.js", 3),
        ("vendor/lib/retry.rs", 3),
        ("Cargo.lock", 3),
        ("docs/webhooks.md", 1),
        ("src/api.rs", 3),
    ] {
        let head = if key == "src/api.rs" {
            "// @generated by a tool\n"
        } else {
            ""
        };
        put_file(
            &mut index,
            key,
            &format!("{head}{}{}", text.repeat(times), "other ".repeat(40)),
        );
    }
    for number in 0..30 {
        put_file(
            &mut index,
            &format!("src/{number}.rs"),
            "other words of other files",
        );
    }
    put_file(&mut index, "tests/only.rs", "fn seldom_seen_helper() {}");
    for number in 30..60 {
        put_file(
            &mut index,
            &format!("src/{number}.rs"),
            "seldom seen, a helper",
        );
    }
    commit(&mut index)
}

#[test]
fn files_count_for_what_they_are_unless_the_query_asks_for_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = roles(folder.path());
    let best = |text: &str, count: usize| -> Vec<String> {
        let hits = ask(&snapshot, text, RelevanceFunction::BM25F, 0).hits;
        hits.into_iter()
            .take(count)
            .map(|hit| hit.record.key)
            .collect()
    };
    let mut main = best("webhook delivery", 2);
    main.sort();
    assert_eq!(main, ["docs/webhooks.md", "src/retry.rs"]);
    assert_eq!(
        best("how do I retry a webhook delivery", 1),
        ["docs/webhooks.md"]
    );
    assert!(best("webhook delivery tests", 1)[0].contains("test"));
    assert!(best("delivery lockfile", 1)[0].contains("lock"));
    assert_eq!(best("delivery path:vendor", 1), ["vendor/lib/retry.rs"]);
    // The only file with an identifier is meant, whatever it is for; and one of two of a name is.
    assert_eq!(best("seldom_seen_helper", 1), ["tests/only.rs"]);
    assert_eq!(best("retry.rs", 2), ["src/retry.rs", "vendor/lib/retry.rs"]);
    let hits = ask(&snapshot, "webhook delivery", RelevanceFunction::BM25F, 0).hits;
    let test = hits
        .iter()
        .find(|hit| hit.record.key == "tests/retry_test.rs");
    let explanation = test
        .and_then(|hit| hit.explanation.clone())
        .expect("it is found");
    let sum: f32 = explanation.parts.iter().map(|part| part.score).sum();
    assert!((sum - explanation.score).abs() < 1e-4, "{explanation:?}");
    let role = explanation.parts.iter().find(|part| part.kind == "role");
    assert!(role.is_some_and(|part| part.score < 0.0));
}

/// What is typed with its signs is meant with them: documents with `--json` come before those with
/// more of `json`, a file that is called `.env` before what speaks of an environment.
#[test]
fn signs_that_are_part_of_a_word_decide() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for number in 0..300 {
        let key = format!("data/{number}.txt");
        put(
            &mut index,
            &key,
            "",
            &"json env 95 1 0 wall ".repeat(number % 7 + 1),
        );
    }
    let padding = "other words that make this text long ".repeat(20);
    for (key, body) in [
        ("guide/output.txt", "the option --json of every command"),
        ("guide/versions.txt", "since rust 1.95.0 of April"),
        ("guide/flags.txt", "compile with -Wall and -Werror"),
        (
            "guide/secrets.txt",
            "never put `.env` under version control",
        ),
        ("app/.env", "KEY=value"),
        ("src/env.rs", "fn env() {}"),
    ] {
        put(&mut index, key, "", &format!("{body} {padding}"));
    }
    let snapshot = commit(&mut index);
    for function in BOTH {
        for (query, key) in [
            ("--json", "guide/output.txt"),
            ("json --json output", "guide/output.txt"),
            ("1.95.0", "guide/versions.txt"),
        ] {
            assert_eq!(first(&snapshot, query, function), key, "{query}");
        }
        let hits = ask(&snapshot, ".env", function, 0).hits;
        let keys: Vec<&str> = hits
            .iter()
            .take(2)
            .map(|hit| hit.record.key.as_str())
            .collect();
        assert_eq!(keys, ["app/.env", "guide/secrets.txt"], "{function:?}");
        // Without its signs a word is a word.
        assert!(first(&snapshot, "json", function).starts_with("data/"));
    }
}
