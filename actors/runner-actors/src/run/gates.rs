//! Environments before which jobs wait: for an approval, for their time, or for ever.

use runner_core::plan::PlanAction;
use runner_core::protection::GateState;
use runner_core::state::{Conclusion, RunState};
use store::StoreError;

use super::active_run::{ActiveRun, EventSender, ReportSender, StartedCopy};
use super::calls::{CallGroupEvent, CallId};
use crate::clock::now_ms;
use crate::job::JobResult;
use crate::ledger::{RunLedger, StatusChange, job_status};
use crate::log::LineKind;
use crate::records::EnvironmentGate;
use crate::review::{self, RunReviews};

impl ActiveRun {
    /// Takes what was said to the run's environments into its record.
    pub(super) async fn read_reviews(ledger: &mut RunLedger) {
        let run = ledger.record.id.clone();
        let store = &ledger.recorder.store;
        let read = store.read(move |rows| review::get(rows, &run));
        let reviews: Result<RunReviews, StoreError> = read.await;
        let reviews = match reviews {
            Ok(reviews) => reviews,
            Err(error) => {
                // They are read again when something else happens.
                tracing::warn!(event = "run.store_failed", run = %ledger.record.id, %error, "the reviews of a run cannot be read now");
                return;
            }
        };
        for gate in &mut ledger.record.environments {
            if gate.review.is_none() {
                gate.review = reviews.of_environment(&gate.name).cloned();
            }
        }
    }

    /// Whether a copy may go to its environment now; what it waits for is noted in the record.
    fn gate(&self, ledger: &mut RunLedger, name: &str) -> GateState {
        let scopes = &self.services.settings.scopes;
        let rules = scopes.environment(&ledger.record.repository, name);
        let rules = rules.map(|environment| environment.rules.clone());
        let (rules, now) = (rules.unwrap_or_default(), now_ms());
        let reference = ledger.record.reference.clone();
        let gates = &mut ledger.record.environments;
        let known = gates.iter_mut().find(|gate| gate.is_of(name));
        let since = known.as_ref().map_or(now, |gate| gate.since);
        let verdict = known.as_ref().and_then(|gate| gate.review.as_ref());
        let verdict = verdict.map(|review| review.verdict);
        let state = rules.state(name, &reference, since, verdict, now);
        match (&state, known) {
            (
                GateState::Waiting {
                    for_approval,
                    until,
                },
                Some(gate),
            ) => {
                gate.for_approval = *for_approval;
                gate.until = *until;
                gate.settled = false;
            }
            (
                GateState::Waiting {
                    for_approval,
                    until,
                },
                None,
            ) => gates.push(EnvironmentGate {
                name: name.to_owned(),
                since,
                until: *until,
                for_approval: *for_approval,
                review: None,
                settled: false,
            }),
            (GateState::Open | GateState::Closed(_), Some(gate)) => gate.settled = true,
            (GateState::Open | GateState::Closed(_), None) => {}
        }
        state
    }

    /// Starts a copy, unless its environment keeps it; a status that says so, if that is new.
    pub(super) async fn start_or_hold(
        &mut self,
        ledger: &mut RunLedger,
        copy: StartedCopy,
        events: &EventSender,
        reports: &ReportSender,
    ) -> Option<StatusChange> {
        let environment = copy.instance.environment.as_ref();
        let Some(name) = environment.map(|environment| environment.name.clone()) else {
            self.launch_in_turn(ledger, copy, events, reports).await;
            return None;
        };
        let text = match self.gate(ledger, &name) {
            GateState::Open => {
                ledger.record.jobs[copy.index].reason = None;
                self.launch_in_turn(ledger, copy, events, reports).await;
                return None;
            }
            GateState::Closed(reason) => {
                let report = JobResult::failed(crate::records::JobEnd::Usual, reason);
                send(reports, copy.index, report);
                return None;
            }
            GateState::Waiting {
                for_approval: true, ..
            } => format!("waits for an approval of the environment {name}"),
            GateState::Waiting { .. } => format!("waits for the environment {name}"),
        };
        let index = copy.index;
        self.held.push(copy);
        let record = &mut ledger.record.jobs[index];
        if record.reason.as_ref() == Some(&text) {
            return None;
        }
        record.reason = Some(text.clone());
        let (said, status) = (format!("{}: {text}", record.name), job_status(record));
        ledger.log_line(LineKind::Warning, &said).await;
        Some(status)
    }

