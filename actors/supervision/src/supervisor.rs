//! The supervisor: starts its children, hears how they end, and does what the policy says.
//!
//! ```text
//!  parent ── Stop ─▶ Supervisor ── Stop ─▶ IncarnationMonitor ── ping, stop, abort ─▶ child
//!                       ▲                    │
//!                       └─── ChildExited ────┘   (one monitor for each incarnation)
//!  peers ── StartChild, StopChild, ResumeChild ─▶ Supervisor
//! ```

use std::{sync::Arc, time::Duration};

use actix::{
    Actor, ActorContext, AsyncContext, Context, Handler, Message, ResponseFuture, Running,
};
use tokio::{sync::oneshot, time::Instant};

use crate::{
    child::Child,
    context::ChildContext,
    exit::Exit,
    messages::{Heartbeat, NoSuchChild, ResumeChild, StartChild, StartRefusal, StopChild},
    monitor::{IncarnationMonitor, commands},
    plan::{self, AfterStop, ChildPhase, ChildStatus, RestartStep},
    policy::{PastLimit, Restart, RestartDecision},
    spec::ChildCell,
    supervisor_config::SupervisorConfig,
    tree::ActorState,
};

/// An actor whose work is its children. Built from a
/// [`SupervisorSpec`](crate::SupervisorSpec); peers hold a
/// [`ChildRef<Supervisor>`](crate::ChildRef) to start children at run time.
pub struct Supervisor {
    /// The line to the supervisor above.
    context: ChildContext,
    config: Arc<SupervisorConfig>,
    /// The origin of the times the policy and the plan see.
    origin: Instant,
    /// In start order; those started at run time after the others.
    children: Vec<Child>,
    /// Set when this supervisor is to end as soon as its children are down.
    finishing: Option<FinishReason>,
    next_key: u64,
}

/// Why a supervisor ends.
enum FinishReason {
    Requested,
    Escalated(String),
}

/// Sent by a monitor to its supervisor: the incarnation has ended (or was given up).
#[derive(Message)]
#[rtype(result = "()")]
struct ChildExited {
    key: u64,
    incarnation: u64,
    exit: Exit,
}

impl Supervisor {
    pub(crate) fn new(context: ChildContext, config: Arc<SupervisorConfig>) -> Self {
        Self {
            context,
            config,
            origin: Instant::now(),
            children: Vec::new(),
            finishing: None,
            next_key: 0,
        }
    }
}

impl Actor for Supervisor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.context.node.detach_all();
        let config = Arc::clone(&self.config);
        for cell in &config.children {
            self.adopt(Arc::clone(cell), false);
        }
        self.proceed(ctx);
    }

    /// Refuses to stop before the children are down; when they are, it stops itself.
    fn stopping(&mut self, ctx: &mut Context<Self>) -> Running {
        self.finish(FinishReason::Requested);
        if self.next_step() == RestartStep::Finished {
            return Running::Stop;
        }
        self.proceed(ctx);
        Running::Continue
    }
}

impl Handler<ChildExited> for Supervisor {
    type Result = ();

    fn handle(&mut self, message: ChildExited, ctx: &mut Context<Self>) {
        let ChildExited {
            key,
            incarnation,
            exit,
        } = message;
        let found = self
            .children
            .iter()
            .position(|child| child.runs(key, incarnation));
        // An incarnation that was given up as hung may end much later: its end is known already.
        if let Some(index) = found {
            self.on_exit(index, &exit);
            self.proceed(ctx);
        }
    }
}

impl Handler<StartChild> for Supervisor {
    type Result = Result<(), StartRefusal>;

    fn handle(&mut self, message: StartChild, ctx: &mut Context<Self>) -> Self::Result {
        let StartChild { cell } = message;
        let limit = self.config.max_dynamic;
        if self.finishing.is_some() {
            return Err(StartRefusal::Stopping);
        }
        if self.find(cell.node().name()).is_some() {
            return Err(StartRefusal::Duplicate {
                id: cell.node().shared_name(),
            });
        }
        if self
            .children
            .iter()
            .filter(|child| child.status.dynamic)
            .count()
            >= limit
        {
            return Err(StartRefusal::Full { limit });
        }
        self.adopt(cell, true);
        self.proceed(ctx);
        Ok(())
    }
}

impl Handler<StopChild> for Supervisor {
    type Result = ResponseFuture<Result<(), NoSuchChild>>;

    fn handle(&mut self, message: StopChild, ctx: &mut Context<Self>) -> Self::Result {
        let Some(index) = self.find(&message.id) else {
            return Box::pin(async { Err(NoSuchChild { id: message.id }) });
        };
        let (done, stopped) = oneshot::channel();
        let child = &mut self.children[index];
        child.status.after_stop = Some(AfterStop::End);
        child.when_down.push(done);
        if !matches!(
            child.status.phase,
            ChildPhase::Running | ChildPhase::Stopping
        ) {
            self.end(index);
        }
        self.proceed(ctx);
        Box::pin(async {
            // Dropped unsent when this supervisor ends, which stops the child as well.
            let _ = stopped.await;
            Ok(())
        })
    }
}

impl Handler<ResumeChild> for Supervisor {
    type Result = ();

    fn handle(&mut self, message: ResumeChild, ctx: &mut Context<Self>) {
        let Some(index) = self.find(&message.id) else {
            return;
        };
        let child = &mut self.children[index];
        if self.finishing.is_none()
            && matches!(child.status.phase, ChildPhase::Parked | ChildPhase::Ended)
        {
            child.history.clear();
            child.status = ChildStatus::new(child.status.dynamic);
            self.proceed(ctx);
        }
    }
}

