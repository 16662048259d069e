//! Why a search or a document has no answer.

use search_core::query::QueryError;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SearchFailure {
    /// The role does not exist.
    #[error("there is no role {name:?}{}; there are: {}", did_you_mean(suggestion.as_deref()), known.join(", "))]
    UnknownRole {
        /// The role asked for.
        name: String,
        /// The roles that exist.
        known: Vec<String>,
        /// The role that was probably meant.
        suggestion: Option<String>,
    },
    /// The role has no source of that name.
    #[error("role {role:?} has no source {name:?}; it has: {}", known.join(", "))]
    UnknownSource {
        /// The role searched.
        role: String,
        /// The source asked for.
        name: String,
        /// The sources it has.
        known: Vec<String>,
    },
    /// The query cannot be understood.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// No source has this document.
    #[error("there is no document {id:?}")]
    UnknownDocument {
        /// The id asked for.
        id: String,
    },
    /// The document is indexed, but it cannot be read any more.
    #[error("document {id:?} cannot be read any more: {reason}")]
    GoneDocument {
        /// The id asked for.
        id: String,
        /// What the file system said.
        reason: String,
    },
    /// The source is not open yet.
    #[error("source {source_name:?} is not searchable yet")]
    Unavailable {
        /// Its display name.
        source_name: String,
    },
    /// The server that reads the best results once more has to be asked first.
    #[error("the reranking server has not been asked yet")]
    Unscored,
    /// The index failed.
    #[error("the index failed: {message}")]
    Index {
        /// What it said.
        message: String,
    },
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion
        .map(|name| format!(" (did you mean {name:?}?)"))
        .unwrap_or_default()
}
