//! Rate limit of log lines: one line for each reason and interval; the rest is counted, not
//! printed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Between two lines of one reason.
const INTERVAL: Duration = Duration::from_secs(30);
/// Reasons remembered at once; further ones share one entry.
const MAX_REASONS: usize = 16;

/// Decides which of many equal events get a line.
#[derive(Debug)]
pub(super) struct LogThrottle(Mutex<BTreeMap<String, LoggedReason>>);

#[derive(Debug)]
struct LoggedReason {
    at: Instant,
    suppressed: u64,
}

impl LogThrottle {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Whether an event of this reason gets a line now: with how many were left out since the last
    /// one.
    pub(super) fn admit(&self, reason: &str, now: Instant) -> Option<u64> {
        let mut reasons = self.0.lock();
        reasons
            .retain(|_, it| it.suppressed > 0 || now.saturating_duration_since(it.at) < INTERVAL);
        let is_known = reasons.contains_key(reason) || reasons.len() < MAX_REASONS;
        let reason = if is_known { reason } else { "" };
        let Some(it) = reasons.get_mut(reason) else {
            let first = LoggedReason {
                at: now,
                suppressed: 0,
            };
            reasons.insert(reason.to_owned(), first);
            return Some(0);
        };
        if now.saturating_duration_since(it.at) < INTERVAL {
            it.suppressed += 1;
            return None;
        }
        it.at = now;
        Some(std::mem::take(&mut it.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u8_a_full_disk_fills_no_log() {
        let (throttle, start) = (LogThrottle::new(), Instant::now());
        // 30 runs that try four times a second, for 45 s.
        let at = |tenth: u64| start + Duration::from_millis(tenth * 250);
        let lines: Vec<u64> = (0..180_u64)
            .flat_map(|tenth| std::iter::repeat_n(at(tenth), 30))
            .filter_map(|now| throttle.admit("no space left", now))
            .collect();
        assert_eq!(lines, [0, 30 * 120 - 1]);
        assert_eq!(throttle.admit("another reason", at(180)), Some(0));
    }

    #[test]
    fn u8_reasons_take_bounded_memory() {
        let (throttle, now) = (LogThrottle::new(), Instant::now());
        let lines = (0..1000).filter_map(|number| throttle.admit(&format!("reason {number}"), now));
        assert_eq!(lines.count(), MAX_REASONS + 1);
        assert!(throttle.0.lock().len() <= MAX_REASONS + 1);
    }
}
