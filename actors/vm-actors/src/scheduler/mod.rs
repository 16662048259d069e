//! The scheduler: decides which requests become VMs, and when.
//!
//! ```text
//! edge ─CreateVm─▶ VmScheduler ─claim the key─▶ store
//!                    │──find the image──▶ a thread
//!                    │──admit | wait | refuse (vm_core::admission)
//!                    └──start a Vm─▶ machines     Vm ─VmFreed─▶ VmScheduler ─▶ the next that waits
//! ```
//! What is in use is counted in the registry each time, so a fresh incarnation knows it as well.

mod launch;
mod reclaim;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, ResponseFuture, WrapFuture};
use actix_rt::task::spawn_blocking;
use futures_util::future::join_all;
use store::{Store, StoreError};
use supervision::{ChildRef, Supervisor};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use vm_core::admission::{self, AdmissionDecision, RequestedResources};
use vm_core::{ImageRef, VmSpec};
use vm_engine::image::Image;

use crate::clock::Clock;
use crate::counters::VmCounters;
use crate::images::{ImageFailure, Images};
use crate::keys::{self, Claim, IdempotencyKey};
use crate::messages::{CreateFailure, CreateVm, ReleaseStuck, ReleaseVm, ReleasedVms, VmFreed};
use crate::network;
use crate::pool_manager::PoolManager;
use crate::provisioning::Provisioner;
use crate::registry::VmRegistry;
use crate::request_queue::{PendingRequest, RequestQueue, VmRequestReply};
use crate::settings::VmSettings;
use crate::warm_pool::WarmPool;

/// How often requests that wait are looked at, beside each time a VM has ended.
const QUEUE_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// How often keys that are no longer needed are forgotten.
const KEY_CLEANUP_INTERVAL: Duration = Duration::from_secs(600);

/// How long `ReleaseStuck` waits for a VM to be gone.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(30);

/// The actor.
pub struct VmScheduler {
    resources: SchedulerResources,
    /// Where VMs are started.
    machines: ChildRef<Supervisor>,
    pool: ChildRef<PoolManager>,
    /// The scheduler itself, for the VMs.
    me: ChildRef<Self>,
    /// Requests that wait for capacity.
    queue: RequestQueue,
    /// Who else waits for the request of a key that is not answered yet.
    pending: HashMap<(String, String), Vec<oneshot::Sender<VmRequestReply>>>,
}

/// What it needs of the manager.
#[derive(Clone)]
pub(crate) struct SchedulerResources {
    pub(crate) provisioner: Provisioner,
    pub(crate) images: Arc<dyn Images>,
    pub(crate) store: Store,
    pub(crate) registry: Arc<VmRegistry>,
    pub(crate) warm_pool: Arc<WarmPool>,
    pub(crate) counters: Arc<VmCounters>,
    pub(crate) clock: Clock,
    pub(crate) settings: Arc<VmSettings>,
}

impl VmScheduler {
    pub(crate) fn new(
        resources: SchedulerResources,
        machines: ChildRef<Supervisor>,
        pool: ChildRef<PoolManager>,
        me: ChildRef<Self>,
    ) -> Self {
        Self {
            resources,
            machines,
            pool,
            me,
            queue: RequestQueue::default(),
            pending: HashMap::new(),
        }
    }

    /// What can be refused at once.
    fn check(&self, spec: &VmSpec) -> Result<(), CreateFailure> {
        self.resources
            .settings
            .limits
            .check(spec)
            .map_err(CreateFailure::Limits)?;
        let settings = &self.resources.settings;
        network::check(spec, &settings.allow, &settings.services)
            .map_err(CreateFailure::Network)?;
        let need = self.need(spec);
        match admission::decide(need, admission::InUse::default(), 0, self.capacity()) {
            AdmissionDecision::Never => Err(CreateFailure::Never {
                mem_mib: need.mem_mib,
                vcpus: need.vcpus,
            }),
            _ => Ok(()),
        }
    }

    fn capacity(&self) -> admission::Capacity {
        self.resources.settings.capacity
    }

    fn need(&self, spec: &VmSpec) -> RequestedResources {
        RequestedResources {
            mem_mib: u64::from(spec.mem_mib) + self.resources.provisioner.driver.overhead_mib(),
            vcpus: u32::from(spec.vcpus),
        }
    }

    fn in_use(&self) -> admission::InUse {
        self.resources
            .registry
            .in_use(self.resources.provisioner.driver.overhead_mib())
    }

