//! When the worktree of an ended run may go.

use crate::Millis;

/// Worktrees modified within this time stay (the contract's 30 minutes).
pub const KEPT_AFTER_CHANGE: Millis = 30 * 60 * 1000;

/// Whether a worktree that was modified last at `modified` is old enough at `now`. One that was
/// modified in the future (a clock was set back) stays.
pub fn is_stale(modified: Millis, now: Millis) -> bool {
    now.saturating_sub(modified) > KEPT_AFTER_CHANGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z2_worktrees_stay_for_half_an_hour() {
        let now = 10_000_000;
        assert!(!is_stale(now - 1_800_000, now));
        assert!(is_stale(now - 1_800_001, now));
        assert!(!is_stale(now + 1, now));
    }
}
