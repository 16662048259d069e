//! Chats and summaries over found documents.
//!
//! ```text
//! edge --AnswerChat, Summarise--> ChatService --Search, ReadDocument--> SearchService
//!   ^                                |  |
//!   |                                |  +--> language-model server (localllm, cloudllm), if the role has one
//!   +------ChatChunk… (bounded)------+  +--> LocalState: conversations, summaries
//! ```
//! Without a model an answer is composed of passages of the documents, and a summary of sentences
//! of the text; both say so (`"provider": "extractive"`). A model that fails is an error, never an
//! answer of another kind.

mod chat_answer;
mod context;
mod conversations;
mod failure;
mod messages;
mod model;
mod service;
mod settings;
mod summaries;
mod summary_cache;

pub use conversations::{Conversations, MAX_CONVERSATIONS, MAX_MESSAGES};
pub use failure::ChatFailure;
pub use messages::{AnswerChat, ChatChunk, ChatParams, Summarise, SummaryParams, SummarySource};
pub use service::{ChatService, chat_service};
pub use settings::{ChatLimits, ChatParts};
