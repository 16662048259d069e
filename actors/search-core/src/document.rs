//! What extraction hands to the index: one document, its text taken apart into weighted places.

use serde::{Deserialize, Serialize};

/// A document as read from its source, before analysis.
///
/// The body is needed only while the document is indexed: the index keeps no bodies, excerpts are
/// cut from the source again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtractedDocument {
    /// Identity inside the source: the path relative to the source's root, `/`-separated UTF-8.
    /// Names that are not UTF-8 are written lossily by the reader, which keeps keys distinct.
    pub key: String,
    /// Title as shown to people; empty when the text has none.
    pub title: String,
    /// Whether the title is a heading of the text, which `headings` leaves off.
    pub title_is_heading: bool,
    /// Headings below the title, in the order of the text. They are part of `body` too.
    pub headings: Vec<String>,
    /// Tags or keywords the document names itself (front matter, `meta` elements).
    pub tags: Vec<String>,
    /// What the text links to, by name: pages, and files beside it.
    pub links: Vec<String>,
    /// The text people read, without markup.
    pub body: String,
    /// How the text is to be weighed.
    pub kind: ContentKind,
    /// Time of the last change, in seconds since the Unix epoch, where the source knows it.
    pub modified: Option<i64>,
}

/// The sort of text a document holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentKind {
    /// Sentences for people: Markdown, HTML, plain text.
    #[default]
    Prose,
    /// Source code.
    Code,
    /// Configuration, tables, logs and other structured data.
    Data,
}

impl ContentKind {
    /// The number under which the kind is stored.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Prose => 0,
            Self::Code => 1,
            Self::Data => 2,
        }
    }

    /// The kind stored under `code`; numbers of newer versions read as prose.
    #[must_use]
    pub const fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Code,
            2 => Self::Data,
            _ => Self::Prose,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ContentKind;

    #[test]
    fn every_kind_survives_being_stored() {
        for kind in [ContentKind::Prose, ContentKind::Code, ContentKind::Data] {
            assert_eq!(ContentKind::from_code(kind.code()), kind);
        }
        assert_eq!(ContentKind::from_code(200), ContentKind::Prose);
    }
}
