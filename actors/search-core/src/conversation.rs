//! What chats and summaries are answered with: the JSON shapes of `POST /api/chat`,
//! `/api/conversations` and `POST /api/documents/summarize`, shared by the server, the terminal
//! clients and the OpenAPI document.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The `provider` of a text that no model wrote.
pub const EXTRACTIVE: &str = "extractive";

/// The answer to one message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChatAnswer {
    /// `success`.
    pub status: String,
    /// The answer. It is text of a model or of documents: escape it before showing it as HTML.
    pub message: String,
    /// The model that wrote it; none when it was composed of passages.
    pub model: Option<String>,
    /// `localllm`, `cloudllm`, or `extractive` when it was composed of passages of documents.
    pub provider: String,
    /// The documents it was answered from.
    pub citations: Vec<Citation>,
    /// Names the conversation, to go on with it.
    pub conversation_id: String,
    /// Whether the model stopped at its limit: the text is cut off.
    pub truncated: bool,
}

/// A document behind an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Citation {
    /// The number that stands for it in the answer, as in `[1]`.
    pub number: usize,
    /// Names the document for `GET /api/documents/{id}`.
    pub id: String,
    /// Title, never empty.
    pub title: String,
    /// Where the document lives.
    pub url: String,
    /// Whether the answer names its number; if none is named, all documents given to the model are
    /// listed.
    pub cited: bool,
}

/// The answer to a request for a summary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SummaryAnswer {
    /// `success`.
    pub status: String,
    /// The summary. Escape it before showing it as HTML.
    pub summary: String,
    /// The model that wrote it; none for sentences of the text itself.
    pub model: Option<String>,
    /// `localllm`, `cloudllm`, or `extractive` for sentences of the text itself.
    pub provider: String,
    /// Whether it was made earlier, of the same text.
    pub cached: bool,
    /// The document, if one was summarised.
    pub citations: Vec<Citation>,
}

/// Who said a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// The person.
    User,
    /// The answer.
    Assistant,
}

/// One message of a kept conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConversationMessage {
    /// Who said it.
    pub role: Speaker,
    /// What was said.
    pub content: String,
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// The documents behind an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Citation>,
}

/// What a list says of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConversationHead {
    /// Names it.
    pub id: String,
    /// The beginning of its first message.
    pub title: String,
    /// The role that answered last.
    pub role: String,
    /// When it began, RFC 3339 in UTC.
    pub created_at: String,
    /// When it last went on.
    pub updated_at: String,
    /// Number of its messages.
    pub messages: usize,
}

/// A kept conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Conversation {
    /// What lists say of it.
    pub head: ConversationHead,
    /// Its messages, in their order.
    pub messages: Vec<ConversationMessage>,
}

/// `GET /api/conversations`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConversationList {
    /// The kept conversations, the newest first.
    pub conversations: Vec<ConversationHead>,
}
