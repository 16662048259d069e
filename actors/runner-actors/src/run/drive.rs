//! A run from its stored event to its end.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use runner_core::job_outputs;
use runner_core::state::{Conclusion, RunState};
use runner_core::test_report::{JobTests, summary};
use runner_core::truncation::truncate_reason;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::active_run::ActiveRun;
use super::group_turn::acquire_group;
use super::parked::{HeldPlaces, ParkedRun};
use super::plan::{PlannedRun, prepare};
use super::run_end;
use super::services::RunServices;
use super::signals::{RunSignals, before_jobs, cancellation, unless_cancelled};
use crate::clock::now_ms;
use crate::groups::GroupTicket;
use crate::job::{JobEvent, JobResult};
use crate::ledger::{RunLedger, job_status};
use crate::log::LineKind;
use crate::permits::HeldPermits;
use crate::records::JobEnd;
use crate::review;
use crate::test_rows::NewJobTests;

/// Events of jobs on their way to their run.
const EVENT_CAPACITY: usize = 64;
/// Reports of jobs on their way to their run.
const REPORT_CAPACITY: usize = 16;

/// Drives a run; gives the state it ended in, which its record says too. `None`: it cannot be read.
pub(super) async fn drive(
    services: RunServices,
    id: String,
    signals: RunSignals,
) -> Option<RunState> {
    let Some(mut ledger) = RunLedger::load(&services.recorder, &id).await.ok()? else {
        tracing::error!(event = "run.unreadable", run = %id, "a run's record or event is missing");
        return None;
    };
    if ledger.record.state.is_terminal() {
        return Some(ledger.record.state);
    }
    let repository = &ledger.record.repository;
    services.arrivals.belongs_to(&id, repository);
    let held = services.parked.take(&id);
    follow(held.as_ref(), &signals);
    if let Some(reason) = ended_while_it_waited(&ledger, held.as_ref()).await {
        ledger.end(RunState::Cancelled, Some(reason)).await;
        services.recorder.logs.store(&id, true).await;
        services.recorder.logs.close(&id);
        return Some(ledger.record.state);
    }
    adopt_artifacts(&services, &ledger).await;
    let checkout = services.settings.data.join("checkouts").join(&id);
    let planned = prepare(&services, &mut ledger, &signals.cancel).await;
    // Held until the checkout is removed.
    let mut disk = None;
    if let Some(planned) = planned {
        let run = prepare_checkout(
            &services,
            &mut ledger,
            planned,
            &checkout,
            &mut disk,
            (&signals, held),
        )
        .await;
        if let Some((run, ticket)) = run {
            let places = run_jobs(run, &mut ledger, &signals, ticket.is_some()).await;
            let holds = ticket.is_some() || !places.is_empty();
            if holds && ledger.record.state == RunState::Waiting {
                let cancel = signals.cancel.clone();
                let parked = ParkedRun::new(ticket, places, cancel);
                services.parked.put(&id, parked);
            }
        }
    }
    let removed = tokio::task::spawn_blocking(move || std::fs::remove_dir_all(checkout));
    // Nothing was laid out, or a later run of the same id replaces it.
    let _ = removed.await;
    drop(disk);
    services.recorder.logs.store(&id, true).await;
    services.recorder.logs.close(&id);
    Some(ledger.record.state)
}

/// What a newer run of the group says to a run that waits reaches it when it goes on.
fn follow(held: Option<&ParkedRun>, signals: &RunSignals) {
    let Some(held) = held else { return };
    let (mut told, cancel) = (held.cancel.subscribe(), signals.cancel.clone());
    actix_rt::spawn(async move {
        if let Ok(reason) = told.wait_for(Option::is_some).await {
            cancel.send_replace(reason.clone());
        }
    });
}

/// Why a run ends that was ended while it waited.
async fn ended_while_it_waited(ledger: &RunLedger, held: Option<&ParkedRun>) -> Option<String> {
    if let Some(reason) = held.and_then(|held| held.cancel.borrow().clone()) {
        return Some(reason);
    }
    let run = ledger.record.id.clone();
    let store = &ledger.recorder.store;
    let reviews = store.read(move |rows| review::get(rows, &run)).await;
    reviews.ok()?.cancelled
}

