//! Blocking search work without actors: walking, extraction, the tantivy index, excerpts.

pub mod answering;
pub mod index;
mod times;

pub mod walk;
pub mod extract;
pub mod excerpt;
pub mod watch;
pub mod sync;

pub use times::rfc3339;
