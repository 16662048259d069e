//! Starting a program in a session and a cgroup of its own.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::{Resource, Rlimit, Signal};

use super::process_group::ProcessGroup;
use super::reaper::RegisteredLeader;
use super::sandbox::find;
use super::spec::{AgentInput, ProcessSpec, StartError};

/// A started program, and the read end of its output.
#[derive(Debug)]
pub(super) struct LaunchedProcess {
    pub(super) child: Child,
    pub(super) leader: RegisteredLeader,
    /// Standard output and standard error, in the order they were written.
    pub(super) output: PipeReader,
    /// What the sandbox tells of its start and end.
    pub(super) status: Option<PipeReader>,
}

/// Starts the program of `spec` inside `group`.
pub(super) fn launch(
    spec: &ProcessSpec,
    group: &ProcessGroup,
) -> Result<LaunchedProcess, StartError> {
    let failed = |source| StartError::Program {
        program: spec.program.clone(),
        source,
    };
    let (output, writer) = io::pipe().map_err(StartError::Pipe)?;
    let (status, status_writer) = if spec.sandbox.reports_status() {
        let (status, status_writer) = io::pipe().map_err(StartError::Pipe)?;
        (Some(status), Some(status_writer))
    } else {
        (None, None)
    };
    let program = program(spec).map_err(failed)?;
    let number = status_writer.as_ref().map(AsRawFd::as_raw_fd);
    let inside = (program.as_path(), spec.arguments.as_slice());
    let (program, arguments) = spec.sandbox.wrap(&spec.view, &spec.folder, number, inside);
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(&spec.folder)
        .env_clear()
        .envs(spec.environment.iter())
        .stdin(match spec.input {
            AgentInput::Closed => Stdio::null(),
            AgentInput::Text(_) => Stdio::piped(),
        })
        .stderr(writer.try_clone().map_err(StartError::Pipe)?)
        .stdout(writer);
    let entrance = group
        .cgroup()
        .map(super::cgroup::RunCgroup::entrance)
        .transpose();
    set_apart(
        &mut command,
        entrance.map_err(StartError::Confinement)?,
        spec.limits.file_size,
        status_writer,
        spec.sandbox.has_namespace(),
    );
    let (child, leader) = RegisteredLeader::start(&mut command).map_err(failed)?;
    Ok(LaunchedProcess {
        child,
        leader,
        output,
        status,
    })
}

/// The program as a path, where something else has to start it and could not say that it is
/// missing.
fn program(spec: &ProcessSpec) -> io::Result<PathBuf> {
    if !spec.sandbox.has_namespace() {
        return Ok(spec.program.clone());
    }
    if !spec.folder.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("there is no folder {}", spec.folder.display()),
        ));
    }
    let path = spec.environment.get("PATH").unwrap_or_default();
    let path = path.to_string_lossy();
    find(&spec.program, &path, &spec.folder).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// What the child does between fork and exec: it leads a session of its own (and so a group, and
/// has no terminal), joins its cgroup before the first instruction of the program, and bounds its
/// files.
#[expect(
    unsafe_code,
    reason = "std has no safe way to call setsid and to join a cgroup before exec"
)]
fn set_apart(
    command: &mut Command,
    entrance: Option<File>,
    file_size: Option<u64>,
    status_writer: Option<PipeWriter>,
    tied: bool,
) {
    let prepare = move || {
        rustix::process::setsid()?;
        if tied {
            // The namespace ends with the thread that watches it, and so with this daemon.
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        }
        if let Some(status_writer) = &status_writer {
            rustix::io::fcntl_setfd(status_writer, rustix::io::FdFlags::empty())?;
        }
        if let Some(entrance) = &entrance {
            rustix::io::write(entrance, b"0")?;
        }
        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        rustix::process::setrlimit(Resource::Core, none)?;
        if file_size.is_some() {
            rustix::process::setrlimit(
                Resource::Fsize,
                Rlimit {
                    current: file_size,
                    maximum: file_size,
                },
            )?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. The closure makes at
    // most seven system calls through rustix's raw backend; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(prepare) };
}
