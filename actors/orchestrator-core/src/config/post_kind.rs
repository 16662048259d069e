//! What of posted output may stay alive.

use serde::{Deserialize, Serialize};

/// What an agent may be allowed to post alive (`allow_in_posts`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostKind {
    /// `@somebody`, `@team/name`. Never `@orch:name`.
    Mentions,
    /// `/approve`, `!merge`, `bors r+`.
    Commands,
    /// `Closes #3`, `fixes owner/repo#1`, `Resolves https://…/issues/4`.
    ClosingKeywords,
    /// `![text](address)`.
    Images,
    /// `<b>`, `<img …>`. Comments (`<!-- … -->`) never.
    Html,
}

impl PostKind {
    /// The words of the configuration.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("mentions", Self::Mentions),
        ("commands", Self::Commands),
        ("closing_keywords", Self::ClosingKeywords),
        ("images", Self::Images),
        ("html", Self::Html),
    ];
}
