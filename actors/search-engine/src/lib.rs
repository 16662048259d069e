//! Blocking search work without actors: walking, extraction, the tantivy index, excerpts.

pub mod answering;
pub mod devdocs;
pub mod index;
mod shortage;
mod times;

pub mod excerpt;
pub mod extract;
pub mod files;
pub mod item_cache;
pub mod packs;
pub mod published_files;
pub mod reading;
pub mod revision;
pub mod sync;
pub mod tasks;
pub mod texts;
pub mod walk;
pub mod watch;

pub use shortage::is_lack;
pub use times::rfc3339;
