//! The Model Context Protocol without I/O, in both generations that are spoken.
//!
//! ```text
//! 2025-11-25 and before   initialize ▶ … ▶ notifications/initialized, then requests on that connection or session
//! 2026-07-28              every request carries its own envelope (`params._meta`); no handshake, no session
//! ```
//!
//! - [`rpc`]: JSON-RPC messages, read and written.
//! - [`client`]: what a client sends, and which generation a server speaks.
//! - [`server`]: what the search server answers: the tools `search`, `fetch`, `autocomplete`.
//! - [`sse`]: messages in a stream of server-sent events.
//!
//! Everything that comes from the other side is data; sizes are bounded by whoever reads it.

pub mod client;
pub mod rpc;
pub mod server;
pub mod sse;

/// The newest revision with a handshake.
pub const HANDSHAKE_VERSION: &str = "2025-11-25";

/// All revisions with a handshake, the oldest first.
pub const HANDSHAKE_VERSIONS: [&str; 4] =
    ["2024-11-05", "2025-03-26", "2025-06-18", HANDSHAKE_VERSION];

/// The revision without one.
pub const STATELESS_VERSION: &str = "2026-07-28";
