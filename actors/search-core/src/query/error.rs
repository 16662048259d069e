//! Why a query is refused.

use thiserror::Error;

/// Why a query is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QueryError {
    /// Text and terms together are too long.
    #[error("the query has {bytes} bytes, the limit is {limit}; shorten it")]
    TooLong {
        /// Length of the query.
        bytes: usize,
        /// Longest length allowed.
        limit: usize,
    },
    /// Too many words or terms.
    #[error("the query has more than {limit} words or terms; shorten it")]
    TooManyWords {
        /// Most words allowed.
        limit: usize,
    },
    /// There is nothing to look for, only something to leave out.
    #[error("the query only excludes; add something to look for")]
    OnlyExcludes {
        /// Where the first exclusion stands, in characters from the start of the text, from 0.
        position: usize,
    },
    /// A regular expression or an exact text cannot be looked for.
    #[error("{message}")]
    Pattern {
        /// Where, in characters (Unicode scalar values) from the start of the text, from 0.
        position: usize,
        /// What is wrong there and what to do.
        message: String,
    },
    /// The text breaks the language.
    #[error("{message}")]
    Syntax {
        /// Where, in characters (Unicode scalar values) from the start of the text, from 0.
        position: usize,
        /// What is wrong there and what to do.
        message: String,
    },
}

impl QueryError {
    /// The character of the text that is at fault, counted from 0, where there is one.
    #[must_use]
    pub const fn position(&self) -> Option<usize> {
        match self {
            Self::Syntax { position, .. }
            | Self::Pattern { position, .. }
            | Self::OnlyExcludes { position } => Some(*position),
            Self::TooLong { .. } | Self::TooManyWords { .. } => None,
        }
    }

    /// A fault at the byte `at` of `text`.
    pub(super) fn at_offset(text: &str, at: usize, message: impl Into<String>) -> Self {
        Self::Syntax {
            position: characters(text, at),
            message: message.into(),
        }
    }

    /// A fault of a pattern at the byte `at` of `text`.
    pub(super) fn in_pattern(text: &str, at: usize, message: impl Into<String>) -> Self {
        Self::Pattern {
            position: characters(text, at),
            message: message.into(),
        }
    }
}

/// The characters of `text` before the byte `at`.
fn characters(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or(text).chars().count()
}
