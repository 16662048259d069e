//! A call of git whose output is read while it runs: listings too long to hold, and objects that
//! are asked for one after the other.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::GitError;
use crate::run::{CallLimits, GitProcessGroup, limit};

/// A git that runs; dropped, it is ended with all that it started.
#[derive(Debug)]
pub(crate) struct GitSession {
    group: GitProcessGroup,
    what: String,
    wait: Duration,
    stdin: Option<ChildStdin>,
    out: BufReader<TimedPipe>,
}

/// Standard output of which each read waits so long at most.
#[derive(Debug)]
struct TimedPipe {
    pipe: ChildStdout,
    wait: Duration,
}

impl Read for TimedPipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wait = Timespec::try_from(self.wait).ok();
        let mut pipes = [PollFd::new(&self.pipe, PollFlags::IN)];
        let ready = rustix::io::retry_on_intr(|| poll(&mut pipes, wait.as_ref()))?;
        if ready == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.pipe.read(buffer)
    }
}

impl GitSession {
    /// Starts it; what it says of errors is not kept.
    pub(crate) fn start(
        command: &mut Command,
        program: &Path,
        what: &str,
        limits: CallLimits,
    ) -> Result<Self, GitError> {
        command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(|source| GitError::Start {
            program: program.to_owned(),
            source,
        })?;
        limit(&child, limits);
        let stdin = child.stdin.take();
        let pipe = child.stdout.take();
        let group = GitProcessGroup(child);
        let wait = limits.time;
        let pipe = pipe.ok_or_else(|| unexpected(what, "it has no output"))?;
        Ok(Self {
            group,
            what: what.to_owned(),
            wait,
            stdin,
            out: BufReader::with_capacity(64 << 10, TimedPipe { pipe, wait }),
        })
    }

    /// Ends what it is asked.
    pub(crate) fn ask_nothing(&mut self) {
        self.stdin = None;
    }

    /// Asks one thing more.
    pub(crate) fn ask(&mut self, line: &[u8]) -> Result<(), GitError> {
        let mut stdin = self.stdin.as_ref();
        let asked = match &mut stdin {
            Some(stdin) => stdin.write_all(line),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        asked.map_err(|error| self.failed(&error))
    }

    /// All up to the next `end`, without it; `None` at the end of its output.
    pub(crate) fn read_until(&mut self, end: u8) -> Result<Option<Vec<u8>>, GitError> {
        let mut bytes = Vec::new();
        let read = self.out.read_until(end, &mut bytes);
        match read {
            Err(error) => Err(self.failed(&error)),
            Ok(0) => Ok(None),
            Ok(_) if bytes.last() == Some(&end) => {
                bytes.pop();
                Ok(Some(bytes))
            }
            Ok(_) => Err(unexpected(&self.what, "it ends in the middle")),
        }
    }

    /// The next `size` bytes.
    pub(crate) fn bytes(&mut self, size: usize) -> Result<Vec<u8>, GitError> {
        let mut bytes = vec![0; size];
        let read = self.out.read_exact(&mut bytes);
        read.map_err(|error| self.failed(&error))?;
        Ok(bytes)
    }

    /// Writes the next `size` bytes to `into` as they come.
    pub(crate) fn copy(&mut self, size: usize, into: &mut dyn Write) -> Result<(), GitError> {
        let mut left = size;
        while left > 0 {
            let taken = match self.out.fill_buf() {
                Ok([]) => return Err(unexpected(&self.what, "it ends in the middle")),
                Ok(bytes) => &bytes[..bytes.len().min(left)],
                Err(error) => return Err(self.failed(&error)),
            };
            let written = into.write_all(taken);
            written.map_err(|error| GitError::io(Path::new("the copy of an object"), error))?;
            let taken = taken.len();
            self.out.consume(taken);
            left -= taken;
        }
        Ok(())
    }

    /// Waits for the end after the last of its output.
    pub(crate) fn finish(mut self) -> Result<(), GitError> {
        self.stdin = None;
        let status = self.group.0.wait();
        let status = status.map_err(|error| unexpected(&self.what, &error.to_string()))?;
        if status.success() {
            return Ok(());
        }
        Err(GitError::Failed {
            what: self.what.clone(),
            status: status.to_string(),
            message: "its output is not complete".to_owned(),
        })
    }

    fn failed(&self, error: &io::Error) -> GitError {
        if error.kind() == io::ErrorKind::TimedOut {
            return GitError::TimedOut {
                what: self.what.clone(),
                limit: self.wait,
            };
        }
        unexpected(&self.what, &format!("it has ended early ({error})"))
    }
}

fn unexpected(what: &str, reason: &str) -> GitError {
    GitError::Unexpected {
        what: what.to_owned(),
        reason: reason.to_owned(),
    }
}
