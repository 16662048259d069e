//! One run: fetched, planned, its jobs started as they may, its record and statuses kept.

mod copy;
mod drive;
mod head;
mod job_run;
mod ledger;
mod plan;
mod start;

use std::sync::Arc;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, WrapFuture};
use supervision::{ChildRef, Supervisor};
use tokio::sync::watch;

use crate::service::Shared;
pub(crate) use ledger::{Ledger, job_status};

/// The actor of one run.
pub(crate) struct WorkflowRun {
    shared: Arc<Shared>,
    jobs: ChildRef<Supervisor>,
    id: String,
    /// Why it shall end.
    cancel: watch::Sender<Option<String>>,
}

impl WorkflowRun {
    pub(crate) fn new(shared: Arc<Shared>, jobs: ChildRef<Supervisor>, id: String) -> Self {
        Self {
            shared,
            jobs,
            id,
            cancel: watch::channel(None).0,
        }
    }
}

impl Actor for WorkflowRun {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let (shared, jobs, id) = (Arc::clone(&self.shared), self.jobs.clone(), self.id.clone());
        let cancel = self.cancel.clone();
        let driven = drive::drive(shared, jobs, id, cancel);
        ctx.spawn(Box::pin(driven).into_actor(self).map(|(), run, ctx| {
            run.shared.run_ended(&run.id);
            actix::ActorContext::stop(ctx);
        }));
    }
}

/// Ends the run. Sent by the desk.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct End(pub(crate) String);

impl Handler<End> for WorkflowRun {
    type Result = ();

    fn handle(&mut self, End(reason): End, _: &mut Self::Context) {
        self.cancel.send_if_modified(|known| {
            let first = known.is_none();
            known.get_or_insert(reason);
            first
        });
    }
}
