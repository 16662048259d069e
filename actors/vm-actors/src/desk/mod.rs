//! The desk: decides which orders become VMs, and when.
//!
//! ```text
//! edge ─CreateVm─▶ Desk ─claim the key─▶ store
//!                    │──find the image──▶ a thread
//!                    │──admit | wait | refuse (vm_core::admission)
//!                    └──start a Vm─▶ machines        Vm ─VmFreed─▶ Desk ─▶ the next that waits
//! ```
//! What is in use is counted on the board each time, so a fresh life of the desk knows it as well.

mod launch;
mod waiting;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, ResponseFuture, WrapFuture};
use actix_rt::task::spawn_blocking;
use futures_util::future::join_all;
use store::StoreError;
use supervision::{ChildContext, ChildRef, Supervisor};
use tokio::sync::oneshot;
use tokio::time::Instant;
use vm_core::admission::{self, Decision, Need};
use vm_core::{VmSpec, wire};
use vm_engine::image::Image;

use crate::keys::{self, Claim, OrderKey};
use crate::messages::{CreateFailure, CreateVm, ReleaseStuck, ReleaseVm, VmFreed};
use crate::network;
use crate::pool::Pool;
use crate::settings::Shared;
use waiting::{Order, Waiting};

/// How often orders that wait are looked at, beside each time a VM has ended.
const EVERY: Duration = Duration::from_millis(250);

/// How often keys that are no longer needed are forgotten.
const SWEEP: Duration = Duration::from_secs(600);

/// How long `ReleaseStuck` waits for a VM to be gone.
const RELEASE: Duration = Duration::from_secs(30);

type Reply = Result<wire::Created, CreateFailure>;

/// The actor.
pub struct Desk {
    /// Names the life, for logs.
    _life: ChildContext,
    shared: Arc<Shared>,
    /// Where VMs are started.
    machines: ChildRef<Supervisor>,
    pool: ChildRef<Pool>,
    /// The desk itself, for the VMs.
    me: ChildRef<Desk>,
    /// Orders that wait for room, oldest first.
    waiting: Waiting,
    /// Who else waits for the order of a key that is on its way.
    pending: HashMap<(String, String), Vec<oneshot::Sender<Reply>>>,
}

impl Desk {
    pub(crate) fn new(
        life: ChildContext,
        shared: Arc<Shared>,
        machines: ChildRef<Supervisor>,
        pool: ChildRef<Pool>,
        me: ChildRef<Self>,
    ) -> Self {
        Self {
            _life: life,
            shared,
            machines,
            pool,
            me,
            waiting: Waiting::default(),
            pending: HashMap::new(),
        }
    }

    /// What can be refused at once.
    fn check(&self, spec: &VmSpec) -> Result<(), CreateFailure> {
        self.shared
            .settings
            .limits
            .check(spec)
            .map_err(CreateFailure::Limits)?;
        network::check(spec, &self.shared.settings.allow).map_err(CreateFailure::Network)?;
        let need = self.need(spec);
        match admission::decide(need, admission::InUse::default(), 0, self.capacity()) {
            Decision::Never => Err(CreateFailure::Never {
                mem_mib: need.mem_mib,
                vcpus: need.vcpus,
            }),
            _ => Ok(()),
        }
    }

    fn capacity(&self) -> admission::Capacity {
        self.shared.settings.capacity
    }

    fn need(&self, spec: &VmSpec) -> Need {
        Need {
            mem_mib: u64::from(spec.mem_mib) + self.shared.driver.overhead_mib(),
            vcpus: u32::from(spec.vcpus),
        }
    }

    fn in_use(&self) -> admission::InUse {
        self.shared.board.in_use(self.shared.driver.overhead_mib())
    }

    /// The key of an order was looked up.
    fn claimed(&mut self, claim: Result<Claim, StoreError>, order: Order, ctx: &mut Context<Self>) {
        match claim {
            Err(error) => order.refuse(error.into()),
            Ok(Claim::OtherOrder) => order.refuse(CreateFailure::OtherOrder),
            Ok(Claim::Ended(vm)) => order.refuse(CreateFailure::Ended(vm)),
            Ok(Claim::Made(vm)) => self.join_made(vm, order, ctx),
            Ok(Claim::Pending) => self.join_pending(order, ctx),
            Ok(Claim::Fresh) => self.find_image(order, ctx),
        }
    }

