//! A run: one actor for each agent process.
//!
//! ```text
//! Dispatcher ──starts──▶ AgentRun ──thread──▶ pipeline: workspace ─▶ process ─▶ result ─▶ ledger (and its outbox)
//!                           │
//!                           └── stop: ends the process, waits for the thread
//! ```
//! All blocking work of a run is on a thread of its own, which stores each transition before it
//! goes on. The actor gives the process a place in the tree, and an end within the time of a stop.

mod agent_paths;
mod assignment;
mod base_commit;
mod log_throttle;
mod model_route;
mod pipeline;
mod prepare_error;
mod process;
mod process_spec;
mod result;
mod sandbox_view;
mod services;
mod start_delay;
#[cfg(test)]
mod tests;
mod vm;
mod workspace;

use std::time::Duration;

use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Message, Running};
use forge_core::RunId;
use orchestrator_engine::process::StopCause;
use supervision::{ChildSpec, Restart};

pub(crate) use self::services::AgentRunServices;
pub(crate) use self::start_delay::delay_start;
use crate::ledger::RunStart;

/// The actor.
pub(crate) struct AgentRun {
    run: RunId,
    request: Option<RunStart>,
    services: AgentRunServices,
    /// The thread has recorded the end.
    is_finished: bool,
}

/// The thread of the run has ended.
#[derive(Message)]
#[rtype(result = "()")]
struct ThreadEnded;

/// What is added to an agent's grace when a stop waits for its process: the second kill, the last
/// writes.
const STOP_MARGIN: Duration = Duration::from_secs(8);

impl AgentRun {
    /// The spec of a run's actor. It is never restarted: a run starts once.
    pub(crate) fn spec(services: AgentRunServices, request: RunStart) -> ChildSpec<Self> {
        let run = request.run.id.clone();
        // The name of an attempt that was delayed may still be taken.
        let name = match services.runs.start_delays(&run) {
            0 => run.to_string(),
            times => format!("{run}.{times}"),
        };
        let config = services.ledger.config();
        let grace = config
            .agent(&request.run.home, &request.run.agent)
            .map_or(Duration::from_secs(5), |agent| agent.limits.grace);
        let mut request = Some(request);
        ChildSpec::new(name, move |_| Self {
            run: run.clone(),
            request: request.take(),
            services: services.clone(),
            is_finished: false,
        })
        .restart(Restart::Temporary)
        .shutdown(grace + STOP_MARGIN)
        .capacity(8)
    }
}

impl Actor for AgentRun {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let Some(request) = self.request.take() else {
            ctx.stop();
            return;
        };
        let (services, address) = (self.services.clone(), ctx.address());
        let run = request.run.clone();
        let work = move || {
            let delay = pipeline::execute(&services, &request);
            address.do_send(ThreadEnded);
            if let Some(delay) = delay {
                // Active meanwhile, so that no tick starts it; it is queued, and can be cancelled.
                std::thread::park_timeout(delay);
                services.runs.end_delay(&request.run.id);
                services.notifier.ticks.request();
            }
        };
        let thread = std::thread::Builder::new().name(format!("run-{}", self.run));
        if let Err(error) = thread.spawn(work) {
            self.is_finished = true;
            delay_start(&self.services, run, &format!("no thread: {error}"));
            ctx.stop();
        }
    }

    /// A stop ends the process; the actor goes when its thread has stored the end.
    fn stopping(&mut self, _: &mut Context<Self>) -> Running {
        if self.is_finished {
            return Running::Stop;
        }
        if self.services.runs.stop(&self.run, StopCause::Shutdown) {
            return Running::Continue;
        }
        Running::Stop
    }
}

impl Handler<ThreadEnded> for AgentRun {
    type Result = ();

    fn handle(&mut self, ThreadEnded: ThreadEnded, ctx: &mut Context<Self>) {
        self.is_finished = true;
        ctx.stop();
    }
}