/// A run that runs only again what had failed has the artifacts of the one it repeats.
async fn adopt_artifacts(services: &RunServices, ledger: &RunLedger) {
    let record = &ledger.record;
    let keeps_jobs = record.jobs.iter().any(|job| job.kept_from.is_some());
    let Some(from) = record.repeats.clone().filter(|_| keeps_jobs) else {
        return;
    };
    let (artifacts, run) = (services.jobs.artifacts.clone(), record.id.clone());
    let adopted = tokio::task::spawn_blocking(move || artifacts.adopt(&run, &from));
    let adopted = adopted.await.map_err(std::io::Error::other).flatten();
    if let Err(error) = adopted {
        let text = format!("the artifacts of the run it repeats are not all there: {error}");
        ledger.log_line(LineKind::Error, &text).await;
    }
}

/// Enters the run's concurrency group, waits for the disk, and lays the commit out; `None`: the run
/// has ended, or waits for its turn.
async fn prepare_checkout(
    services: &RunServices,
    ledger: &mut RunLedger,
    planned: PlannedRun,
    checkout: &Path,
    disk: &mut Option<HeldPermits>,
    (signals, held): (&RunSignals, Option<ParkedRun>),
) -> Option<(ActiveRun, Option<GroupTicket>)> {
    let mut cancelled = signals.cancel.subscribe();
    let (held, places) = match held {
        Some(held) => (held.ticket, held.places),
        None => (None, HeldPlaces::default()),
    };
    let ticket = match held {
        Some(ticket) => Some(Some(ticket)),
        None => {
            let group = planned.plan.concurrency.as_ref();
            acquire_group(services, ledger, group, &signals.cancel).await
        }
    };
    services.arrivals.remove(&ledger.record.id);
    let ticket = ticket?;
    let permit = tokio::select! {
        permit = acquire_disk(services, &planned) => permit,
        reason = cancellation(&mut cancelled) => {
            ledger.end(RunState::Cancelled, Some(reason)).await;
            return None;
        }
    };
    let cancelled = before_jobs(&signals.cancel, &ledger.record);
    let laid_out = match permit {
        Ok(room) => extract_commit(services, ledger, &planned, (checkout, room), cancelled).await,
        Err(reason) => Err((RunState::Failed, not_laid_out(&reason))),
    };
    match laid_out {
        Ok(room) => *disk = Some(room),
        Err((state, reason)) => {
            ledger.end(state, Some(reason)).await;
            return None;
        }
    }
    for text in [
        "initialising VM provider",
        "creating VM command executor",
        "creating session manager",
    ] {
        tracing::info!(event = "run.preparing", run = %ledger.record.id, "{text}");
        ledger.log_line(LineKind::Info, text).await;
    }
    ActiveRun::read_reviews(ledger).await;
    let place = (checkout.to_owned(), places);
    let run = ActiveRun::new(services.clone(), ledger, planned, place);
    Some((run, ticket))
}

/// Waits for room on the disk: as long as for a VM, since a run that holds a concurrency group must
/// not wait for one that waits for it.
async fn acquire_disk(services: &RunServices, planned: &PlannedRun) -> Result<HeldPermits, String> {
    let size = planned.source.size();
    let timeout = services.settings.vm_timeout;
    let permit = services.checkouts.acquire_disk(&size);
    tokio::time::timeout(timeout, permit).await.map_err(|_| {
        let seconds = timeout.as_secs();
        format!(
            "other checkouts left no room for {seconds} s; `checkouts.total` says how much there is"
        )
    })
}

fn not_laid_out(reason: &dyn std::fmt::Display) -> String {
    format!("the commit could not be laid out: {reason}")
}

/// Lays the commit out in the room that is held for it, which it gives back; or says how the run
/// ends. Of one that is cancelled git goes on to its end, and what it has laid out is removed then.
async fn extract_commit(
    services: &RunServices,
    ledger: &RunLedger,
    planned: &PlannedRun,
    (to, room): (&Path, HeldPermits),
    mut cancelled: watch::Receiver<Option<String>>,
) -> Result<HeldPermits, (RunState, String)> {
    let (source, to) = (Arc::clone(&planned.source), to.to_owned());
    let permit = services.checkouts.acquire(&ledger.record.repository);
    let work = async {
        let permit = permit.await;
        let (done, laid_out) = oneshot::channel();
        tokio::task::spawn_blocking(move || {
            let result = source.check_out(&to);
            drop(permit);
            if let Err((_, room)) = done.send((result, room)) {
                // What is left is removed at the next start.
                let _ = std::fs::remove_dir_all(&to);
                drop(room);
            }
        });
        laid_out.await
    };
    match unless_cancelled(&mut cancelled, work).await {
        Ok(Ok((Ok(()), room))) => Ok(room),
        Ok(Ok((Err(error), _))) => Err((RunState::Failed, not_laid_out(&error))),
        Ok(Err(_)) => Err((RunState::Failed, not_laid_out(&"its thread has ended"))),
        Err(reason) => Err((RunState::Cancelled, reason)),
    }
}

