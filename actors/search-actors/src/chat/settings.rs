//! What the chat service is made of.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::registry::RoleRegistry;
use crate::search_service::SearchService;
use store::LocalState;
use supervision::ChildRef;
use url::Url;

/// Limits of chats and summaries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatLimits {
    /// Chats and summaries under way at once; more are refused.
    pub at_once: usize,
    /// Longest time to connect to a language-model server.
    pub connect: Duration,
    /// Longest time to the first word of a model, and for a whole answer that is not streamed.
    pub first: Duration,
    /// Longest silence in the middle of an answer.
    pub idle: Duration,
    /// Longest time for a whole answer.
    pub whole: Duration,
    /// Where the hosted provider is, if not at its own address.
    pub cloud: Option<Url>,
}

impl Default for ChatLimits {
    /// 16 at once; 5 s to connect, 60 s to the first word, 30 s of silence, 180 s in all.
    fn default() -> Self {
        Self {
            at_once: 16,
            connect: Duration::from_secs(5),
            first: Duration::from_secs(60),
            idle: Duration::from_secs(30),
            whole: Duration::from_secs(180),
            cloud: None,
        }
    }
}

/// What the chat service works with.
#[derive(Clone)]
pub struct ChatParts {
    /// The roles, and their models.
    pub registry: RoleRegistry,
    /// Who searches.
    pub search: ChildRef<SearchService>,
    /// Where conversations and summaries are kept.
    pub state: Arc<dyn LocalState>,
    /// Limits.
    pub limits: ChatLimits,
}

impl fmt::Debug for ChatParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatParts")
            .field("state", &self.state)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