    /// The order came before, and its VM is there or about to be.
    fn join_made(&mut self, vm: String, order: Order, ctx: &mut Context<Self>) {
        let slot = vm.parse().ok().and_then(|id| self.shared.board.get(&id));
        let Some(slot) = slot else {
            return order.refuse(CreateFailure::Ended(vm));
        };
        ctx.spawn(async move { order.answer(launch::settled(&slot).await) }.into_actor(self));
    }

    /// The order came before, and waits for its VM.
    fn join_pending(&mut self, order: Order, ctx: &mut Context<Self>) {
        let known = order.row_key().and_then(|key| self.pending.get_mut(&key));
        match known {
            Some(others) => others.push(order.reply),
            // A former life of the desk was asked, and nobody knows of it any more.
            None => self.find_image(order, ctx),
        }
    }

    fn find_image(&mut self, order: Order, ctx: &mut Context<Self>) {
        if let Some(key) = order.row_key() {
            self.pending.entry(key).or_default();
        }
        let (images, name) = (Arc::clone(&self.shared.images), order.spec.image.clone());
        let found = spawn_blocking(move || images.resolve(&name));
        ctx.spawn(found.into_actor(self).map(|found, desk, ctx| match found {
            Ok(Ok(image)) => desk.admit(order, image, ctx),
            Ok(Err(failure)) => desk.finish(order, Err(failure.into()), ctx),
            Err(_) => desk.finish(order, Err(CreateFailure::Interrupted), ctx),
        }));
    }

    fn admit(&mut self, mut order: Order, image: Arc<Image>, ctx: &mut Context<Self>) {
        order.image = Some(image);
        // Known only now: before there was an image there was no canary.
        if let Err(unmet) = self
            .shared
            .driver
            .isolation()
            .meets(order.spec.isolation_min)
        {
            return self.finish(order, Err(unmet.into()), ctx);
        }
        let need = self.need(&order.spec);
        let in_use = self.in_use();
        match admission::decide(need, in_use, self.waiting.len(), self.capacity()) {
            Decision::Admit => self.launch(order, ctx),
            Decision::Wait => self.waiting.push(need, order),
            Decision::Full { retry_after } => self.no_room(order, retry_after, ctx),
            Decision::Never => {
                let (mem_mib, vcpus) = (need.mem_mib, need.vcpus);
                self.finish(order, Err(CreateFailure::Never { mem_mib, vcpus }), ctx);
            }
        }
    }

    fn no_room(&mut self, order: Order, retry_after: Duration, ctx: &mut Context<Self>) {
        self.shared.board.counters.refused();
        let failure = CreateFailure::NoRoom {
            in_use: self.in_use().vms,
            waiting: self.waiting.len(),
            retry_after,
        };
        self.finish(order, Err(failure), ctx);
    }

    /// Starts what may start now, and gives up what has waited too long.
    fn look(&mut self, ctx: &mut Context<Self>) {
        self.waiting.forget_left();
        let admitted =
            admission::admit_waiting(self.waiting.needs(), self.in_use(), self.capacity());
        for order in self.waiting.take(admitted) {
            self.launch(order, ctx);
        }
        let retry_after = Duration::from_secs(5);
        for order in self
            .waiting
            .overdue(Instant::now(), self.shared.settings.wait)
        {
            self.no_room(order, retry_after, ctx);
        }
    }

