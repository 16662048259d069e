//! A run from its stored event to its end.

use std::path::PathBuf;
use std::sync::Arc;

use runner_core::plan::{Board, StatusContexts};
use runner_core::state::{Conclusion, RunState};
use supervision::{ChildRef, Supervisor};
use tokio::sync::{mpsc, watch};

use super::Ledger;
use super::copy::Copy;
use super::job_run::Tidings;
use super::ledger::job_status;
use super::plan::{Planned, prepare};
use crate::checkouts::Held;
use crate::clock::now_ms;
use crate::job::{JobEvent, JobReport};
use crate::log::LineKind;
use crate::records::{JobEnd, JobRecord};
use crate::service::Shared;

/// Drives a run; returns when it has ended and its record says how.
pub(crate) async fn drive(
    shared: Arc<Shared>,
    jobs: ChildRef<Supervisor>,
    id: String,
    cancel: watch::Sender<Option<String>>,
) {
    let Some(mut ledger) = Ledger::load(&shared, &id).await else {
        tracing::error!(event = "run.unreadable", run = %id, "a run's record or event is missing");
        return;
    };
    let folder = shared.settings.data.join("checkouts").join(&id);
    let planned = {
        let _turn = shared.checkouts.turn(&ledger.record.repository).await;
        prepare(&mut ledger).await
    };
    // Held until the checkout is removed.
    let mut room = None;
    if let Some(planned) = planned {
        let place = (folder.clone(), &mut room);
        run(&mut ledger, planned, jobs, place, cancel).await;
    }
    let removed = tokio::task::spawn_blocking(move || std::fs::remove_dir_all(folder));
    // Nothing was laid out, or a later run of the same id replaces it.
    let _ = removed.await;
    drop(room);
    shared.logs.flush().await;
    shared.logs.close(&id);
}

async fn run(
    ledger: &mut Ledger,
    planned: Planned,
    jobs: ChildRef<Supervisor>,
    (folder, room): (PathBuf, &mut Option<Held>),
    cancel: watch::Sender<Option<String>>,
) {
    let mut cancelled = cancel.subscribe();
    let ticket = match &planned.plan.concurrency {
        None => None,
        Some(group) => {
            let sender = cancel.clone();
            let end = Arc::new(move |why: String| drop(sender.send_replace(Some(why))));
            let groups = ledger.shared.groups.clone();
            let repository = ledger.record.repository.clone();
            tokio::select! {
                ticket = groups.enter(&repository, group, end) => match ticket {
                    Some(ticket) => Some(ticket),
                    None => {
                        ledger.end(RunState::Cancelled, Some("a newer run of its concurrency group took its place".to_owned())).await;
                        return;
                    }
                },
                reason = wanted_end(&mut cancelled) => {
                    ledger.end(RunState::Cancelled, Some(reason)).await;
                    return;
                }
            }
        }
    };
    let laid_out = tokio::select! {
        held = room_for(ledger, &planned) => held,
        reason = wanted_end(&mut cancelled) => {
            ledger.end(RunState::Cancelled, Some(reason)).await;
            return;
        }
    };
    let laid_out = match laid_out {
        Ok(held) => {
            *room = Some(held);
            lay_out(ledger, &planned, folder.clone()).await
        }
        Err(reason) => Err(reason),
    };
    if let Err(reason) = laid_out {
        let reason = format!("the commit could not be laid out: {reason}");
        ledger.end(RunState::Failed, Some(reason)).await;
        return;
    }
    for text in [
        "initialising VM provider",
        "creating VM command executor",
        "creating session manager",
    ] {
        tracing::info!(event = "run.preparing", run = %ledger.record.id, "{text}");
        ledger.say(LineKind::Info, text).await;
    }
    let keys = planned.plan.jobs.iter().map(|job| job.key.clone());
    ledger.record.job_order = keys.collect();
    let (sender, receiver) = mpsc::unbounded_channel();
    let contexts = StatusContexts::new(&planned.plan, &planned.workflow, &ledger.record.event);
    let driver = Driver {
        contexts,
        former: std::mem::take(&mut ledger.record.jobs),
        board: Board::new(Arc::clone(&planned.plan), planned.base.clone()),
        planned,
        jobs,
        folder,
        copies: Vec::new(),
        refused: false,
        sender,
        reports: mpsc::unbounded_channel(),
    };
    driver.run(ledger, receiver, cancelled).await;
    drop(ticket);
}

/// Waits for room on the disk: as long as for a VM, since a run that holds a concurrency group must not wait for one that waits for it.
async fn room_for(ledger: &Ledger, planned: &Planned) -> Result<Held, String> {
    let size = planned.source.size();
    let patience = ledger.shared.settings.vm_patience;
    let room = ledger.shared.checkouts.room(&size);
    tokio::time::timeout(patience, room).await.map_err(|_| {
        let seconds = patience.as_secs();
        format!(
            "other checkouts left no room for {seconds} s; `checkouts.total` says how much there is"
        )
    })
}

async fn lay_out(ledger: &Ledger, planned: &Planned, to: PathBuf) -> Result<(), String> {
    let checkouts = &ledger.shared.checkouts;
    let _turn = checkouts.turn(&ledger.record.repository).await;
    let source = Arc::clone(&planned.source);
    let laid_out = tokio::task::spawn_blocking(move || source.check_out(&to)).await;
    let laid_out = laid_out.map_err(|error| error.to_string())?;
    laid_out.map_err(|error| error.to_string())
}

/// Why the run shall end, once somebody wants that.
async fn wanted_end(cancelled: &mut watch::Receiver<Option<String>>) -> String {
    match cancelled.wait_for(Option::is_some).await {
        Ok(reason) => reason.clone().unwrap_or_default(),
        // The sender is held by whoever drives the run.
        Err(_) => std::future::pending().await,
    }
}

