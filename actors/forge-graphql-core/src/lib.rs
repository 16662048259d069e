//! GraphQL for jobs, made of REST calls: what `gh` and usual scripts ask a forge for.
//!
//! ```text
//! document ─▶ GraphQl::answer ─▶ async_graphql over the tables in schema/ ─▶ resolve, mutate
//!                  Rest::call ◀── Session (counts, reads once) ◀──────────────────┘
//! ```
//! Whatever an answer says comes from a call of [`Rest`], whose implementation decides what a job
//! may call: no query reaches more than REST does. What the tables do not have is an error that
//! names it.

mod ask;
mod budget;
mod document;
mod ids;
mod limits;
mod lists;
mod mutate;
mod resolve;
mod rest;
mod session;
mod shape;
mod translation;
mod types;

pub use budget::MAX_BYTES;
pub use document::{GraphQl, MAX_DOCUMENT};
pub use rest::{Rest, RestAnswer, RestCall, RestFailure, Viewer};
pub use session::{MAX_CALLS, QueryScope};
pub use translation::{RestTranslation, is_missing_reference, translated, translated_answer};
