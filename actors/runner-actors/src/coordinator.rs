//! The coordinator: starts stored runs, ends them when asked, and takes up what the previous
//! incarnation left.
//!
//! ```text
//! RunnerIntake, ScheduleClock, CatchUp, runs ─▶ RunQueue ─▶ waiting ids ─▶ at most MAX_ACTIVE_RUNS runs
//! StartEvent, DispatchWorkflow, RepeatRun ─▶ one transaction ▲                  │ ended: watch
//!                                             RunRecovery ───┴──────────────────┘ (closed without a state)
//! ```

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, ResponseActFuture, WrapFuture};
use runner_core::state::RunState;
use store::{Store, StoreError};
use supervision::{ChildRef, Supervisor};

use crate::clock::now_ms;
use crate::dispatch;
use crate::event::StoredEvent;
use crate::messages::{
    CancelRun, DispatchFailure, DispatchWorkflow, RepeatError, RepeatRun, ReviewError, ReviewRun,
    StartEvent,
};
use crate::records::{RunRecord, new_run_id};
use crate::recovery::RunRecovery;
use crate::repeat::{RepeatOptions, repeat};
use crate::repositories::Repositories;
use crate::reviews::{self, NextStep};
use crate::rows::outlines::{RunOutline, outlines};
use crate::rows::{self, NewRunRows};
use crate::run::{EndRun, RecheckRun, RunHandle, RunHandles, RunServices, WorkflowRun};
use crate::run_files::RunFiles;
use crate::run_queue::RunQueue;
use crate::store_retry::until_read;

/// Runs that are under way at once; the others wait as rows of the store.
const MAX_ACTIVE_RUNS: usize = 256;
/// A run that could not be started is tried again after this.
const START_RETRY_DELAY: Duration = Duration::from_secs(5);
/// A run that waits is looked at this often at least.
const MAX_TIMER: Duration = Duration::from_secs(24 * 3600);
/// A run whose actor crashed is settled after this: its supervisor has let go of it then.
const SETTLE_DELAY: Duration = Duration::from_secs(1);
/// Runs that started nothing and are kept, so that it can be looked up why.
const MAX_IGNORED_RUNS: usize = 500;

/// What the coordinator works with.
#[derive(Clone)]
pub(crate) struct CoordinatorServices {
    pub(crate) store: Store,
    pub(crate) queue: RunQueue,
    /// Runs under way: they outlive the coordinator's incarnations.
    pub(crate) handles: RunHandles,
    pub(crate) files: RunFiles,
    pub(crate) recovery: RunRecovery,
    /// For dispatches: which commit a branch has.
    pub(crate) repositories: Repositories,
    /// The supervisor of runs.
    pub(crate) runs: ChildRef<Supervisor>,
    /// What each run is given.
    pub(crate) run_services: RunServices,
    pub(crate) keep_runs: usize,
}

/// Starts runs.
pub struct RunCoordinator {
    services: CoordinatorServices,
    /// Ids of stored runs in the order they came.
    waiting: VecDeque<String>,
    /// The same ids.
    queued: HashSet<String>,
    /// What the previous incarnation left is known: nothing is started before, or it could be taken
    /// up while it runs.
    has_recovered: bool,
    /// Waits for the queue; it does not while there is no room for a run.
    listens: bool,
    /// Ids of runs whose events started nothing, the oldest first.
    ignored: VecDeque<String>,
}

impl RunCoordinator {
    pub(crate) fn new(services: CoordinatorServices) -> Self {
        Self {
            services,
            waiting: VecDeque::new(),
            queued: HashSet::new(),
            has_recovered: false,
            listens: false,
            ignored: VecDeque::new(),
        }
    }
}

impl Actor for RunCoordinator {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        for (run, handle) in self.services.handles.all() {
            Self::watch_end(run, handle, ctx);
        }
        let (recovery, handles) = (
            self.services.recovery.clone(),
            self.services.handles.clone(),
        );
        let recovered = async move { recovery.recover(|run| handles.contains(run)).await };
        let recovered = Box::pin(recovered).into_actor(self);
        ctx.spawn(recovered.map(|recovered, coordinator, ctx| {
            coordinator.ignored.extend(recovered.ignored);
            for run in recovered.unfinished {
                coordinator.enqueue(run);
            }
            for run in recovered.waiting {
                coordinator.wait_for(run, ctx);
            }
            coordinator.has_recovered = true;
            coordinator.take_arrivals(ctx);
        }));
    }
}

