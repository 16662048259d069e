//! The runs that are active in this process: how to stop them, and how often their start was
//! delayed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use forge_core::RunId;
use orchestrator_engine::process::{StopCause, Stopper};
use parking_lot::Mutex;

/// How long the start of a run is delayed at first when descriptors, threads, memory or disk run
/// out.
const MIN_START_DELAY: Duration = Duration::from_secs(1);
/// The longest such delay.
const MAX_START_DELAY: Duration = Duration::from_secs(60);

/// The active runs of this process; clones are the same. It outlives a restart of the dispatcher,
/// whose ticks take a run that is not in it for lost.
#[derive(Clone, Default)]
pub(crate) struct ActiveRuns(Arc<Mutex<Registry>>);

#[derive(Default)]
struct Registry {
    runs: HashMap<RunId, StopSwitch>,
    /// How often in a row the start of a run was delayed.
    delays: HashMap<RunId, u32>,
}

/// How a run is stopped.
#[derive(Debug, Default)]
struct StopSwitch {
    /// Its process, once it exists.
    stopper: Option<Stopper>,
    /// Requested before there was a process.
    requested: Option<StopCause>,
}

impl ActiveRuns {
    /// A run is about to be started.
    pub(crate) fn insert(&self, run: &RunId) {
        self.0.lock().runs.entry(run.clone()).or_default();
    }

    /// The process of a run exists; a stop that was requested before takes effect.
    pub(crate) fn set_process(&self, run: &RunId, stopper: Stopper) {
        let mut registry = self.0.lock();
        let switch = registry.runs.entry(run.clone()).or_default();
        if let Some(cause) = switch.requested {
            stopper.stop(cause);
        }
        switch.stopper = Some(stopper);
    }

    /// The end of a run is recorded.
    pub(crate) fn forget(&self, run: &RunId) {
        let mut registry = self.0.lock();
        registry.runs.remove(run);
        registry.delays.remove(run);
    }

    /// A run is not active any more, and not ended: it is queued again and its delay over, or it
    /// was not begun.
    pub(crate) fn end_delay(&self, run: &RunId) {
        self.0.lock().runs.remove(run);
    }

    /// Ends the process of a run, now or as soon as it exists. `false`: the run is not active here.
    pub(crate) fn stop(&self, run: &RunId, cause: StopCause) -> bool {
        let mut registry = self.0.lock();
        let Some(switch) = registry.runs.get_mut(run) else {
            return false;
        };
        switch.requested.get_or_insert(cause);
        if let Some(stopper) = &switch.stopper {
            stopper.stop(cause);
        }
        true
    }

    /// The stop that was requested for a run, if any.
    pub(crate) fn requested_stop(&self, run: &RunId) -> Option<StopCause> {
        self.0.lock().runs.get(run)?.requested
    }

    /// The ids of all.
    pub(crate) fn ids(&self) -> BTreeSet<RunId> {
        self.0.lock().runs.keys().cloned().collect()
    }

    /// The start of a run is delayed once more: for how long, doubling each time.
    pub(crate) fn delay_start(&self, run: &RunId) -> Duration {
        let mut registry = self.0.lock();
        let times = registry.delays.entry(run.clone()).or_default();
        *times = times.saturating_add(1);
        MIN_START_DELAY
            .saturating_mul(1 << (*times - 1).min(8))
            .min(MAX_START_DELAY)
    }

    /// How often the start of a run was delayed so far.
    pub(crate) fn start_delays(&self, run: &RunId) -> u32 {
        self.0.lock().delays.get(run).copied().unwrap_or(0)
    }
}

/// Ended runs of this process by agent and exit class, for metrics; clones are the same.
#[derive(Clone, Default)]
pub(crate) struct EndCounters(Arc<Mutex<BTreeMap<(String, &'static str), u64>>>);

impl EndCounters {
    pub(crate) fn count(&self, agent: &str, class: &'static str) {
        let key = (agent.to_owned(), class);
        *self.0.lock().entry(key).or_default() += 1;
    }

    pub(crate) fn snapshot(&self) -> BTreeMap<(String, &'static str), u64> {
        self.0.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: &str) -> RunId {
        id.parse().expect("a run id")
    }

    #[test]
    fn starts_are_delayed_longer_each_time_up_to_a_minute() {
        let (runs, id) = (ActiveRuns::default(), run("r-1"));
        let delays: Vec<u64> = (0..9).map(|_| runs.delay_start(&id).as_secs()).collect();
        assert_eq!(delays, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(runs.start_delays(&id), 9);
        assert_eq!(runs.start_delays(&run("r-2")), 0);
    }

    #[test]
    fn the_first_cause_of_a_stop_is_kept_and_unknown_runs_are_not_stopped() {
        let (runs, id) = (ActiveRuns::default(), run("r-1"));
        assert!(!runs.stop(&id, StopCause::Cancelled));
        runs.insert(&id);
        assert_eq!(runs.requested_stop(&id), None);
        assert!(runs.stop(&id, StopCause::Superseded));
        assert!(runs.stop(&id, StopCause::Shutdown));
        assert_eq!(runs.requested_stop(&id), Some(StopCause::Superseded));
        runs.forget(&id);
        assert!(runs.ids().is_empty());
    }
}
