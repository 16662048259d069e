//! When a changed path is due to be reported: a pure policy over given times.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

/// What an event says about its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The path is in its new state: closed, renamed, removed, its attributes set.
    Settled,
    /// A writer may be at work.
    Ongoing,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    first: Instant,
    last: Instant,
    settled: Option<Instant>,
}

/// Changed paths that wait to be reported.
#[derive(Debug)]
pub(super) struct Pending {
    entries: FxHashMap<PathBuf, Entry>,
    debounce: Duration,
    settle: Duration,
    max_delay: Duration,
}

impl Pending {
    pub(super) fn new(debounce: Duration, settle: Duration, max_delay: Duration) -> Self {
        Self {
            entries: FxHashMap::default(),
            debounce,
            settle,
            max_delay,
        }
    }

    pub(super) fn note(&mut self, path: &Path, change: Change, now: Instant) {
        if let Some(entry) = self.entries.get_mut(path) {
            entry.last = now;
            if change == Change::Settled {
                entry.settled.get_or_insert(now);
            }
        } else {
            let settled = (change == Change::Settled).then_some(now);
            self.entries.insert(
                path.to_owned(),
                Entry {
                    first: now,
                    last: now,
                    settled,
                },
            );
        }
    }

    /// When the next path is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.entries.values().map(|entry| self.due(entry)).min()
    }

    fn due(&self, entry: &Entry) -> Instant {
        match entry.settled {
            Some(settled) => settled + self.debounce,
            None => (entry.last + self.settle).min(entry.first + self.max_delay),
        }
    }

    /// Takes the paths that are due, and with them all others that are settled, so that what
    /// happened together is reported together. Also tells when the first of them was noticed.
    pub(super) fn take_due(&mut self, now: Instant) -> (Vec<PathBuf>, Option<Instant>) {
        if self.next_due().is_none_or(|due| due > now) {
            return (Vec::new(), None);
        }
        let mut entries = std::mem::take(&mut self.entries);
        let mut noticed = None;
        let is_taken = |_: &PathBuf, entry: &mut Entry| {
            let taken = entry.settled.is_some() || self.due(entry) <= now;
            if taken {
                noticed = Some(noticed.map_or(entry.first, |at: Instant| at.min(entry.first)));
            }
            taken
        };
        let mut paths: Vec<PathBuf> = entries.extract_if(is_taken).map(|(path, _)| path).collect();
        self.entries = entries;
        paths.sort_unstable();
        (paths, noticed)
    }

    /// Forgets everything: a rescan will find it.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// Notes events at given milliseconds and lists at which millisecond which paths are taken.
    fn reported(events: &[(u64, &str, Change)], until: u64) -> Vec<(u64, Vec<String>)> {
        let start = Instant::now();
        let mut pending = Pending::new(ms(3), ms(40), ms(100));
        let mut reported = Vec::new();
        for now in 0..=until {
            for (_, path, change) in events.iter().filter(|(at, ..)| *at == now) {
                pending.note(Path::new(path), *change, start + ms(now));
            }
            let (paths, _) = pending.take_due(start + ms(now));
            if !paths.is_empty() {
                let names = paths
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect();
                reported.push((now, names));
            }
        }
        assert_eq!(pending.next_due(), None);
        reported
    }

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_closed_file_is_reported_after_the_debounce() {
        let events = [(0, "a", Change::Ongoing), (5, "a", Change::Settled)];
        assert_eq!(reported(&events, 20), [(8, names(&["a"]))]);
    }

    #[test]
    fn what_happens_together_is_reported_together() {
        let events = [
            (0, "b", Change::Settled),
            (1, "a", Change::Settled),
            (2, "c", Change::Settled),
            (2, "d", Change::Ongoing),
        ];
        assert_eq!(
            reported(&events, 60),
            [(3, names(&["a", "b", "c"])), (42, names(&["d"]))]
        );
    }

    #[test]
    fn an_open_file_is_reported_when_its_writer_pauses() {
        let events = [(0, "a", Change::Ongoing), (30, "a", Change::Ongoing)];
        assert_eq!(reported(&events, 100), [(70, names(&["a"]))]);
    }

    #[test]
    fn a_writer_without_a_pause_is_followed_at_intervals() {
        let events: Vec<_> = (0..25)
            .map(|step| (step * 10, "log", Change::Ongoing))
            .collect();
        let times: Vec<u64> = reported(&events, 400)
            .into_iter()
            .map(|(at, _)| at)
            .collect();
        assert_eq!(times, [100, 210, 280]);
    }

    #[test]
    fn the_first_notice_is_told() {
        let start = Instant::now();
        let mut pending = Pending::new(ms(3), ms(40), ms(100));
        pending.note(Path::new("a"), Change::Ongoing, start);
        pending.note(Path::new("b"), Change::Settled, start + ms(1));
        assert_eq!(
            pending.take_due(start + ms(4)),
            (vec![PathBuf::from("b")], Some(start + ms(1)))
        );
        assert_eq!(pending.take_due(start + ms(40)).1, Some(start));
    }
}
