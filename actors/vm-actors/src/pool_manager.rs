//! The warm pool: keeps templates and waiting clones as its policy says.
//!
//! ```text
//! VmScheduler ─RefillPool─▶ PoolManager ─threads─▶ Driver::template, Template::spawn
//!      ▲                                                        │
//!      └──────────takes──────────── WarmPool ◀──────────────────┘
//! ```
//! Clones wait paused in the [`WarmPool`].

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, Running, WrapFuture};
use actix_rt::task::spawn_blocking;
use supervision::ChildContext;
use vm_core::pool::{self, PoolAction};
use vm_core::{TemplateKey, UnixMs};
use vm_engine::{Driver, DriverError, MachineEvent, Template};

use crate::clock::Clock;
use crate::ids::fresh_vm_id;
use crate::images::{ImageFailure, Images};
use crate::messages::RefillPool;
use crate::provisioning::{discard, spawn_clone};
use crate::settings::VmSettings;
use crate::warm_pool::{PooledClone, WarmPool};

/// How often it checks what is missing.
const REFILL_INTERVAL: Duration = Duration::from_secs(1);

/// How long it waits after a template or clone could not be made.
const RETRY_DELAY: Duration = Duration::from_secs(30);

/// The same while the image is being made.
const IMAGE_RETRY_DELAY: Duration = Duration::from_secs(2);

/// The actor.
pub struct PoolManager {
    context: ChildContext,
    resources: PoolResources,
    shutdown: Shutdown,
}

/// What it needs of the manager.
#[derive(Clone)]
pub(crate) struct PoolResources {
    pub(crate) driver: Arc<dyn Driver>,
    pub(crate) images: Arc<dyn Images>,
    pub(crate) warm_pool: Arc<WarmPool>,
    pub(crate) clock: Clock,
    pub(crate) settings: Arc<VmSettings>,
}

/// How far it is with its own stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shutdown {
    NotRequested,
    Clearing,
    Done,
}

/// A clone that waited has ended by itself.
#[derive(Message)]
#[rtype(result = "()")]
struct CloneEnded(vm_core::VmId, String);

