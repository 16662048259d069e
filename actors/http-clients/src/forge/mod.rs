//! Code forges: Gitea, Forgejo and GitHub, as far as the platform speaks to them.
//!
//! ```text
//! ForgeClient ──statuses, comments, pull requests, issues, hooks──▶ forge
//!      │
//!      └─ every error is classed: Transient (try again), RateLimited (try again after), Permanent
//! ```
//!
//! Reads are repeated a few times by themselves. Writes are sent once: who posts keeps a durable
//! record and decides about another attempt (the outbox of `forge-actors`).

mod client;
mod error;
mod hooks;
mod issues;
mod listing;
mod pulls;
mod statuses;
mod wire;

pub use client::ForgeClient;
pub use error::{ForgeError, ForgeRefusal};
pub use hooks::{ForgeHook, HookChange, HookEvent, HookSpec};
pub use issues::{ForgeComment, ForgeIssue};
pub use listing::Listing;
pub use pulls::{ForgePull, Permission};
pub use statuses::PostedStatus;
