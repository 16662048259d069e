//! The two languages configuration is written in, read into one tree.

mod json;
mod json_rules;
mod mistaken;
mod toml;
mod toml_depth;

use crate::source::{Finding, Source, Span};
use crate::tree::Node;

/// The language of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// JSON (RFC 8259), strictly: comments and trailing commas are errors.
    Json,
    /// TOML 1.1.
    Toml,
}

impl Format {
    /// What a set of keys and values is called.
    pub(crate) const fn table(self) -> &'static str {
        match self {
            Self::Json => "an object",
            Self::Toml => "a table",
        }
    }

    /// Reads the text. There may be findings beside a tree: what is wrong but can be understood.
    pub(crate) fn parse(self, source: &Source, findings: &mut Vec<Finding>) -> Option<Node> {
        let before = findings.len();
        let root = match self {
            Self::Json => json::parse(source, findings),
            Self::Toml => toml::parse(source, findings),
        };
        if findings.len() == before {
            return root;
        }
        if let Some(explanation) = mistaken::explanation(self, source) {
            findings.truncate(before);
            findings.push(explanation);
            return None;
        }
        root
    }
}

/// Values are nested too deep at `span`.
pub(crate) fn too_deep(span: Span) -> Finding {
    Finding::error(
        span,
        format!("more than {} values inside each other", crate::MAX_DEPTH),
    )
}
