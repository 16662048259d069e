//! The languages there are.

use crate::source::{MAX_DEPTH, SourceFinding, Span};

/// The language of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConfigFormat {
    /// JSON (RFC 8259), strictly: comments and trailing commas are errors.
    Json,
    /// TOML 1.1.
    Toml,
}

impl ConfigFormat {
    /// What a set of keys and values is called.
    pub(crate) const fn table(self) -> &'static str {
        match self {
            Self::Json => "an object",
            Self::Toml => "a table",
        }
    }
}

/// Values are nested too deep at `span`.
pub(super) fn too_deep(span: Span) -> SourceFinding {
    SourceFinding::error(
        span,
        format!("more than {MAX_DEPTH} values inside each other"),
    )
}
