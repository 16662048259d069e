//! A started agent, and the handle that stops it.

use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;
use std::time::Instant;

use tokio::net::unix::pipe;
use tokio::sync::{oneshot, watch};

use super::limits::ProcessLimits;
use super::process_group::ProcessGroup;
use super::reaper::RegisteredLeader;
use super::sandbox_status::SandboxStatus;
use super::spec::{AgentInput, StopCause};
use crate::output::RunLog;

/// Everything of a started agent.
#[derive(Debug)]
pub(super) struct AgentProcess {
    pub(super) child: Child,
    pub(super) leader: RegisteredLeader,
    /// Resolves once the first process has ended.
    pub(super) gone: oneshot::Receiver<()>,
    pub(super) output: pipe::Receiver,
    pub(super) status: Option<SandboxStatus>,
    pub(super) input: AgentInput,
    pub(super) group: ProcessGroup,
    pub(super) log: RunLog,
    pub(super) limits: ProcessLimits,
    /// Its working directory.
    pub(super) directory: PathBuf,
    pub(super) started: Instant,
    pub(super) stop: watch::Receiver<Option<StopCause>>,
    pub(super) stopper: Stopper,
}

/// Ends a run from any thread. The first cause counts.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<watch::Sender<Option<StopCause>>>);

/// Hears what a [`Stopper`] requests.
#[derive(Debug)]
pub struct StopSignal(watch::Receiver<Option<StopCause>>);

impl StopSignal {
    /// Resolves once the end is requested; never without a request.
    pub async fn requested(&mut self) -> StopCause {
        match self.0.wait_for(Option::is_some).await.map(|cause| *cause) {
            Ok(Some(cause)) => cause,
            _ => std::future::pending().await,
        }
    }
}

impl Stopper {
    /// A stopper for what is no process of this machine, and what hears it.
    pub fn pair() -> (Self, StopSignal) {
        let (sender, stop) = watch::channel(None);
        (Self::new(sender), StopSignal(stop))
    }

    pub(super) fn new(sender: watch::Sender<Option<StopCause>>) -> Self {
        Self(Arc::new(sender))
    }

    /// Requests the end of the run; `false` when it was requested before, or has ended.
    pub fn stop(&self, cause: StopCause) -> bool {
        let first = |requested: &mut Option<StopCause>| {
            let first = requested.is_none();
            requested.get_or_insert(cause);
            first
        };
        self.0.send_if_modified(first) && !self.0.is_closed()
    }
}
