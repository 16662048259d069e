//! One line for each reason and pause: what every run says again and again while the disk is full is counted, not printed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Between two lines of one reason.
const PAUSE: Duration = Duration::from_secs(30);
/// Reasons remembered at once; further ones share a place.
const REASONS: usize = 16;

/// Decides which of many equal events get a line.
#[derive(Debug)]
pub(super) struct LogPause(Mutex<BTreeMap<String, LoggedReason>>);

#[derive(Debug)]
struct LoggedReason {
    at: Instant,
    suppressed: u64,
}

impl LogPause {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Whether an event of this reason gets a line now: with how many were left out since the last one.
    pub(super) fn admit(&self, reason: &str, now: Instant) -> Option<u64> {
        let mut said = self.0.lock();
        said.retain(|_, it| it.suppressed > 0 || now.saturating_duration_since(it.at) < PAUSE);
        let is_known = said.contains_key(reason) || said.len() < REASONS;
        let reason = if is_known { reason } else { "" };
        let Some(it) = said.get_mut(reason) else {
            let first = LoggedReason {
                at: now,
                suppressed: 0,
            };
            said.insert(reason.to_owned(), first);
            return Some(0);
        };
        if now.saturating_duration_since(it.at) < PAUSE {
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
        let (pause, begun) = (LogPause::new(), Instant::now());
        // 30 runs that try four times a second, for 45 s.
        let at = |tenth: u64| begun + Duration::from_millis(tenth * 250);
        let lines: Vec<u64> = (0..180_u64)
            .flat_map(|tenth| std::iter::repeat_n(at(tenth), 30))
            .filter_map(|now| pause.admit("no space left", now))
            .collect();
        assert_eq!(lines, [0, 30 * 120 - 1]);
        assert_eq!(pause.admit("another reason", at(180)), Some(0));
    }

    #[test]
    fn u8_reasons_take_bounded_memory() {
        let (pause, now) = (LogPause::new(), Instant::now());
        let lines = (0..1000).filter_map(|number| pause.admit(&format!("reason {number}"), now));
        assert_eq!(lines.count(), REASONS + 1);
        assert!(pause.0.lock().len() <= REASONS + 1);
    }
}
