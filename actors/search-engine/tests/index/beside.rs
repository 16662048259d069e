//! What people seldom mean beside code and beside pages.

use super::deciding::first;
use super::*;

fn put_kind(index: &mut SourceIndex, key: &str, kind: ContentKind, text: &str) {
    let document = ExtractedDocument {
        kind,
        ..document(key, "", text)
    };
    index.put(&document, FileState::default()).expect("put");
}

/// Other documents, so that words are rare.
fn fill(index: &mut SourceIndex, extension: &str, kind: ContentKind) {
    for number in 0..60 {
        let key = format!("x/a{number:02}.{extension}");
        put_kind(index, &key, kind, "other words of another kind");
    }
}

#[test]
fn i16_data_beside_code_comes_behind_it_unless_it_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    fill(&mut index, "rs", ContentKind::Code);
    let words = "the pool retries a broken connection ";
    put_kind(&mut index, "src/b.rs", ContentKind::Code, &words.repeat(2));
    let patch = words.repeat(3);
    put_kind(&mut index, "b.patch", ContentKind::Data, &patch);
    let snapshot = commit(&mut index);
    for (query, expected) in [
        ("pool retries broken connection", "src/b.rs"),
        ("patch pool retries broken connection", "b.patch"),
        ("b.patch", "b.patch"),
    ] {
        let found = first(&snapshot, query, RelevanceFunction::BM25F);
        assert_eq!(found, expected, "{query}");
    }
}

#[test]
fn i16_data_beside_code_counts_as_a_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    fill(&mut index, "rs", ContentKind::Code);
    let long = "words of another kind ".repeat(2_000);
    let note = format!("# Notes\n\n{long}\n\n# More\n\npool pool retries retries broken\n\n{long}");
    put_kind(&mut index, "notes.xml", ContentKind::Data, &note);
    let code = format!(
        "fn a() {{}} // pool retries broken\n{}",
        "x(); ".repeat(150)
    );
    put_kind(&mut index, "src/b.rs", ContentKind::Code, &code);
    let snapshot = commit(&mut index);
    let found = first(&snapshot, "pool retries broken", RelevanceFunction::BM25F);
    assert_eq!(found, "src/b.rs");
}

#[test]
fn i16_pages_of_the_past_and_data_come_behind_the_page_that_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    fill(&mut index, "md", ContentKind::Prose);
    let answer = "Restore a backup of the database by the restore command. ";
    for (key, text) in [
        ("guide/recovery.md", answer.repeat(2)),
        ("blog/recovered.md", answer.repeat(3)),
        ("data/recovered.json", answer.repeat(4)),
    ] {
        put_kind(&mut index, key, ContentKind::Prose, &text);
    }
    let snapshot = commit(&mut index);
    let query = "restore backup of the database by command";
    let found = search(
        std::slice::from_ref(&snapshot),
        query,
        RelevanceFunction::BM25F,
    );
    let found = keys(&found);
    assert_eq!(found[0], "guide/recovery.md", "{found:?}");
}
