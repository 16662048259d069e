//! The kinds of forge that are spoken to.

use serde::{Deserialize, Serialize};

/// A kind of code-hosting forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Forge {
    /// github.com and GitHub Enterprise.
    GitHub,
    /// Gitea, and Gogs, whose interface it keeps.
    Gitea,
    /// Forgejo, which follows Gitea's interface.
    Forgejo,
}
