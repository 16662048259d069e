//! Blocking search work without actors: walking, extraction, the tantivy index, excerpts.

pub mod answering;
pub mod index;
mod times;

pub mod excerpt;
pub mod extract;
pub mod sync;
pub mod walk;
pub mod watch;

pub use times::rfc3339;
