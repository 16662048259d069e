//! Limits of `/ws`, whether it ends here or leads to another server.

use std::time::Duration;

/// The largest message, and the largest frame, in bytes.
pub(crate) const MESSAGE_BYTES: usize = 64 * 1024;

/// The longest a client may take to read one message.
pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