    /// The key of a request was looked up.
    fn claimed(
        &mut self,
        claim: Result<Claim, StoreError>,
        request: PendingRequest,
        ctx: &mut Context<Self>,
    ) {
        match claim {
            Err(error) => request.refuse(error.into()),
            Ok(Claim::OtherRequest) => request.refuse(CreateFailure::OtherRequest),
            Ok(Claim::Ended(vm)) => request.refuse(CreateFailure::Ended(vm)),
            Ok(Claim::Made(vm)) => self.join_made(vm, request, ctx),
            Ok(Claim::Pending) => self.join_pending(request, ctx),
            Ok(Claim::Fresh) => self.find_image(request, ctx),
        }
    }

    /// The request came before, and its VM is there or about to be.
    fn join_made(&mut self, vm: String, request: PendingRequest, ctx: &mut Context<Self>) {
        let known = vm
            .parse()
            .ok()
            .and_then(|id| self.resources.registry.get(&id));
        let Some(vm) = known else {
            return request.refuse(CreateFailure::Ended(vm));
        };
        ctx.spawn(async move { request.answer(vm.entry.allocation().await) }.into_actor(self));
    }

    /// The request came before, and waits for its VM.
    fn join_pending(&mut self, request: PendingRequest, ctx: &mut Context<Self>) {
        let known = request.row_key().and_then(|key| self.pending.get_mut(&key));
        match known {
            Some(others) => others.push(request.reply),
            // A previous incarnation was asked, and nobody knows of it any more.
            None => self.find_image(request, ctx),
        }
    }

    fn find_image(&mut self, request: PendingRequest, ctx: &mut Context<Self>) {
        if let Some(key) = request.row_key() {
            self.pending.entry(key).or_default();
        }
        let images = Arc::clone(&self.resources.images);
        let until = request.requested + self.resources.settings.wait;
        let found = find_image(images, request.spec.image.clone(), until);
        ctx.spawn(
            found
                .into_actor(self)
                .map(|found, scheduler, ctx| match found {
                    Ok(image) => scheduler.admit(request, image, ctx),
                    Err(failure) => scheduler.finish(request, Err(failure), ctx),
                }),
        );
    }

    fn admit(&mut self, mut request: PendingRequest, image: Arc<Image>, ctx: &mut Context<Self>) {
        request.image = Some(image);
        // Known only now: before there was an image there was no canary.
        if let Err(unmet) = self
            .resources
            .provisioner
            .driver
            .isolation()
            .satisfies(request.spec.isolation_min)
        {
            return self.finish(request, Err(unmet.into()), ctx);
        }
        let need = self.need(&request.spec);
        let in_use = self.in_use();
        match admission::decide(need, in_use, self.queue.len(), self.capacity()) {
            AdmissionDecision::Admit => self.launch(request, ctx),
            AdmissionDecision::Wait => {
                self.queue.push(need, request);
                self.reclaim_for_queue();
            }
            AdmissionDecision::Full { retry_after } => {
                self.reclaim(need);
                self.no_room(request, retry_after, ctx);
            }
            AdmissionDecision::Never => {
                let (mem_mib, vcpus) = (need.mem_mib, need.vcpus);
                self.finish(request, Err(CreateFailure::Never { mem_mib, vcpus }), ctx);
            }
        }
    }

    fn no_room(&mut self, request: PendingRequest, retry_after: Duration, ctx: &mut Context<Self>) {
        self.resources.counters.refused();
        let failure = CreateFailure::NoRoom {
            in_use: self.in_use().vms,
            waiting: self.queue.len(),
            retry_after,
        };
        self.finish(request, Err(failure), ctx);
    }

    /// Starts what may start now, and gives up what has waited too long.
    fn check_queue(&mut self, ctx: &mut Context<Self>) {
        self.queue.drop_disconnected();
        let admitted = admission::admit_waiting(self.queue.needs(), self.in_use(), self.capacity());
        for request in self.queue.take(admitted) {
            self.launch(request, ctx);
        }
        self.reclaim_for_queue();
        let retry_after = Duration::from_secs(5);
        for request in self
            .queue
            .overdue(Instant::now(), self.resources.settings.wait)
        {
            self.no_room(request, retry_after, ctx);
        }
    }

    /// Answers a request and all that joined it. The key of one that failed is forgotten, so that
    /// it can be sent again.
    fn finish(&mut self, request: PendingRequest, answer: VmRequestReply, ctx: &mut Context<Self>) {
        let others = request
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
        let forget = match (&answer, request.key.clone()) {
            (Err(_), Some(key)) => Some(
                self.resources
                    .store
                    .write(move |txn| keys::forget(txn, &key)),
            ),
            _ => None,
        };
        let answered = async move {
            if let Some(forget) = forget
                && let Err(error) = forget.await
            {
                tracing::warn!(event = "vm.unrecorded", %error);
            }
            request.answer(answer);
        };
        ctx.spawn(answered.into_actor(self));
    }

