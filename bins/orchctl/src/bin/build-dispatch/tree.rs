//! The current directory as a commit, without a trace in its repository.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::error::DispatchError;
use crate::session::ssh_command;
use crate::watch::{ChildGuard, StopSignals};
use crate::workers::BuildWorker;

/// Most output read of a git call, in bytes.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// A commit of the files as they are now. Its objects live in a folder of its own.
#[derive(Debug)]
pub(crate) struct TreeSnapshot {
    /// The checkout's top folder.
    top: PathBuf,
    /// The current directory below it, with a `/` at the end; empty at the top.
    pub(crate) prefix: String,
    /// The commit.
    pub(crate) commit: String,
    /// The commit that the files were changed from, unless they are exactly those of one that was
    /// named.
    changed_from: Option<Option<String>>,
    /// Removed with the snapshot.
    _store: TempDir,
    /// Where those are: for new objects, and the index.
    own: (PathBuf, PathBuf),
    /// The repository's own objects.
    objects: PathBuf,
}

impl TreeSnapshot {
    /// Takes the files of `folder`: changed and new ones, those that git ignores not; or those of
    /// `reference`.
    pub(crate) fn take(
        folder: &Path,
        reference: Option<&str>,
        signals: &StopSignals,
    ) -> Result<Self, DispatchError> {
        let top = git(folder, signals, &["rev-parse", "--show-toplevel"], &[])
            .map_err(|_| DispatchError::NoRepository(folder.to_owned()))?;
        let prefix = git(folder, signals, &["rev-parse", "--show-prefix"], &[])?;
        let objects = git(
            folder,
            signals,
            &[
                "rev-parse",
                "--path-format=absolute",
                "--git-path",
                "objects",
            ],
            &[],
        )?;
        let store = tempfile::Builder::new()
            .prefix("build-dispatch-")
            .tempdir()
            .map_err(DispatchError::Wait)?;
        let own = (store.path().join("objects"), store.path().join("index"));
        std::fs::create_dir(&own.0).map_err(DispatchError::Wait)?;
        let (top, objects) = (top.into(), objects.into());
        let mut snapshot = Self {
            top,
            prefix,
            commit: String::new(),
            changed_from: None,
            _store: store,
            own,
            objects,
        };
        if let Some(reference) = reference {
            snapshot.commit = resolve_commit(folder, reference, signals)?;
            return Ok(snapshot);
        }
        let head = git(
            folder,
            signals,
            &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"],
            &[],
        )
        .ok();
        if let Some(head) = &head {
            snapshot.git(signals, &["read-tree", head])?;
        }
        snapshot.git(signals, &["add", "--all", "--", "."])?;
        let tree = snapshot.git(signals, &["write-tree"])?;
        let mut commit = vec!["commit-tree", "-m", "build-dispatch", &tree];
        if let Some(head) = &head {
            commit.extend(["-p", head]);
        }
        snapshot.commit = snapshot.git(signals, &commit)?;
        snapshot.changed_from = Some(head);
        Ok(snapshot)
    }

    /// Which files these are, for people and for whoever judges the outcome.
    pub(crate) fn origin(&self) -> String {
        match &self.changed_from {
            None => format!("files of commit {}", self.commit),
            Some(Some(head)) => format!("files of the directory, on commit {head}"),
            Some(None) => "files of the directory, on no commit".to_owned(),
        }
    }

    /// Sends the commit to the worker's repository, under `reference`.
    pub(crate) fn send(
        &self,
        worker: &BuildWorker,
        reference: &str,
        signals: &StopSignals,
    ) -> Result<(), DispatchError> {
        let address = format!("{}:{}/objects.git", worker.host, worker.folder);
        let what = format!("{}:{reference}", self.commit);
        let ssh = ssh_command(worker);
        let environment = [
            ("GIT_SSH_COMMAND", OsStr::new(&ssh)),
            ("GIT_SSH_VARIANT", OsStr::new("ssh")),
        ];
        let args = [
            "push",
            "--quiet",
            "--no-verify",
            "--no-signed",
            "--no-recurse-submodules",
            "--",
            &address,
            &what,
        ];
        let environment: Vec<_> = self.environment().into_iter().chain(environment).collect();
        git(&self.top, signals, &args, &environment).map(drop)
    }

    fn git(&self, signals: &StopSignals, args: &[&str]) -> Result<String, DispatchError> {
        git(&self.top, signals, args, &self.environment())
    }

    /// Objects and index of our own; the repository's are read only.
    fn environment(&self) -> [(&str, &OsStr); 7] {
        let identity = OsStr::new("build-dispatch");
        [
            ("GIT_OBJECT_DIRECTORY", self.own.0.as_os_str()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", self.objects.as_os_str()),
            ("GIT_INDEX_FILE", self.own.1.as_os_str()),
            ("GIT_AUTHOR_NAME", identity),
            ("GIT_AUTHOR_EMAIL", identity),
            ("GIT_COMMITTER_NAME", identity),
            ("GIT_COMMITTER_EMAIL", identity),
        ]
    }
}

/// The commit that somebody named.
fn resolve_commit(
    folder: &Path,
    reference: &str,
    signals: &StopSignals,
) -> Result<String, DispatchError> {
    let revision = format!("{reference}^{{commit}}");
    let args = [
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        &revision,
    ];
    let commit = git(folder, signals, &args, &[]).map_err(|failure| match failure {
        DispatchError::GitFailed { .. } => DispatchError::NoCommit(reference.to_owned()),
        other => other,
    })?;
    // A name that is well formed is taken at its word; whether the commit is here is another
    // question.
    let object = format!("{commit}^{{commit}}");
    let there = git(folder, signals, &["cat-file", "-e", &object], &[]);
    there
        .map(|_| commit)
        .map_err(|_| DispatchError::NoCommit(reference.to_owned()))
}

/// Runs git without hooks and questions; its output without the line's end.
fn git(
    folder: &Path,
    signals: &StopSignals,
    args: &[&str],
    environment: &[(&str, &OsStr)],
) -> Result<String, DispatchError> {
    let mut command = Command::new("git");
    command.current_dir(folder).args([
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "gc.auto=0",
    ]);
    command
        .args(args)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .envs(environment.iter().copied());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = ChildGuard(command.spawn().map_err(DispatchError::Git)?);
    let (out, err) = (child.0.stdout.take(), child.0.stderr.take());
    let out = std::thread::spawn(move || read_all(out));
    let err = std::thread::spawn(move || read_all(err));
    let status = signals.wait(&mut child.0)?;
    let (out, err) = (
        out.join().unwrap_or_default(),
        err.join().unwrap_or_default(),
    );
    if !status.success() {
        let message = err
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap_or("it said nothing");
        return Err(DispatchError::GitFailed {
            what: args[0].to_owned(),
            message: message.to_owned(),
        });
    }
    Ok(out.trim_end_matches('\n').to_owned())
}

fn read_all(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
