//! Starting a run; what it is until it is watched ([`super::watched`]).

use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;
use std::time::Instant;

use rustix::process::Pid;
use tokio::sync::watch;

use super::launch::{Launched, launch};
use super::leftover::ProcessMark;
use super::limits::Limits;
use super::orphans::Leader;
use super::pen::{Confinement, Pen};
use super::proc_table;
use super::spec::{AgentInput, AgentSpec, Ended, StartError, StopCause};
use super::watched::Watch;
use crate::output::RunLog;

/// A started agent: to be [run](Self::run), or it is neither watched nor ended.
#[must_use = "an agent that is not run is neither watched nor ended"]
#[derive(Debug)]
pub struct RunningAgent {
    pub(super) child: Child,
    pub(super) leader: Leader,
    pub(super) mark: ProcessMark,
    pub(super) output: std::io::PipeReader,
    pub(super) input: AgentInput,
    pub(super) pen: Pen,
    pub(super) log: RunLog,
    pub(super) limits: Limits,
    pub(super) folder: PathBuf,
    pub(super) started: Instant,
    pub(super) stop: watch::Receiver<Option<StopCause>>,
    pub(super) stopper: Stopper,
}

/// Ends a run from any thread. The first cause counts.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<watch::Sender<Option<StopCause>>>);

impl Stopper {
    /// Asks for the end of the run; `false` when it was asked for before, or has ended.
    pub fn stop(&self, cause: StopCause) -> bool {
        let first = |asked: &mut Option<StopCause>| {
            let first = asked.is_none();
            asked.get_or_insert(cause);
            first
        };
        self.0.send_if_modified(first) && !self.0.is_closed()
    }
}

impl RunningAgent {
    /// Starts the program. Its output goes to `log`.
    ///
    /// # Errors
    /// [`StartError`] when it cannot be started; nothing is left behind then.
    pub fn start(
        spec: AgentSpec,
        confinement: &Confinement,
        log: RunLog,
    ) -> Result<Self, StartError> {
        let mut pen = Pen::new(confinement, spec.run.as_str(), &spec.limits)
            .map_err(StartError::Confinement)?;
        let launched = launch(&spec, &pen);
        let Launched {
            child,
            leader,
            output,
        } = launched.inspect_err(|_| drop(pen.close()))?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let row = pid
            .and_then(proc_table::row)
            .expect("a child that is not waited for stays in the table");
        pen.led_by(row);
        let mark = ProcessMark {
            pid: row.pid.as_raw_nonzero().get(),
            started: row.started,
            boot: proc_table::boot_id(),
        };
        let (sender, stop) = watch::channel(None);
        Ok(Self {
            child,
            leader,
            mark,
            output,
            input: spec.input,
            pen,
            log,
            limits: spec.limits,
            folder: spec.folder,
            started: Instant::now(),
            stop,
            stopper: Stopper(Arc::new(sender)),
        })
    }

    /// Names the process for a later life of the daemon: to be stored before anything else happens.
    pub fn mark(&self) -> &ProcessMark {
        &self.mark
    }

    /// A handle that ends the run.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Blocks until the agent and everything it has started are gone.
    pub fn run(self) -> Ended {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.expect("a runtime of one thread needs only a few descriptors");
        let ended = runtime.block_on(async move { Watch::begin(self).until_the_end().await });
        // A folder count that is still under way, or an end that never comes, is not waited for.
        runtime.shutdown_background();
        ended
    }
}
