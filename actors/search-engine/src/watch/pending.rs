//! When a changed path is due to be reported: a pure policy over given times.
//!
//! A file that never stops changing (a log) is reported ever more rarely, so that it keeps no core
//! busy: the first reports in a row are as quick as any, then a pause stands between two of them
//! that doubles up to five minutes. A writer that has been quiet for a while, measured by the
//! pause, ends the wait: what it wrote last is never left unreported.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

/// Reports in a row of one path without a pause between them.
const FREE_REPORTS: u32 = 8;

/// The first pause, which doubles with each further report.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(300);

/// From this pause on a path counts as one that never stops changing, and people are told.
const BUSY_PAUSE: Duration = Duration::from_secs(16);

/// Reports follow one another in a row when there is less time between them than this, or than
/// twice the pause.
const ROW_DELAY: Duration = Duration::from_secs(10);

/// Least silence of a writer that ends a pause; otherwise it is a quarter of the pause.
const QUIET_PERIOD: Duration = Duration::from_secs(2);

/// What an event says about its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathChange {
    /// The path is in its new state: closed, renamed, removed, its attributes set.
    Settled,
    /// A writer may be at work.
    Ongoing,
    /// The file system of the path is not mounted any more.
    Unmounted,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    first: Instant,
    last: Instant,
    settled: Option<Instant>,
}

/// Reports of one path in a row.
#[derive(Debug, Clone, Copy)]
struct Row {
    reports: u32,
    last: Instant,
}

impl Row {
    /// The time that has to pass between the last report and the next.
    fn pause(&self) -> Duration {
        match self.reports.checked_sub(FREE_REPORTS) {
            None => Duration::ZERO,
            Some(more) => FIRST_PAUSE.saturating_mul(1 << more.min(16)).min(MAX_PAUSE),
        }
    }

    /// Whether a change at `now` goes on with the row.
    fn goes_on(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) < ROW_DELAY.max(self.pause() * 2)
    }
}

/// Changed paths that wait to be reported.
#[derive(Debug)]
pub(super) struct PendingChanges {
    entries: FxHashMap<PathBuf, Entry>,
    /// Paths that were reported lately.
    rows: FxHashMap<PathBuf, Row>,
    /// When rows that have ended are looked for next.
    next_look: Option<Instant>,
    /// Paths that have just turned out to change without end, and how long they wait.
    turned_busy: Vec<(PathBuf, Duration)>,
    debounce: Duration,
    settle: Duration,
    max_delay: Duration,
}

impl PendingChanges {
    pub(super) fn new(debounce: Duration, settle: Duration, max_delay: Duration) -> Self {
        Self {
            entries: FxHashMap::default(),
            rows: FxHashMap::default(),
            next_look: None,
            turned_busy: Vec::new(),
            debounce,
            settle,
            max_delay,
        }
    }

