//! How long a take-over may take, on a machine that has other work as well: time in which the
//! process that takes over waited for a processor is the machine's, as the kernel counts it. How
//! long anybody waited (`/proc/pressure/cpu`) is no measure: with more processes than processors
//! somebody always waits, and all of them at once (`full`) are not counted for a whole machine.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

/// A leader that is lost has to be followed within this.
pub(crate) const TAKEOVER_TIMEOUT: Duration = Duration::from_secs(10);
/// Whatever the machine does.
const MAX_TAKEOVER: Duration = Duration::from_secs(20);

/// How long each thread of a process has waited for a processor, in nanoseconds; nothing where the
/// kernel does not count it.
#[derive(Debug, Default)]
pub(crate) struct Starved(BTreeMap<OsString, u64>);

impl Starved {
    /// Until now.
    pub(crate) fn new(process: u32) -> Self {
        let threads = std::fs::read_dir(format!("/proc/{process}/task"));
        let threads = threads.into_iter().flatten().flatten();
        let each = threads.filter_map(|thread| {
            let text = std::fs::read_to_string(thread.path().join("schedstat"));
            Some((thread.file_name(), waited(&text.ok()?)?))
        });
        Self(each.collect())
    }

    /// Since then, all threads together; what those waited that have ended is lost.
    pub(crate) fn since(&self, before: &Self) -> Duration {
        let each = self.0.iter().map(|(thread, waited)| {
            let before = before.0.get(thread).copied().unwrap_or_default();
            waited.saturating_sub(before)
        });
        Duration::from_nanos(each.sum())
    }
}

/// Of a thread, in nanoseconds: the second of its numbers.
fn waited(schedstat: &str) -> Option<u64> {
    schedstat.split(' ').nth(1)?.parse().ok()
}

/// Whether a take-over that took so long is a fault, where whoever took over waited for a processor
/// for `starved` meanwhile.
pub(crate) fn is_late(took: Duration, starved: Duration) -> bool {
    took > MAX_TAKEOVER || took.saturating_sub(starved) > TAKEOVER_TIMEOUT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_a_late_take_over_is_a_fault_unless_the_machine_was_starved() {
        let seconds = Duration::from_secs;
        for (took, starved, expected) in [
            (10, 0, false),
            (11, 0, true),
            (11, 2, false),
            (18, 7, true),
            (18, 18, false),
            (21, 21, true),
        ] {
            assert_eq!(is_late(seconds(took), seconds(starved)), expected, "{took}");
        }
    }

    #[test]
    fn i18_the_kernels_count_of_a_process_is_read() {
        assert_eq!(waited("1000 182134594 7\n"), Some(182_134_594));
        assert_eq!(waited(""), None);
        let nobody = Starved::new(0);
        assert_eq!(nobody.since(&nobody), Duration::ZERO);
        let own = Starved::new(std::process::id());
        assert!(!own.0.is_empty());
        // One thread has ended since, another one began.
        let threads = |all: &[(&str, u64)]| {
            let all = all
                .iter()
                .map(|(thread, waited)| ((*thread).into(), *waited));
            Starved(all.collect())
        };
        let before = threads(&[("1", 50), ("2", 900)]);
        let after = threads(&[("1", 70), ("3", 5)]);
        assert_eq!(after.since(&before), Duration::from_nanos(25));
    }
}
