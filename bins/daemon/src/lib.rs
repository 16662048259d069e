//! What the programs that serve share: the allocator, the first steps of a process, its
//! environment, the signals that end it, what the service manager is told, and the log lines of its
//! start and end. Using this crate makes mimalloc the program's allocator.
//!
//! ```text
//! process::secure ─▶ environment::take ─▶ settings ─▶ log::init ─▶ data::tighten ─▶ lifecycle::run
//! umask, undumpable,  secrets leave the                              folders that
//! open files, SIGHUP  environment block                              others can read
//! ```

pub mod data;
pub mod environment;
mod error_chain;
pub mod first_screen;
pub mod lifecycle;
pub mod limits;
pub mod log;
mod log_file;
pub mod memory;
pub mod notify;
pub mod objects;
pub mod peers;
pub mod process;
pub mod replica;
pub mod settings;
mod signs;
pub mod steps;
pub mod store;
pub mod vm_hosts;

pub use error_chain::error_chain;
