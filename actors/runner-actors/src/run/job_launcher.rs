//! A copy of a job from its turn in its group to its report: its permit, its actor.

use std::cell::Cell;
use std::sync::Arc;

use cluster_actors::vm_hosts::VmHosts;
use supervision::{ChildRef, Supervisor};
use tokio::sync::{oneshot, watch};

use super::job_actor::{JobAssignment, JobRun};
use crate::action_store::ActionStore;
use crate::artifacts::ArtifactStore;
use crate::caches::CacheStore;
use crate::groups::GroupTicket;
use crate::image_store::ContainerImageStore;
use crate::job::{JobEvent, JobEvents, JobRequest, JobResult, LogWriter};
use crate::job_admission::JobAdmission;
use crate::job_services::JobServices;
use crate::kept::KeptVms;
use crate::log::Logs;
use crate::permits::{QueuePosition, RepositoryPermits};

/// Starts copies of jobs, as many at once as may run; clones share the bounds.
#[derive(Clone)]
pub(crate) struct JobLauncher {
    /// The supervisor of jobs.
    pub(crate) supervisor: ChildRef<Supervisor>,
    pub(crate) permits: RepositoryPermits,
    pub(crate) logs: Logs,
    pub(crate) actions: ActionStore,
    pub(crate) images: ContainerImageStore,
    pub(crate) artifacts: ArtifactStore,
    pub(crate) caches: CacheStore,
    pub(crate) services: JobServices,
    pub(crate) hosts: VmHosts,
    /// Whether jobs begin.
    pub(crate) admission: JobAdmission,
    /// VMs of failed jobs.
    pub(crate) kept: KeptVms,
}

/// One copy to be run.
pub(crate) struct JobLaunch {
    pub(crate) request: JobRequest,
    /// Its turn in its concurrency group, where it has one: until its report.
    #[expect(dead_code, reason = "held")]
    pub(crate) ticket: Option<GroupTicket>,
    pub(crate) cancel: Arc<watch::Sender<bool>>,
    pub(crate) events: JobEvents,
}

impl JobLauncher {
    /// Waits for the copy's permit, runs it, and gives the report.
    pub(crate) async fn run(&self, launch: JobLaunch) -> JobResult {
        let mut cancelled = launch.cancel.subscribe();
        let has_actor = Cell::new(false);
        tokio::select! {
            report = self.run_in_turn(&launch, &has_actor) => report,
            // Once it has an actor the job ends by itself, with its last steps; before that there
            // is nothing to end.
            () = cancelled_before(&mut cancelled, &has_actor) => JobResult::cancelled("cancelled while it waited"),
        }
    }

    async fn run_in_turn(&self, launch: &JobLaunch, has_actor: &Cell<bool>) -> JobResult {
        let has_waited = Cell::new(false);
        let log = LogWriter::new(&launch.request, self.logs.clone());
        let told = async |turn: QueuePosition| {
            log.info(0, &turn.to_string()).await;
            has_waited.set(true);
            launch.events.send(JobEvent::Waits(turn.reason())).await;
        };
        let repository = &launch.request.repository;
        let _permit = self.permits.acquire_in_turn(repository, told).await;
        if has_waited.get() {
            launch.events.send(JobEvent::HasTurn).await;
        }
        has_actor.set(true);
        self.run_as_child(launch).await
    }

    async fn run_as_child(&self, launch: &JobLaunch) -> JobResult {
        let (sender, report) = oneshot::channel();
        let spec = JobRun::spec(JobAssignment {
            request: launch.request.clone(),
            logs: self.logs.clone(),
            cancel: launch.cancel.subscribe(),
            events: launch.events.clone(),
            report: sender,
        });
        if let Err(error) = self.supervisor.start_child(spec).await {
            return JobResult::lost(format!("the job could not be started: {error}"));
        }
        let report = report.await;
        report.unwrap_or_else(|_| {
            JobResult::lost("the job's actor ended without a report".to_owned())
        })
    }
}

/// Pending for ever once the copy has an actor.
async fn cancelled_before(cancelled: &mut watch::Receiver<bool>, has_actor: &Cell<bool>) {
    let _ = cancelled.wait_for(|cancelled| *cancelled).await;
    if has_actor.get() {
        std::future::pending::<()>().await;
    }
}
