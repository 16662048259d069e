//! The actor of one copy of a job: runs it, tells its run, ends.

use std::rc::Rc;

use actix::{Actor, ActorContext, ActorFutureExt, AsyncContext, Context, WrapFuture};
use tokio::sync::{mpsc, oneshot, watch};

use crate::job::{JobEvent, JobOrder, JobReport, run_job};
use crate::log::Logs;
use crate::settings::RunnerSettings;

/// What a job says to its run: events by the index of its record, and at last the report.
pub(crate) type Tidings = (usize, JobEvent);

/// Runs one copy of a job.
pub(crate) struct JobRun {
    work: Option<Work>,
}

/// All it needs; taken when it starts.
pub(crate) struct Work {
    pub(crate) order: JobOrder,
    pub(crate) index: usize,
    pub(crate) settings: std::sync::Arc<RunnerSettings>,
    pub(crate) logs: Logs,
    pub(crate) cancel: watch::Receiver<bool>,
    pub(crate) tidings: mpsc::UnboundedSender<Tidings>,
    pub(crate) report: oneshot::Sender<JobReport>,
}

impl JobRun {
    pub(crate) fn new(work: Work) -> Self {
        Self { work: Some(work) }
    }
}

impl Actor for JobRun {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let Some(work) = self.work.take() else {
            ctx.stop();
            return;
        };
        let vmm = crate::service::vmm_client(&work.settings);
        let (tidings, index) = (work.tidings, work.index);
        // A run that is gone hears nothing.
        let tell: Rc<dyn Fn(JobEvent)> = Rc::new(move |event| drop(tidings.send((index, event))));
        let report = work.report;
        let running = run_job(work.order, vmm, work.logs, work.cancel, tell);
        let running =
            Box::pin(running)
                .into_actor(self)
                .map(move |ended, _, ctx: &mut Context<Self>| {
                    let _ = report.send(ended);
                    ctx.stop();
                });
        ctx.spawn(running);
    }
}
