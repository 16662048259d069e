//! The dispatcher: looks at everything that is stored, and carries out what reconciliation decides.
//!
//! ```text
//! tick, Reconcile ─▶ Dispatcher ──look, reconcile (reader thread)──▶ actions
//!                        ├── Start ──begin (transaction)──▶ RunKeeper under `runs`
//!                        ├── Reject, CloseStatus, Schedule, … one transaction
//!                        ├── Kill ──▶ the run's process group
//!                        └── Poll, VerifyStatuses, sweep ──▶ Poller, ForgePoster, Sweeper
//! ```
//! It decides nothing and remembers nothing that matters: a crash at any point is repaired by the next tick.

use std::time::{Duration, Instant};

use actix::fut::WrapFuture;
use actix::{Actor, AsyncContext, Context, Handler, ResponseFuture};
use forge_actors::ForgePoster;
use forge_actors::messages::{VerifyStatuses, Wake};
use forge_core::RunId;
use orchestrator_core::Millis;
use orchestrator_core::action::Action;
use orchestrator_core::intake::{AgentKey, View, scheduled};
use orchestrator_core::reconcile::ScheduleMark;
use orchestrator_core::retention;
use orchestrator_core::run::Reason;
use orchestrator_engine::process::StopCause;
use parking_lot::Mutex;
use std::sync::Arc;
use store::StoreError;
use supervision::{ChildRef, StartChildError, Supervisor, TickHandle, start_tick};

use crate::keeper::{Peers, RunKeeper, put_off};
use crate::ledger::{self, Book, Looked, Started};
use crate::messages::{CheckAuthor, PollProject, Reconcile, SweepWorktrees, Tick};
use crate::poller::Poller;
use crate::recover::recover;
use crate::shared::Shared;
use crate::sweeper::Sweeper;

/// Early ticks follow each other no faster than this.
const BREATH: Duration = Duration::from_millis(20);

/// Most runs begun by one transaction: fewer waits for the disk, and no more that a crash at that moment cuts off.
const BEGUN_AT_ONCE: usize = 16;

/// Whom the dispatcher gives work to.
#[derive(Clone)]
pub struct Workers {
    /// The supervisor of the keepers.
    pub runs: ChildRef<Supervisor>,
    /// The dispatcher itself, for its keepers.
    pub dispatcher: ChildRef<Dispatcher>,
    /// Posts to the forge.
    pub poster: ChildRef<ForgePoster>,
    /// Asks the forge.
    pub poller: ChildRef<Poller>,
    /// Removes worktrees.
    pub sweeper: ChildRef<Sweeper>,
}

/// The actor.
pub struct Dispatcher {
    shared: Shared,
    workers: Workers,
    clockwork: Arc<Mutex<Clockwork>>,
    tick: Option<TickHandle>,
    /// Between two ticks, as the tick was told.
    interval: Duration,
}

/// When whole ticks are due.
#[derive(Debug)]
struct Clockwork {
    recovered: bool,
    count: u64,
    last_whole: Option<Instant>,
    forced: bool,
    /// The time that ages were measured by last, and when that was.
    ages: Option<(Millis, Instant)>,
}

impl Dispatcher {
    /// A dispatcher of these workers.
    pub fn new(shared: Shared, workers: Workers) -> Self {
        let clockwork = Clockwork {
            recovered: false,
            count: 0,
            last_whole: None,
            forced: false,
            ages: None,
        };
        Self {
            shared,
            workers,
            clockwork: Arc::new(Mutex::new(clockwork)),
            tick: None,
            interval: Duration::ZERO,
        }
    }
}

impl Actor for Dispatcher {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let interval = self.shared.config().tick_interval;
        let tick = start_tick(ctx, interval, |dispatcher: &mut Self, _| {
            let (shared, workers) = (dispatcher.shared.clone(), dispatcher.workers.clone());
            let clockwork = Arc::clone(&dispatcher.clockwork);
            Box::pin(run_tick(shared, workers, clockwork).into_actor(dispatcher))
        });
        self.interval = interval;
        // The first tick comes at once: it settles what a former life left.
        tick.wake();
        self.tick = Some(tick);
    }
}

impl Handler<Reconcile> for Dispatcher {
    type Result = ();

    fn handle(&mut self, Reconcile: Reconcile, ctx: &mut Context<Self>) {
        let interval = self.shared.config().tick_interval;
        if std::mem::replace(&mut self.interval, interval) != interval
            && let Some(tick) = &self.tick
        {
            tick.set_interval(interval);
        }
        // Without `wake_on_dispatch` only the tick starts what waits (the contract's 300 s).
        if !self.shared.config().wake_on_dispatch {
            return;
        }
        let Some(tick) = self.tick.clone() else {
            return;
        };
        ctx.run_later(BREATH, move |_, _| tick.wake());
    }
}

