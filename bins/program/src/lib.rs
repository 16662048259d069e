//! What the programs that serve share: the allocator, the first steps of a process, its environment, the signals that end it,
//! what the service manager is told, and the log lines of a life. Using this crate makes mimalloc the program's allocator.
//!
//! ```text
//! process::begin ─▶ environment::take ─▶ settings ─▶ log::init ─▶ data::tighten ─▶ life::run
//! umask, undumpable,  secrets leave the                              folders that
//! open files, SIGHUP  environment block                              others can read
//! ```

pub mod data;
pub mod environment;
pub mod life;
pub mod limits;
pub mod log;
pub mod memory;
pub mod notify;
pub mod process;
mod words;

pub use words::in_words;
