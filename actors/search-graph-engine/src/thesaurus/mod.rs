//! The thesaurus: which words a person declared to mean the same.
//!
//! ```text
//! concept files (`synonyms:: a, b`) ─┐
//! JSON thesauri ─────────────────────┴► Thesaurus ─► find in text, replace, extract, expand a query
//! ```
//!
//! Matching is by Aho-Corasick over the folded words of a text: case, accents and punctuation
//! between words make no difference, matches begin and end at word boundaries of Unicode, and the
//! leftmost longest wins.

mod load;
mod matcher;
mod parse;

pub use load::{ThesaurusLoadError, load};
pub use matcher::{Match, Thesaurus};
pub use parse::{MAX_ENTRIES, ThesaurusEntry, ThesaurusError, parse_concept_file, parse_json};

use search_core::analysis::folded_line;

/// Identity of a concept: a hash of its normalised name, the same in every run and on every
/// machine.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct ConceptId(pub u64);

impl ConceptId {
    /// Of a name; case, accents and punctuation make no difference.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        Self::from_normalised(&folded_line(name))
    }

    pub(crate) fn from_normalised(line: &str) -> Self {
        let hash = blake3::hash(line.as_bytes());
        let first = hash.as_bytes().first_chunk();
        Self(u64::from_le_bytes(*first.expect("a hash of 32 bytes")))
    }
}

impl std::fmt::Display for ConceptId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
