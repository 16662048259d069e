//! The actor of one copy of a job: runs it, tells its run, ends.

use std::time::Duration;

use actix::{Actor, ActorContext, ActorFutureExt, AsyncContext, Context, WrapFuture};
use supervision::{ChildSpec, Restart};
use tokio::sync::{oneshot, watch};

use crate::job::{JobEvents, JobRequest, JobResult, run_job};
use crate::log::Logs;

/// Time that a job has to stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);

/// Runs one copy of a job.
pub(crate) struct JobRun {
    /// Taken when it starts.
    assignment: Option<JobAssignment>,
}

/// All that one copy of a job needs.
pub(crate) struct JobAssignment {
    pub(crate) request: JobRequest,
    pub(crate) logs: Logs,
    pub(crate) cancel: watch::Receiver<bool>,
    pub(crate) events: JobEvents,
    pub(crate) report: oneshot::Sender<JobResult>,
}

impl JobRun {
    /// The job as a child of the jobs' supervisor.
    pub(crate) fn spec(assignment: JobAssignment) -> ChildSpec<Self> {
        let id = assignment.request.vm_key.clone();
        let mut assignment = Some(assignment);
        let spec = ChildSpec::fallible(id, move |_| {
            let assignment = assignment.take().ok_or("a job is run once")?;
            Ok::<_, &str>(Self {
                assignment: Some(assignment),
            })
        });
        spec.restart(Restart::Temporary).shutdown(SHUTDOWN_TIMEOUT)
    }
}

impl Actor for JobRun {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let Some(assignment) = self.assignment.take() else {
            ctx.stop();
            return;
        };
        let JobAssignment {
            request,
            logs,
            cancel,
            events,
            report,
        } = assignment;
        let running = run_job(request, logs, cancel, events);
        let running = Box::pin(running).into_actor(self);
        ctx.spawn(running.map(move |ended, _, ctx: &mut Context<Self>| {
            let _ = report.send(ended);
            ctx.stop();
        }));
    }
}
