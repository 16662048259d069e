//! The dispatcher: reads everything that is stored, and carries out what reconciliation decides.
//!
//! ```text
//! tick, TickTrigger ─▶ Dispatcher ──decide_tick (reader thread)──▶ actions
//!                        ├── Start ──begin (transaction)──▶ AgentRun under `runs`
//!                        ├── Reject, CloseStatus, Schedule, … one transaction
//!                        ├── Kill ──▶ the run's process group
//!                        └── Poll, CheckAuthor, VerifyStatuses, GC ──▶ Poller, Preflight, OutboxWorker, WorktreeGc
//! ```
//! It remembers nothing that matters: a crash at any point is repaired by the next tick.

mod actions;
mod recovery;

use std::pin::Pin;
use std::time::{Duration, Instant};

use actix::fut::{ActorFuture, ActorFutureExt, WrapFuture};
use actix::{Actor, AsyncContext, Context, Handler, ResponseFuture};
use forge_actors::AgeClock;
use orchestrator_core::action::ReconcileAction;
use store::StoreError;
use supervision::{TickHandle, start_tick};
use tokio::sync::{oneshot, watch};

use self::actions::carry_out;
use self::recovery::recover;
use crate::ledger::{self, TickContext};
use crate::messages::{CollectWorktrees, Tick};
use crate::ticks::{TickStats, TickTrigger};

pub(crate) use self::actions::DispatchTargets;
use crate::agent_run::AgentRunServices;

/// Early ticks follow each other no faster than this.
const TICK_DEBOUNCE: Duration = Duration::from_millis(20);

/// The actor.
pub struct Dispatcher {
    runs: AgentRunServices,
    targets: DispatchTargets,
    trigger: TickTrigger,
    stats: watch::Sender<TickStats>,
    /// What records age by.
    ages: AgeClock,
    tick: Option<TickHandle>,
    /// The interval that the tick was given last.
    interval: Duration,
    progress: TickProgress,
    /// Who waits for the end of a whole tick.
    waiting: Vec<oneshot::Sender<()>>,
}

/// What the ticks so far have done.
#[derive(Debug, Default)]
struct TickProgress {
    /// What the previous incarnation left is being settled.
    is_recovered: bool,
    last_whole: Option<Instant>,
    /// The next one is to be whole.
    is_forced: bool,
}

/// The end of a tick.
struct TickResult {
    began: Instant,
    is_whole: bool,
}

impl Dispatcher {
    pub(crate) fn new(
        runs: AgentRunServices,
        targets: DispatchTargets,
        stats: watch::Sender<TickStats>,
        ages: AgeClock,
    ) -> Self {
        Self {
            trigger: runs.notifier.ticks.clone(),
            runs,
            targets,
            stats,
            ages,
            tick: None,
            interval: Duration::ZERO,
            progress: TickProgress::default(),
            waiting: Vec::new(),
        }
    }

    /// Waits for the next request of an early tick, and for further ones a moment later.
    fn await_trigger(&self, ctx: &mut Context<Self>) {
        let trigger = self.trigger.clone();
        let requested = async move {
            trigger.requested().await;
            tokio::time::sleep(TICK_DEBOUNCE).await;
        };
        let wake = requested.into_actor(self).map(|(), dispatcher, ctx| {
            dispatcher.wake_early();
            dispatcher.await_trigger(ctx);
        });
        ctx.spawn(wake);
    }

    /// An early tick; without `wake_on_dispatch` only the interval starts what waits (the
    /// contract's 300 s).
    fn wake_early(&mut self) {
        self.follow_interval();
        if self.runs.ledger.config().wake_on_dispatch
            && let Some(tick) = &self.tick
        {
            tick.wake();
        }
    }

    /// A reload may have changed the interval.
    fn follow_interval(&mut self) {
        let interval = self.runs.ledger.config().tick_interval;
        if std::mem::replace(&mut self.interval, interval) != interval
            && let Some(tick) = &self.tick
        {
            tick.set_interval(interval);
        }
    }