    /// Old keys are forgotten.
    fn clean_up_keys(&mut self, ctx: &mut Context<Self>) {
        let now = self.resources.clock.now();
        let swept = self.resources.store.write(move |txn| keys::sweep(txn, now));
        let swept = async move {
            if let Err(error) = swept.await {
                tracing::warn!(event = "vm.unrecorded", %error);
            }
        };
        ctx.spawn(swept.into_actor(self));
    }

    fn claim(
        &self,
        key: Option<IdempotencyKey>,
    ) -> impl Future<Output = Result<Claim, StoreError>> + 'static + use<> {
        let now = self.resources.clock.now();
        let claim = key.map(|key| {
            self.resources
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

/// The image of a request; one that is fetched is waited for.
async fn find_image(
    images: Arc<dyn Images>,
    name: ImageRef,
    until: Instant,
) -> Result<Arc<Image>, CreateFailure> {
    // Before it is asked for: a fetch that ends at once is seen.
    let mut fetches = images.fetches();
    loop {
        let (images, name) = (Arc::clone(&images), name.clone());
        let found = spawn_blocking(move || images.resolve(&name)).await;
        let failure = match found {
            Ok(Ok(image)) => return Ok(image),
            Ok(Err(failure)) => failure,
            Err(_) => return Err(CreateFailure::Interrupted),
        };
        let waits = matches!(failure, ImageFailure::Fetching { .. });
        let Some(fetches) = fetches.as_mut().filter(|_| waits) else {
            return Err(failure.into());
        };
        // Whichever fetch has ended: if it is another one, it is waited again.
        match timeout_at(until, fetches.changed()).await {
            Ok(Ok(())) => {}
            _ => return Err(failure.into()),
        }
    }
}

impl Actor for VmScheduler {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        ctx.run_interval(QUEUE_CHECK_INTERVAL, Self::check_queue);
        ctx.run_interval(KEY_CLEANUP_INTERVAL, Self::clean_up_keys);
    }
}

impl Handler<CreateVm> for VmScheduler {
    type Result = ResponseFuture<VmRequestReply>;

    fn handle(&mut self, message: CreateVm, ctx: &mut Context<Self>) -> Self::Result {
        let CreateVm { spec, subject, key } = message;
        if let Err(failure) = self.check(&spec) {
            return Box::pin(async { Err(failure) });
        }
        let (reply, answer) = oneshot::channel();
        let request = PendingRequest {
            spec,
            subject,
            key: key.clone(),
            image: None,
            requested: Instant::now(),
            reply,
        };
        let claim = self.claim(key);
        ctx.spawn(
            claim
                .into_actor(self)
                .map(|claim, scheduler, ctx| scheduler.claimed(claim, request, ctx)),
        );
        // Dropped unsent when this incarnation ends.
        Box::pin(async move { answer.await.unwrap_or(Err(CreateFailure::Interrupted)) })
    }
}

impl Handler<VmFreed> for VmScheduler {
    type Result = ();

    fn handle(&mut self, _: VmFreed, ctx: &mut Context<Self>) {
        self.check_queue(ctx);
    }
}

impl Handler<ReleaseStuck> for VmScheduler {
    type Result = ResponseFuture<ReleasedVms>;

    fn handle(&mut self, message: ReleaseStuck, _: &mut Context<Self>) -> Self::Result {
        let now = self.resources.clock.now();
        let deadlines = self.resources.settings.deadlines;
        let all = self.resources.registry.list().into_iter();
        let is_meant = |subject: &str| message.subject.as_ref().is_none_or(|it| it == subject);
        let seen: Vec<_> = all.filter(|vm| is_meant(&vm.entry.subject)).collect();
        let stuck = seen.iter().filter_map(|vm| {
            let reason = vm.entry.verdict(now, deadlines)?;
            Some((vm.entry.id.clone(), reason, vm.actor.clone()?))
        });
        let stuck: Vec<_> = stuck.collect();
        let kept = seen.len() - stuck.len();
        Box::pin(async move {
            let released = stuck.into_iter().map(async |(id, reason, actor)| {
                let release = ReleaseVm {
                    reason: Some(reason),
                };
                let gone = actor.ask_within(release, RELEASE_TIMEOUT).await;
                // An actor that has ended has ended its VM.
                if let Err(error) = gone {
                    tracing::warn!(event = "vm.release_unsure", vm = %id, %error);
                }
                (id, reason)
            });
            ReleasedVms {
                released: join_all(released).await,
                kept,
            }
        })
    }
}
