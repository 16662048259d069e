//! Language-model servers: Ollama's protocol and the OpenAI-style one, behind one client.
//!
//! ```text
//! LlmClient::chat         ──▶ ChatReply                    whole, bounded
//! LlmClient::chat_stream  ──▶ ChatStream ──▶ ChatEvent…    as it comes, idle time-out
//! LlmClient::embed        ──▶ vectors, one for each text
//! ```
//!
//! A stream that ends without the protocol's own end (`[DONE]`, `"done": true`) is an error, never
//! a short answer. What the server says in the middle of a stream (`{"error": …}`) is an error too,
//! whatever the status was. Dropping a stream ends the request, and with it the server's work.

mod client;
mod error;
mod ollama;
mod openai;
mod protocol;
mod shapes;
mod stream;

pub use client::{LlmClient, OPENROUTER};
pub use error::LlmError;
pub use protocol::LlmProtocol;
pub use shapes::{
    AnswerFormat, ChatEvent, ChatReply, ChatRequest, ChatRole, LlmMessage, StopReason, TokenUsage,
};
pub use stream::ChatStream;
