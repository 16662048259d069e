//! Why there is no answer.

use http_clients::llm::LlmError;
use search_engine::answering::SearchFailure;
use store::local::LocalError;
use supervision::AskError;

/// Why a chat, a summary or a conversation has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ChatFailure {
    /// No such role or document, or its source cannot be read.
    #[error(transparent)]
    Search(#[from] SearchFailure),
    /// The search service does not answer.
    #[error("the search service does not answer: {0}")]
    Unanswered(#[from] AskError),
    /// The language model does not answer.
    #[error(transparent)]
    Model(#[from] LlmError),
    /// Conversations or summaries cannot be kept or read.
    #[error(transparent)]
    State(#[from] LocalError),
    /// A kept conversation cannot be read.
    #[error("the kept conversation {id} cannot be read: {reason}")]
    Unreadable {
        /// The conversation.
        id: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no such conversation.
    #[error("there is no conversation {0}")]
    UnknownConversation(String),
    /// The conversation is as long as one may be.
    #[error("the conversation has {0} messages, the most that are kept; begin a new one")]
    LongConversation(usize),
    /// Whoever asked has left.
    #[error("whoever asked has left")]
    Left,
    /// A worker thread ended.
    #[error("the work was broken off")]
    BrokenOff,
}
