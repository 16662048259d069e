//! Chats and summaries over found documents.
//!
//! ```text
//! edge --Talk, Summarise--> ChatDesk --Search, ReadDocument--> SearchDesk
//!   ^                          |  |
//!   |                          |  +--> language-model server (localllm, cloudllm), if the role has one
//!   +---ChatPiece… (bounded)---+  +--> LocalState: conversations, summaries
//! ```
//! Without a model an answer is composed of passages of the documents, and a summary of sentences of the text; both say so
//! (`"provider": "extractive"`). A model that fails is an error, never an answer of another kind.

mod conversations;
mod desk;
mod failure;
mod messages;
mod model;
mod settings;
mod summaries;
mod talk;

pub use conversations::{Conversations, MAX_CONVERSATIONS, MAX_MESSAGES};
pub use desk::{ChatDesk, chat_desk};
pub use failure::ChatFailure;
pub use messages::{ChatOrder, ChatPiece, Summarise, SummaryOrder, SummarySource, Talk};
pub use settings::{ChatLimits, ChatParts};