    pub(super) fn record(&mut self, path: &Path, change: PathChange, now: Instant) {
        if let Some(entry) = self.entries.get_mut(path) {
            entry.last = now;
            if change == PathChange::Settled {
                entry.settled.get_or_insert(now);
            }
        } else {
            if self.rows.get(path).is_some_and(|row| !row.goes_on(now)) {
                self.rows.remove(path);
            }
            let settled = (change == PathChange::Settled).then_some(now);
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
        let entries = self.entries.iter();
        entries.map(|(path, entry)| self.due(path, entry)).min()
    }

    fn due(&self, path: &Path, entry: &Entry) -> Instant {
        let due = match entry.settled {
            Some(settled) => settled + self.debounce,
            None => (entry.last + self.settle).min(entry.first + self.max_delay),
        };
        self.paused_until(path, entry)
            .map_or(due, |paused| due.max(paused))
    }

    /// Until when a path waits because it was reported so often.
    fn paused_until(&self, path: &Path, entry: &Entry) -> Option<Instant> {
        let row = self.rows.get(path)?;
        let pause = row.pause();
        let quiet = (pause / 4).max(QUIET_PERIOD);
        (!pause.is_zero()).then(|| (row.last + pause).min(entry.last + quiet))
    }

    /// Takes the paths that are due, and with them all others that are settled, so that what
    /// happened together is reported together. Also tells when the first of them was noticed.
    pub(super) fn take_due(&mut self, now: Instant) -> (Vec<PathBuf>, Option<Instant>) {
        if self.next_due().is_none_or(|due| due > now) {
            return (Vec::new(), None);
        }
        let mut entries = std::mem::take(&mut self.entries);
        let mut noticed = None;
        let is_taken = |path: &PathBuf, entry: &mut Entry| {
            let waits = self
                .paused_until(path, entry)
                .is_some_and(|until| until > now);
            let taken = !waits && (entry.settled.is_some() || self.due(path, entry) <= now);
            if taken {
                noticed = Some(noticed.map_or(entry.first, |at: Instant| at.min(entry.first)));
            }
            taken
        };
        let mut paths: Vec<PathBuf> = entries.extract_if(is_taken).map(|(path, _)| path).collect();
        self.entries = entries;
        paths.sort_unstable();
        for path in &paths {
            self.reported(path, now);
        }
        self.end_rows(now);
        (paths, noticed)
    }

    fn reported(&mut self, path: &Path, now: Instant) {
        let first = Row {
            reports: 0,
            last: now,
        };
        let row = self.rows.entry(path.to_owned()).or_insert(first);
        let was_busy = row.pause() >= BUSY_PAUSE;
        row.reports += 1;
        row.last = now;
        if !was_busy && row.pause() >= BUSY_PAUSE {
            let told = (path.to_owned(), row.pause());
            self.turned_busy.push(told);
        }
    }

    /// Forgets rows that have ended, now and then.
    fn end_rows(&mut self, now: Instant) {
        if self.next_look.is_some_and(|at| at > now) {
            return;
        }
        self.next_look = Some(now + ROW_DELAY);
        let waiting = &self.entries;
        self.rows
            .retain(|path, row| row.goes_on(now) || waiting.contains_key(path));
    }

    /// The paths that have turned out to change without end since this was last asked, and how long
    /// they wait for now.
    pub(super) fn take_turned_busy(&mut self) -> Vec<(PathBuf, Duration)> {
        std::mem::take(&mut self.turned_busy)
    }

    /// How many paths change without end.
    pub(super) fn busy(&self, now: Instant) -> usize {
        let rows = self.rows.values();
        rows.filter(|row| row.pause() >= BUSY_PAUSE && row.goes_on(now))
            .count()
    }

    /// Forgets what waits: a rescan will find it.
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
    fn reported(events: &[(u64, &str, PathChange)], until: u64) -> Vec<(u64, Vec<String>)> {
        let start = Instant::now();
        let mut pending = PendingChanges::new(ms(3), ms(40), ms(100));
        let mut reported = Vec::new();
        for now in 0..=until {
            for (_, path, change) in events.iter().filter(|(at, ..)| *at == now) {
                pending.record(Path::new(path), *change, start + ms(now));
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
        let events = [(0, "a", PathChange::Ongoing), (5, "a", PathChange::Settled)];
        assert_eq!(reported(&events, 20), [(8, names(&["a"]))]);
    }

    #[test]
    fn what_happens_together_is_reported_together() {
        let events = [
            (0, "b", PathChange::Settled),
            (1, "a", PathChange::Settled),
            (2, "c", PathChange::Settled),
            (2, "d", PathChange::Ongoing),
        ];
        assert_eq!(
            reported(&events, 60),
            [(3, names(&["a", "b", "c"])), (42, names(&["d"]))]
        );
    }

    #[test]
    fn an_open_file_is_reported_when_its_writer_pauses() {
        let events = [
            (0, "a", PathChange::Ongoing),
            (30, "a", PathChange::Ongoing),
        ];
        assert_eq!(reported(&events, 100), [(70, names(&["a"]))]);
    }

    #[test]
    fn a_writer_without_a_pause_is_followed_at_intervals() {
        let events: Vec<_> = (0..25)
            .map(|step| (step * 10, "log", PathChange::Ongoing))
            .collect();
        let times: Vec<u64> = reported(&events, 400)
            .into_iter()
            .map(|(at, _)| at)
            .collect();
        assert_eq!(times, [100, 210, 280]);
    }

    /// When `log` is reported, in seconds, if it is written every `step` milliseconds until `end`.
    fn looks_at_a_log(step: u64, end: u64) -> (Vec<u64>, PendingChanges) {
        let start = Instant::now();
        let mut pending = PendingChanges::new(ms(3), ms(40), ms(1_000));
        let mut looks = Vec::new();
        for now in (0..end + 400_000).step_by(10) {
            let at = start + ms(now);
            if now < end && now % step == 0 {
                pending.record(Path::new("log"), PathChange::Settled, at);
            }
            let (paths, _) = pending.take_due(at);
            looks.extend(paths.iter().map(|_| now / 1_000));
        }
        (looks, pending)
    }

    #[test]
    fn y12_a_log_that_never_stops_is_looked_at_ever_more_rarely() {
        let hour = 3_600_000;
        let (looks, _) = looks_at_a_log(250, hour);
        assert!(looks.len() < 30, "{looks:?}");
        let pauses: Vec<u64> = looks.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(pauses.iter().all(|&pause| pause <= 301), "{pauses:?}");
        assert!(pauses.contains(&300), "{pauses:?}");
        // What was written last is reported soon after the end.
        let last = looks.last().copied().expect("it was looked at");
        assert!(last >= hour / 1_000 && last <= hour / 1_000 + 76, "{last}");
        // Whatever the rhythm, an hour costs few looks; a slow one is followed at once.
        for step in [50, 1_000, 4_000, 9_000] {
            let (looks, _) = looks_at_a_log(step, hour);
            assert!(looks.len() < 60, "{step}: {}", looks.len());
        }
        let (looks, _) = looks_at_a_log(60_000, hour);
        assert_eq!(looks.len(), 60, "a change a minute is followed");
    }

    #[test]
    fn y12_other_files_are_as_quick_as_ever_and_a_quiet_file_is_again() {
        let start = Instant::now();
        let mut pending = PendingChanges::new(ms(3), ms(40), ms(1_000));
        for now in (0..60_000).step_by(250) {
            pending.record(Path::new("log"), PathChange::Settled, start + ms(now));
            pending.take_due(start + ms(now + 3));
        }
        let told = pending.take_turned_busy();
        assert_eq!(told.len(), 1, "told once: {told:?}");
        assert_eq!(pending.busy(start + ms(60_000)), 1);
        // Another file does not wait for it, and does not take it along.
        pending.record(Path::new("log"), PathChange::Settled, start + ms(60_000));
        pending.record(Path::new("note"), PathChange::Settled, start + ms(60_000));
        let (paths, _) = pending.take_due(start + ms(60_003));
        assert_eq!(paths, [PathBuf::from("note")]);
        // After a long silence it is a file like any other.
        let later = start + ms(2_000_000);
        assert_eq!(pending.take_due(later).0, [PathBuf::from("log")]);
        let after = later + ms(700_000);
        assert_eq!(pending.busy(after), 0);
        pending.record(Path::new("log"), PathChange::Settled, after);
        assert_eq!(pending.take_due(after + ms(3)).0, [PathBuf::from("log")]);
    }

    #[test]
    fn the_first_notice_is_told() {
        let start = Instant::now();
        let mut pending = PendingChanges::new(ms(3), ms(40), ms(100));
        pending.record(Path::new("a"), PathChange::Ongoing, start);
        pending.record(Path::new("b"), PathChange::Settled, start + ms(1));
        assert_eq!(
            pending.take_due(start + ms(4)),
            (vec![PathBuf::from("b")], Some(start + ms(1)))
        );
        assert_eq!(pending.take_due(start + ms(40)).1, Some(start));
    }
}
