//! A run's keeper: one actor for each agent process.
//!
//! ```text
//! Dispatcher --starts--> RunKeeper ──thread──▶ prepare ─▶ start ─▶ `running` ─▶ wait ─▶ classify ─▶ `ended`
//!                            │                   (worktree, prompt, log)   │ store          │ store
//!                            └── stop: ends the process, waits for its thread
//! ```
//! All of a run's blocking work is on a thread of its own, which writes each transition down before it goes
//! on. The actor is there so that the process has a place in the tree, and an end within the time of a stop.

mod end;
mod fetch;
mod log_pause;
mod prepare;
mod route;
mod view;
mod work;

use std::time::Duration;

use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Message, Running};
use forge_actors::ForgePoster;
use forge_core::RunId;
use orchestrator_core::run::Run;
use orchestrator_engine::process::StopCause;
use store::StoreError;
use supervision::{ChildRef, ChildSpec, Restart};

use crate::dispatcher::Dispatcher;
use crate::ledger::{self, Started};
use crate::messages::Reconcile;
use crate::shared::Shared;

/// The actor.
pub(crate) struct RunKeeper {
    shared: Shared,
    run: RunId,
    order: Option<Started>,
    peers: Peers,
    /// The thread has recorded the end.
    over: bool,
}

/// Who is told of a run's end.
#[derive(Clone)]
pub(crate) struct Peers {
    /// Starts what waits for room.
    pub(crate) dispatcher: ChildRef<Dispatcher>,
    /// Posts statuses and comments.
    pub(crate) poster: ChildRef<ForgePoster>,
}

/// The thread of the run has ended.
#[derive(Message)]
#[rtype(result = "()")]
struct Over;

/// What is added to an agent's grace when a stop waits for its process: the second kill, the last writes.
const AFTER_GRACE: Duration = Duration::from_secs(8);

impl RunKeeper {
    /// The spec of a keeper. It is never restarted: a run begins once.
    pub(crate) fn spec(shared: &Shared, order: Started, peers: Peers) -> ChildSpec<Self> {
        let run = order.run.id.clone();
        // The name of a keeper that was put off may still be taken.
        let name = match shared.times_put_off(&run) {
            0 => run.to_string(),
            times => format!("{run}.{times}"),
        };
        let config = shared.config();
        let grace = config
            .agent(&order.run.home, &order.run.agent)
            .map_or(Duration::from_secs(5), |agent| agent.limits.grace);
        let shared = shared.clone();
        let mut order = Some(order);
        ChildSpec::new(name, move |_| Self {
            shared: shared.clone(),
            run: run.clone(),
            order: order.take(),
            peers: peers.clone(),
            over: false,
        })
        .restart(Restart::Temporary)
        .shutdown(grace + AFTER_GRACE)
        .capacity(8)
    }
}

impl Actor for RunKeeper {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let Some(order) = self.order.take() else {
            ctx.stop();
            return;
        };
        let (shared, peers, address) = (self.shared.clone(), self.peers.clone(), ctx.address());
        let run = order.run.clone();
        let work = move || {
            let pause = work::work(&shared, &order, &peers);
            address.do_send(Over);
            if let Some(pause) = pause {
                // Kept meanwhile, so that no tick starts it; it is queued, and can be cancelled.
                std::thread::park_timeout(pause);
                shared.release(&order.run.id);
                let _ = peers.dispatcher.tell(Reconcile);
            }
        };
        let thread = std::thread::Builder::new().name(format!("run-{}", self.run));
        if let Err(error) = thread.spawn(work) {
            self.over = true;
            put_off(
                &self.shared,
                run,
                &self.peers,
                &format!("no thread: {error}"),
            );
            ctx.stop();
        }
    }

    /// An order to stop ends the process; the actor goes when its thread has written the end down.
    fn stopping(&mut self, _: &mut Context<Self>) -> Running {
        if self.over {
            return Running::Stop;
        }
        if self.shared.stop(&self.run, StopCause::Shutdown) {
            return Running::Continue;
        }
        Running::Stop
    }
}

/// Queues a run again that got neither thread nor keeper, and lets it start after a pause.
pub(crate) fn put_off(shared: &Shared, run: Run, peers: &Peers, reason: &str) {
    let (shared, peers, reason) = (shared.clone(), peers.clone(), reason.to_owned());
    actix_rt::spawn(async move {
        let pause = shared.put_off(&run.id);
        tracing::warn!(
            event = "run.start_paused", run = %run.id, agent = %run.agent, reason,
            pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
            "a run could not be started for lack of descriptors, threads, memory or disk; it is tried again"
        );
        loop {
            let id = run.id.clone();
            let back = shared.write(move |book| ledger::put_back(book, &id));
            match back.await {
                Ok(_) => break,
                Err(StoreError::Closed) => return,
                Err(_) => actix_rt::time::sleep(pause).await,
            }
        }
        let _ = peers.dispatcher.tell(Reconcile);
        actix_rt::time::sleep(pause).await;
        shared.release(&run.id);
        let _ = peers.dispatcher.tell(Reconcile);
    });
}

impl Handler<Over> for RunKeeper {
    type Result = ();

    fn handle(&mut self, Over: Over, ctx: &mut Context<Self>) {
        self.over = true;
        ctx.stop();
    }
}
