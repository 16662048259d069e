//! Why a pattern of a file filter cannot be used.

use std::ops::Range;

use thiserror::Error;

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct FilterError {
    /// The bytes of the text that are wrong.
    pub range: Range<usize>,
    /// What is wrong: lowercase, no full stop.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl FilterError {
    pub(super) fn new(range: Range<usize>, message: String) -> Self {
        Self {
            range,
            message,
            help: None,
        }
    }

    pub(super) fn help(mut self, help: &str) -> Self {
        self.help = Some(help.to_owned());
        self
    }
}
