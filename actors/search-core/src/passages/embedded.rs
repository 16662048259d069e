//! What an embedding model reads of a document: its passages, each as a text of its own.

use std::ops::Range;

use super::cuts::{evenly, passages};
use crate::document::{ContentKind, ExtractedDocument};

/// Most passages of a text or of source code that are embedded.
const MAX_EMBEDDED_PASSAGES: usize = 16;

/// The same of tables, records and settings, which say much the same all over.
const MOST_OF_DATA: usize = 4;

/// Folders in front of a file's name that say what it is about.
const SAYING_FOLDERS: usize = 2;

/// The texts of a document that a model is given, with at most `most` bytes of the document in
/// each.
///
/// A document of one passage is its title and its text; code says itself what it is. Of a longer
/// one there is a text for each passage, with the title in front, or of code with the words of its
/// path: at most 16, of data fewer, spread evenly from the first one on.
#[must_use]
pub fn embedded_texts(document: &ExtractedDocument, most: usize) -> Vec<String> {
    let all = passages(&document.body);
    if all.len() == 1 {
        let title = match document.kind {
            ContentKind::Code => "",
            _ => document.title.as_str(),
        };
        return vec![titled(title, &document.body, most)];
    }
    let title = match document.kind {
        ContentKind::Prose | ContentKind::Data => document.title.clone(),
        ContentKind::Code => path_words(&document.key),
    };
    evenly(all.len(), most_embedded(document.kind))
        .map(|number| titled(&title, &document.body[all[number].clone()], most))
        .collect()
}

/// The bytes of a document's body that the [embedded text](embedded_texts) with this number is of,
/// counted from 0; none where there are not so many.
#[must_use]
pub fn embedded_range(body: &str, kind: ContentKind, number: usize) -> Option<Range<usize>> {
    let all = passages(body);
    let passage = evenly(all.len(), most_embedded(kind)).nth(number)?;
    Some(all[passage].clone())
}

/// Most passages of a document that are embedded.
const fn most_embedded(kind: ContentKind) -> usize {
    match kind {
        ContentKind::Prose | ContentKind::Code => MAX_EMBEDDED_PASSAGES,
        ContentKind::Data => MOST_OF_DATA,
    }
}

/// A text with a title in front, unless it begins so.
fn titled(title: &str, text: &str, most: usize) -> String {
    let text = text[..text.floor_char_boundary(most)].trim();
    if text.starts_with(title) {
        return text.to_owned();
    }
    let title = &title[..title.floor_char_boundary(most)];
    format!("{title} {text}").trim().to_owned()
}

/// The words of a file's name and of the nearest folders.
fn path_words(key: &str) -> String {
    let parts: Vec<&str> = key.rsplit('/').take(SAYING_FOLDERS + 1).collect();
    let path = parts.into_iter().rev().collect::<Vec<_>>().join(" ");
    let words = path.split(|letter: char| !letter.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn document(kind: ContentKind, body: &str) -> ExtractedDocument {
        ExtractedDocument {
            key: "lib/src/net/http_client.rs".to_owned(),
            title: "Clients".to_owned(),
            body: body.to_owned(),
            kind,
            ..ExtractedDocument::default()
        }
    }

    #[test]
    fn i16_a_short_document_is_embedded_as_one_text() {
        for (kind, body, most, expected) in [
            (
                ContentKind::Prose,
                "Some words.\n",
                99,
                "Clients Some words.",
            ),
            (ContentKind::Prose, "Clients of us.", 99, "Clients of us."),
            (ContentKind::Prose, " ", 99, "Clients"),
            (ContentKind::Code, "fn a() {}\n", 99, "fn a() {}"),
            (ContentKind::Prose, "äöü", 3, "Cli ä"),
        ] {
            assert_eq!(embedded_texts(&document(kind, body), most), [expected]);
        }
    }

    #[test]
    fn i16_a_long_document_is_embedded_by_passages_that_say_where_they_stand() {
        let line = "    something(with, many, words);\n".repeat(25);
        let code = format!("fn a() {{\n{line}}}\n\nfn b() {{\n{line}}}\n\nfn c() {{\n{line}}}\n");
        let texts = embedded_texts(&document(ContentKind::Code, &code), 4_096);
        assert_eq!(texts.len(), 3);
        assert!(
            texts[0].starts_with("src net http client rs fn a()"),
            "{texts:?}"
        );
        assert!(
            texts[1].starts_with("src net http client rs fn b()"),
            "{texts:?}"
        );
        let prose = "A sentence of some words. ".repeat(200);
        let texts = embedded_texts(&document(ContentKind::Prose, &prose), 300);
        assert!(texts.len() > 2);
        for text in texts {
            assert!(
                text.starts_with("Clients A sentence") && text.len() <= 310,
                "{text}"
            );
        }
    }

    #[test]
    fn i16_of_many_passages_some_are_embedded() {
        let long = "Some words of a line.\n".repeat(5_000);
        let texts = embedded_texts(&document(ContentKind::Prose, &long), 4_096);
        assert_eq!(texts.len(), MAX_EMBEDDED_PASSAGES);
        let texts = embedded_texts(&document(ContentKind::Data, &long), 4_096);
        assert_eq!(texts.len(), MOST_OF_DATA);
    }

    proptest! {
        #[test]
        fn i16_any_document_has_a_bounded_number_of_texts(
            // Repeated, as most of the time would go into drawing letters.
            parts in prop::collection::vec(("[a-z é漢.\n]{0,40}", 1_usize..=10), 0..60),
        ) {
            let parts = parts.iter().map(|(part, times)| part.repeat(*times));
            let text: String = parts.collect();
            let all = passages(&text);
            for kind in [ContentKind::Prose, ContentKind::Code] {
                let texts = embedded_texts(&document(kind, &text), 4_096);
                prop_assert_eq!(texts.len(), all.len().min(MAX_EMBEDDED_PASSAGES));
            }
        }
    }
}
