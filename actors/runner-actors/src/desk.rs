//! The desk: starts stored runs, ends them when asked, and takes up what a former life left.
//!
//! ```text
//! RunnerIntake, the clock, runs ─▶ arrived ids ─▶ waiting ids ─▶ at most ACTIVE runs
//! StartEvent, Dispatch ─▶ one transaction ──────────▲               │ RunEnded
//!                                  desk's start ── take_up ◀────────┘ (gone without an end)
//! ```

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseActFuture,
    ResponseFuture, WrapFuture,
};
use runner_core::state::RunState;
use store::StoreError;
use supervision::{ChildRef, ChildSpec, Restart, Supervisor};

use crate::clock::now_ms;
use crate::dispatch;
use crate::event::StoredEvent;
use crate::messages::{CancelRun, Dispatch, NotDispatched, NotRepeated, RepeatRun, StartEvent};
use crate::records::RunRecord;
use crate::repeat::repeat;
use crate::rows::{self, NewRun};
use crate::run::{End, Ledger, WorkflowRun};
use crate::service::Shared;
use crate::takeup::{self, take_up};

/// Runs that are under way at once; the others wait as rows of the store.
const ACTIVE: usize = 256;
/// How often the desk looks for runs that went away without saying so.
const LOOK: Duration = Duration::from_secs(5);

/// Starts runs.
pub struct RunDesk {
    shared: Arc<Shared>,
    runs: ChildRef<Supervisor>,
    jobs: ChildRef<Supervisor>,
    /// Ids of stored runs in the order they came.
    waiting: VecDeque<String>,
    /// The same ids.
    queued: HashSet<String>,
    /// Being handed to the supervisor.
    starting: HashSet<String>,
    /// What a former life left is known: nothing that arrived is started before, or it could be taken up while it runs.
    took_up: bool,
}

impl RunDesk {
    pub(crate) fn new(
        shared: Arc<Shared>,
        runs: ChildRef<Supervisor>,
        jobs: ChildRef<Supervisor>,
    ) -> Self {
        Self {
            shared,
            runs,
            jobs,
            waiting: VecDeque::new(),
            queued: HashSet::new(),
            starting: HashSet::new(),
            took_up: false,
        }
    }
}

/// A new run's id: in the order of time.
pub(crate) fn new_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// Stored runs have arrived: [`Shared::start`]. One that is lost costs time: the desk looks by itself as well.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Arrived;

/// A run's actor has ended. Sent by it.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct RunEnded(pub(crate) String);

impl Actor for RunDesk {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let shared = Arc::clone(&self.shared);
        let left = async move { take_up(&shared).await };
        ctx.spawn(Box::pin(left).into_actor(self).map(|runs, desk, ctx| {
            for run in runs {
                desk.queue(run, ctx);
            }
            desk.took_up = true;
            desk.take_arrived(ctx);
        }));
        ctx.run_interval(LOOK, |desk, ctx| desk.look(ctx));
    }
}

impl RunDesk {
    fn take_arrived(&mut self, ctx: &mut Context<Self>) {
        if self.took_up {
            let arrived = self.shared.arrived.lock().take();
            arrived.into_iter().for_each(|run| self.enqueue(run));
            self.start_next(ctx);
        }
    }

    fn queue(&mut self, id: String, ctx: &mut Context<Self>) {
        self.enqueue(id);
        self.start_next(ctx);
    }

    fn enqueue(&mut self, id: String) {
        let known = self.starting.contains(&id) || self.shared.started.lock().contains_key(&id);
        if !known && self.queued.insert(id.clone()) {
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
        self.shared.figures.waiting(self.queued.len());
        let has_room = self.has_room();
        let missed = self.shared.arrived.lock().note_room(has_room);
        // They came while there was no room, and nobody told of them.
        if missed {
            self.take_arrived(ctx);
        }
    }

    fn has_room(&self) -> bool {
        self.starting.len() + self.shared.started.lock().len() < ACTIVE
    }

    fn start(&mut self, id: String, ctx: &mut Context<Self>) {
        let (shared, jobs, key) = (Arc::clone(&self.shared), self.jobs.clone(), id.clone());
        let spec = ChildSpec::new(id.clone(), move |_| {
            WorkflowRun::new(Arc::clone(&shared), jobs.clone(), key.clone())
        });
        let spec = spec
            .restart(Restart::Temporary)
            .shutdown(Duration::from_secs(20));
        let runs = self.runs.clone();
        // Known before it can end.
        self.shared
            .started
            .lock()
            .insert(id.clone(), spec.reference());
        self.starting.insert(id.clone());
        let starting = async move { runs.start_child(spec).await };
        ctx.spawn(starting.into_actor(self).map(move |started, desk, ctx| {
            desk.starting.remove(&id);
            if let Err(error) = started {
                // It is stored, and tried again.
                tracing::warn!(event = "run.not_started", run = %id, %error, "a run cannot be started now");
                desk.shared.started.lock().remove(&id);
                ctx.run_later(LOOK, move |desk, ctx| desk.queue(id, ctx));
            }
        }));
    }

    /// Runs whose actor is gone although nobody said so: their records are looked at.
    fn look(&mut self, ctx: &mut Context<Self>) {
        let gone: Vec<String> = {
            let started = self.shared.started.lock();
            let gone = started.iter().filter(|(id, run)| {
                run.incarnation().is_none() && !self.starting.contains(id.as_str())
            });
            gone.map(|(id, _)| id.clone()).collect()
        };
        for id in gone {
            self.settle(id, ctx);
        }
        self.take_arrived(ctx);
    }

    fn settle(&mut self, id: String, ctx: &mut Context<Self>) {
        self.shared.started.lock().remove(&id);
        let shared = Arc::clone(&self.shared);
        let settled = async move { takeup::settle(&shared, &id).await };
        ctx.spawn(Box::pin(settled).into_actor(self).map(|again, desk, ctx| {
            if let Some(id) = again {
                desk.queue(id, ctx);
            }
        }));
    }

    /// Stores a run and its event, and starts it.
    fn store_run(
        &self,
        record: &RunRecord,
        event: &StoredEvent,
    ) -> ResponseActFuture<Self, Result<String, StoreError>> {
        let id = record.id.clone();
        let keep = self.shared.settings.keep_runs;
        let new = NewRun::of(record, event);
        let stored = self.shared.store.write(move |rows| {
            new.put(rows)?;
            rows::forget_oldest(rows, keep)
        });
        Box::pin(stored.into_actor(self).map(move |gone, desk, ctx| {
            for run in gone? {
                desk.shared.remove_files(&run);
            }
            desk.queue(id.clone(), ctx);
            Ok(id)
        }))
    }
}

impl Handler<Arrived> for RunDesk {
    type Result = ();

