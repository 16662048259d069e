//! The terms of definitions. They stand among the exact forms; no word begins with their signs.

use search_core::definitions::DefinitionKind;

/// The term of what is defined by this name, squeezed, whatever its kind.
pub(super) fn definition_term(squeezed: &str) -> String {
    format!("={squeezed}")
}

/// The term of a heading that reads so, squeezed.
pub(super) fn heading_term(squeezed: &str) -> String {
    format!("#{squeezed}")
}

/// The term of documents that define something of a kind.
pub(super) fn kind_term(kind: DefinitionKind) -> String {
    format!("+{}", kind.letter())
}

/// The term of documents that define something of a kind with this term in its name.
pub(super) fn kind_word_term(kind: DefinitionKind, term: &str) -> String {
    format!("+{} {term}", kind.letter())
}