/// Why there is no template.
#[derive(Debug, thiserror::Error)]
enum TemplateFailure {
    #[error(transparent)]
    Image(#[from] ImageFailure),
    #[error(transparent)]
    Driver(#[from] DriverError),
    #[error("this driver has no templates")]
    None,
    #[error("{0}")]
    Panicked(String),
}

impl PoolManager {
    pub(crate) fn new(context: ChildContext, resources: PoolResources) -> Self {
        Self {
            context,
            resources,
            shutdown: Shutdown::NotRequested,
        }
    }

    fn refill(&mut self, ctx: &mut Context<Self>) {
        if self.shutdown != Shutdown::NotRequested {
            return;
        }
        let policy = self.resources.settings.pool;
        let now = self.resources.clock.now();
        let entries = self.resources.warm_pool.view(policy.idle, now);
        for action in pool::decide(&entries, policy, now) {
            match action {
                PoolAction::MakeTemplate(key) => self.make_template(key, ctx),
                PoolAction::MakeClones(key, count) => self.make_clones(&key, count, ctx),
                PoolAction::DropClones(key, count) => {
                    let clones = self.resources.warm_pool.drop_clones(&key, count);
                    self.end_clones(clones);
                }
                PoolAction::DropTemplate(key) => {
                    let template = self.resources.warm_pool.drop_template(&key);
                    // Removing its files blocks.
                    drop(spawn_blocking(move || drop(template)));
                }
            }
        }
    }

    fn make_template(&mut self, key: TemplateKey, ctx: &mut Context<Self>) {
        self.resources.warm_pool.making_template(&key);
        let (resources, wanted) = (self.resources.clone(), key.clone());
        let made = spawn_blocking(move || resources.make_template(&wanted));
        ctx.spawn(made.into_actor(self).map(move |made, pool, ctx| {
            let made =
                made.unwrap_or_else(|panic| Err(TemplateFailure::Panicked(panic.to_string())));
            pool.template_made(&key, made, ctx);
        }));
    }

    fn template_made(
        &mut self,
        key: &TemplateKey,
        made: Result<(Arc<dyn Template>, String), TemplateFailure>,
        ctx: &mut Context<Self>,
    ) {
        let now = self.resources.clock.now();
        match made {
            Ok((template, digest)) => {
                let pool = &self.resources.warm_pool;
                pool.template_made(key, template, digest);
                tracing::info!(event = "pool.template_made", image = %key.image, mem_mib = key.mem_mib);
                self.refill(ctx);
            }
            Err(TemplateFailure::None) => {
                // It will never have any.
                self.resources
                    .warm_pool
                    .template_failed(key, UnixMs(u64::MAX));
            }
            Err(TemplateFailure::Image(
                ImageFailure::Preparing { .. } | ImageFailure::Fetching { .. },
            )) => {
                let again = now.plus(IMAGE_RETRY_DELAY);
                self.resources.warm_pool.template_failed(key, again);
            }
            Err(error) => {
                tracing::warn!(event = "pool.template_failed", image = %key.image, %error);
                self.resources
                    .warm_pool
                    .template_failed(key, now.plus(RETRY_DELAY));
            }
        }
    }

    fn make_clones(&mut self, key: &TemplateKey, count: usize, ctx: &mut Context<Self>) {
        let Some((template, digest)) = self.resources.warm_pool.template(key) else {
            return;
        };
        self.resources.warm_pool.making_clones(key, count);
        for _ in 0..count {
            let (template, key) = (Arc::clone(&template), key.clone());
            let digest = digest.clone();
            let deadline = self.resources.settings.deadlines.boot;
            let made =
                spawn_blocking(move || spawn_clone(template.as_ref(), &fresh_vm_id(), deadline));
            ctx.spawn(made.into_actor(self).map(move |made, pool, ctx| {
                match made {
                    Ok(Ok(clone)) => pool.clone_made(&key, clone, &digest, ctx),
                    Ok(Err(error)) if error.is_shortage() => pool.clone_waits(&key, &error),
                    Ok(Err(error)) => pool.clone_failed(&key, &error.to_string()),
                    Err(panic) => pool.clone_failed(&key, &panic.to_string()),
                }
                pool.refill(ctx);
            }));
        }
    }

    fn clone_made(
        &mut self,
        key: &TemplateKey,
        clone: PooledClone,
        digest: &str,
        ctx: &Context<Self>,
    ) {
        let (pool, id) = (ctx.address(), clone.machine.id().clone());
        clone.relay.attach(move |event| {
            let MachineEvent::Terminated { detail, .. } = event;
            pool.do_send(CloneEnded(id.clone(), detail));
        });
        let stale = self.resources.warm_pool.clone_done(key, clone, digest);
        self.end_clones(stale.into_iter().collect());
    }

    /// The machine has too little of something at the moment: the template is as good as before.
    fn clone_waits(&mut self, key: &TemplateKey, error: &DriverError) {
        tracing::warn!(event = "pool.clone_waits", image = %key.image, %error);
        self.resources.warm_pool.clone_failed(key);
        let again = self.resources.clock.now().plus(RETRY_DELAY);
        self.resources.warm_pool.clones_wait(key, again);
    }

    fn clone_failed(&mut self, key: &TemplateKey, error: &str) {
        tracing::warn!(event = "pool.clone_failed", image = %key.image, error);
        self.resources.warm_pool.clone_failed(key);
        let again = self.resources.clock.now().plus(RETRY_DELAY);
        let template = self
            .resources
            .warm_pool
            .template_failed_to_clone(key, again);
        drop(spawn_blocking(move || drop(template)));
    }

    fn end_clones(&self, clones: Vec<PooledClone>) {
        for clone in clones {
            drop(spawn_blocking(move || discard(clone.machine.as_ref())));
        }
    }
}

impl PoolResources {
    /// Blocks.
    fn make_template(
        &self,
        key: &TemplateKey,
    ) -> Result<(Arc<dyn Template>, String), TemplateFailure> {
        let image = self.images.resolve(&key.image)?;
        let template = self.driver.template(key, &image)?;
        let template = template.ok_or(TemplateFailure::None)?;
        Ok((template, image.digest.clone()))
    }
}

impl Actor for PoolManager {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.resources.warm_pool.forget_unfinished();
        self.refill(ctx);
        ctx.run_interval(REFILL_INTERVAL, Self::refill);
    }

    /// Ends what waits before it stops.
    fn stopping(&mut self, ctx: &mut Context<Self>) -> Running {
        match self.shutdown {
            Shutdown::Done => return Running::Stop,
            Shutdown::Clearing => return Running::Continue,
            Shutdown::NotRequested => self.shutdown = Shutdown::Clearing,
        }
        let warm_pool = Arc::clone(&self.resources.warm_pool);
        let cleared = spawn_blocking(move || {
            let (clones, templates) = warm_pool.clear();
            drop(templates);
            std::thread::scope(|scope| {
                for clone in &clones {
                    scope.spawn(|| discard(clone.machine.as_ref()));
                }
            });
        });
        ctx.spawn(cleared.into_actor(self).map(|_, pool, _| {
            pool.shutdown = Shutdown::Done;
            pool.context.stop();
        }));
        Running::Continue
    }
}

impl Handler<RefillPool> for PoolManager {
    type Result = ();

    fn handle(&mut self, _: RefillPool, ctx: &mut Context<Self>) {
        self.refill(ctx);
    }
}

impl Handler<CloneEnded> for PoolManager {
    type Result = ();

    fn handle(&mut self, CloneEnded(id, detail): CloneEnded, ctx: &mut Context<Self>) {
        tracing::warn!(event = "pool.clone_gone", vm = %id, %detail);
        // One that was taken meanwhile has another listener.
        if let Some(clone) = self.resources.warm_pool.remove(&id) {
            self.end_clones(vec![clone]);
        }
        self.refill(ctx);
    }
}
