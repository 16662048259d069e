//! How a folder is watched.

use std::time::Duration;

use search_core::role::FileFilter;

/// How a folder is watched.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// The source's `glob`: changes of other files are not reported.
    pub filter: FileFilter,
    /// Time that a finished change (closed, renamed, removed) waits for others to join its batch.
    pub debounce: Duration,
    /// Time without a further write after which a file counts as written though it is still open.
    pub settle: Duration,
    /// A file that is written without a pause is reported at least this often.
    pub max_delay: Duration,
    /// Above so many folders the watch falls back to rescans; each takes about 1 KiB of kernel
    /// memory.
    pub max_directories: usize,
    /// Time between rescans where events are not to be had.
    pub poll_interval: Duration,
}

impl WatchOptions {
    /// Batches after 3 ms; writers without a pause are followed once a second; 30 s between polls.
    #[must_use]
    pub fn new(filter: FileFilter) -> Self {
        Self {
            filter,
            debounce: Duration::from_millis(3),
            settle: Duration::from_millis(40),
            max_delay: Duration::from_secs(1),
            max_directories: 100_000,
            poll_interval: Duration::from_secs(30),
        }
    }
}
