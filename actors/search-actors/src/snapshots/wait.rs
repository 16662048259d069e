//! How the threads of snapshots wait.

use std::time::{Duration, Instant};

/// How often a thread looks whether it should end.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Rests; `false` when it is to end.
pub(super) fn sleep(pause: Duration, is_ended: &(dyn Fn() -> bool + Sync)) -> bool {
    let until = Instant::now() + pause;
    while !is_ended() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        // Woken early it only looks at the clock again.
        std::thread::park_timeout(left.min(CANCEL_POLL_INTERVAL));
    }
    false
}
