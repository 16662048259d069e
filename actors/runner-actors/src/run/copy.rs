//! A copy of a job from "it may start" to its report: its group, its place among the others, its actor.

use std::sync::Arc;
use std::time::Duration;

use runner_core::plan::Group;
use runner_core::state::Conclusion;
use supervision::{ChildRef, ChildSpec, Restart, Supervisor};
use tokio::sync::{mpsc, oneshot, watch};

use super::job_run::{JobRun, Tidings, Work};
use crate::job::{JobOrder, JobReport};
use crate::records::JobEnd;
use crate::service::Shared;

/// A copy that was started, as its run sees it.
pub(crate) struct Copy {
    pub(crate) job: usize,
    pub(crate) instance: usize,
    pub(crate) cancel: Arc<watch::Sender<bool>>,
    /// More than the conclusion says, once it has ended.
    pub(crate) kind: Option<JobEnd>,
}

/// What is needed to run a copy.
pub(crate) struct Start {
    pub(crate) shared: Arc<Shared>,
    pub(crate) jobs: ChildRef<Supervisor>,
    pub(crate) order: JobOrder,
    pub(crate) repository: String,
    pub(crate) group: Option<Group>,
    /// Index of its record.
    pub(crate) index: usize,
    pub(crate) cancel: Arc<watch::Sender<bool>>,
    pub(crate) tidings: mpsc::UnboundedSender<Tidings>,
}

/// Waits for its turn, runs, and gives the report.
pub(crate) async fn run_copy(start: Start) -> JobReport {
    let mut cancelled = start.cancel.subscribe();
    tokio::select! {
        report = in_turn(&start) => report,
        // Once it has a machine the job ends by itself, with its last steps; before that there is nothing to end.
        () = ended_early(&mut cancelled, &start) => early("cancelled while it waited"),
    }
}

/// Pending for ever once the copy's actor runs.
async fn ended_early(cancelled: &mut watch::Receiver<bool>, start: &Start) {
    let _ = cancelled.wait_for(|cancelled| *cancelled).await;
    if start.shared.is_running(&start.order.vm_key) {
        std::future::pending::<()>().await;
    }
}

async fn in_turn(start: &Start) -> JobReport {
    let ticket = match &start.group {
        None => None,
        Some(group) => {
            let cancel = Arc::clone(&start.cancel);
            let end = Arc::new(move |_| {
                let _ = cancel.send(true);
            });
            match start
                .shared
                .groups
                .enter(&start.repository, group, end)
                .await
            {
                Some(ticket) => Some(ticket),
                None => return early("a newer one of its concurrency group took its place"),
            }
        }
    };
    let _place = start.shared.place(&start.repository).await;
    let report = as_child(start).await;
    drop(ticket);
    report
}

async fn as_child(start: &Start) -> JobReport {
    let (sender, receiver) = oneshot::channel();
    let work = Work {
        order: start.order.clone(),
        index: start.index,
        settings: Arc::clone(&start.shared.settings),
        logs: start.shared.logs.clone(),
        cancel: start.cancel.subscribe(),
        tidings: start.tidings.clone(),
        report: sender,
    };
    let work = parking_lot::Mutex::new(Some(work));
    let running = start.shared.running(&start.order.vm_key);
    let spec = ChildSpec::fallible(start.order.vm_key.clone(), move |_| {
        work.lock()
            .take()
            .map(JobRun::new)
            .ok_or("a job is run once")
    });
    let spec = spec
        .restart(Restart::Temporary)
        .shutdown(Duration::from_secs(20));
    if let Err(error) = start.jobs.start_child(spec).await {
        return lost(&format!("the job could not be started: {error}"));
    }
    let report = receiver.await;
    drop(running);
    report.unwrap_or_else(|_| lost("the job's actor ended without a report"))
}

fn early(reason: &str) -> JobReport {
    JobReport {
        conclusion: Conclusion::Cancelled,
        kind: JobEnd::Usual,
        reason: Some(reason.to_owned()),
        outputs: Vec::new(),
        refused: false,
    }
}

fn lost(reason: &str) -> JobReport {
    JobReport {
        conclusion: Conclusion::Failure,
        kind: JobEnd::Lost,
        reason: Some(reason.to_owned()),
        outputs: Vec::new(),
        refused: false,
    }
}
