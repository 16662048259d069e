//! What of the forge's API a job's token reaches: calls of its own repository, as far as its
//! `permissions` go.

mod call;
mod endpoints;
mod links;
mod uploads;

pub use call::{CallRefusal, ForgeCall, PullCheck, check_body, decide};
pub use links::{ApiAddress, rewritten_link};
pub use uploads::{MAX_UPLOAD, is_upload, upload_base, with_upload_urls};
