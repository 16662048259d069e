//! Copies of jobs in the lines of their concurrency groups. They hold neither a permit nor a
//! machine; a run of which nothing else is left is parked, with its places.
//!
//! ```text
//! start_or_hold ──launch_in_turn──▶ GroupLine ──place──▶ ConcurrencyGroups
//! run_jobs ◀──changed── GroupLine ◀──turn── (ParkedRuns::wake, where the run is parked)
//!     └──recheck_line──▶ launch, with its ticket
//! ```

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::active_run::{ActiveRun, EventSender, ReportSender, StartedCopy};
use super::gates::send;
use super::parked::TurnWatch;
use crate::groups::{GroupTicket, NotAdmitted};
use crate::job::JobReport;
use crate::ledger::{Ledger, job_status};
use crate::log::LineKind;

/// What a copy waits for whose group another holds.
const IN_GROUP: &str = "waits for its turn: another of its concurrency group runs";
/// So long a run stays as it is for which nothing is left but such waits: most are short, and one
/// that is parked is fetched and laid out again.
const PARK_DELAY: Duration = Duration::from_secs(5);

/// A copy, whichever incarnation of its run asks: the key of its job, and its number.
type CopyKey = (String, usize);

type Turn = Result<GroupTicket, NotAdmitted>;

/// The places of a run's copies in the lines of their groups. They outlive its actor.
#[derive(Default)]
pub(super) struct GroupLine {
    changed: Arc<Notify>,
    places: HashMap<CopyKey, GroupPlace>,
}

struct GroupPlace {
    /// Ends the copy, where a newer one of the group wants that.
    cancel: Arc<watch::Sender<bool>>,
    /// Its turn, once it has come.
    turn: Arc<Mutex<Option<Turn>>>,
    /// Who waits for it; dropped, the place is given up.
    _waits: Option<TurnWatch>,
}

impl GroupLine {
    /// Whether no copy has a place.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether the turn of a copy has come.
    pub(super) fn is_due(&self) -> bool {
        let mut places = self.places.values();
        places.any(|place| place.turn.lock().is_some())
    }

    /// Waits until the turn of a copy has come.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Keeps the place that is waited for by `turn`; `told` is called when it has come.
    fn keep(
        &mut self,
        key: CopyKey,
        cancel: Arc<watch::Sender<bool>>,
        turn: impl Future<Output = Turn> + 'static,
        told: impl FnOnce() + 'static,
    ) {
        let mut turn = Box::pin(turn);
        let now = turn.as_mut().now_or_never();
        let has_come = now.is_some();
        let slot = Arc::new(Mutex::new(now));
        let waits = (!has_come).then(|| {
            let (slot, changed) = (Arc::clone(&slot), Arc::clone(&self.changed));
            TurnWatch::of(async move {
                let turn = turn.await;
                *slot.lock() = Some(turn);
                changed.notify_one();
                told();
            })
        });
        let place = GroupPlace {
            cancel,
            turn: slot,
            _waits: waits,
        };
        self.places.insert(key, place);
    }

    /// The turn of a copy, if it has come: it has no place any more then.
    fn take(&mut self, key: &CopyKey) -> Option<Turn> {
        let turn = self.places.get(key)?.turn.lock().take()?;
        self.places.remove(key);
        Some(turn)
    }

    /// Gives up the place of a copy.
    fn leave(&mut self, key: &CopyKey) {
        self.places.remove(key);
    }
}

impl ActiveRun {
    fn copy_key(&self, copy: &StartedCopy) -> CopyKey {
        let key = &self.state.plan().jobs[copy.job].key;
        (key.clone(), copy.instance.index)
    }

    /// Starts a copy, in its turn where it has a concurrency group.
    pub(super) async fn launch_in_turn(
        &mut self,
        ledger: &mut Ledger,
        mut copy: StartedCopy,
        events: &EventSender,
        reports: &ReportSender,
    ) {
        if copy.instance.concurrency.is_none() {
            self.launch(ledger, copy, None, (events, reports));
            return;
        }
        let key = self.copy_key(&copy);
        let known = self.line.places.get(&key);
        match known.map(|place| Arc::clone(&place.cancel)) {
            // Of the time before the run was parked.
            Some(cancel) => {
                if let Some(started) = &mut self.copies[copy.index] {
                    started.cancel = Arc::clone(&cancel);
                }
                copy.cancel = cancel;
            }
            None => self.enter_line(ledger, key, &copy),
        }
        self.go_on(ledger, copy, (events, reports)).await;
    }