impl Handler<Heartbeat> for Supervisor {
    type Result = ();

    fn handle(&mut self, _: Heartbeat, _: &mut Context<Self>) {}
}

impl Supervisor {
    fn find(&self, id: &str) -> Option<usize> {
        self.children
            .iter()
            .position(|child| child.cell.node().name() == id)
    }

    fn adopt(&mut self, cell: Arc<dyn ChildCell>, dynamic: bool) {
        self.context
            .node
            .attach(cell.node(), cell.options().restart);
        self.next_key += 1;
        self.children.push(Child::new(self.next_key, cell, dynamic));
    }

    fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    fn next_step(&self) -> RestartStep {
        let statuses: Vec<ChildStatus> = self.children.iter().map(|child| child.status).collect();
        plan::next(
            &statuses,
            self.config.strategy,
            self.finishing.is_some(),
            self.now(),
        )
    }

    /// Takes steps until there is something to wait for.
    fn proceed(&mut self, ctx: &mut Context<Self>) {
        loop {
            match self.next_step() {
                RestartStep::Start(index) => self.start_child(index, ctx),
                RestartStep::Stop(index) => self.children[index].stop(),
                RestartStep::Wait(None) => return,
                RestartStep::Wait(Some(until)) => return self.proceed_at(until, ctx),
                RestartStep::Finished => return self.finished(ctx),
            }
        }
    }

    fn proceed_at(&self, until: Duration, ctx: &mut Context<Self>) {
        ctx.run_later(until.saturating_sub(self.now()), Self::proceed);
    }

    fn finished(&mut self, ctx: &mut Context<Self>) {
        match &self.finishing {
            Some(FinishReason::Escalated(reason)) => self.context.fail(reason.as_str()),
            _ => ctx.stop(),
        }
    }

    fn start_child(&mut self, index: usize, ctx: &mut Context<Self>) {
        let child = &mut self.children[index];
        let (commands, receive) = commands();
        let started = match child.start(commands) {
            Ok(started) => started,
            Err(error) => {
                let exit = Exit::FailedToStart(format!("no thread for it: {error}"));
                child.cell.node().not_started(&exit);
                return self.on_exit(index, &exit);
            }
        };
        let monitor = IncarnationMonitor {
            signals: started.signals,
            task: started.task,
            pings: child.cell.options().pings,
            commands: receive,
        };
        let (key, incarnation, supervisor) = (child.key, started.incarnation, ctx.address());
        actix_rt::spawn(async move {
            let exit = monitor.watch().await;
            // A supervisor that is gone has nothing to do for a child any more.
            supervisor.do_send(ChildExited {
                key,
                incarnation,
                exit,
            });
        });
    }

    fn on_exit(&mut self, index: usize, exit: &Exit) {
        let now = self.now();
        let config = Arc::clone(&self.config);
        let child = &mut self.children[index];
        child.record_exit(exit);
        match child.status.after_stop.take() {
            Some(AfterStop::Restart) if child.restart() != Restart::Temporary => child.idle(),
            Some(_) => self.end(index),
            None if !child.restart().applies_to(exit) => self.end(index),
            None => match child.decide(config.policy, now) {
                RestartDecision::Restart { after } => {
                    child.back_off(now, after);
                    self.mark_rest(index);
                }
                RestartDecision::GiveUp { failures } => self.give_up(index, failures, exit),
            },
        }
    }

    fn give_up(&mut self, index: usize, failures: u32, exit: &Exit) {
        let child = &mut self.children[index];
        let node = Arc::clone(child.cell.node());
        match child
            .cell
            .options()
            .past_limit
            .unwrap_or(self.config.past_limit)
        {
            PastLimit::Park => {
                child.status.phase = ChildPhase::Parked;
                node.parked(failures);
                self.mark_rest(index);
            }
            PastLimit::Escalate => {
                child.status.phase = ChildPhase::Ended;
                node.escalated(failures);
                let id = node.name();
                self.finish(FinishReason::Escalated(format!(
                    "{id} failed {failures} times, last: {exit}"
                )));
            }
        }
    }

    /// No incarnation follows; a child started at run time leaves the tree.
    fn end(&mut self, index: usize) {
        let child = &mut self.children[index];
        child.status = ChildStatus {
            phase: ChildPhase::Ended,
            after_stop: None,
            ..child.status
        };
        child.cell.node().set_state(ActorState::Ended);
        child.release();
        if child.status.dynamic {
            self.context.node.detach(child.cell.node());
            self.children.remove(index);
        }
    }

    fn mark_rest(&mut self, index: usize) {
        let strategy = self.config.strategy;
        self.change_statuses(|children| plan::mark_rest(children, index, strategy));
    }

    /// The first reason to end is kept.
    fn finish(&mut self, reason: FinishReason) {
        if self.finishing.is_none() {
            self.finishing = Some(reason);
            self.change_statuses(plan::mark_all);
        }
    }

    fn change_statuses(&mut self, change: impl FnOnce(&mut [ChildStatus])) {
        let mut statuses: Vec<ChildStatus> =
            self.children.iter().map(|child| child.status).collect();
        change(&mut statuses);
        for (child, status) in self.children.iter_mut().zip(statuses) {
            child.status = status;
        }
    }
}