impl RunCoordinator {
    /// Takes what is in the queue, and starts what there is room for.
    fn take_arrivals(&mut self, ctx: &mut Context<Self>) {
        if !self.has_recovered {
            return;
        }
        let arrivals = self.services.queue.take();
        arrivals.runs.into_iter().for_each(|run| self.enqueue(run));
        if arrivals.has_overflowed {
            self.read_received(ctx);
        }
        self.start_next(ctx);
    }

    /// The queue was full: the store knows what is missing in it.
    fn read_received(&self, ctx: &mut Context<Self>) {
        let store = self.services.store.clone();
        let is_received = |run: &RunOutline| run.state == RunState::Received;
        let read = move || store.read(move |rows| outlines(rows, is_received));
        let stored = Box::pin(async move { until_read("", read).await }).into_actor(self);
        ctx.spawn(stored.map(|stored, coordinator, ctx| {
            // Where this process has the store no more the next leader reads it.
            for run in stored.unwrap_or_default() {
                coordinator.enqueue(run.id);
            }
            coordinator.start_next(ctx);
        }));
    }

    fn enqueue(&mut self, id: String) {
        if !self.services.handles.contains(&id) && self.queued.insert(id.clone()) {
            self.waiting.push_back(id);
        }
    }

    /// Starts those that wait, as far as there is room.
    fn start_next(&mut self, ctx: &mut Context<Self>) {
        while self.has_room() {
            let Some(id) = self.waiting.pop_front() else {
                break;
            };
            // Cancelled while it waited.
            if self.queued.remove(&id) {
                self.start(id, ctx);
            }
        }
        self.services.queue.set_taken(self.queued.len());
        if self.has_room() && !self.listens {
            self.listen(ctx);
        }
    }

    fn has_room(&self) -> bool {
        self.services.handles.len() < MAX_ACTIVE_RUNS
    }

    fn listen(&mut self, ctx: &mut Context<Self>) {
        self.listens = true;
        let queue = self.services.queue.clone();
        let arrived = async move { queue.arrived().await };
        ctx.spawn(arrived.into_actor(self).map(|(), coordinator, ctx| {
            coordinator.listens = false;
            coordinator.take_arrivals(ctx);
        }));
    }

    fn start(&mut self, id: String, ctx: &mut Context<Self>) {
        let services = self.services.run_services.clone();
        let (spec, ended) = WorkflowRun::spec(services, id.clone());
        let handle = RunHandle {
            actor: spec.reference(),
            ended,
        };
        // Known before it can end.
        self.services.handles.insert(id.clone(), handle.clone());
        self.services.run_services.arrivals.announce(&id);
        let runs = self.services.runs.clone();
        let starting = async move { runs.start_child(spec).await };
        let starting = starting.into_actor(self);
        ctx.spawn(starting.map(move |started, coordinator, ctx| match started {
            Ok(_) => Self::watch_end(id, handle, ctx),
            Err(error) => {
                // It is stored, and tried again.
                tracing::warn!(event = "run.not_started", run = %id, %error, "a run cannot be started now");
                coordinator.services.handles.remove(&id);
                coordinator.services.run_services.arrivals.remove(&id);
                ctx.run_later(START_RETRY_DELAY, move |coordinator, ctx| {
                    coordinator.queue(id, ctx);
                });
            }
        }));
    }

    fn queue(&mut self, id: String, ctx: &mut Context<Self>) {
        self.enqueue(id);
        self.start_next(ctx);
    }

    fn watch_end(id: String, handle: RunHandle, ctx: &mut Context<Self>) {
        let mut ended = handle.ended;
        let ended = async move {
            let state = ended.wait_for(Option::is_some).await;
            state.ok().and_then(|state| *state)
        };
        ctx.spawn(
            actix::fut::wrap_future::<_, Self>(ended).map(move |state, coordinator, ctx| {
                coordinator.run_ended(id, state, ctx);
            }),
        );
    }

    /// A run's actor has ended: in a state that is stored, or by a crash.
    fn run_ended(&mut self, id: String, state: Option<RunState>, ctx: &mut Context<Self>) {
        self.services.run_services.arrivals.remove(&id);
        match state {
            None => {
                ctx.run_later(SETTLE_DELAY, move |coordinator, ctx| {
                    coordinator.settle(id, ctx);
                });
                return;
            }
            Some(RunState::Ignored) => self.record_ignored(id.clone()),
            Some(_) => {}
        }
        self.services.handles.remove(&id);
        if state == Some(RunState::Waiting) {
            // What it was told, or had its turn in, while it came to wait.
            if self.services.run_services.parked.is_due(&id) {
                self.enqueue(id);
            } else {
                self.wait_for(id, ctx);
            }
        }
        self.take_arrivals(ctx);
    }

