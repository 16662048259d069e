//! The actor of one run.

use std::time::Duration;

use actix::{
    Actor, ActorContext, ActorFutureExt, AsyncContext, Context, Handler, Message, WrapFuture,
};
use runner_core::state::RunState;
use supervision::{ChildSpec, Restart};
use tokio::sync::watch;

use super::drive::drive;
use super::services::RunServices;
use super::signals::RunSignals;

/// Time that a run has to stop.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);

/// The actor of one run.
pub(crate) struct WorkflowRun {
    services: RunServices,
    id: String,
    signals: RunSignals,
    /// Told the state it ended in; dropped without one when the actor crashes.
    ended: watch::Sender<Option<RunState>>,
}

impl WorkflowRun {
    /// The run as a child of the runs' supervisor, and where its end is told.
    pub(crate) fn spec(
        services: RunServices,
        id: String,
    ) -> (ChildSpec<Self>, watch::Receiver<Option<RunState>>) {
        let (ended, receiver) = watch::channel(None);
        let run = Self {
            services,
            id: id.clone(),
            signals: RunSignals::default(),
            ended,
        };
        let mut run = Some(run);
        let spec = ChildSpec::fallible(id, move |_| run.take().ok_or("a run is started once"));
        let spec = spec.restart(Restart::Temporary).shutdown(SHUTDOWN_TIMEOUT);
        (spec, receiver)
    }
}

impl Actor for WorkflowRun {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let driven = drive(self.services.clone(), self.id.clone(), self.signals.clone());
        let driven = Box::pin(driven).into_actor(self);
        ctx.spawn(driven.map(|state, run, ctx| {
            run.ended.send_replace(state);
            ctx.stop();
        }));
    }
}

/// Ends the run; asked again, jobs too that say `always()`. Sent by the coordinator.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct EndRun(pub(crate) String);

impl Handler<EndRun> for WorkflowRun {
    type Result = ();

    fn handle(&mut self, EndRun(reason): EndRun, _: &mut Self::Context) {
        let is_first = self.signals.cancel.send_if_modified(|known| {
            let first = known.is_none();
            known.get_or_insert(reason);
            first
        });
        if !is_first {
            self.signals.insisted.notify_one();
        }
    }
}

/// Has the run look at what was said to it. Sent by the coordinator.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct RecheckRun;

impl Handler<RecheckRun> for WorkflowRun {
    type Result = ();

    fn handle(&mut self, _: RecheckRun, _: &mut Self::Context) {
        self.signals.reviewed.notify_one();
    }
}
