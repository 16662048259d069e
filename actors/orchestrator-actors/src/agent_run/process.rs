//! The agent process: started, reported, waited for.

use orchestrator_core::run::ProcessIdentity;
use orchestrator_engine::output::RunLog;
use orchestrator_engine::process::{
    AgentSpec as ProcessSpec, Confinement, Ended, ProcessKey, RunningAgent, StartError, StopCause,
    Stopper,
};

use crate::journal::Entry;

/// A process that is ready to be started.
pub(super) struct AgentProcess {
    pub(super) spec: ProcessSpec,
    pub(super) log: RunLog,
    /// The provider that the task was routed to.
    pub(super) provider: Option<String>,
    /// Journal entries of the preparation.
    pub(super) entries: Vec<Entry>,
    /// What the run's verdict must hold; known to its agent alone.
    pub(super) nonce: String,
}

/// A process that exists.
pub(super) struct StartedProcess {
    pub(super) identity: ProcessIdentity,
    pub(super) stopper: Stopper,
    pub(super) provider: Option<String>,
    pub(super) entries: Vec<Entry>,
}

impl AgentProcess {
    /// Starts the process, and waits for its end. `report` is told once it exists; it is stopped
    /// again when that answers `false`.
    pub(super) fn run(
        self,
        confinement: &Confinement,
        report: impl FnOnce(StartedProcess) -> bool,
    ) -> Result<Ended, StartError> {
        let level = self.spec.sandbox.level();
        let agent = RunningAgent::start(self.spec, confinement, self.log)?;
        let started = StartedProcess {
            identity: identity(agent.key(), level),
            stopper: agent.stopper(),
            provider: self.provider,
            entries: self.entries,
        };
        if !report(started) {
            agent.stopper().stop(StopCause::Cancelled);
        }
        Ok(agent.run())
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
