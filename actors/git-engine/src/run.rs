//! A child process with a time limit, an output limit and a process group that ends with it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};

use crate::error::GitError;

/// What a call may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallLimits {
    pub(crate) time: Duration,
    /// Of standard output; standard error is cut to its end.
    pub(crate) bytes: usize,
    /// Address space of each process.
    pub(crate) memory: Option<u64>,
    /// Largest file that is written: a pack that a server sends without end is such a file.
    pub(crate) file: Option<u64>,
}

/// What a call reads from its standard input.
#[derive(Debug)]
pub(crate) enum GitInput {
    Nothing,
    Bytes(Vec<u8>),
    /// From where it stands.
    File(File),
}

/// A call that ran to its end.
pub(crate) struct GitOutput {
    pub(crate) status: ExitStatus,
    pub(crate) out: Vec<u8>,
    pub(crate) err: Vec<u8>,
}

/// Bytes of standard error that are kept: its end.
const MAX_STDERR: usize = 16 << 10;

enum PipeEvent {
    Out(Vec<u8>),
    Overflow,
    Err(Vec<u8>),
}

pub(crate) fn run(
    command: &mut Command,
    program: &Path,
    what: &str,
    limits: CallLimits,
    input: GitInput,
    output: Option<File>,
) -> Result<GitOutput, GitError> {
    let (given, input) = match input {
        GitInput::Nothing => (Stdio::null(), None),
        GitInput::Bytes(bytes) => (Stdio::piped(), Some(bytes)),
        GitInput::File(file) => (file.into(), None),
    };
    command
        .process_group(0)
        .stdin(given)
        .stdout(output.map_or_else(Stdio::piped, Stdio::from))
        .stderr(Stdio::piped());
    let child = command.spawn().map_err(|source| GitError::Start {
        program: program.to_owned(),
        source,
    })?;
    let mut group = GitProcessGroup(child);
    // What it starts inherits them, and it starts nothing before it has read its settings.
    limit(&group.0, limits);
    let stdin = group.0.stdin.take();
    let (sender, events) = channel();
    let stdout = group.0.stdout.take();
    let stderr = group.0.stderr.take();
    std::thread::scope(|scope| {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // One that does not read to the end says why by its exit.
            scope.spawn(move || stdin.write_all(&input));
        }
        if let Some(out) = stdout {
            let sender = sender.clone();
            scope.spawn(move || read_all(out, limits.bytes, &sender));
        }
        if let Some(err) = stderr {
            scope.spawn(move || read_end(err, &sender));
        }
        let read = collect(&events, Instant::now() + limits.time);
        if read.is_err() {
            // Ends the readers too: nobody holds the pipes any more.
            group.end();
        }
        let (out, err) = read.map_err(|why| why.into_error(what, limits))?;
        let status = group.0.wait().map_err(|source| GitError::Start {
            program: program.to_owned(),
            source,
        })?;
        Ok(GitOutput { status, out, err })
    })
}

pub(crate) fn limit(child: &Child, limits: CallLimits) {
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return;
    };
    let to = |value: u64| Rlimit {
        current: Some(value),
        maximum: Some(value),
    };
    let both = [
        (Resource::As, limits.memory),
        (Resource::Fsize, limits.file),
    ];
    for (resource, value) in both {
        if let Some(value) = value {
            // One that has ended already needs none.
            let _ = prlimit(Some(pid), resource, to(value));
        }
    }
}

enum LimitKind {
    Time,
    Bytes,
}

impl LimitKind {
    fn into_error(self, what: &str, limits: CallLimits) -> GitError {
        let what = what.to_owned();
        match self {
            Self::Time => GitError::TimedOut {
                what,
                limit: limits.time,
            },
            Self::Bytes => GitError::TooLarge {
                what,
                limit: limits.bytes,
            },
        }
    }
}

/// Waits until both pipes are closed: then git and whatever it started have ended, or let go of
/// them.
fn collect(
    events: &Receiver<PipeEvent>,
    deadline: Instant,
) -> Result<(Vec<u8>, Vec<u8>), LimitKind> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match events.recv_timeout(left) {
            Ok(PipeEvent::Out(bytes)) => out = bytes,
            Ok(PipeEvent::Err(bytes)) => err = bytes,
            Ok(PipeEvent::Overflow) => return Err(LimitKind::Bytes),
            Err(RecvTimeoutError::Timeout) => return Err(LimitKind::Time),
            Err(RecvTimeoutError::Disconnected) => return Ok((out, err)),
        }
    }
}

fn read_all(out: impl Read, limit: usize, sender: &Sender<PipeEvent>) {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    // A pipe that breaks ends like one that closes: the exit status tells.
    let _ = out.take(most).read_to_end(&mut bytes);
    let event = if bytes.len() > limit {
        PipeEvent::Overflow
    } else {
        PipeEvent::Out(bytes)
    };
    let _ = sender.send(event);
}

fn read_end(mut err: impl Read, sender: &Sender<PipeEvent>) {
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = err.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..read]);
        if kept.len() > 2 * MAX_STDERR {
            kept.drain(..kept.len() - MAX_STDERR);
        }
    }
    let _ = sender.send(PipeEvent::Err(kept));
}

/// The child and its whole group; dropped unfinished, all of it is killed.
#[derive(Debug)]
pub(crate) struct GitProcessGroup(pub(crate) Child);

impl GitProcessGroup {
    fn end(&mut self) {
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

impl Drop for GitProcessGroup {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            self.end();
        }
    }
}
