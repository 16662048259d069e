//! Why a single value cannot be used, before it is known where the value was written.

use std::fmt;

/// What is wrong with one value and, where it helps, what to write instead.
///
/// The parsers of sizes, durations and addresses return it; whoever knows where the value stands
/// (a file, a flag, a variable) turns it into a [`crate::Diagnostic`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueError {
    /// What is wrong: lowercase, no full stop.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl ValueError {
    /// An error without advice.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: None,
        }
    }

    /// The same error with advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ValueError {}
