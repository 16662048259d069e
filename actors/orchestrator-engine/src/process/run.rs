//! Starting a run; [`super::monitor`] takes it to its end.

use std::process::Child;
use std::time::Instant;

use rustix::process::{Pid, WaitId, WaitIdOptions};
use tokio::net::unix::pipe;
use tokio::sync::{oneshot, watch};

use super::agent_process::{AgentProcess, Stopper};
use super::launch::{LaunchedProcess, launch};
use super::monitor::RunMonitor;
use super::previous_run::ProcessKey;
use super::proc_table;
use super::process_group::{Confinement, ProcessGroup};
use super::sandbox_status::SandboxStatus;
use super::spec::{ProcessReport, ProcessSpec, StartError};
use crate::output::RunLog;

/// A started agent: to be [run](Self::run), or it is neither watched nor ended.
#[must_use = "an agent that is not run is neither watched nor ended"]
#[derive(Debug)]
pub struct RunningAgent {
    key: ProcessKey,
    runtime: tokio::runtime::Runtime,
    process: AgentProcess,
}

/// How a child is watched: its output in the runtime of this thread, its end by a thread of its
/// own.
struct ChildWatch;

impl ChildWatch {
    fn start(
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

/// Blocks until a child has ended. It is not collected: its id, which is also that of its session
/// and group, is not given to another process before the run is over.
fn wait_for(pid: Pid) {
    let wait = || {
        rustix::process::waitid(
            WaitId::Pid(pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
        )
    };
    while wait().is_err_and(|error| error == rustix::io::Errno::INTR) {}
}

impl RunningAgent {
    /// Starts the program. Its output goes to `log`.
    ///
    /// # Errors
    /// [`StartError`] when it cannot be started; nothing is left behind then.
    pub fn start(
        spec: ProcessSpec,
        confinement: &Confinement,
        log: RunLog,
    ) -> Result<Self, StartError> {
        // Made first: what can be lacking is found out before there is a process.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StartError::Watch)?;
        let mut group = ProcessGroup::new(confinement, spec.run.as_str(), &spec.limits)
            .map_err(StartError::Confinement)?;
        let launched = launch(&spec, &group);
        let LaunchedProcess {
            child,
            leader,
            output,
            status,
        } = launched.inspect_err(|_| drop(group.close()))?;
        let mut child = child;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let row = pid
            .and_then(proc_table::row)
            .expect("a child that is not waited for stays in the table");
        group.set_leader(row);
        let status = match status.map(SandboxStatus::read_from).transpose() {
            Ok(status) => status,
            Err(()) => {
                let why = sandbox_text(&mut child, output);
                let _ = group.close();
                return Err(StartError::Sandbox(why));
            }
        };
        let first = status
            .as_ref()
            .and_then(|status| proc_table::row(status.first));
        if spec.sandbox.has_namespace() {
            group.in_namespace(first);
        }
        // The first process of the namespace stands for all of it.
        let row = first.unwrap_or(row);
        let key = ProcessKey {
            pid: row.pid.as_raw_nonzero().get(),
            started: row.started,
            boot: proc_table::boot_id(),
        };
        let watched = runtime.block_on(async { ChildWatch::start(&child, output) });
        let (gone, output) = match watched {
            Ok(watched) => watched,
            Err(error) => {
                group.signal(rustix::process::Signal::KILL);
                let _ = child.kill();
                let _ = child.wait();
                let _ = group.close();
                return Err(StartError::Watch(error));
            }
        };
        let (sender, stop) = watch::channel(None);
        Ok(Self {
            key,
            runtime,
            process: AgentProcess {
                child,
                leader,
                gone,
                output,
                status,
                input: spec.input,
                group,
                log,
                limits: spec.limits,
                directory: spec.folder,
                started: Instant::now(),
                stop,
                stopper: Stopper::new(sender),
            },
        })
    }

    /// Identifies the process for a later incarnation of the daemon: to be stored before anything
    /// else happens.
    pub fn key(&self) -> &ProcessKey {
        &self.key
    }

    /// A handle that ends the run.
    pub fn stopper(&self) -> Stopper {
        self.process.stopper.clone()
    }

    /// Blocks until the agent and everything it has started are gone.
    pub fn run(self) -> ProcessReport {
        let Self {
            runtime, process, ..
        } = self;
        let ended = runtime.block_on(async move { RunMonitor::new(process).until_end().await });
        // An end that never comes is not waited for.
        runtime.shutdown_background();
        ended
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