/// Reports of copies by the index of their records: where they come in, and where they are read.
type Reports = (
    mpsc::UnboundedSender<(usize, JobReport)>,
    mpsc::UnboundedReceiver<(usize, JobReport)>,
);

/// A run under way.
pub(super) struct Driver {
    pub(super) board: Board,
    pub(super) contexts: StatusContexts,
    pub(super) planned: Planned,
    pub(super) jobs: ChildRef<Supervisor>,
    pub(super) folder: PathBuf,
    /// Jobs of a former life of the run; those that ended are not run again.
    pub(super) former: Vec<JobRecord>,
    /// By the index of their records.
    pub(super) copies: Vec<Option<Copy>>,
    pub(super) refused: bool,
    pub(super) sender: mpsc::UnboundedSender<Tidings>,
    pub(super) reports: Reports,
}

impl Driver {
    async fn run(
        mut self,
        ledger: &mut Ledger,
        mut tidings: mpsc::UnboundedReceiver<Tidings>,
        mut cancelled: watch::Receiver<Option<String>>,
    ) {
        let mut is_cancelled = false;
        loop {
            let actions = self.board.advance();
            if !actions.is_empty() {
                self.act(ledger, actions).await;
                continue;
            }
            // Copies that fail-fast ended are still giving their machines back.
            let all_back = self.copies.iter().flatten().all(|copy| copy.kind.is_some());
            if let Some(conclusion) = self.board.conclusion().filter(|_| all_back) {
                self.end(ledger, conclusion, &cancelled).await;
                return;
            }
            tokio::select! {
                // What a job said before its report comes first.
                biased;
                Some((index, event)) = tidings.recv() => self.heard(ledger, index, event).await,
                Some((index, report)) = self.reports.1.recv() => {
                    while let Ok((index, event)) = tidings.try_recv() {
                        self.heard(ledger, index, event).await;
                    }
                    self.ended(ledger, index, report).await;
                }
                reason = wanted_end(&mut cancelled), if !is_cancelled => {
                    is_cancelled = true;
                    ledger.say(LineKind::Warning, &format!("cancelled: {reason}")).await;
                    ledger.record.reason = Some(reason);
                    self.board.cancel();
                    for copy in self.copies.iter().flatten() {
                        let _ = copy.cancel.send(true);
                    }
                }
            }
        }
    }

    async fn heard(&mut self, ledger: &mut Ledger, index: usize, event: JobEvent) {
        let job = &mut ledger.record.jobs[index];
        match event {
            JobEvent::Allocated { vm, isolation } => {
                job.vm = Some(vm);
                job.isolation = isolation;
                job.started_at = Some(now_ms());
                ledger.become_state(RunState::Running);
            }
            JobEvent::StepStarted(step) => job.steps.push(step),
            JobEvent::StepEnded(step) => match job
                .steps
                .iter_mut()
                .find(|known| known.number == step.number)
            {
                Some(known) => *known = step,
                None => job.steps.push(step),
            },
        }
        ledger.save(Vec::new()).await;
    }

    async fn ended(&mut self, ledger: &mut Ledger, index: usize, report: JobReport) {
        let Some(copy) = self.copies[index].as_mut() else {
            return;
        };
        copy.kind = Some(report.kind);
        self.refused |= report.refused;
        let (job, instance) = (copy.job, copy.instance);
        let record = &mut ledger.record.jobs[index];
        record.conclusion = Some(report.conclusion);
        record.end = report.kind;
        record.reason = report.reason.clone();
        record.outputs.clone_from(&report.outputs);
        record.ended_at = Some(now_ms());
        let status = job_status(record);
        self.board
            .finished(job, instance, report.conclusion, &report.outputs);
        ledger.save(vec![status]).await;
    }

    async fn end(
        &self,
        ledger: &mut Ledger,
        conclusion: Conclusion,
        cancelled: &watch::Receiver<Option<String>>,
    ) {
        let kinds: Vec<JobEnd> = self
            .copies
            .iter()
            .flatten()
            .filter_map(|copy| copy.kind)
            .collect();
        let state = match conclusion {
            Conclusion::Success | Conclusion::Skipped => RunState::Succeeded,
            Conclusion::Cancelled => RunState::Cancelled,
            Conclusion::Failure if kinds.contains(&JobEnd::Lost) => RunState::Lost,
            Conclusion::Failure if kinds.contains(&JobEnd::TimedOut) => RunState::TimedOut,
            Conclusion::Failure if self.refused => RunState::Refused,
            Conclusion::Failure => RunState::Failed,
        };
        // From allocating a run cannot succeed: every machine has been had.
        if ledger.record.state == RunState::Allocating && state == RunState::Succeeded {
            ledger.become_state(RunState::Running);
        }
        let failed = ledger
            .record
            .jobs
            .iter()
            .find(|job| job.conclusion == Some(Conclusion::Failure));
        let reason = match state {
            RunState::Succeeded => {
                tracing::info!(event = "run.completed", run = %ledger.record.id, "workflow completed successfully");
                ledger
                    .say(LineKind::Info, "workflow completed successfully")
                    .await;
                None
            }
            RunState::Cancelled => cancelled.borrow().clone(),
            _ => failed.map(|job| {
                format!(
                    "{}: {}",
                    job.name,
                    job.reason.as_deref().unwrap_or("failed")
                )
            }),
        };
        if state != RunState::Succeeded {
            tracing::info!(event = "run.ended", run = %ledger.record.id, ?state, reason, "a run ended without success");
        }
        ledger.end(state, reason).await;
    }
}
