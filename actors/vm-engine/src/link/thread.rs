//! Threads and the clock of a connection.

use std::time::SystemTime;

use vm_core::UnixMs;

/// A thread with a small stack: there are two for each VM.
pub(super) fn thread(name: &str) -> std::thread::Builder {
    std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(256 * 1024)
}

/// The host's clock.
pub(super) fn now() -> UnixMs {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    UnixMs(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
