//! A hand-over that waits: no job begins any more, and when none is under way another process
//! leads. Whoever asks says so again and again; when they stop, jobs begin again.
//!
//! ```text
//! people ── DrainWhenIdle ──▶ HandOver ── closes ──▶ JobAdmission ── idle ──▶ RoleControl
//!        └─ DrainNow ───────────▲ └── how far it is ──▶ store ── the next leader ──▶ people
//! ```

use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, SpawnHandle, WrapFuture,
};
use cluster_actors::replica::{DrainRefusal, RoleControl};
use store::Store;

use crate::hand_over_note::{self, HandOverNote};
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

/// Has the runner hand over at once; how many jobs have a machine, which end as at a restart.
#[derive(Message)]
#[rtype(result = "Result<usize, DrainRefusal>")]
pub struct DrainNow {
    /// The role of the process.
    pub control: RoleControl,
    /// Also where nobody stands by.
    pub force: bool,
}

/// The longest that a hand-over without a wait is held up by a store that takes no note of it.
const NOTE_TIMEOUT: Duration = Duration::from_secs(2);

/// Waits until nothing is under way, and hands over.
pub struct HandOver {
    admission: JobAdmission,
    store: Store,
    waits: Option<SpawnHandle>,
}

impl HandOver {
    pub(crate) fn new(admission: JobAdmission, store: Store) -> Self {
        Self {
            admission,
            store,
            waits: None,
        }
    }

    /// Waits anew, in place of a request before this one.
    fn wait(&mut self, (request, epoch): (DrainWhenIdle, u64), ctx: &mut Context<Self>) {
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
        let (idle, store) = (self.admission.clone(), self.store.clone());
        let handed_over = async move {
            let idle = tokio::time::timeout(request.hold, idle.idle()).await;
            idle.map_err(|_| "nobody asks for it any more".to_owned())?;
            // Before the store is another's.
            let begun = HandOverNote::Leaving { jobs: 0 };
            let noted = hand_over_note::put(&store, epoch, begun).await;
            noted.map_err(|error| error.to_string())?;
            if let Err(refusal) = request.control.drain(request.force).await {
                // Whoever still asks is told of this wait.
                let _ = hand_over_note::put(&store, epoch, HandOverNote::Asked).await;
                return Err(format!("{refusal:?}"));
            }
            Ok(())
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
        let is_new = !self.admission.is_closed();
        let store = self.store.clone();
        // Before anything waits for a hand-over that would be refused, or that nobody would know
        // of where this process is lost meanwhile.
        let possible = async move {
            let epoch = control.may_drain(force).await?;
            if is_new {
                let noted = hand_over_note::put(&store, epoch, HandOverNote::Asked).await;
                noted.map_err(|error| DrainRefusal::Unknown(error.to_string()))?;
            }
            Ok(epoch)
        };
        Box::pin(possible.into_actor(self).map(|possible, hand_over, ctx| {
            hand_over.wait((request, possible?), ctx);
            Ok(())
        }))
    }
}

impl Handler<DrainNow> for HandOver {
    type Result = actix::ResponseActFuture<Self, Result<usize, DrainRefusal>>;

    fn handle(&mut self, request: DrainNow, ctx: &mut Context<Self>) -> Self::Result {
        let DrainNow { control, force } = request;
        let (admission, store) = (self.admission.clone(), self.store.clone());
        // In place of a request that waits.
        if let Some(waits) = self.waits.take() {
            ctx.cancel_future(waits);
        }
        // What begins now would be lost.
        admission.close();
        let drained = async move {
            let epoch = control.may_drain(force).await?;
            let jobs = admission.under_way();
            let begun = HandOverNote::Leaving { jobs };
            let noted = hand_over_note::put(&store, epoch, begun);
            // Who cannot write hands over all the same.
            let _ = tokio::time::timeout(NOTE_TIMEOUT, noted).await;
            control.drain(force).await.map(|()| jobs)
        };
        Box::pin(drained.into_actor(self).map(|drained, hand_over, _| {
            if drained.is_err() {
                hand_over.admission.open();
            }
            drained
        }))
    }
}
