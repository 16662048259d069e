//! One log line a second per source: a flood of bad requests must not become a flood of lines.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Sources remembered at once; beyond it, strangers share one place.
const MAX_SOURCES: usize = 4_096;

/// The time between two lines of one source.
const INTERVAL: Duration = Duration::from_secs(1);

/// Decides which events of a source are worth a line.
#[derive(Debug, Default)]
pub struct LogGate {
    sources: Mutex<HashMap<Option<IpAddr>, Source>>,
}

#[derive(Debug)]
struct Source {
    last_line: Instant,
    suppressed: u64,
}

impl LogGate {
    /// Whether an event of `source` at `now` gets a line: `Some(suppressed)` with the number of
    /// events since its last line, `None` within a second of it.
    pub fn admit(&self, source: Option<IpAddr>, now: Instant) -> Option<u64> {
        let mut sources = self.sources.lock();
        let source = place(&mut sources, source, now);
        match sources.get_mut(&source) {
            Some(entry) if now.saturating_duration_since(entry.last_line) < INTERVAL => {
                entry.suppressed += 1;
                None
            }
            Some(entry) => {
                entry.last_line = now;
                Some(std::mem::take(&mut entry.suppressed))
            }
            None => {
                sources.insert(
                    source,
                    Source {
                        last_line: now,
                        suppressed: 0,
                    },
                );
                Some(0)
            }
        }
    }
}

/// The key under which `source` is remembered; memory stays bounded whoever floods.
fn place(
    sources: &mut HashMap<Option<IpAddr>, Source>,
    source: Option<IpAddr>,
    now: Instant,
) -> Option<IpAddr> {
    if sources.len() < MAX_SOURCES || sources.contains_key(&source) {
        return source;
    }
    // Forget the quiet ones, but look for them only when one can have become quiet.
    let full_since = sources.get(&None).map(|entry| entry.last_line);
    if full_since.is_none_or(|since| now.saturating_duration_since(since) >= INTERVAL) {
        sources.retain(|_, entry| now.saturating_duration_since(entry.last_line) < INTERVAL);
    }
    if sources.len() < MAX_SOURCES {
        source
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w30_one_line_a_second_and_source() {
        let gate = LogGate::default();
        let start = Instant::now();
        let (one, two) = (
            Some(IpAddr::from([10, 0, 0, 1])),
            Some(IpAddr::from([10, 0, 0, 2])),
        );
        let lines = (0..10_000_u64)
            .filter_map(|event| gate.admit(one, start + Duration::from_micros(event * 100)))
            .count();
        assert_eq!(lines, 1, "ten thousand events in one second");
        assert_eq!(
            gate.admit(two, start),
            Some(0),
            "another source has its own line"
        );
        assert_eq!(gate.admit(one, start + INTERVAL), Some(9_999));
    }

    #[test]
    fn w30_many_sources_cost_bounded_memory_and_lines() {
        let gate = LogGate::default();
        let now = Instant::now();
        let lines = (0..100_000_u32)
            .filter_map(|address| gate.admit(Some(IpAddr::from(address.to_be_bytes())), now))
            .count();
        assert!(lines <= MAX_SOURCES + 1, "{lines} lines");
        assert!(gate.sources.lock().len() <= MAX_SOURCES + 1);
        let later = now + INTERVAL;
        assert!(
            gate.admit(Some(IpAddr::from([255, 1, 1, 1])), later)
                .is_some()
        );
    }
}