    /// Answers an order and all that joined it. One that came to nothing is forgotten, so that it
    /// can be sent again.
    fn finish(&mut self, order: Order, answer: Reply, ctx: &mut Context<Self>) {
        let others = order
            .row_key()
            .and_then(|key| self.pending.remove(&key))
            .unwrap_or_default();
        for other in others {
            let copy = match &answer {
                Ok(created) => Ok(created.clone()),
                Err(_) => Err(CreateFailure::Interrupted),
            };
            let _ = other.send(copy);
        }
        let forget = match (&answer, order.key.clone()) {
            (Err(_), Some(key)) => {
                Some(self.shared.store.write(move |txn| keys::forget(txn, &key)))
            }
            _ => None,
        };
        let answered = async move {
            if let Some(forget) = forget
                && let Err(error) = forget.await
            {
                tracing::warn!(event = "vm.unrecorded", %error);
            }
            order.answer(answer);
        };
        ctx.spawn(answered.into_actor(self));
    }

    /// Old keys are forgotten.
    fn sweep(&mut self, ctx: &mut Context<Self>) {
        let now = self.shared.clock.now();
        let swept = self.shared.store.write(move |txn| keys::sweep(txn, now));
        let swept = async move {
            if let Err(error) = swept.await {
                tracing::warn!(event = "vm.unrecorded", %error);
            }
        };
        ctx.spawn(swept.into_actor(self));
    }

    fn claim(
        &self,
        key: Option<OrderKey>,
    ) -> impl Future<Output = Result<Claim, StoreError>> + 'static + use<> {
        let now = self.shared.clock.now();
        let claim = key.map(|key| {
            self.shared
                .store
                .write(move |txn| keys::claim(txn, &key, now))
        });
        async move {
            match claim {
                Some(claim) => claim.await,
                None => Ok(Claim::Fresh),
            }
        }
    }
}

impl Actor for Desk {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.run_interval(EVERY, Self::look);
        ctx.run_interval(SWEEP, Self::sweep);
    }
}

impl Handler<CreateVm> for Desk {
    type Result = ResponseFuture<Reply>;

    fn handle(&mut self, message: CreateVm, ctx: &mut Context<Self>) -> Self::Result {
        let CreateVm { spec, subject, key } = message;
        if let Err(failure) = self.check(&spec) {
            return Box::pin(async { Err(failure) });
        }
        let (reply, answer) = oneshot::channel();
        let order = Order {
            spec,
            subject,
            key: key.clone(),
            image: None,
            ordered: Instant::now(),
            reply,
        };
        let claim = self.claim(key);
        ctx.spawn(
            claim
                .into_actor(self)
                .map(|claim, desk, ctx| desk.claimed(claim, order, ctx)),
        );
        // Dropped unsent when this life of the desk ends.
        Box::pin(async move { answer.await.unwrap_or(Err(CreateFailure::Interrupted)) })
    }
}

impl Handler<VmFreed> for Desk {
    type Result = ();

    fn handle(&mut self, _: VmFreed, ctx: &mut Context<Self>) {
        self.look(ctx);
    }
}

impl Handler<ReleaseStuck> for Desk {
    type Result = ResponseFuture<wire::Released>;

    fn handle(&mut self, message: ReleaseStuck, _: &mut Context<Self>) -> Self::Result {
        let now = self.shared.clock.now();
        let deadlines = self.shared.settings.deadlines;
        let all = self.shared.board.list().into_iter();
        let seen: Vec<_> = all
            .filter(|slot| {
                message
                    .subject
                    .as_ref()
                    .is_none_or(|it| *it == slot.subject)
            })
            .collect();
        let stuck = seen.iter().filter_map(|slot| {
            let reason = slot.verdict(now, deadlines)?;
            let id = slot.id.clone();
            Some((slot.actor()?.clone(), wire::ReleasedVm { id, reason }))
        });
        let stuck: Vec<_> = stuck.collect();
        let kept = seen.len() - stuck.len();
        Box::pin(async move {
            let released = stuck.into_iter().map(async |(actor, released)| {
                let reason = Some(released.reason);
                let gone = actor.ask_within(ReleaseVm { reason }, RELEASE).await;
                // An actor that has ended has ended its VM.
                if let Err(error) = gone {
                    tracing::warn!(event = "vm.release_unsure", vm = %released.id, %error);
                }
                released
            });
            wire::Released {
                released: join_all(released).await,
                kept,
            }
        })
    }
}
