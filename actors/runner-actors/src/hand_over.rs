//! A hand-over that waits: no job begins any more, and when none is under way another process
//! leads. Whoever asks says so again and again; when they stop, jobs begin again.
//!
//! ```text
//! people ── DrainWhenIdle ──▶ HandOver ── closes ──▶ JobAdmission ── idle ──▶ RoleControl
//! ```

use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, SpawnHandle, WrapFuture,
};
use cluster_actors::replica::{DrainRefusal, RoleControl};

use crate::job_admission::JobAdmission;

/// Has the runner hand over once no job is under way, and begin none until then.
#[derive(Message)]
#[rtype(result = "Result<(), DrainRefusal>")]
pub struct DrainWhenIdle {
    /// The role of the process.
    pub control: RoleControl,
    /// Where it is not asked again within this time it goes on as before: whoever asks holds it.
    pub hold: Duration,
    /// Also where nobody stands by.
    pub force: bool,
}

/// Waits until nothing is under way, and hands over.
pub struct HandOver {
    admission: JobAdmission,
    waits: Option<SpawnHandle>,
}

impl HandOver {
    pub(crate) fn new(admission: JobAdmission) -> Self {
        Self {
            admission,
            waits: None,
        }
    }

    /// Waits anew, in place of a request before this one.
    fn wait(&mut self, request: DrainWhenIdle, ctx: &mut Context<Self>) {
        if let Some(waits) = self.waits.take() {
            ctx.cancel_future(waits);
        }
        if !self.admission.is_closed() {
            let jobs = self.admission.under_way();
            tracing::info!(
                event = "replica.drain_waits",
                jobs,
                "the runner begins no jobs, and hands over when those that run have ended"
            );
        }
        self.admission.close();
        let idle = self.admission.clone();
        let handed_over = async move {
            let idle = tokio::time::timeout(request.hold, idle.idle()).await;
            idle.map_err(|_| "nobody asks for it any more".to_owned())?;
            let drained = request.control.drain(request.force).await;
            drained.map_err(|refusal| format!("{refusal:?}"))
        };
        let handed_over = handed_over.into_actor(self);
        self.waits = Some(ctx.spawn(handed_over.map(|drained, hand_over, _| {
            hand_over.waits = None;
            // Otherwise nothing begins before the actors end.
            if let Err(reason) = drained {
                hand_over.admission.open();
                tracing::warn!(
                    event = "replica.drain_called_off",
                    reason,
                    "the runner does not hand over: jobs begin again"
                );
            }
        })));
    }
}

impl Actor for HandOver {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Self::Context) {
        // The request of an incarnation before this one ended with it.
        self.admission.open();
    }
}

impl Handler<DrainWhenIdle> for HandOver {
    type Result = actix::ResponseActFuture<Self, Result<(), DrainRefusal>>;

    fn handle(&mut self, request: DrainWhenIdle, _: &mut Self::Context) -> Self::Result {
        let (control, force) = (request.control.clone(), request.force);
        // Before anything waits for a hand-over that would be refused.
        let possible = async move { control.may_drain(force).await };
        Box::pin(possible.into_actor(self).map(|possible, hand_over, ctx| {
            possible?;
            hand_over.wait(request, ctx);
            Ok(())
        }))
    }
}