    /// One tick, whole or early.
    fn run_tick(&mut self) -> Pin<Box<dyn ActorFuture<Self, Output = ()>>> {
        let began = Instant::now();
        let interval = self.runs.ledger.config().tick_interval;
        // A little early is due: timers are not exact.
        let is_due = self
            .progress
            .last_whole
            .is_none_or(|last| last.elapsed() + TICK_DEBOUNCE >= interval);
        let is_whole = is_due || self.progress.is_forced;
        let is_recovered = self.progress.is_recovered;
        let number = self.stats.borrow().count + 1;
        let (runs, targets) = (self.runs.clone(), self.targets.clone());
        let ages = self.ages.clone();
        let tick = async move {
            if !is_recovered && !recover(&runs).await {
                return None;
            }
            match decide(&runs, if is_whole { number } else { 0 }).await {
                Ok(actions) => {
                    carry_out(&runs, &targets, actions).await;
                    if is_whole {
                        let _ = targets.worktree_gc.tell(CollectWorktrees);
                        prune(&runs, ages).await;
                    }
                }
                Err(error) => tracing::warn!(
                    event = "tick.failed", error = %error, "a tick could not look at the store; the next one will"
                ),
            }
            Some(TickResult { began, is_whole })
        };
        Box::pin(tick.into_actor(self).map(|result, dispatcher, _| {
            if let Some(result) = result {
                dispatcher.finish_tick(&result);
            }
        }))
    }

    fn finish_tick(&mut self, result: &TickResult) {
        let (is_whole, took) = (result.is_whole, result.began.elapsed());
        let now = self.runs.ledger.now();
        self.progress.is_recovered = true;
        self.stats.send_modify(|stats| {
            stats.last_at = Some(now);
            stats.last_took = took;
            stats.count += u64::from(is_whole);
        });
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(
            event = "tick.ended",
            whole = is_whole,
            ms,
            "a tick has ended"
        );
        if is_whole {
            self.progress.last_whole = Some(result.began);
            self.progress.is_forced = false;
            for waiting in self.waiting.drain(..) {
                let _ = waiting.send(());
            }
        }
    }
}

impl Actor for Dispatcher {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let interval = self.runs.ledger.config().tick_interval;
        let tick = start_tick(ctx, interval, |dispatcher: &mut Self, _| {
            dispatcher.run_tick()
        });
        self.interval = interval;
        // The first tick comes at once: it settles what the previous incarnation left.
        tick.wake();
        self.tick = Some(tick);
        self.await_trigger(ctx);
    }
}

impl Handler<Tick> for Dispatcher {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, Tick: Tick, _: &mut Context<Self>) -> Self::Result {
        self.follow_interval();
        self.progress.is_forced = true;
        if let Some(tick) = &self.tick {
            tick.wake();
        }
        let (waiting, ended) = oneshot::channel();
        self.waiting.push(waiting);
        Box::pin(async move {
            // Without an answer the dispatcher has ended; its next incarnation begins with a whole
            // tick.
            let _ = ended.await;
        })
    }
}

async fn decide(runs: &AgentRunServices, number: u64) -> Result<Vec<ReconcileAction>, StoreError> {
    let tick = TickContext {
        number,
        active: runs.runs.ids(),
    };
    let (config, now) = (runs.ledger.config(), runs.ledger.now());
    let decided = runs.ledger.read_open_runs(move |rows, open_runs| {
        ledger::decide_tick(rows, open_runs, &config, &tick, now)
    });
    decided.await
}

/// Removes what is too old, and the directories of runs that are removed.
async fn prune(runs: &AgentRunServices, ages: AgeClock) {
    let removed = runs
        .ledger
        .write(move |txn| ledger::prune(txn, &ages))
        .await;
    let removed = removed.unwrap_or_default();
    if !removed.is_empty() {
        let logs = runs.logs.clone();
        let removing = tokio::task::spawn_blocking(move || logs.remove(&removed));
        let _ = removing.await;
    }
}
