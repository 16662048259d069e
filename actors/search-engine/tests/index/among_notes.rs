//! Notes beside tables, mails and packed documents, and in folders called as people call them.

use super::deciding::{BOTH, first};
use super::*;

fn put_as(index: &mut SourceIndex, kind: ContentKind, key: &str, title: &str, body: &str) {
    let document = ExtractedDocument {
        kind,
        ..document(key, title, body)
    };
    index
        .put(&document, FileState::default())
        .expect("it is indexed");
}

const NOTE: &str = "lasagne with spinach, lasagne with meat, lasagne again; \
                    layers of lasagne and what a lasagne needs";

#[test]
fn i16_a_table_among_notes_takes_nothing_from_them() {
    for (other, kind) in [
        ("shopping.csv", ContentKind::Data),
        ("mail.eml", ContentKind::Prose),
        ("list.docx", ContentKind::Prose),
        ("drawing.svg", ContentKind::Data),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut index, _) = open(folder.path());
        put(&mut index, "Cooking.md", "Lasagne", NOTE);
        put_as(&mut index, kind, other, "", "lasagne,2,bread,milk");
        let snapshot = commit(&mut index);
        for asked in ["lasagne", "how does lasagne work", "lasagne spinach"] {
            let found = first(&snapshot, asked, RelevanceFunction::BM25F);
            assert_eq!(found, "Cooking.md", "{asked} beside {other}");
        }
    }
}

#[test]
fn i16_folders_of_notes_are_called_as_people_call_them() {
    for folder_name in ["Vendor", "Archive", "old", "examples", "Samples"] {
        let long = format!("{folder_name}/Contract with Acme.md");
        let both = |with_code: bool| {
            let folder = tempfile::tempdir().expect("a folder");
            let (mut index, _) = open(folder.path());
            let body = "Acme delivers. Acme pays. What Acme owes and what others owe Acme.";
            put(&mut index, &long, "Contract with Acme", body);
            put(
                &mut index,
                "Inbox/lunch.md",
                "",
                "lunch with somebody of acme",
            );
            if with_code {
                let body = "fn main() {} // acme";
                put_as(&mut index, ContentKind::Code, "src/main.rs", "", body);
            }
            first(&commit(&mut index), "acme", RelevanceFunction::BM25F)
        };
        assert_eq!(both(false), long);
        // Beside code it means what it means there.
        assert_ne!(both(true), long);
    }
}

#[test]
fn i16_a_letter_and_a_number_are_one_word() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    for number in 0..300 {
        let body = "12 of them, and 12 more vitamins ".repeat(number % 4 + 1);
        put(&mut index, &format!("{number}.csv"), "", &body);
    }
    let rest = "words of another kind ".repeat(60);
    put(
        &mut index,
        "n48.txt",
        "",
        &format!("{rest} vitamin B12 {rest}"),
    );
    put(&mut index, "c.md", "", "the 23 of may");
    let snapshot = commit(&mut index);
    for function in BOTH {
        assert_eq!(first(&snapshot, "B12", function), "n48.txt");
        assert_eq!(first(&snapshot, "vitamin B12", function), "n48.txt");
        let sources = std::slice::from_ref(&snapshot);
        assert_eq!(search(sources, "b12", function).total, 1);
    }
    // Nobody has it: the number is looked for, as before.
    assert_eq!(first(&snapshot, "c23", RelevanceFunction::BM25F), "c.md");
}

#[test]
fn i16_a_pasted_message_finds_the_page_that_holds_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut index, _) = open(folder.path());
    let rest = "words of another kind stand here and there ".repeat(30);
    put(
        &mut index,
        "error_codes/E0499.html",
        "E0499",
        &format!(
            "{rest} A variable was borrowed as mutable more than once. \
                  cannot borrow `i` as mutable more than once at a time {rest}"
        ),
    );
    for name in ["struct.Once.html", "mutable/index.html", "time/borrow.html"] {
        let body = "once at a time. mutable or not, one may borrow more. ".repeat(4);
        put(&mut index, name, "", &body);
    }
    for number in 0..40 {
        put(
            &mut index,
            &format!("{number}.html"),
            "",
            "a time for more of it, once or twice",
        );
    }
    let snapshot = commit(&mut index);
    for function in BOTH {
        let pasted = "cannot borrow `v` as mutable more than once at a time";
        assert_eq!(
            first(&snapshot, pasted, function),
            "error_codes/E0499.html",
            "{function:?}"
        );
    }
}
