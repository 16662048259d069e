//! How bad a finding is.

use serde::Serialize;

/// Whether the configuration can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It cannot.
    Error,
    /// It can, but something in it has no effect.
    Warning,
}