    /// A run that waits is started again when somebody has said something to it, or its time has
    /// come.
    fn wait_for(&self, id: String, ctx: &mut Context<Self>) {
        let key = id.clone();
        let store = &self.services.store;
        let step = store.read(move |rows| reviews::next_step(rows, &key, now_ms()));
        ctx.spawn(step.into_actor(self).map(move |step, coordinator, ctx| {
            let left = match step {
                Ok(NextStep::None) => return,
                Ok(NextStep::Now) => return coordinator.queue(id, ctx),
                Ok(NextStep::At(time)) => Duration::from_millis(time.saturating_sub(now_ms())),
                // Another process looks at it now.
                Err(error) if error.is_final() => return,
                Err(error) => {
                    tracing::warn!(event = "run.store_failed", run = %id, %error, "a run that waits cannot be looked at now");
                    START_RETRY_DELAY
                }
            };
            // Looked at again before: timers are not kept for weeks.
            let left = left.clamp(Duration::from_millis(1), MAX_TIMER);
            ctx.run_later(left, move |coordinator, ctx| coordinator.wait_for(id, ctx));
        }));
    }

    /// The record of a run whose actor crashed says whether it is started again.
    fn settle(&mut self, id: String, ctx: &mut Context<Self>) {
        let (recovery, key) = (self.services.recovery.clone(), id.clone());
        let settled = async move { recovery.settle(&key).await };
        let settled = Box::pin(settled).into_actor(self);
        ctx.spawn(settled.map(move |again, coordinator, ctx| {
            coordinator.services.handles.remove(&id);
            if again {
                coordinator.enqueue(id);
            }
            coordinator.take_arrivals(ctx);
        }));
    }

    /// Runs that started nothing do not crowd out those that did something: the oldest of them are
    /// forgotten.
    fn record_ignored(&mut self, run: String) {
        self.ignored.push_back(run);
        let excess = self.ignored.len().saturating_sub(MAX_IGNORED_RUNS);
        let forgotten: Vec<String> = self.ignored.drain(..excess).collect();
        if forgotten.is_empty() {
            return;
        }
        let (store, files) = (self.services.store.clone(), self.services.files.clone());
        actix_rt::spawn(async move {
            let rows = forgotten.clone();
            let stored = store.write(move |txn| {
                for run in &rows {
                    rows::forget(txn, run)?;
                }
                Ok::<_, StoreError>(())
            });
            match stored.await {
                Ok(()) => files.remove(forgotten),
                Err(error) => {
                    tracing::warn!(event = "run.store_failed", %error, "runs that started nothing cannot be forgotten now");
                }
            }
        });
    }

    /// Stores a run and its event, and starts it.
    fn store_run(
        &self,
        record: &RunRecord,
        event: &StoredEvent,
    ) -> ResponseActFuture<Self, Result<String, StoreError>> {
        let id = record.id.clone();
        let keep = self.services.keep_runs;
        let new = NewRunRows::new(record, event);
        let stored = self.services.store.write(move |rows| {
            new.put(rows)?;
            rows::forget_oldest(rows, keep)
        });
        Box::pin(
            stored
                .into_actor(self)
                .map(move |forgotten, coordinator, ctx| {
                    coordinator.services.files.remove(forgotten?);
                    coordinator.queue(id.clone(), ctx);
                    Ok(id)
                }),
        )
    }
}

impl Handler<StartEvent> for RunCoordinator {
    type Result = ResponseActFuture<Self, Result<String, StoreError>>;

    fn handle(&mut self, request: StartEvent, _: &mut Self::Context) -> Self::Result {
        let mut record = RunRecord::received(&request.event, request.cause);
        record.workflow_file = request.workflow;
        record.only_job = request.job;
        self.store_run(&record, &request.event)
    }
}

impl Handler<DispatchWorkflow> for RunCoordinator {
    type Result = ResponseActFuture<Self, Result<Result<String, DispatchFailure>, StoreError>>;

