//! The operator's API: every question and command of the admin bridge.
//!
//! ```text
//! admin bridge --Get…, CancelAgentRun, …--> OperatorApi ──snapshot or transaction──▶ store
//!                                         └──TickTrigger, Tick──▶ Dispatcher
//! ```

mod commands;
mod configuration;
mod planning;

use std::path::PathBuf;

use actix::{Actor, Context, Handler, ResponseFuture};
use cluster_actors::vm_hosts::VmHosts;
use config_core::Environment;
use forge_core::RunId;
use orchestrator_core::Millis;
use orchestrator_core::admin::{AgentList, JournalPage, RunList, RunView, StatusView};
use orchestrator_core::run::{AgentRunState, Hold};
use supervision::ChildRef;
use tokio::sync::watch;

use crate::active_runs::ActiveRuns;
use crate::change_notifier::ChangeNotifier;
use crate::dispatcher::Dispatcher;
use crate::ledger::{self, Ledger, OpenRunCache, ProcessStatus};
use crate::live_config::ConfigWriter;
use crate::messages::{GetAgents, GetJournal, GetRun, GetRuns, GetStatus, OperatorError};
use crate::ticks::TickStats;

/// The actor.
#[derive(Clone)]
pub struct OperatorApi {
    pub(crate) ledger: Ledger,
    pub(crate) runs: ActiveRuns,
    /// Puts another configuration in force.
    pub(crate) config: ConfigWriter,
    /// The hosts of VMs, whose list is a part of it.
    pub(crate) vm_hosts: VmHosts,
    /// The file of the configuration.
    pub(crate) config_path: PathBuf,
    pub(crate) environment: Environment,
    pub(crate) ticks: watch::Receiver<TickStats>,
    pub(crate) dispatcher: ChildRef<Dispatcher>,
    pub(crate) notifier: ChangeNotifier,
    /// When the daemon started.
    pub(crate) started_at: Millis,
}

impl Actor for OperatorApi {
    type Context = Context<Self>;
}

type Reply<T> = ResponseFuture<Result<T, OperatorError>>;

fn no_run(id: &RunId) -> OperatorError {
    OperatorError::NotFound(format!("there is no run {id}"))
}

impl Handler<GetStatus> for OperatorApi {
    type Result = Reply<StatusView>;

    fn handle(&mut self, GetStatus: GetStatus, _: &mut Context<Self>) -> Self::Result {
        let (loaded, now) = (self.config.loaded(), self.ledger.now());
        let process = ProcessStatus {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: self.started_at,
            configured_at: loaded.loaded_at,
            ticks: *self.ticks.borrow(),
            warnings: loaded.warnings,
        };
        let read = self.ledger.read_open_runs(move |rows, open_runs| {
            ledger::status(rows, open_runs, &loaded.config, process, now)
        });
        Box::pin(async move { Ok(read.await?) })
    }
}

impl Handler<GetAgents> for OperatorApi {
    type Result = Reply<AgentList>;

    fn handle(&mut self, GetAgents { project }: GetAgents, _: &mut Context<Self>) -> Self::Result {
        let (config, now) = (self.ledger.config(), self.ledger.now());
        let read = self.ledger.read_open_runs(move |rows, open_runs| {
            ledger::agents(rows, open_runs, &config, project.as_deref(), now)
        });
        Box::pin(async move { Ok(read.await?) })
    }
}

impl Handler<GetRuns> for OperatorApi {
    type Result = Reply<RunList>;

    fn handle(&mut self, GetRuns(query): GetRuns, _: &mut Context<Self>) -> Self::Result {
        let read = self.ledger.read_open_runs(move |rows, open_runs| {
            let mut list = ledger::runs(rows, &query)?;
            for run in &mut list.runs {
                add_hold(open_runs, run);
            }
            Ok(list)
        });
        Box::pin(async move { Ok(read.await?) })
    }
}

/// Why a queued run waits, as the last tick decided.
fn add_hold(open_runs: &OpenRunCache, view: &mut RunView) {
    if view.state == AgentRunState::Queued.as_str() {
        let hold = open_runs.hold_of(&view.id).unwrap_or(Hold::NextTick);
        view.hold = Some(hold.to_string());
    }
}

impl Handler<GetRun> for OperatorApi {
    type Result = Reply<RunView>;

    fn handle(&mut self, GetRun(id): GetRun, _: &mut Context<Self>) -> Self::Result {
        let wanted = id.clone();
        let read = self.ledger.read_open_runs(move |rows, open_runs| {
            let run = ledger::run_record(rows, &wanted)?;
            Ok(run.map(|run| {
                let mut view = ledger::run_view(&run);
                add_hold(open_runs, &mut view);
                view
            }))
        });
        Box::pin(async move { read.await?.ok_or_else(|| no_run(&id)) })
    }
}

impl Handler<GetJournal> for OperatorApi {
    type Result = Reply<JournalPage>;

    fn handle(
        &mut self,
        GetJournal { after, limit }: GetJournal,
        _: &mut Context<Self>,
    ) -> Self::Result {
        let read = self
            .ledger
            .read(move |rows| ledger::journal(rows, after, limit));
        Box::pin(async move { Ok(read.await?) })
    }
}