    /// Looks again at the environments of copies that wait.
    pub(super) async fn recheck_held(
        &mut self,
        ledger: &mut RunLedger,
        events: &EventSender,
        reports: &ReportSender,
    ) {
        Self::read_reviews(ledger).await;
        let mut statuses = Vec::new();
        for copy in std::mem::take(&mut self.held) {
            statuses.extend(self.start_or_hold(ledger, copy, events, reports).await);
        }
        ledger.save(statuses).await;
    }

    /// Job and copy of all that wait.
    pub(super) fn held_copies(&self) -> Vec<(usize, usize)> {
        let held = self.held.iter().chain(&self.in_line);
        held.map(|copy| (copy.job, copy.instance.index)).collect()
    }

    /// Ends a copy that waits, if it does.
    pub(super) fn cancel_held(&mut self, job: usize, instance: usize, reports: &ReportSender) {
        let is_it = |copy: &StartedCopy| copy.job == job && copy.instance.index == instance;
        let held = self.held.iter().position(is_it);
        let held = held.map(|at| self.held.swap_remove(at));
        if let Some(copy) = held.or_else(|| self.dequeue(job, instance)) {
            send(
                reports,
                copy.index,
                JobResult::cancelled("cancelled while it waited"),
            );
        }
    }

    /// When to look again at what waits.
    pub(super) fn next_check(&self, ledger: &RunLedger) -> Option<u64> {
        let gates = ledger.record.environments.iter();
        let pending = gates.filter(|gate| gate.is_pending());
        pending
            .map(|gate| gate.until)
            .min()
            .filter(|_| !self.held.is_empty())
    }

    /// Whether nothing of the run is under way but copies and calls that wait.
    pub(super) fn only_waits(&self) -> bool {
        let open = self
            .copies
            .iter()
            .flatten()
            .filter(|copy| copy.end.is_none());
        let waiting = self.held.len() + self.in_line.len();
        let waits = waiting > 0 || self.calls.is_waiting();
        waits && !self.calls.is_due() && open.count() == waiting
    }

    /// Notes that the run waits: its actor ends, and it is taken up when it can go on.
    pub(super) async fn park(&self, ledger: &mut RunLedger, holds_group: bool) {
        let names = ledger.record.jobs.iter();
        let reasons = names.filter(|job| job.conclusion.is_none());
        let reasons = reasons.filter_map(|job| job.reason.as_deref());
        let mut reasons: Vec<&str> = reasons.collect();
        let calls = self.waiting_calls();
        reasons.extend(calls.iter().map(String::as_str));
        reasons.dedup();
        let reason = reasons.join("; ");
        for call in &calls {
            ledger.log_line(LineKind::Info, call).await;
        }
        tracing::info!(event = "run.waiting", run = %ledger.record.id, reason, "a run waits");
        ledger.record.reason = Some(reason);
        // In the groups of its jobs and calls, too: at the next start it takes its places again.
        let has_places = !self.in_line.is_empty() || !self.calls.is_empty();
        ledger.record.holds_group = holds_group || has_places;
        // VMs of what follows are asked for under other names, and restarts so far are no sign of a
        // run that brings the runner down.
        ledger.record.taken_up += 1;
        ledger.record.taken_up_at_wait = ledger.record.taken_up;
        ledger.become_state(RunState::Waiting);
        ledger.save(Vec::new()).await;
    }

    /// What a job that ended says of its environment.
    pub(super) fn record_environment(ledger: &mut RunLedger, index: usize, report: &JobResult) {
        let Some(environment) = &mut ledger.record.jobs[index].environment else {
            return;
        };
        if report.conclusion == Conclusion::Success {
            environment.url.clone_from(&report.url);
        }
    }
}

impl ActiveRun {
    /// What the plan makes of what happened to the groups of a call.
    pub(super) fn take_call_event(
        &mut self,
        call: CallId,
        event: CallGroupEvent,
    ) -> Vec<PlanAction> {
        let (job, copy) = call;
        match event {
            CallGroupEvent::Admitted(tickets) => {
                if self.calls.keep(call, tickets) {
                    self.state.admitted(job, copy, true);
                }
                Vec::new()
            }
            CallGroupEvent::Superseded => {
                self.calls.release(call);
                self.state.admitted(job, copy, false);
                Vec::new()
            }
            CallGroupEvent::Cancelled => self.state.cancel_call(job, copy),
        }
    }
}

/// A report of a copy that was never run.
pub(super) fn send(reports: &ReportSender, index: usize, report: JobResult) {
    let reports = reports.clone();
    actix_rt::spawn(async move {
        // A run that is gone hears nothing.
        let _ = reports.send((index, report)).await;
    });
}