impl Handler<Tick> for Dispatcher {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, Tick: Tick, _: &mut Context<Self>) -> Self::Result {
        let before = self.clockwork.lock().count;
        self.clockwork.lock().forced = true;
        if let Some(tick) = &self.tick {
            tick.wake();
        }
        let clockwork = Arc::clone(&self.clockwork);
        Box::pin(async move {
            while clockwork.lock().count == before {
                tokio::time::sleep(BREATH).await;
            }
        })
    }
}

impl Handler<CheckAuthor> for Dispatcher {
    type Result = ();

    fn handle(&mut self, asked: CheckAuthor, _: &mut Context<Self>) {
        // The tick asks for those that find no room here.
        let _ = self.workers.poller.tell(asked);
    }
}

/// One tick, whole or early.
async fn run_tick(shared: Shared, workers: Workers, clockwork: Arc<Mutex<Clockwork>>) {
    let began = Instant::now();
    if !clockwork.lock().recovered {
        let peers = workers.clone();
        let recorded = move || {
            // What the end is to say is in the outbox, and its place is free.
            let _ = peers.poster.tell(Wake);
            let _ = peers.dispatcher.tell(Reconcile);
        };
        if !recover(&shared, recorded).await {
            return;
        }
        clockwork.lock().recovered = true;
    }
    let whole = {
        let interval = shared.config().tick_interval;
        let clockwork = clockwork.lock();
        // A little early is due: timers are not exact.
        let due = clockwork
            .last_whole
            .is_none_or(|last| last.elapsed() + BREATH >= interval);
        due || clockwork.forced
    };
    let number = if whole { clockwork.lock().count + 1 } else { 0 };
    match look(&shared, number).await {
        Ok(actions) => {
            carry_out(&shared, &workers, actions).await;
            if whole {
                let _ = workers.sweeper.tell(SweepWorktrees);
                prune(&shared, &clockwork).await;
            }
        }
        Err(error) => tracing::warn!(
            event = "tick.failed", error = %error, "a tick could not look at the store; the next one will"
        ),
    }
    let took = began.elapsed();
    shared.ticked(took, whole);
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    tracing::debug!(event = "tick.ended", whole, ms, "a tick has ended");
    let mut clockwork = clockwork.lock();
    if whole {
        clockwork.count += 1;
        clockwork.last_whole = Some(began);
        clockwork.forced = false;
    }
}

async fn look(shared: &Shared, tick: u64) -> Result<Vec<Action>, StoreError> {
    let looked = Looked {
        tick,
        kept: shared.kept(),
    };
    let (config, now, mirror) = (shared.config(), shared.now(), shared.mirror());
    let found = shared
        .store()
        .read(move |rows| ledger::look(rows, &mut mirror.lock(), &config, &looked, now));
    found.await.map(|(actions, _)| actions)
}

async fn carry_out(shared: &Shared, workers: &Workers, actions: Vec<Action>) {
    let (mut stored, mut starts) = (Vec::new(), Vec::new());
    for action in actions {
        match action {
            Action::Start { run } => starts.push(run),
            Action::Reject { run, reason } => stored.push(Row::Reject { run, reason }),
            Action::Lost { run } => stored.push(Row::Lost { run }),
            Action::MarkSchedule { agent, mark } => stored.push(Row::MarkSchedule { agent, mark }),
            Action::Schedule {
                project,
                agent,
                due,
            } => stored.push(Row::Schedule {
                agent: (project, agent),
                due,
            }),
            Action::CloseStatus { run, .. } => stored.push(Row::CloseStatus { run }),
            Action::Hold { run, hold } => shared.hold(run, hold),
            Action::Kill { run, .. } => {
                shared.stop(&run, StopCause::Cancelled);
            }
            Action::CheckAuthor { run } => {
                // One that is being asked about already is not asked about twice.
                let _ = workers.poller.tell(CheckAuthor(run));
            }
            Action::Poll { project } => {
                let _ = workers.poller.tell(PollProject(project));
            }
            Action::VerifyStatuses { repository, sha } => {
                let verify = VerifyStatuses {
                    repo: repository,
                    sha,
                };
                // The poster compares and repairs; nobody waits for it here.
                let poster = workers.poster.clone();
                actix_rt::spawn(async move {
                    let _ = poster.ask_within(verify, Duration::from_secs(60)).await;
                });
            }
        }
    }
    for runs in starts.chunks(BEGUN_AT_ONCE) {
        start(shared, workers, runs.to_vec()).await;
    }
    if stored.is_empty() {
        return;
    }
    let again = stored.iter().any(|row| matches!(row, Row::Schedule { .. }));
    if let Err(error) = shared.write(move |book| write_down(book, stored)).await {
        tracing::warn!(event = "tick.failed", error = %error, "decisions of a tick could not be stored");
    }
    let _ = workers.poster.tell(Wake);
    if again {
        let _ = workers.dispatcher.tell(Reconcile);
    }
}