    /// Takes the last place of the line.
    fn enter_line(&mut self, ledger: &Ledger, key: CopyKey, copy: &StartedCopy) {
        let Some(group) = &copy.instance.concurrency else {
            return;
        };
        let cancel = Arc::clone(&copy.cancel);
        let end = Arc::new(move |_| {
            cancel.send_replace(true);
        });
        let repository = &ledger.record.repository;
        let turn = self.services.groups.enter(repository, group, end);
        let (parked, queue) = (self.services.parked.clone(), self.services.queue.clone());
        let run = ledger.record.id.clone();
        let told = move || parked.wake(&run, &queue);
        self.line.keep(key, Arc::clone(&copy.cancel), turn, told);
    }

    /// Starts a copy whose turn has come; whether it has, or never will.
    async fn go_on(
        &mut self,
        ledger: &mut Ledger,
        copy: StartedCopy,
        (events, reports): (&EventSender, &ReportSender),
    ) -> bool {
        let index = copy.index;
        match self.line.take(&self.copy_key(&copy)) {
            Some(Ok(ticket)) => {
                ledger.record.jobs[index].reason = None;
                self.launch(ledger, copy, Some(ticket), (events, reports));
                true
            }
            Some(Err(reason)) => {
                send(reports, index, JobReport::cancelled(&reason.to_string()));
                true
            }
            None => {
                self.in_line.push(copy);
                let record = &mut ledger.record.jobs[index];
                if record.reason.as_deref() != Some(IN_GROUP) {
                    record.reason = Some(IN_GROUP.to_owned());
                    let text = format!("{}: {IN_GROUP}", record.name);
                    ledger.say(LineKind::Info, &text).await;
                    ledger.record.note_waiting();
                }
                false
            }
        }
    }

    /// Looks again at copies that wait for their turn.
    pub(super) async fn recheck_line(
        &mut self,
        ledger: &mut Ledger,
        events: &EventSender,
        reports: &ReportSender,
    ) {
        let mut statuses = Vec::new();
        for copy in std::mem::take(&mut self.in_line) {
            let index = copy.index;
            if self.go_on(ledger, copy, (events, reports)).await {
                statuses.push(job_status(&ledger.record.jobs[index]));
            }
        }
        ledger.save(statuses).await;
    }

    /// Takes a copy out of the line, if it is there.
    pub(super) fn leave_line(&mut self, job: usize, instance: usize) -> Option<StartedCopy> {
        let is_it = |copy: &StartedCopy| copy.job == job && copy.instance.index == instance;
        let at = self.in_line.iter().position(is_it)?;
        let copy = self.in_line.swap_remove(at);
        self.line.leave(&self.copy_key(&copy));
        Some(copy)
    }

    /// How long a run that only waits stays as it is.
    pub(super) fn park_delay(&self) -> Duration {
        match self.in_line.is_empty() {
            true => Duration::ZERO,
            false => PARK_DELAY,
        }
    }
}

#[cfg(test)]
mod tests {
    use runner_core::plan::ConcurrencyGroup;
    use runner_core::workflow::ConcurrencyQueue;

    use super::*;
    use crate::groups::ConcurrencyGroups;

    #[actix_rt::test]
    async fn i17_a_place_in_the_line_is_kept_and_told_of_when_its_turn_has_come() {
        let groups = ConcurrencyGroups::default();
        let group = ConcurrencyGroup {
            name: "deploy".to_owned(),
            cancel_in_progress: false,
            queue: ConcurrencyQueue::Max,
        };
        let enter = || groups.enter("a/b", &group, Arc::new(|_| {}));
        let key = |number| ("deploy".to_owned(), number);
        let cancel = || Arc::new(watch::channel(false).0);
        let told = Arc::new(Mutex::new(0));
        let tell = || {
            let told = Arc::clone(&told);
            move || *told.lock() += 1
        };
        let mut line = GroupLine::default();
        line.keep(key(0), cancel(), enter(), tell());
        assert!(line.is_due());
        let first = line.take(&key(0)).expect("nobody is before it").ok();
        line.keep(key(1), cancel(), enter(), tell());
        line.keep(key(2), cancel(), enter(), tell());
        assert!(!line.is_due() && line.take(&key(1)).is_none());
        // Who gives its place up is passed over.
        line.leave(&key(1));
        tokio::task::yield_now().await;
        drop(first);
        line.changed().await;
        assert!(line.is_due() && *told.lock() == 1);
        assert!(line.take(&key(2)).is_some_and(|turn| turn.is_ok()));
        assert!(line.is_empty());
    }
}
