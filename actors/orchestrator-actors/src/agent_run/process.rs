//! The agent process: started, reported, waited for.

use orchestrator_core::run::ProcessIdentity;
use orchestrator_engine::output::RunLog;
use orchestrator_engine::process::{
    Confinement, ProcessKey, ProcessReport, ProcessSpec, RunningAgent, StartError, StopCause,
    Stopper,
};

use super::vm::{VmError, VmPlan};
use super::workspace::Commits;
use crate::journal::RecordedEvent;
use crate::ledger::RunPlace;

/// A process that is ready to be started.
pub(super) struct AgentLaunch {
    pub(super) spec: ProcessSpec,
    pub(super) log: RunLog,
    /// The VM that it runs in; else it is a process of this machine.
    pub(super) vm: Option<VmPlan>,
    /// The provider that the task was routed to.
    pub(super) provider: Option<String>,
    /// Journal entries of the preparation.
    pub(super) entries: Vec<RecordedEvent>,
    /// What the run's verdict must hold; known to its agent alone.
    pub(super) nonce: String,
}

/// A process that exists, or a VM for it.
pub(super) struct StartedProcess {
    pub(super) place: RunPlace,
    pub(super) provider: Option<String>,
    pub(super) entries: Vec<RecordedEvent>,
}

impl AgentLaunch {
    /// Starts the process, and waits for its end; says where its commits are. `stoppable` gets what
    /// ends it, `report` is told once it exists; it is stopped again when that answers `false`.
    pub(super) fn run(
        self,
        confinement: &Confinement,
        stoppable: impl FnOnce(Stopper),
        report: impl FnOnce(StartedProcess) -> bool,
    ) -> Result<(ProcessReport, Commits), ProcessError> {
        let (provider, entries) = (self.provider, self.entries);
        let started = |place| StartedProcess {
            place,
            provider,
            entries,
        };
        if let Some(vm) = self.vm {
            let (stopper, signal) = Stopper::pair();
            stoppable(stopper);
            let report = |vm| report(started(RunPlace::Vm(vm)));
            let (ended, bundle) = vm.run(&self.spec, self.log, signal, report)?;
            return Ok((ended, bundle.map_or(Commits::None, Commits::Bundle)));
        }
        let level = self.spec.sandbox.level();
        let agent = RunningAgent::start(self.spec, confinement, self.log)?;
        stoppable(agent.stopper());
        if !report(started(RunPlace::Process(identity(agent.key(), level)))) {
            agent.stopper().stop(StopCause::Cancelled);
        }
        Ok((agent.run(), Commits::InWorktree))
    }
}

/// Why an agent came to no end of its own.
#[derive(Debug)]
pub(super) enum ProcessError {
    Start(StartError),
    Vm(VmError),
}

impl From<StartError> for ProcessError {
    fn from(error: StartError) -> Self {
        Self::Start(error)
    }
}

impl From<VmError> for ProcessError {
    fn from(error: VmError) -> Self {
        Self::Vm(error)
    }
}

fn identity(key: &ProcessKey, level: &str) -> ProcessIdentity {
    ProcessIdentity {
        pid: key.pid.unsigned_abs(),
        start_ticks: key.started,
        boot_id: key.boot.clone(),
        isolation: Some(level.to_owned()),
    }
}
