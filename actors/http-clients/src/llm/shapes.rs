//! What is asked of a model and what it answers, the same for both protocols.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatRole {
    /// The one who gives the rules.
    System,
    /// The one who asks.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmMessage {
    /// Who speaks.
    pub role: ChatRole,
    /// What they say.
    pub content: String,
}

impl LlmMessage {
    /// A message.
    pub fn new(role: ChatRole, content: impl Into<String>) -> Self {
        Self {
            role,
            content: content.into(),
        }
    }
}

/// Which form an answer must have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AnswerFormat {
    /// Any text.
    #[default]
    Text,
    /// Any JSON object.
    Json,
    /// JSON of this schema. The server is told; what comes must still be checked.
    Schema {
        /// A name for it, of letters, digits, `_` and `-`.
        name: String,
        /// The JSON schema.
        schema: Value,
    },
}

/// A question to a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChatRequest {
    /// The model, as the server names it.
    pub model: String,
    /// The conversation so far.
    pub messages: Vec<LlmMessage>,
    /// Which form the answer must have.
    pub format: AnswerFormat,
    /// How free it is, from 0; `None`: as the server has it.
    pub temperature: Option<f32>,
    /// The longest answer in tokens; `None`: as the server has it.
    pub max_tokens: Option<u32>,
    /// The start of its chance: the same gives the same answer, as far as the server can.
    pub seed: Option<u64>,
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// It was complete.
    Complete,
    /// It reached `max_tokens`, or the model's own limit: it is cut off.
    Length,
    /// A filter cut it off.
    Filtered,
    /// Another word, or none.
    Other(String),
}

impl StopReason {
    pub(super) fn parse(word: Option<&str>) -> Self {
        match word {
            Some("stop") => Self::Complete,
            Some("length") => Self::Length,
            Some("content_filter") => Self::Filtered,
            other => Self::Other(other.unwrap_or_default().to_owned()),
        }
    }
}

/// What an answer cost, in tokens; 0 where the server does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Of the question.
    pub prompt_tokens: u64,
    /// Of the answer.
    pub completion_tokens: u64,
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatReply {
    /// What the model says.
    pub content: String,
    /// Why it ended.
    pub stop: StopReason,
    /// What it cost.
    pub usage: TokenUsage,
}

/// What comes of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatEvent {
    /// More of the answer; never empty.
    Delta(String),
    /// The answer is whole; nothing follows.
    Done {
        /// Why it ended.
        stop: StopReason,
        /// What it cost.
        usage: TokenUsage,
    },
}
