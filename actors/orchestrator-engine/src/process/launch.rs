//! Starting a program in a session and a cgroup of its own.

use std::fs::File;
use std::io::{self, PipeReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Resource, Rlimit};

use super::orphans::Leader;
use super::pen::Pen;
use super::spec::{AgentInput, AgentSpec, StartError};

/// A started program, and the read end of its output.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) child: Child,
    pub(super) leader: Leader,
    /// Standard output and standard error, in the order they were written.
    pub(super) output: PipeReader,
}

/// Starts the program of `spec` inside `pen`.
pub(super) fn launch(spec: &AgentSpec, pen: &Pen) -> Result<Launched, StartError> {
    let failed = |source| StartError::Program {
        program: spec.program.clone(),
        source,
    };
    let (output, writer) = io::pipe().map_err(StartError::Pipe)?;
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.arguments)
        .current_dir(&spec.folder)
        .env_clear()
        .envs(spec.environment.iter())
        .stdin(match spec.input {
            AgentInput::Closed => Stdio::null(),
            AgentInput::Text(_) => Stdio::piped(),
        })
        .stderr(writer.try_clone().map_err(StartError::Pipe)?)
        .stdout(writer);
    let entrance = pen
        .cgroup()
        .map(super::cgroup::RunCgroup::entrance)
        .transpose();
    set_apart(
        &mut command,
        entrance.map_err(StartError::Confinement)?,
        spec.limits.file_size,
    );
    let (child, leader) = Leader::start(&mut command).map_err(failed)?;
    Ok(Launched {
        child,
        leader,
        output,
    })
}

/// What the child does between fork and exec: it leads a session of its own (and so a group, and has
/// no terminal), joins its cgroup before the first instruction of the program, and bounds its files.
#[expect(
    unsafe_code,
    reason = "std has no safe way to call setsid and to join a cgroup before exec"
)]
fn set_apart(command: &mut Command, entrance: Option<File>, file_size: Option<u64>) {
    let prepare = move || {
        rustix::process::setsid()?;
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
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. The closure makes four
    // system calls through rustix's raw backend; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(prepare) };
}
