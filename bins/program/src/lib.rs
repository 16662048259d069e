//! What the programs that serve share: the allocator, the signals that end them, what the service manager is told,
//! and the log lines of a life. Using this crate makes mimalloc the program's allocator.

pub mod life;
pub mod memory;
pub mod notify;
mod words;

pub use words::in_words;
