//! What files define: it decides, and is a filter.

use super::deciding::{BOTH, ask, first};
use super::*;

/// A folder in which many files use what few define.
fn uses_and_definitions(folder: &Path) -> IndexSnapshot {
    let (mut index, _) = open(folder);
    let mut code = |key: &str, body: &str| {
        let document = ExtractedDocument {
            kind: ContentKind::Code,
            ..document(key, "", body)
        };
        let file = FileState::default();
        index.put(&document, file).expect("it is indexed");
    };
    for number in 0..150 {
        let uses = "let page = PageCache::new(); page.parse_row(page_cache); run(parse) ";
        code(&format!("src/use{number}.rs"), &uses.repeat(number % 4 + 1));
    }
    let padding = "    // other words that make this file long\n".repeat(40);
    code(
        "src/memory.rs",
        &format!(
            "{padding}pub struct PageCache {{\n}}\nimpl PageCache {{\n    fn parse_row(&self) {{}}\n}}\n"
        ),
    );
    code(
        "src/rows.rs",
        &format!("{padding}fn parse_row() {{}}\nfn parse() {{}}\nuse memory::PageCache;\n"),
    );
    code(
        "tests/rows.rs",
        &format!("{padding}fn parse_row_works() {{}}\nfn parse() {{}}\n"),
    );
    let manual = ExtractedDocument {
        headings: vec!["Reading rows again".to_owned()],
        ..document(
            "docs/rows.md",
            "Rows",
            &format!("{padding}Reading rows again\nparse"),
        )
    };
    index
        .put(&manual, FileState::default())
        .expect("it is indexed");
    for number in 0..20 {
        let key = format!("docs/{number}.md");
        put(
            &mut index,
            &key,
            "",
            "reading rows and rows again, reading again",
        );
    }
    commit(&mut index)
}

#[test]
fn what_defines_a_name_comes_before_what_uses_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = uses_and_definitions(folder.path());
    for function in BOTH {
        for (query, key) in [
            ("PageCache", "src/memory.rs"),
            ("page_cache", "src/memory.rs"),
            ("PageCache::parse_row", "src/memory.rs"),
            ("rows::parse_row", "src/rows.rs"),
            ("parse", "src/rows.rs"),
            ("where is PageCache", "src/memory.rs"),
            ("reading rows again", "docs/rows.md"),
        ] {
            assert_eq!(
                first(&snapshot, query, function),
                key,
                "{query} {function:?}"
            );
        }
    }
    let explained = ask(&snapshot, "PageCache", RelevanceFunction::BM25F, 0).hits;
    let parts = explained[0]
        .explanation
        .clone()
        .expect("it was asked for")
        .parts;
    assert!(
        parts
            .iter()
            .any(|part| part.kind == "definition" && part.score > 0.0),
        "{parts:?}"
    );
}

#[test]
fn kinds_of_definitions_are_filters() {
    let folder = tempfile::tempdir().expect("a folder");
    let snapshot = uses_and_definitions(folder.path());
    let keys = |text: &str| -> Vec<String> {
        let hits = ask(&snapshot, text, RelevanceFunction::BM25F, 0).hits;
        let mut keys: Vec<String> = hits.into_iter().map(|hit| hit.record.key).collect();
        keys.sort();
        keys
    };
    let functions = ["src/memory.rs", "src/rows.rs", "tests/rows.rs"];
    assert_eq!(keys("kind:function"), functions);
    assert_eq!(keys("kind:fn parse"), functions);
    assert_eq!(keys("kind:method parse_row"), functions);
    assert_eq!(keys("kind:fn works"), ["tests/rows.rs"]);
    assert_eq!(keys("kind:struct"), ["src/memory.rs"]);
    assert_eq!(keys("kind:struct parse"), Vec::<String>::new());
    assert_eq!(keys("kind:heading rows"), ["docs/rows.md"]);
    assert_eq!(
        keys("parse -kind:function PageCache path:docs"),
        ["docs/rows.md"]
    );
}

#[test]
fn i16_what_is_called_like_a_question_comes_before_what_holds_its_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let mut code = |key: &str, body: &str| {
        let document = ExtractedDocument {
            kind: ContentKind::Code,
            ..document(key, "", body)
        };
        let file = FileState::default();
        index.put(&document, file).expect("it is indexed");
    };
    for number in 0..30 {
        let words = "// archives are downloaded and checked, one download after the other\n";
        code(&format!("src/{number}.rs"), &words.repeat(3));
    }
    let others = "fn something_else() {}\n".repeat(20);
    code(
        "src/net.rs",
        &format!("{others}fn download_archive() {{}}\n{others}"),
    );
    let snapshot = commit(&mut index);
    for function in BOTH {
        let asked = "how are archives downloaded";
        assert_eq!(
            first(&snapshot, asked, function),
            "src/net.rs",
            "{function:?}"
        );
    }
    let explained = ask(
        &snapshot,
        "downloaded archives",
        RelevanceFunction::BM25F,
        0,
    )
    .hits;
    assert_eq!(
        explained[0].record.defined,
        "something_else\ndownload_archive"
    );
}

/// What is called by the name of the one thing it defines says it once, not in two ways.
#[test]
fn i16_a_title_that_is_the_defined_name_counts_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for (key, title, body) in [
        ("a", "parse_row", "def parse_row(text): return text"),
        ("b", "parse_row", "let parse_row(text): return text"),
        ("c", "rows", "def parse_row(text): return text"),
        ("d", "rows", "let parse_row(text): return text"),
    ] {
        let document = ExtractedDocument {
            kind: ContentKind::Code,
            ..document(key, title, body)
        };
        index
            .put(&document, FileState::default())
            .expect("it is indexed");
    }
    let snapshot = commit(&mut index);
    let query = parse(&SearchRequest::for_text("parse")).expect("a query");
    let found = search_across(&[snapshot], &query, RelevanceFunction::BM25, 0, 10).expect("found");
    let score = |key: &str| {
        let hit = found.hits.iter().find(|hit| hit.record.key == key);
        hit.expect("it is found").score
    };
    assert_eq!(score("a"), score("b"));
    assert!(score("b") > score("c") && score("c") > score("d"));
}

#[test]
fn i16_the_first_heading_is_a_heading_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for (key, text) in [
        (
            "a.md",
            "# Duplicate about aardvarks\n\ntext\n\n## Second level\n\nmore",
        ),
        ("b.rst", "Prices\n======\n\nof things"),
        (
            "c.html",
            "<html><body><h1>Some ocelots</h1><p>text</p></body></html>",
        ),
        (
            "d.md",
            "---\ntitle: aardvarks\n---\n\ntext about Prices and ocelots",
        ),
    ] {
        let document = search_engine::extract::extract(key, text.into(), 0).expect("a text");
        index
            .put(&document, FileState::default())
            .expect("it is indexed");
    }
    let snapshot = commit(&mut index);
    for (asked, expected) in [
        ("kind:heading aardvarks", "a.md"),
        ("kind:heading Prices", "b.rst"),
        ("kind:heading ocelots", "c.html"),
        ("kind:heading \"Second level\"", "a.md"),
    ] {
        let hits = ask(&snapshot, asked, RelevanceFunction::BM25F, 0).hits;
        let keys: Vec<_> = hits.iter().map(|hit| hit.record.key.as_str()).collect();
        assert_eq!(keys, [expected], "{asked}");
    }
}
