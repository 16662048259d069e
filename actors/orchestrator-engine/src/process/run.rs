//! Starting a run; what it is until it is watched ([`super::watched`]).

use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;
use std::time::Instant;

use rustix::process::{Pid, WaitId, WaitIdOptions};
use tokio::net::unix::pipe;
use tokio::sync::{oneshot, watch};

use super::launch::{Launched, launch};
use super::leftover::ProcessMark;
use super::limits::Limits;
use super::orphans::Leader;
use super::pen::{Confinement, Pen};
use super::proc_table;
use super::sandbox_status::SandboxStatus;
use super::spec::{AgentInput, AgentSpec, Ended, StartError, StopCause};
use super::watched::Watch;
use crate::output::RunLog;

/// A started agent: to be [run](Self::run), or it is neither watched nor ended.
#[must_use = "an agent that is not run is neither watched nor ended"]
#[derive(Debug)]
pub struct RunningAgent {
    child: Child,
    leader: Leader,
    mark: ProcessMark,
    runtime: tokio::runtime::Runtime,
    gone: oneshot::Receiver<()>,
    output: pipe::Receiver,
    status: Option<SandboxStatus>,
    input: AgentInput,
    pen: Pen,
    log: RunLog,
    limits: Limits,
    folder: PathBuf,
    started: Instant,
    stop: watch::Receiver<Option<StopCause>>,
    stopper: Stopper,
}

/// Everything of a run but the runtime that watches it.
pub(super) struct Watched {
    pub(super) child: Child,
    pub(super) leader: Leader,
    /// Told once the first process has ended.
    pub(super) gone: oneshot::Receiver<()>,
    pub(super) output: pipe::Receiver,
    pub(super) status: Option<SandboxStatus>,
    pub(super) input: AgentInput,
    pub(super) pen: Pen,
    pub(super) log: RunLog,
    pub(super) limits: Limits,
    pub(super) folder: PathBuf,
    pub(super) started: Instant,
    pub(super) stop: watch::Receiver<Option<StopCause>>,
    pub(super) stopper: Stopper,
}

/// How a child is watched: its output in the runtime of this thread, its end by a thread of its own.
struct ChildWatch;

impl ChildWatch {
    fn begin(
        child: &Child,
        output: std::io::PipeReader,
    ) -> std::io::Result<(oneshot::Receiver<()>, pipe::Receiver)> {
        let pid = Pid::from_child(child);
        let output = pipe::Receiver::from_owned_fd(output.into())?;
        let (sender, gone) = oneshot::channel();
        let thread = std::thread::Builder::new().name("agent-wait".to_owned());
        thread.spawn(move || {
            wait_for(pid);
            let _ = sender.send(());
        })?;
        Ok((gone, output))
    }
}

/// Blocks until a child has ended. It is not collected: its id, which is also that of its session and
/// group, is not given to another process before the run is over.
fn wait_for(pid: Pid) {
    let wait = || {
        rustix::process::waitid(
            WaitId::Pid(pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
        )
    };
    while wait().is_err_and(|error| error == rustix::io::Errno::INTR) {}
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
        // Made first: what can be lacking is found out before there is a process.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StartError::Watch)?;
        let mut pen = Pen::new(confinement, spec.run.as_str(), &spec.limits)
            .map_err(StartError::Confinement)?;
        let launched = launch(&spec, &pen);
        let Launched {
            child,
            leader,
            output,
            status,
        } = launched.inspect_err(|_| drop(pen.close()))?;
        let mut child = child;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let row = pid
            .and_then(proc_table::row)
            .expect("a child that is not waited for stays in the table");
        pen.led_by(row);
        let status = match status.map(SandboxStatus::of).transpose() {
            Ok(status) => status,
            Err(()) => {
                let why = sandbox_text(&mut child, output);
                let _ = pen.close();
                return Err(StartError::Sandbox(why));
            }
        };
        let first = status
            .as_ref()
            .and_then(|status| proc_table::row(status.first));
        if spec.sandbox.has_namespace() {
            pen.in_namespace(first);
        }
        // The first process of the namespace stands for all of it.
        let row = first.unwrap_or(row);
        let mark = ProcessMark {
            pid: row.pid.as_raw_nonzero().get(),
            started: row.started,
            boot: proc_table::boot_id(),
        };
        let watched = runtime.block_on(async { ChildWatch::begin(&child, output) });
        let (gone, output) = match watched {
            Ok(watched) => watched,
            Err(error) => {
                pen.signal(rustix::process::Signal::KILL);
                let _ = child.kill();
                let _ = child.wait();
                let _ = pen.close();
                return Err(StartError::Watch(error));
            }
        };
        let (sender, stop) = watch::channel(None);
        Ok(Self {
            child,
            leader,
            mark,
            runtime,
            gone,
            output,
            status,
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
        let (runtime, watched) = self.into_watched();
        let ended = runtime.block_on(async move { Watch::begin(watched).until_the_end().await });
        // An end that never comes is not waited for.
        runtime.shutdown_background();
        ended
    }

    fn into_watched(self) -> (tokio::runtime::Runtime, Watched) {
        let watched = Watched {
            child: self.child,
            leader: self.leader,
            gone: self.gone,
            output: self.output,
            status: self.status,
            input: self.input,
            pen: self.pen,
            log: self.log,
            limits: self.limits,
            folder: self.folder,
            started: self.started,
            stop: self.stop,
            stopper: self.stopper,
        };
        (self.runtime, watched)
    }
}

/// What the sandbox printed before it gave up.
fn sandbox_text(child: &mut Child, output: std::io::PipeReader) -> String {
    use std::io::Read as _;
    let _ = child.kill();
    let _ = child.wait();
    let mut text = Vec::new();
    // Its only writer has ended.
    let _ = output.take(4096).read_to_end(&mut text);
    forge_core::text::one_line(&String::from_utf8_lossy(&text), 300)
}
