//! Sources that live on other servers, asked at query time.
//!
//! ```text
//! RemoteSource::search(words, limit, deadline)
//!   │ known and fresh ─────────────────────────────▶ RemoteItems (cached)
//!   │ backing off after failures ──────────────────▶ RemoteError::BackingOff, the server is left alone
//!   ├ http_clients::HttpClient ─▶ search_sources_core ─▶ RemoteItems, kept for its time to live
//!   └ a server of the Model Context Protocol (program or address) ─▶ the same
//! ```
//!
//! # What always holds
//!
//! - **A deadline.** A search ends within it, whatever the server does; a late answer is dropped
//!   with its connection.
//! - **Bounds.** An answer has at most [`MAX_ANSWER`] bytes (after decompression), and gives at
//!   most the items asked for.
//! - **Only configured places.** The base URL is the configuration's; nothing an answer says is
//!   asked for, redirects stay within its origin, tokens never leave it.
//! - **Left alone when it asks for it.** `Retry-After` and Stack Exchange's `backoff` are obeyed;
//!   failures in a row double the pause.
//!
//! One value belongs to one thread (its connections do); what is cached is bounded.

mod ask;
mod cache;
mod embedding;
mod error;
mod mcp;
mod names;
mod pause;
mod signing;
mod source;

pub use embedding::{Blame, EmbeddingFailure, EmbeddingServer};
pub use error::RemoteError;
pub use mcp::{McpEndpoint, McpError};
pub use source::{MAX_ANSWER, RemoteItems, RemoteSettings, RemoteSource, is_remote};
