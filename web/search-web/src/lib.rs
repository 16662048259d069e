//! The search server's routes and JSON shapes, and a server made of them.
//!
//! ```text
//! HTTP ─▶ Edge ─▶ handlers ─Search─▶ SearchService ─▶ worker threads
//!                    │  ▲
//!                    ▼  └─ AnswerCache (answers as written, per version of the index)
//!                  RoleSet (roles, health)
//! ```

mod api;
pub mod boot;
mod cache;
mod chat;
mod chat_wire;
mod concepts;
mod config;
mod config_token;
mod front;
mod handlers;
mod mcp;
mod metrics;
mod object_places;
mod runs;
mod server;
mod source_check;
mod sources;
mod state;
mod wire;
mod ws;
mod ws_limits;
mod ws_upstream;
mod ws_work;

pub use api::{openapi, routes};
pub use cache::{AnswerCache, CacheCounts};
pub use chat::ChatState;
pub use chat_wire::{ChatBody, ChatMessage, SummaryBody};
pub use front::FrontDoor;
pub use metrics::SearchMetrics;
pub use runs::{RunFeed, RunGuards, RunNews};
pub use search_actors::chat::ChatLimits;
pub use server::{SearchServer, SearchServerOptions};
pub use state::SearchState;
pub use wire::{DEFAULT_LIMIT, MAX_LIMIT, MAX_SKIP, SearchBody};