/// A decision that is nothing but rows.
enum Row {
    Reject { run: RunId, reason: Reason },
    Lost { run: RunId },
    MarkSchedule { agent: AgentKey, mark: ScheduleMark },
    Schedule { agent: AgentKey, due: Millis },
    CloseStatus { run: RunId },
}

fn write_down(book: &mut Book<'_, '_>, rows: Vec<Row>) -> Result<(), StoreError> {
    for row in rows {
        match row {
            Row::Reject { run, reason } => ledger::reject(book, &run, reason)?,
            Row::Lost { run } => {
                ledger::lost(book, &run)?;
            }
            Row::MarkSchedule { agent, mark } => ledger::mark_schedule(book, &agent, mark)?,
            Row::Schedule { agent, due } => queue_scheduled(book, &agent, due)?,
            Row::CloseStatus { run } => ledger::close_status(book, &run)?,
        }
    }
    Ok(())
}

fn queue_scheduled(book: &mut Book<'_, '_>, key: &AgentKey, due: Millis) -> Result<(), StoreError> {
    let config = book.config();
    let found = config.agents.get(key).zip(config.projects.get(&key.0));
    let Some((agent, project)) = found else {
        return Ok(());
    };
    let (quarantined, own) = (
        std::collections::BTreeSet::new(),
        std::collections::BTreeSet::new(),
    );
    let view = View {
        config,
        own_logins: &own,
        now: book.time(),
        quarantined: &quarantined,
        usage: &|_| orchestrator_core::health::Usage::default(),
        recent: &|_, _| 0,
        queued: 0,
        new_id: &ledger::new_run_id,
    };
    let want = scheduled(agent, project, due, &view);
    ledger::add_run(book, &want.run, Some(want.context))
}

/// Begins runs, and gives each a keeper. The order matters: the row says `starting` before anything exists, so
/// that no crash can start it twice.
async fn start(shared: &Shared, workers: &Workers, runs: Vec<RunId>) {
    for run in &runs {
        shared.unhold(run);
        shared.keep(run);
    }
    let ids = runs.clone();
    let begun = shared.write(move |book| {
        let begun = ids.iter().map(|id| ledger::begin(book, id));
        begun.collect::<Result<Vec<_>, _>>()
    });
    let orders = match begun.await {
        Ok(orders) => orders,
        Err(error) => {
            tracing::warn!(event = "tick.failed", error = %error, "runs could not be begun");
            vec![None; runs.len()]
        }
    };
    for (run, order) in runs.into_iter().zip(orders) {
        match order {
            Some(order) => give_keeper(shared, workers, run, order).await,
            None => shared.release(&run),
        }
    }
}

async fn give_keeper(shared: &Shared, workers: &Workers, run: RunId, order: Started) {
    let peers = Peers {
        dispatcher: workers.dispatcher.clone(),
        poster: workers.poster.clone(),
    };
    let begun = order.run.clone();
    let spec = RunKeeper::spec(shared, order, peers.clone());
    let Err(refused) = workers.runs.start_child(spec).await else {
        return;
    };
    // Whether the keeper exists is not known when the supervisor did not answer; then it stays as it is.
    let known = matches!(refused, StartChildError::Refused(_));
    tracing::error!(event = "run.not_kept", run = %run, error = %refused, "a run has no keeper");
    if known {
        // No room now, which says nothing about the agent: it is tried again.
        put_off(shared, begun, &peers, &refused.to_string());
    }
}

/// Forgets what is too old, and the folders of runs that are forgotten.
async fn prune(shared: &Shared, clockwork: &Mutex<Clockwork>) {
    let at = Instant::now();
    let (last, elapsed) = match clockwork.lock().ages {
        Some((last, then)) => (Some(last), at.duration_since(then)),
        None => (shared.last_entry_at(), Duration::ZERO),
    };
    let now = retention::trusted(last, elapsed, shared.now());
    clockwork.lock().ages = Some((now, at));
    let Ok(gone) = shared.write(move |book| ledger::prune(book, now)).await else {
        return;
    };
    if gone.is_empty() {
        return;
    }
    let shared = shared.clone();
    let removing = tokio::task::spawn_blocking(move || {
        for run in gone {
            let log = shared.log_folder(run.as_str());
            if let Some(folder) = log.parent() {
                // What cannot be removed now is an empty name in a folder of its own.
                let _ = std::fs::remove_dir_all(folder);
            }
        }
    });
    let _ = removing.await;
}
