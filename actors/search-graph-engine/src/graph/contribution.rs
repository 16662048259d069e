//! What one document gives to the graph.

use serde::{Deserialize, Serialize};

/// Most concepts of a document.
pub const MAX_CONCEPTS: usize = 24;

/// How a document names a concept; the first is the surest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConceptKind {
    /// In the words of the thesaurus.
    Declared,
    /// As its title.
    Title,
    /// As a tag.
    Tag,
    /// By a link.
    Link,
    /// As a heading.
    Heading,
    /// As something defined in code.
    Symbol,
    /// By repeating it.
    Keyphrase,
}

impl ConceptKind {
    /// Number of kinds.
    pub(super) const COUNT: usize = 7;

    /// All kinds, the surest first.
    pub(super) const ALL: [Self; Self::COUNT] = [
        Self::Declared,
        Self::Title,
        Self::Tag,
        Self::Link,
        Self::Heading,
        Self::Symbol,
        Self::Keyphrase,
    ];
}

/// The concepts of a document: normalised names (folded words with single spaces), each once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contribution {
    pub(super) concepts: Vec<(String, ConceptKind)>,
}

impl Contribution {
    /// The concepts, the surest first.
    #[must_use]
    pub fn concepts(&self) -> &[(String, ConceptKind)] {
        &self.concepts
    }

    /// Adds a concept by its normalised name, where there is room and it is not there yet.
    pub(super) fn add(&mut self, line: String, kind: ConceptKind) {
        let sound = line.len() > 1 && line.len() < 128 && line.chars().any(char::is_alphabetic);
        let known = || self.concepts.iter().any(|(known, _)| *known == line);
        if sound && self.concepts.len() < MAX_CONCEPTS && !known() {
            self.concepts.push((line, kind));
        }
    }
}
