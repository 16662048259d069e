//! One call of git: arguments, a clean environment, and nothing of the host.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::GitError;
use crate::remote::{Remote, Transports};
use crate::run::{CallLimits, GitInput, GitOutput, run};
use crate::session::GitSession;

/// Settings of every call: what a repository or a host could otherwise bring in.
const SETTINGS: [&str; 16] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "core.sshCommand=false",
    "init.templateDir=",
    "init.defaultBranch=main",
    "gc.auto=0",
    "maintenance.auto=false",
    "http.followRedirects=false",
    "submodule.recurse=false",
    "advice.detachedHead=false",
    // Bounded memory: packs are mapped in windows, large files are streamed, and each thread costs.
    "core.packedGitWindowSize=32m",
    "core.packedGitLimit=256m",
    "core.bigFileThreshold=16m",
    "pack.threads=2",
    "index.threads=1",
];

/// The git program and what all its calls have in common.
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    path: String,
    timeout: Duration,
    memory: Option<u64>,
    file: Option<u64>,
}

impl Git {
    /// `program` is `git` or a path to it; `path` is the `PATH` its own helpers are looked up in.
    pub fn new(program: impl Into<PathBuf>, path: &str) -> Self {
        Self {
            program: program.into(),
            path: path.to_owned(),
            timeout: Duration::from_secs(300),
            memory: None,
            file: None,
        }
    }

    /// The longest one call may take (300 s).
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// The most address space that each of its processes may take; without a limit unless it is
    /// given.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// The largest file that a call may write; without a limit unless it is given.
    #[must_use]
    pub fn largest_file(mut self, bytes: u64) -> Self {
        self.file = Some(bytes);
        self
    }

    /// A write past the limit of a file's size ends git by a signal, or fails.
    pub(crate) fn refined(&self, error: GitError) -> GitError {
        let (GitError::Failed { message, .. }, Some(limit)) = (&error, self.file) else {
            return error;
        };
        let marks = ["died of signal 25", "File too large", "SIGXFSZ"];
        if marks.iter().any(|mark| message.contains(mark)) {
            GitError::FetchTooLarge { limit }
        } else {
            error
        }
    }

    /// A call in `folder`; add arguments, then [`GitInvocation::output`].
    pub fn call(&self, folder: &Path, what: &str) -> GitInvocation {
        let mut command = Command::new(&self.program);
        command.current_dir(folder).env_clear();
        command
            .env("PATH", &self.path)
            .env("LC_ALL", "C")
            .env("HOME", "/nonexistent")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ADVICE", "0")
            .env("GIT_ALLOW_PROTOCOL", Transports::default().allowed());
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        GitInvocation {
            command,
            program: self.program.clone(),
            what: what.to_owned(),
            limits: CallLimits {
                time: self.timeout,
                bytes: 16 << 20,
                memory: self.memory,
                file: self.file,
            },
            input: GitInput::Nothing,
            output: None,
            started: false,
        }
    }
}

/// A call that is being put together.
#[derive(Debug)]
pub struct GitInvocation {
    command: Command,
    program: PathBuf,
    what: String,
    limits: CallLimits,
    input: GitInput,
    output: Option<File>,
    started: bool,
}

impl GitInvocation {
    /// A setting for this call, before its subcommand.
    #[must_use]
    pub fn setting(mut self, setting: &str) -> Self {
        debug_assert!(!self.started, "settings stand before the subcommand");
        self.command.args(["-c", setting]);
        self
    }

    /// What is needed to talk to `remote`.
    #[must_use]
    pub fn remote(mut self, remote: &Remote) -> Self {
        for setting in remote.settings() {
            self = self.setting(&setting);
        }
        self.command.envs(remote.environment());
        self.command.env("GIT_ALLOW_PROTOCOL", remote.protocols());
        self
    }

    /// Allows folders of this machine that are ours (a mirror is fetched from).
    #[must_use]
    pub fn own_folders(mut self) -> Self {
        self.command.env("GIT_ALLOW_PROTOCOL", "file");
        self
    }

