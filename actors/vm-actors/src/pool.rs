//! The warm pool: keeps templates and waiting clones as its policy says.
//!
//! ```text
//! Desk ─RefillPool─▶ Pool ─threads─▶ Driver::template, Template::spawn ─▶ Shelves ─▶ Desk
//! ```
//! Clones wait paused on the [`Shelves`](crate::shelves::Shelves), where the desk takes them.

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, Running, WrapFuture};
use actix_rt::task::spawn_blocking;
use supervision::ChildContext;
use vm_core::pool::{self, Action};
use vm_core::{TemplateKey, UnixMs};
use vm_engine::{DriverError, MachineEvent, Template};

use crate::ids::fresh_vm_id;
use crate::images::ImageFailure;
use crate::messages::RefillPool;
use crate::settings::Shared;
use crate::shelves::Pooled;
use crate::vm::{discard, spawn_clone};

/// How often it looks at the shelves.
const EVERY: Duration = Duration::from_secs(1);

/// How long it waits after a template or clone could not be made.
const AGAIN: Duration = Duration::from_secs(30);

/// The same while the image is being made.
const IMAGE_AGAIN: Duration = Duration::from_secs(2);

/// The actor.
pub struct Pool {
    life: ChildContext,
    shared: Arc<Shared>,
    /// Set when the shelves are being cleared, and when that is done.
    ending: Ending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    No,
    Clearing,
    Done,
}

/// A clone that waited has ended by itself.
#[derive(Message)]
#[rtype(result = "()")]
struct CloneGone(vm_core::VmId, String);

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

impl Pool {
    pub(crate) fn new(life: ChildContext, shared: Arc<Shared>) -> Self {
        let ending = Ending::No;
        Self {
            life,
            shared,
            ending,
        }
    }

    fn refill(&mut self, ctx: &mut Context<Self>) {
        if self.ending != Ending::No {
            return;
        }
        let policy = self.shared.settings.pool;
        let now = self.shared.clock.now();
        let shelves = self.shared.shelves.view(policy.idle, now);
        for action in pool::decide(&shelves, policy, now) {
            match action {
                Action::MakeTemplate(key) => self.make_template(key, ctx),
                Action::MakeClones(key, count) => self.make_clones(&key, count, ctx),
                Action::DropClones(key, count) => {
                    let clones = self.shared.shelves.drop_clones(&key, count);
                    self.end_clones(clones);
                }
                Action::DropTemplate(key) => {
                    let template = self.shared.shelves.drop_template(&key);
                    // Removing its files blocks.
                    drop(spawn_blocking(move || drop(template)));
                }
            }
        }
    }

    fn make_template(&mut self, key: TemplateKey, ctx: &mut Context<Self>) {
        self.shared.shelves.making_template(&key);
        let (shared, wanted) = (Arc::clone(&self.shared), key.clone());
        let made = spawn_blocking(move || template(&shared, &wanted));
        ctx.spawn(made.into_actor(self).map(move |made, pool, ctx| {
            let made =
                made.unwrap_or_else(|panic| Err(TemplateFailure::Panicked(panic.to_string())));
            pool.template_made(&key, made, ctx);
        }));
    }

    fn template_made(
        &mut self,
        key: &TemplateKey,
        made: Result<Arc<dyn Template>, TemplateFailure>,
        ctx: &mut Context<Self>,
    ) {
        let now = self.shared.clock.now();
        match made {
            Ok(template) => {
                self.shared.shelves.template_made(key, template);
                tracing::info!(event = "pool.template_made", image = %key.image, mem_mib = key.mem_mib);
                self.refill(ctx);
            }
            Err(TemplateFailure::None) => {
                // It will never have any.
                self.shared.shelves.template_failed(key, UnixMs(u64::MAX));
            }
            Err(TemplateFailure::Image(ImageFailure::Making { .. })) => {
                let again = now.plus(IMAGE_AGAIN);
                self.shared.shelves.template_failed(key, again);
            }
            Err(error) => {
                tracing::warn!(event = "pool.template_failed", image = %key.image, %error);
                self.shared.shelves.template_failed(key, now.plus(AGAIN));
            }
        }
    }

