//! From a document to its contribution.

use std::sync::Arc;

use search_core::analysis::{folded_line, words};
use search_core::document::ContentKind;

use super::contribution::{ConceptKind, Contribution};
use super::keyphrases::keyphrases;
use crate::thesaurus::Thesaurus;

/// The text that concepts are looked for in, in bytes from its start.
const MAX_BODY: usize = 256 << 10;

/// Headings, tags and links of a document that are looked at, of each.
const MAX_NAMED: usize = 8;

/// Words before the name of something that code defines.
const DEFINES: [&str; 14] = [
    "class",
    "def",
    "enum",
    "fn",
    "func",
    "function",
    "impl",
    "interface",
    "macro_rules",
    "mod",
    "module",
    "struct",
    "trait",
    "type",
];

/// What is known of a document.
#[derive(Debug, Clone, Copy, Default)]
pub struct DocumentFacts<'d> {
    /// Title; may be empty.
    pub title: &'d str,
    /// Headings below the title.
    pub headings: &'d [String],
    /// Tags the document names itself.
    pub tags: &'d [String],
    /// Names or titles of what it links to.
    pub links: &'d [String],
    /// The text.
    pub body: &'d str,
    /// How the text is to be read.
    pub kind: ContentKind,
}

/// Finds the concepts of documents.
#[derive(Debug, Clone, Default)]
pub struct Extractor {
    thesaurus: Arc<Thesaurus>,
}

impl Extractor {
    /// With the words of a thesaurus.
    #[must_use]
    pub const fn new(thesaurus: Arc<Thesaurus>) -> Self {
        Self { thesaurus }
    }

    /// The contribution of a document; a function of the document and the thesaurus alone.
    #[must_use]
    pub fn contribution(&self, facts: &DocumentFacts<'_>) -> Contribution {
        let mut contribution = Contribution::default();
        let body = &facts.body[..facts.body.floor_char_boundary(MAX_BODY)];
        for text in [facts.title, body] {
            for found in self.thesaurus.find(text) {
                let name = &self.thesaurus.entries()[found.entry].name;
                contribution.add(folded_line(name), ConceptKind::Declared);
            }
        }
        contribution.add(folded_line(facts.title), ConceptKind::Title);
        for (names, kind) in [
            (facts.tags, ConceptKind::Tag),
            (facts.links, ConceptKind::Link),
            (facts.headings, ConceptKind::Heading),
        ] {
            for name in names.iter().take(MAX_NAMED) {
                contribution.add(folded_line(name), kind);
            }
        }
        if facts.kind == ContentKind::Code {
            for symbol in symbols(body).take(MAX_NAMED) {
                contribution.add(folded_line(symbol), ConceptKind::Symbol);
            }
        } else if facts.kind == ContentKind::Prose {
            for phrase in keyphrases(body) {
                contribution.add(phrase, ConceptKind::Keyphrase);
            }
        }
        contribution
    }
}

/// The names of what a text of code defines, in order.
fn symbols(text: &str) -> impl Iterator<Item = &str> {
    let mut defines = false;
    words(text).filter_map(move |word| {
        let named = defines && word.text.len() > 2;
        defines = DEFINES.contains(&word.text);
        (named && !defines).then_some(word.text)
    })
}

#[cfg(test)]
mod tests {
    use super::{ConceptKind, DocumentFacts, Extractor};
    use crate::thesaurus::{Thesaurus, ThesaurusEntry};
    use search_core::document::ContentKind;

    #[test]
    fn concepts_come_from_all_a_document_says() {
        let entry = ThesaurusEntry {
            name: "Fault tolerance".to_owned(),
            synonyms: vec!["let it crash".to_owned()],
            url: None,
        };
        let extractor = Extractor::new(Thesaurus::new(vec![entry]).into());
        let facts = DocumentFacts {
            title: "Supervision trees",
            headings: &["Restart policy".to_owned()],
            tags: &["actors".to_owned()],
            links: &["Erlang".to_owned()],
            body: "Let it crash. An exit reason is read; the exit reason decides.",
            kind: ContentKind::Prose,
        };
        let found = extractor.contribution(&facts);
        let named = |name: &str, kind| (name.to_owned(), kind);
        assert_eq!(
            found.concepts(),
            [
                named("fault tolerance", ConceptKind::Declared),
                named("supervision trees", ConceptKind::Title),
                named("actors", ConceptKind::Tag),
                named("erlang", ConceptKind::Link),
                named("restart policy", ConceptKind::Heading),
                named("exit reason", ConceptKind::Keyphrase),
            ]
        );
    }

    #[test]
    fn code_names_what_it_defines() {
        let facts = DocumentFacts {
            body: "pub struct RestartPolicy; impl RestartPolicy { fn back_off() {} }",
            kind: ContentKind::Code,
            ..DocumentFacts::default()
        };
        let found = Extractor::default().contribution(&facts);
        let names: Vec<&str> = found
            .concepts()
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["restartpolicy", "back_off"]);
    }
}