    /// A variable for this call.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// One more argument; the first one brings the subcommand with it.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.spawn();
        self.command.arg(argument);
        self
    }

    /// More arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.spawn();
        self.command.args(arguments);
        self
    }

    /// The most bytes of output kept (16 MiB); more is an error.
    #[must_use]
    pub fn at_most(mut self, bytes: usize) -> Self {
        self.limits.bytes = bytes;
        self
    }

    /// Without the limit of what one file may take: what is here already is written once more.
    #[must_use]
    pub(crate) fn any_file_size(mut self) -> Self {
        self.limits.file = None;
        self
    }

    /// The longest it may take, where that is less than what all calls may.
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.limits.time = self.limits.time.min(limit);
        self
    }

    /// What it reads from its standard input.
    #[must_use]
    pub fn input(mut self, bytes: Vec<u8>) -> Self {
        self.input = GitInput::Bytes(bytes);
        self
    }

    /// The file that it reads as its standard input, from where that stands.
    #[must_use]
    pub(crate) fn input_file(mut self, file: File) -> Self {
        self.input = GitInput::File(file);
        self
    }

    /// The file that its standard output goes to.
    #[must_use]
    pub(crate) fn output_file(mut self, file: File) -> Self {
        self.output = Some(file);
        self
    }

    /// Runs it to its end, whatever that is.
    ///
    /// # Errors
    /// When it cannot start, takes too long or prints too much.
    pub(crate) fn run_to_end(mut self) -> Result<GitOutput, GitError> {
        self.spawn();
        run(
            &mut self.command,
            &self.program,
            &self.what,
            self.limits,
            self.input,
            self.output,
        )
    }

    /// Runs it and gives its standard output.
    ///
    /// # Errors
    /// When it cannot start, fails, takes too long or prints too much.
    pub fn output(self) -> Result<Vec<u8>, GitError> {
        let what = self.what.clone();
        let GitOutput { status, out, err } = self.run_to_end()?;
        if status.success() {
            return Ok(out);
        }
        Err(GitError::Failed {
            what,
            status: status.to_string(),
            message: last_line(&err),
        })
    }

    /// Runs it and gives its standard output as text without the line's end.
    ///
    /// # Errors
    /// As [`GitInvocation::output`], and when it is not UTF-8.
    pub fn text(self) -> Result<String, GitError> {
        let what = self.what.clone();
        let out = String::from_utf8(self.output()?).map_err(|_| GitError::Unexpected {
            what,
            reason: "not UTF-8".to_owned(),
        })?;
        Ok(out.trim_end_matches('\n').to_owned())
    }

    /// Runs it and gives its standard output as text, or `None` where it says by its exit of 1 and
    /// by nothing else that there is none.
    ///
    /// # Errors
    /// As [`GitInvocation::text`].
    pub(crate) fn found(self) -> Result<Option<String>, GitError> {
        let what = self.what.clone();
        let output = self.run_to_end()?;
        let said = String::from_utf8_lossy(&output.out).into_owned();
        if output.status.success() {
            return Ok(Some(said));
        }
        if output.status.code() == Some(1) && output.err.is_empty() && said.is_empty() {
            return Ok(None);
        }
        Err(GitError::Failed {
            what,
            status: output.status.to_string(),
            message: last_line(&output.err),
        })
    }

    /// Starts it, for an output that is read while it runs. Its time is that of one read.
    pub(crate) fn session(mut self) -> Result<GitSession, GitError> {
        self.spawn();
        GitSession::start(&mut self.command, &self.program, &self.what, self.limits)
    }

    fn spawn(&mut self) {
        if !self.started {
            self.started = true;
            self.command.arg(&self.what);
        }
    }
}

/// The lines that say what went wrong, in one, with control characters taken out (they come from a
/// server).
pub(crate) fn last_line(err: &[u8]) -> String {
    let text = String::from_utf8_lossy(err);
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    let marked = |line: &&&str| {
        MESSAGE_PREFIXES.iter().any(|mark| line.starts_with(mark))
            || SSH_MESSAGES.iter().any(|words| line.contains(words))
    };
    let mut told: Vec<&str> = lines.iter().filter(marked).copied().collect();
    if told.is_empty() {
        told.extend(lines.last());
    }
    let from = told.len().saturating_sub(3);
    let joined = told[from..].join("; ");
    let clean: String = joined
        .chars()
        .filter(|c| !c.is_control())
        .take(500)
        .collect();
    if clean.is_empty() {
        "it said nothing".to_owned()
    } else {
        clean
    }
}

/// How git begins a line that matters; others are hints.
const MESSAGE_PREFIXES: [&str; 3] = ["fatal:", "error:", "remote:"];

/// What ssh says when it cannot get in; git itself says only that it could not read.
const SSH_MESSAGES: [&str; 6] = [
    "ssh: ",
    "Load key ",
    "Permission denied (",
    "Host key verification failed",
    "host key is known for",
    "Host key for ",
];
