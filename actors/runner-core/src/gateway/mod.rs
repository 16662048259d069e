//! What of the forge's API a job's token reaches: calls of its own repository, as far as its
//! `permissions` go.

mod call;
mod endpoints;
mod links;

pub use call::{CallRefusal, ForgeCall, PullCheck, check_body, decide};
pub use links::{ApiAddress, rewritten_link};
