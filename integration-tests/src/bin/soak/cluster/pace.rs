//! How the faults of a run are shared out, and how they keep to its time.

use std::sync::RwLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Faults for each lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shares {
    /// Of each product's processes.
    pub(crate) product: u32,
    pub(crate) managers: u32,
    /// Of database and storage; at least a restart and the fail-over.
    pub(crate) servers: u32,
}

impl Shares {
    /// At least `faults` in all: 35 of a hundred for each product, 4 for the servers, the rest for
    /// the managers.
    pub(crate) fn for_faults(faults: u32) -> Self {
        let product = faults * 35 / 100;
        let servers = (faults * 4 / 100).max(2);
        Self {
            product,
            managers: faults.saturating_sub(2 * product + servers),
            servers,
        }
    }

    /// Those of processes.
    pub(crate) fn of_processes(self) -> u32 {
        2 * self.product + self.managers
    }
}

/// The time of a run and what was done in it.
#[derive(Debug)]
pub(crate) struct Pace {
    started: Instant,
    pub(crate) deadline: Instant,
    /// Faults of processes: planned, done.
    planned: u32,
    done: AtomicU32,
    /// Faults of servers take it alone, so that each take-over has one cause.
    pub(crate) turn: RwLock<()>,
}

impl Pace {
    pub(crate) fn new(planned: u32, deadline: Instant) -> Self {
        Self {
            started: Instant::now(),
            deadline,
            planned,
            done: AtomicU32::new(0),
            turn: RwLock::new(()),
        }
    }

    /// Notes a fault of a process.
    pub(crate) fn count(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether that part of the planned faults of processes has been done.
    pub(crate) fn has_done(&self, part: f64) -> bool {
        f64::from(self.done.load(Ordering::Relaxed)) >= part * f64::from(self.planned)
    }

    /// Whether a lane that has done so many of its faults has time for one that takes seconds.
    pub(crate) fn allows_slow(&self, done: u32, of: u32) -> bool {
        // The last ones have to be through before the deadline.
        let whole = self.deadline.saturating_duration_since(self.started) * 19 / 20;
        f64::from(done) / f64::from(of.max(1)) >= part(self.started.elapsed(), whole)
    }

    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }
}

fn part(of: Duration, whole: Duration) -> f64 {
    of.as_secs_f64() / whole.as_secs_f64().max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_faults_are_shared_out_and_keep_to_the_time() {
        for faults in [1, 3, 20, 100, 1000] {
            let shares = Shares::for_faults(faults);
            let all = shares.of_processes() + shares.servers;
            assert!((faults..=faults + 1).contains(&all), "{faults}: {shares:?}");
            assert!(shares.servers >= 2, "a restart and the fail-over");
        }
        assert_eq!(
            Shares::for_faults(1000),
            Shares {
                product: 350,
                managers: 260,
                servers: 40
            }
        );
        let pace = Pace::new(2, Instant::now() + Duration::from_secs(3600));
        assert!(pace.allows_slow(1, 350) && !pace.has_done(0.5));
        pace.count();
        assert!(pace.has_done(0.5) && !pace.is_over());
        let late = Pace::new(2, Instant::now());
        assert!(late.is_over() && !late.allows_slow(1, 350));
    }
}