    fn handle(&mut self, request: DispatchWorkflow, _: &mut Self::Context) -> Self::Result {
        let (store, repositories) = (
            self.services.store.clone(),
            self.services.repositories.clone(),
        );
        let resolved = async move {
            let found = dispatch::event_at_head(&store, repositories, &request).await;
            (request, found)
        };
        Box::pin(Box::pin(resolved).into_actor(self).then(
            move |(request, found), coordinator, _| {
                let (event, file) = match found {
                    Ok(Ok(found)) => found,
                    Ok(Err(refused)) => {
                        return Box::pin(actix::fut::ready(Ok(Err(refused)))) as Self::Result;
                    }
                    Err(error) => return Box::pin(actix::fut::ready(Err(error))),
                };
                let mut record = RunRecord::received(&event, "dispatch".to_owned());
                record.workflow_file = Some(file);
                record.keep = request.keep || request.snapshots;
                record.snapshots = request.snapshots;
                let stored = coordinator.store_run(&record, &event);
                Box::pin(stored.map(|stored, _, _| stored.map(Ok)))
            },
        ))
    }
}

impl Handler<RepeatRun> for RunCoordinator {
    type Result = ResponseActFuture<Self, Result<Result<String, RepeatError>, StoreError>>;

    fn handle(&mut self, request: RepeatRun, _: &mut Self::Context) -> Self::Result {
        let RepeatRun {
            run,
            failed_only,
            job,
            keep,
            snapshots,
            from_step,
        } = request;
        let resume = from_step.map(|from| {
            self.services
                .run_services
                .jobs
                .kept
                .resume_point(&run, &from)
        });
        let resume = match resume.transpose() {
            Ok(resume) => resume,
            Err(refused) => {
                let refused = RepeatError::NoSnapshot(refused);
                return Box::pin(actix::fut::ready(Ok(Err(refused))));
            }
        };
        let options = RepeatOptions {
            failed_only: failed_only || resume.is_some(),
            job,
            keep,
            snapshots,
            resume,
        };
        let next = new_run_id();
        let store = &self.services.store;
        let stored = store.write(move |rows| repeat(rows, &run, &next, &options));
        Box::pin(stored.into_actor(self).map(|stored, coordinator, ctx| {
            if let Ok(Ok(id)) = &stored {
                coordinator.queue(id.clone(), ctx);
            }
            stored
        }))
    }
}

impl Handler<ReviewRun> for RunCoordinator {
    type Result = ResponseActFuture<Self, Result<Result<Vec<String>, ReviewError>, StoreError>>;

    fn handle(&mut self, request: ReviewRun, _: &mut Self::Context) -> Self::Result {
        let run = request.run.clone();
        let store = &self.services.store;
        let stored = store.write(move |rows| reviews::store(rows, &request, now_ms()));
        Box::pin(
            stored
                .into_actor(self)
                .map(move |stored, coordinator, ctx| {
                    if let Ok(Ok(_)) = &stored {
                        match coordinator.services.handles.get(&run) {
                            // One that is about to wait is looked at when it does.
                            Some(handle) => drop(handle.actor.tell(RecheckRun)),
                            None => coordinator.wait_for(run, ctx),
                        }
                    }
                    stored
                }),
        )
    }
}

impl Handler<CancelRun> for RunCoordinator {
    type Result = ResponseActFuture<Self, bool>;

    fn handle(
        &mut self,
        CancelRun { run, reason }: CancelRun,
        ctx: &mut Self::Context,
    ) -> Self::Result {
        self.take_arrivals(ctx);
        if self.queued.remove(&run) {
            self.waiting.retain(|waiting| *waiting != run);
            self.services.queue.set_taken(self.queued.len());
            let recovery = self.services.recovery.clone();
            // Its turn in its concurrency group is the next one's when it has ended.
            let held = self.services.run_services.parked.take(&run);
            let ended = async move {
                let ended = recovery.cancel_queued(&run, reason).await;
                drop(held);
                ended
            };
            return Box::pin(Box::pin(ended).into_actor(self));
        }
        let handle = self.services.handles.get(&run);
        let is_told = handle.is_some_and(|run| run.actor.tell(EndRun(reason.clone())).is_ok());
        // One that waits has no actor, or one that is about to end and listens no more.
        let key = run.clone();
        let store = &self.services.store;
        let stored = store.write(move |rows| reviews::cancel(rows, &key, reason));
        Box::pin(
            stored
                .into_actor(self)
                .map(move |stored, coordinator, ctx| {
                    let waits = stored.unwrap_or(false);
                    if waits && !coordinator.services.handles.contains(&run) {
                        coordinator.wait_for(run, ctx);
                    }
                    is_told || waits
                }),
        )
    }
}
