//! What is asked of a process, and how it ended.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use forge_core::RunId;

use super::environment::ChildEnvironment;
use super::limits::{ProcessLimits, Resource};
use super::sandbox::{Sandbox, View};
use crate::exhaustion;
use crate::output::{LogError, LogSummary};

/// One agent process to start.
#[derive(Debug, Clone)]
pub struct ProcessSpec {
    /// The run it belongs to.
    pub run: RunId,
    /// The program; an absolute path, or a name found in the child's `PATH`.
    pub program: PathBuf,
    /// Its arguments. Nothing is ever handed to a shell from here.
    pub arguments: Vec<OsString>,
    /// Everything it gets of the environment.
    pub environment: ChildEnvironment,
    /// Its working folder.
    pub folder: PathBuf,
    /// What it reads on standard input.
    pub input: AgentInput,
    /// What it may use.
    pub limits: ProcessLimits,
    /// How far it is kept apart.
    pub sandbox: Sandbox,
    /// What it does not see of the host; only a sandbox can hide anything.
    pub view: View,
}

/// What an agent reads on standard input.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum AgentInput {
    /// Nothing: the end, at once.
    #[default]
    Closed,
    /// This text, then the end.
    Text(Vec<u8>),
}

impl std::fmt::Debug for AgentInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Closed => f.write_str("Closed"),
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
        }
    }
}

/// Why a process could not be started. Nothing was left behind.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program is missing, not executable, or its folder is.
    #[error("cannot start {}: {source}; is it installed, and does its working folder exist?", program.display())]
    Program {
        /// What was to be started.
        program: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// No pipe could be made.
    #[error("cannot make a pipe for the agent's output: {0}; raise the limit of open files")]
    Pipe(io::Error),
    /// The run's cgroup could not be made.
    #[error("cannot make the run's cgroup: {0}; is the same run still being ended?")]
    Confinement(io::Error),
    /// The run's log could not be made.
    #[error(transparent)]
    Log(#[from] LogError),
    /// What watches the run could not be made.
    #[error("cannot watch the agent: {0}; raise the limits of open files and of memory")]
    Watch(io::Error),
    /// The sandbox could not be made.
    #[error("cannot make the agent's sandbox: {0}")]
    Sandbox(String),
}

impl StartError {
    /// Whether descriptors, threads, memory or disk ran out: the same start works later.
    pub fn is_exhaustion(&self) -> bool {
        match self {
            Self::Program { source, .. } => exhaustion::of_io(source),
            Self::Pipe(error) | Self::Confinement(error) | Self::Watch(error) => {
                exhaustion::of_io(error)
            }
            Self::Log(error) => exhaustion::of_text(&error.to_string()),
            Self::Sandbox(text) => exhaustion::of_text(text),
        }
    }
}

/// Why somebody else ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// A person asked for it.
    Cancelled,
    /// A newer run took its place.
    Superseded,
    /// The daemon stops.
    Shutdown,
}

/// What made a run end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndCause {
    /// The process ended by itself.
    Exited,
    /// Somebody else ended it.
    Stopped(StopCause),
    /// It lived too long.
    WallClock,
    /// It gave no output for too long.
    Stalled,
    /// It used too much.
    Exhausted(Resource),
}

/// How the first process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// It could not be ended within the time: it hangs in the kernel.
    Unkillable,
}

impl From<ExitStatus> for ProcessEnd {
    fn from(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let by_signal = || status.signal().map(Self::Signal);
        status
            .code()
            .map(Self::Code)
            .or_else(by_signal)
            .unwrap_or(Self::Unkillable)
    }
}

/// The end of a run.
#[derive(Debug)]
pub struct ProcessReport {
    /// What made it end.
    pub cause: EndCause,
    /// How the first process ended.
    pub end: ProcessEnd,
    /// Processes that had to be ended after the first one had gone, at the first look.
    pub survivors: usize,
    /// Processes that could not be ended, by process id.
    pub unkillable: Vec<i32>,
    /// How long it took, from start to the end of the last process.
    pub took: Duration,
    /// What became of its output.
    pub output: LogSummary,
    /// The sandbox did not get as far as starting the program; the output says why.
    pub not_run: bool,
    /// Why the log is not whole, when the disk refused.
    pub log_error: Option<LogError>,
    /// Most memory seen at one time, in bytes.
    pub peak_memory: u64,
}

impl ProcessReport {
    /// Whether the sandbox could not start the program. One that was killed before that ended as a
    /// program that is killed does.
    #[must_use]
    pub fn is_start_failure(&self) -> bool {
        self.not_run && self.cause == EndCause::Exited && matches!(self.end, ProcessEnd::Code(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f14_a_sandbox_that_is_killed_before_its_program_is_no_start_failure() {
        let ended = |end, not_run| ProcessReport {
            cause: EndCause::Exited,
            end,
            survivors: 0,
            unkillable: Vec::new(),
            took: Duration::ZERO,
            output: LogSummary::default(),
            not_run,
            log_error: None,
            peak_memory: 0,
        };
        assert!(ended(ProcessEnd::Code(1), true).is_start_failure());
        assert!(!ended(ProcessEnd::Signal(9), true).is_start_failure());
        assert!(!ended(ProcessEnd::Code(1), false).is_start_failure());
    }
}