/// Drives the jobs of a run to its end, or until all that is left waits; gives what its jobs and
/// calls have of their groups then.
async fn run_jobs(
    mut run: ActiveRun,
    ledger: &mut RunLedger,
    signals: &RunSignals,
    holds_group: bool,
) -> HeldPlaces {
    let mut cancelled = signals.cancel.subscribe();
    let (events, mut received) = mpsc::channel(EVENT_CAPACITY);
    let (reports, mut reported) = mpsc::channel(REPORT_CAPACITY);
    let (mut is_cancelled, mut waits_since) = (false, None);
    loop {
        let actions = run.state.advance();
        if !actions.is_empty() {
            run.act(ledger, actions, &events, &reports).await;
            continue;
        }
        // Copies that fail-fast ended are still giving their machines back.
        let mut copies = run.copies.iter().flatten();
        let all_ended = copies.all(|copy| copy.end.is_some());
        if let Some(conclusion) = run.state.conclusion().filter(|_| all_ended) {
            end(ledger, conclusion, &cancelled).await;
            return HeldPlaces::default();
        }
        let waits = !is_cancelled && run.only_waits();
        waits_since = waits.then(|| waits_since.unwrap_or_else(Instant::now));
        let parks_at = waits_since.map(|since| since + run.park_delay());
        if parks_at.is_some_and(|at| at <= Instant::now()) {
            run.park(ledger, holds_group).await;
            return run.into_places();
        }
        if !is_cancelled && let Some(reason) = &ledger.oversized {
            signals.cancel.send_replace(Some(reason.clone()));
        }
        let next_check = run.next_check(ledger);
        tokio::select! {
            // What a job said before its report comes first.
            biased;
            Some((index, event)) = received.recv() => record_event(ledger, index, event).await,
            Some((index, report)) = reported.recv() => {
                while let Ok((index, event)) = received.try_recv() {
                    record_event(ledger, index, event).await;
                }
                if run.launch_again(ledger, index, &report, (&events, &reports)).await {
                    continue;
                }
                record_report(&mut run, ledger, index, report).await;
            }
            reason = cancellation(&mut cancelled), if !is_cancelled => {
                is_cancelled = true;
                ledger.log_line(LineKind::Warning, &format!("cancelled: {reason}")).await;
                ledger.record.reason = Some(reason);
                ledger.record.cancelled = true;
                ledger.save(Vec::new()).await;
                let actions = run.state.cancel();
                run.act(ledger, actions, &events, &reports).await;
                for (job, instance) in run.held_copies() {
                    run.cancel_held(job, instance, &reports);
                }
            }
            () = signals.insisted.notified(), if is_cancelled => {
                let actions = run.state.cancel_all();
                run.act(ledger, actions, &events, &reports).await;
            }
            (call, event) = run.calls.next() => {
                let actions = run.take_call_event(call, event);
                run.act(ledger, actions, &events, &reports).await;
            }
            () = signals.reviewed.notified() => run.recheck_held(ledger, &events, &reports).await,
            () = sleep_until(next_check) => run.recheck_held(ledger, &events, &reports).await,
            () = run.line.changed() => run.recheck_line(ledger, &events, &reports).await,
            () = parking(parks_at) => {}
        }
    }
}

/// Waits until then, in milliseconds since the Unix epoch; for ever without a time.
async fn sleep_until(time: Option<u64>) {
    let Some(time) = time else {
        return std::future::pending().await;
    };
    let left = time.saturating_sub(now_ms()).max(1);
    tokio::time::sleep(Duration::from_millis(left)).await;
}