    fn handle(&mut self, Arrived: Arrived, ctx: &mut Self::Context) {
        self.take_arrived(ctx);
    }
}

impl Handler<RunEnded> for RunDesk {
    type Result = ();

    fn handle(&mut self, RunEnded(id): RunEnded, ctx: &mut Self::Context) {
        self.shared.started.lock().remove(&id);
        self.take_arrived(ctx);
    }
}

/// The record of a run that an event starts.
pub(crate) fn received(event: &StoredEvent, delivery: String) -> RunRecord {
    RunRecord {
        id: new_id(),
        state: RunState::Received,
        reason: None,
        repository: event.repository.clone(),
        event: event.name().to_owned(),
        action: event.action().map(str::to_owned),
        reference: event.reference.clone(),
        sha: event.sha.clone(),
        actor: event.actor.clone(),
        delivery,
        workflow_file: None,
        name: None,
        only_job: None,
        number: 0,
        attempt: 1,
        taken_up: 0,
        repeats: None,
        repeated_by: None,
        repository_url: event.html_url.clone(),
        job_order: Vec::new(),
        created_at: now_ms(),
        started_at: None,
        ended_at: None,
        jobs: Vec::new(),
    }
}

impl Handler<StartEvent> for RunDesk {
    type Result = ResponseActFuture<Self, Result<String, StoreError>>;

    fn handle(&mut self, order: StartEvent, _: &mut Self::Context) -> Self::Result {
        let mut record = received(&order.event, order.cause);
        record.workflow_file = order.workflow;
        record.only_job = order.job;
        self.store_run(&record, &order.event)
    }
}

impl Handler<Dispatch> for RunDesk {
    type Result = ResponseActFuture<Self, Result<Result<String, NotDispatched>, StoreError>>;

    fn handle(&mut self, order: Dispatch, _: &mut Self::Context) -> Self::Result {
        let shared = Arc::clone(&self.shared);
        let asked = async move {
            let event = dispatch::event_of(&shared, &order).await;
            (order, event)
        };
        Box::pin(
            Box::pin(asked)
                .into_actor(self)
                .then(move |(order, event), desk, _| {
                    let event = match event {
                        Ok(Ok(event)) => event,
                        Ok(Err(refused)) => {
                            return Box::pin(actix::fut::ready(Ok(Err(refused)))) as Self::Result;
                        }
                        Err(error) => return Box::pin(actix::fut::ready(Err(error))),
                    };
                    let mut record = received(&event, "dispatch".to_owned());
                    record.workflow_file = Some(order.workflow);
                    Box::pin(
                        desk.store_run(&record, &event)
                            .map(|stored, _, _| stored.map(Ok)),
                    )
                }),
        )
    }
}

impl Handler<RepeatRun> for RunDesk {
    type Result = ResponseActFuture<Self, Result<Result<String, NotRepeated>, StoreError>>;

    fn handle(&mut self, RepeatRun { run }: RepeatRun, _: &mut Self::Context) -> Self::Result {
        let next = new_id();
        let stored = self
            .shared
            .store
            .write(move |rows| repeat(rows, &run, &next));
        Box::pin(stored.into_actor(self).map(|stored, desk, ctx| {
            if let Ok(Ok(id)) = &stored {
                desk.queue(id.clone(), ctx);
            }
            stored
        }))
    }
}

impl Handler<CancelRun> for RunDesk {
    type Result = ResponseFuture<bool>;

    fn handle(
        &mut self,
        CancelRun { run, reason }: CancelRun,
        ctx: &mut Self::Context,
    ) -> Self::Result {
        self.take_arrived(ctx);
        if self.queued.remove(&run) {
            self.waiting.retain(|waiting| *waiting != run);
            let shared = Arc::clone(&self.shared);
            return Box::pin(async move {
                match Ledger::load(&shared, &run).await {
                    Some(mut ledger) => {
                        ledger.end(RunState::Cancelled, Some(reason)).await;
                        true
                    }
                    None => false,
                }
            });
        }
        let found = self.shared.started.lock().get(&run).cloned();
        let told = found.is_some_and(|run| run.tell(End(reason)).is_ok());
        Box::pin(async move { told })
    }
}
