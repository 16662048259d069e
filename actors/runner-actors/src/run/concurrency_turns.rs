//! Copies of jobs, and calls of workflows, that wait for their turn in their concurrency groups.
//! They hold neither a permit nor a machine; a run of which nothing else is left is parked, with
//! its places.
//!
//! ```text
//! start_or_hold ──launch_in_turn──▶ GroupLine ──place──▶ ConcurrencyGroups
//! run_jobs ◀──changed── GroupLine ◀──turn── (ParkedRuns::wake, where the run is parked)
//!     └──recheck_line──▶ launch, with its ticket
//! ```

use std::sync::Arc;
use std::time::Duration;

use runner_core::plan::ConcurrencyGroup;

use super::active_run::{ActiveRun, EventSender, ReportSender, StartedCopy};
use super::calls::{CallId, EnteringCall};
use super::gates::send;
use super::group_line::CopyKey;
use super::parked::HeldPlaces;
use crate::job::JobResult;
use crate::ledger::{RunLedger, job_status};
use crate::log::LineKind;

/// What a copy waits for whose group another holds.
const IN_GROUP: &str = "waits for its turn: another of its concurrency group runs";
/// So long a run stays as it is for which nothing is left but such waits: most are short, and one
/// that is parked is fetched and laid out again.
const PARK_DELAY: Duration = Duration::from_secs(5);

impl ActiveRun {
    fn copy_key(&self, copy: &StartedCopy) -> CopyKey {
        let key = &self.state.plan().jobs[copy.job].key;
        (key.clone(), copy.instance.index)
    }

    /// Starts a copy, in its turn where it has a concurrency group.
    pub(super) async fn launch_in_turn(
        &mut self,
        ledger: &mut RunLedger,
        mut copy: StartedCopy,
        events: &EventSender,
        reports: &ReportSender,
    ) {
        if copy.instance.concurrency.is_none() {
            self.launch(ledger, copy, None, (events, reports));
            return;
        }
        let key = self.copy_key(&copy);
        match self.line.cancel_of(&key) {
            // Of the time before the run was parked.
            Some(cancel) => {
                if let Some(started) = &mut self.copies[copy.index] {
                    started.cancel = Arc::clone(&cancel);
                }
                copy.cancel = cancel;
            }
            None => self.enqueue(ledger, key, &copy),
        }
        self.resume_copy(ledger, copy, (events, reports)).await;
    }

    /// Takes the last place of the line.
    fn enqueue(&mut self, ledger: &RunLedger, key: CopyKey, copy: &StartedCopy) {
        let Some(group) = &copy.instance.concurrency else {
            return;
        };
        let cancel = Arc::clone(&copy.cancel);
        let end = Arc::new(move |_| {
            cancel.send_replace(true);
        });
        let repository = &ledger.record.repository;
        let turn = self.services.groups.acquire(repository, group, end);
        let (parked, queue) = (self.services.parked.clone(), self.services.queue.clone());
        let run = ledger.record.id.clone();
        let told = move || parked.wake(&run, &queue);
        self.line.keep(key, Arc::clone(&copy.cancel), turn, told);
    }

    /// Starts a copy whose turn has come; whether it has, or never will.
    async fn resume_copy(
        &mut self,
        ledger: &mut RunLedger,
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
                send(reports, index, JobResult::cancelled(&reason.to_string()));
                true
            }
            None => {
                self.in_line.push(copy);
                let record = &mut ledger.record.jobs[index];
                if record.reason.as_deref() != Some(IN_GROUP) {
                    record.reason = Some(IN_GROUP.to_owned());
                    let text = format!("{}: {IN_GROUP}", record.name);
                    ledger.log_line(LineKind::Info, &text).await;
                    ledger.record.clear_start();
                }
                false
            }
        }
    }

    /// Looks again at copies that wait for their turn.
    pub(super) async fn recheck_line(
        &mut self,
        ledger: &mut RunLedger,
        events: &EventSender,
        reports: &ReportSender,
    ) {
        let mut statuses = Vec::new();
        for copy in std::mem::take(&mut self.in_line) {
            let index = copy.index;
            if self.resume_copy(ledger, copy, (events, reports)).await {
                statuses.push(job_status(&ledger.record.jobs[index]));
            }
        }
        ledger.save(statuses).await;
    }

    /// Takes a copy out of the line, if it is there.
    pub(super) fn dequeue(&mut self, job: usize, instance: usize) -> Option<StartedCopy> {
        let is_it = |copy: &StartedCopy| copy.job == job && copy.instance.index == instance;
        let at = self.in_line.iter().position(is_it)?;
        let copy = self.in_line.swap_remove(at);
        self.line.release(&self.copy_key(&copy));
        Some(copy)
    }

    /// How long a run that only waits stays as it is.
    pub(super) fn park_delay(&self) -> Duration {
        match self.in_line.is_empty() && !self.calls.is_waiting() {
            true => Duration::ZERO,
            false => PARK_DELAY,
        }
    }

    /// Asks for the groups of a call.
    pub(super) fn enqueue_call(
        &mut self,
        ledger: &RunLedger,
        id: CallId,
        groups: Vec<ConcurrencyGroup>,
    ) {
        let key = (self.state.plan().jobs[id.0].key.clone(), id.1);
        let call = EnteringCall { id, key, groups };
        let (parked, queue) = (self.services.parked.clone(), self.services.queue.clone());
        let (run, all) = (ledger.record.id.clone(), self.services.groups.clone());
        let of = (all, ledger.record.repository.clone());
        self.calls
            .acquire(call, of, move || parked.wake(&run, &queue));
    }

    /// Why calls wait, for people.
    pub(super) fn waiting_calls(&self) -> Vec<String> {
        let keys = self.calls.waiting().map(|(key, _)| key);
        let mut said: Vec<String> = keys.map(|key| format!("{key} {IN_GROUP}")).collect();
        said.sort_unstable();
        said.dedup();
        said
    }

    /// What its jobs and calls have of their groups, for whoever drives it again.
    pub(super) fn into_places(mut self) -> HeldPlaces {
        self.calls.forget_ids();
        HeldPlaces {
            line: self.line,
            calls: self.calls,
        }
    }
}