/// Waits until a run that only waits is parked; for ever where it does more.
async fn parking(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn record_event(ledger: &mut RunLedger, index: usize, mut event: JobEvent) {
    if let JobEvent::StepStarted { step, .. } | JobEvent::StepEnded(step) = &mut event {
        ledger.take_summary(index, step).await;
    }
    let job = &mut ledger.record.jobs[index];
    let mut awaited = None;
    match event {
        JobEvent::Waits(reason) => {
            job.reason = Some(reason);
            ledger.record.clear_start();
        }
        JobEvent::HasTurn => {
            job.reason = None;
            ledger.record.started_at.get_or_insert_with(now_ms);
        }
        JobEvent::Allocated {
            vm,
            host,
            place,
            isolation,
            recorded,
        } => {
            awaited = Some(recorded);
            job.vm = Some(vm);
            job.vm_host = Some(host);
            job.vm_place = Some(place);
            job.isolation = isolation;
            job.started_at = Some(now_ms());
            ledger.become_state(RunState::Running);
        }
        JobEvent::StepStarted { step, recorded } => {
            awaited = Some(recorded);
            // One in the background may begin after those behind it.
            let place = job
                .steps
                .partition_point(|known| known.number < step.number);
            job.steps.insert(place, step);
        }
        JobEvent::StepEnded(step) => match job
            .steps
            .iter_mut()
            .find(|known| known.number == step.number)
        {
            Some(known) => *known = step,
            None => job.steps.push(step),
        },
    }
    let is_stored = ledger.save(Vec::new()).await;
    if let Some(recorded) = awaited.filter(|_| is_stored) {
        // A job that is gone does not wait.
        let _ = recorded.send(());
    }
}

async fn record_report(
    run: &mut ActiveRun,
    ledger: &mut RunLedger,
    index: usize,
    mut report: JobResult,
) {
    let Some(copy) = run.copies[index].as_mut() else {
        return;
    };
    let others = ledger.record.jobs.iter().map(|job| &job.outputs[..]);
    if let Err(error) = job_outputs::has_room(others, &report.outputs) {
        report.without_outputs(error.to_string());
    }
    copy.end = Some(report.end);
    let (job, instance) = (copy.job, copy.instance);
    ActiveRun::record_environment(ledger, index, &report);
    if let Some(tests) = &report.tests {
        store_tests(ledger, index, tests).await;
    }
    let record = &mut ledger.record.jobs[index];
    record.conclusion = Some(report.conclusion);
    record.end = report.end;
    record.reason = report.reason.as_deref().map(truncate_reason);
    record.outputs.clone_from(&report.outputs);
    record.ended_at = Some(now_ms());
    let status = job_status(record);
    // To jobs after it one that took too long was cancelled, as on GitHub.
    let conclusion = match report.end {
        JobEnd::TimedOut => Conclusion::Cancelled,
        _ => report.conclusion,
    };
    if report.refused {
        run.state.refused(job, instance);
    } else {
        run.state
            .finished(job, instance, conclusion, &report.outputs);
    }
    ledger.save(vec![status]).await;
}

/// Stores the tests of a job before its end: whoever reads of them finds them.
async fn store_tests(ledger: &mut RunLedger, index: usize, tests: &Arc<JobTests>) {
    let (run, job) = (ledger.record.clone(), ledger.record.jobs[index].clone());
    let read = Arc::clone(tests);
    let packed = move || NewJobTests::pack(&run, &job, &read, now_ms());
    let Ok(packed) = tokio::task::spawn_blocking(packed).await else {
        return;
    };
    ledger.save_tests(packed).await;
    let job = &mut ledger.record.jobs[index];
    job.tests = Some(tests.counts);
    job.summary = Some(summary(tests));
}

async fn end(
    ledger: &mut RunLedger,
    conclusion: Conclusion,
    cancelled: &watch::Receiver<Option<String>>,
) {
    let reason = cancelled.borrow().clone();
    let (state, reason) = run_end::of_jobs(&ledger.record.jobs, conclusion, reason.as_deref());
    let (state, reason) = match ledger.oversized.clone() {
        Some(reason) => (RunState::Failed, Some(reason)),
        None => (state, reason),
    };
    // From allocating a run cannot succeed: every machine has been had.
    if ledger.record.state == RunState::Allocating && state == RunState::Succeeded {
        ledger.become_state(RunState::Running);
    }
    if state == RunState::Succeeded {
        tracing::info!(event = "run.completed", run = %ledger.record.id, "workflow completed successfully");
        let text = "workflow completed successfully";
        ledger.log_line(LineKind::Info, text).await;
    }
    if state != RunState::Succeeded {
        tracing::info!(event = "run.ended", run = %ledger.record.id, ?state, reason, "a run ended without success");
    }
    ledger.end(state, reason).await;
}
