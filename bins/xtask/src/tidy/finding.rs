//! What a rule found.

use std::fmt;

/// Whether a finding fails the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// The run fails.
    Error,
    /// Shown only.
    Warning,
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Whether it fails the run.
    pub(super) weight: Weight,
    /// The file, with its line where there is one: `path` or `path:line`.
    pub(super) place: String,
    /// What is wrong and what to do about it.
    pub(super) text: String,
}

impl Finding {
    pub(super) fn error(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            weight: Weight::Error,
            place: place.into(),
            text: text.into(),
        }
    }

    pub(super) fn warning(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            weight: Weight::Warning,
            place: place.into(),
            text: text.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weight = match self.weight {
            Weight::Error => "error",
            Weight::Warning => "warning",
        };
        write!(f, "{weight}: {}: {}", self.place, self.text)
    }
}
