//! The two languages configuration is written in, read into one tree.

mod foreign_syntax;
mod format;
mod json;
mod json_errors;
mod json_rules;
mod toml;
mod toml_depth;

pub use format::ConfigFormat;

use crate::source::{NamedText, SourceFinding};
use crate::tree::ConfigNode;

impl ConfigFormat {
    /// Reads the text. There may be findings beside a tree: what is wrong but can be understood.
    pub(crate) fn parse(
        self,
        source: &NamedText,
        findings: &mut Vec<SourceFinding>,
    ) -> Option<ConfigNode> {
        let before = findings.len();
        let root = match self {
            Self::Json => json::parse(source, findings),
            Self::Toml => toml::parse(source, findings),
        };
        if findings.len() == before {
            return root;
        }
        if let Some(explanation) = foreign_syntax::explanation(self, source) {
            findings.truncate(before);
            findings.push(explanation);
            return None;
        }
        root
    }
}