    fn make_clones(&mut self, key: &TemplateKey, count: usize, ctx: &mut Context<Self>) {
        let Some(template) = self.shared.shelves.template(key) else {
            return;
        };
        self.shared.shelves.making_clones(key, count);
        for _ in 0..count {
            let (template, key) = (Arc::clone(&template), key.clone());
            let deadline = self.shared.settings.deadlines.boot;
            let made =
                spawn_blocking(move || spawn_clone(template.as_ref(), &fresh_vm_id(), deadline));
            ctx.spawn(made.into_actor(self).map(move |made, pool, ctx| {
                match made {
                    Ok(Ok(clone)) => pool.clone_made(&key, clone, ctx),
                    Ok(Err(error)) if error.is_shortage() => pool.clone_waits(&key, &error),
                    Ok(Err(error)) => pool.clone_failed(&key, &error.to_string()),
                    Err(panic) => pool.clone_failed(&key, &panic.to_string()),
                }
                pool.refill(ctx);
            }));
        }
    }

    fn clone_made(&mut self, key: &TemplateKey, clone: Pooled, ctx: &Context<Self>) {
        let (pool, id) = (ctx.address(), clone.machine.id().clone());
        clone.relay.attach(move |event| {
            let MachineEvent::Gone { detail, .. } = event;
            pool.do_send(CloneGone(id.clone(), detail));
        });
        self.shared.shelves.clone_done(key, Some(clone));
    }

    /// The machine has too little of something at the moment: the template is as good as before.
    fn clone_waits(&mut self, key: &TemplateKey, error: &DriverError) {
        tracing::warn!(event = "pool.clone_waits", image = %key.image, %error);
        self.shared.shelves.clone_done(key, None);
        let again = self.shared.clock.now().plus(AGAIN);
        self.shared.shelves.clones_wait(key, again);
    }

    fn clone_failed(&mut self, key: &TemplateKey, error: &str) {
        tracing::warn!(event = "pool.clone_failed", image = %key.image, error);
        self.shared.shelves.clone_done(key, None);
        let again = self.shared.clock.now().plus(AGAIN);
        let template = self.shared.shelves.template_broken(key, again);
        drop(spawn_blocking(move || drop(template)));
    }

    fn end_clones(&self, clones: Vec<Pooled>) {
        for clone in clones {
            drop(spawn_blocking(move || discard(clone.machine.as_ref())));
        }
    }
}

/// Makes a template. Blocks.
fn template(shared: &Shared, key: &TemplateKey) -> Result<Arc<dyn Template>, TemplateFailure> {
    let image = shared.images.resolve(&key.image)?;
    let template = shared.driver.template(key, &image)?;
    template.ok_or(TemplateFailure::None)
}

impl Actor for Pool {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.shared.shelves.forget_making();
        self.refill(ctx);
        ctx.run_interval(EVERY, Self::refill);
    }

    /// Ends what waits before it stops.
    fn stopping(&mut self, ctx: &mut Context<Self>) -> Running {
        match self.ending {
            Ending::Done => return Running::Stop,
            Ending::Clearing => return Running::Continue,
            Ending::No => self.ending = Ending::Clearing,
        }
        let shared = Arc::clone(&self.shared);
        let cleared = spawn_blocking(move || {
            let (clones, templates) = shared.shelves.clear();
            drop(templates);
            std::thread::scope(|scope| {
                for clone in &clones {
                    scope.spawn(|| discard(clone.machine.as_ref()));
                }
            });
        });
        ctx.spawn(cleared.into_actor(self).map(|_, pool, _| {
            pool.ending = Ending::Done;
            pool.life.stop();
        }));
        Running::Continue
    }
}

impl Handler<RefillPool> for Pool {
    type Result = ();

    fn handle(&mut self, _: RefillPool, ctx: &mut Context<Self>) {
        self.refill(ctx);
    }
}

impl Handler<CloneGone> for Pool {
    type Result = ();

    fn handle(&mut self, CloneGone(id, detail): CloneGone, ctx: &mut Context<Self>) {
        tracing::warn!(event = "pool.clone_gone", vm = %id, %detail);
        // One that was taken meanwhile has another listener.
        if let Some(clone) = self.shared.shelves.remove(&id) {
            self.end_clones(vec![clone]);
        }
        self.refill(ctx);
    }
}
