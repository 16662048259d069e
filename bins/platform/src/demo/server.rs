//! A program as a child process: started, watched, stopped by a signal, never left behind.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// How long a clean stop may take.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// Lines of the log that a failure shows.
const LOG_TAIL: usize = 20;

/// Variables of the products that would point this start elsewhere.
const OVERRIDING_VARIABLES: [&str; 18] = [
    "FORGE_URL",
    "FORGE_WEBHOOK_SECRET_PREVIOUS",
    "HOST",
    "PORT",
    "REPOSITORY_PATH",
    "RUST_LOG",
    "SERVICE_API_TOKEN",
    "SERVICE_DATA_PATH",
    "SERVICE_SETTINGS_PATH",
    "USE_LLM_PARSER",
    "VMM_API_URL",
    "VMM_AUTH_TOKEN",
    "VM_MANAGER_DATA",
    "VM_MANAGER_LISTEN",
    "WORKFLOW_RUNNER_API_TOKEN",
    "WORKFLOW_RUNNER_DATA",
    "WORKFLOW_RUNNER_PUBLIC_URL",
    "WORKFLOW_RUNNER_STORE_URL",
];

/// A running server; dropping it kills what is left.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Starts `program` in `folder`, with its output in this file there.
    ///
    /// # Errors
    /// When it cannot be started or the log cannot be written.
    pub(super) fn start(
        program: &Path,
        arguments: &[&OsStr],
        (folder, log): (&Path, &str),
        variables: &[(&str, &str)],
    ) -> Result<Self> {
        let log = folder.join(log);
        let out =
            File::create(&log).with_context(|| format!("{} cannot be written", log.display()))?;
        let mut command = Command::new(program);
        command.current_dir(folder).stdin(Stdio::null());
        command.args(arguments);
        for name in OVERRIDING_VARIABLES {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied());
        command.stdout(out.try_clone()?).stderr(out);
        // A group of its own: Ctrl-C reaches this program only, which passes it on once and waits.
        command.process_group(0);
        let child = command
            .spawn()
            .with_context(|| format!("{} cannot be started", program.display()))?;
        Ok(Self { child, log })
    }

    /// Its process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL, and nothing else: dropped, it is killed.
    pub(super) fn kill(self) {
        drop(self);
    }

    /// Where it logs to.
    pub(super) fn log(&self) -> &Path {
        &self.log
    }

    /// Refuses a server that has ended by itself.
    ///
    /// # Errors
    /// With the end of its log.
    pub(super) fn check_alive(&mut self) -> Result<()> {
        match self
            .child
            .try_wait()
            .context("the server cannot be waited for")?
        {
            Some(status) => bail!("the server ended ({status}):\n{}", self.tail()),
            None => Ok(()),
        }
    }

    /// Asks it to stop and waits until it has.
    ///
    /// # Errors
    /// When it does not stop in time (it is killed then), or does not end with 0.
    pub(super) fn stop(mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            return self.check_exit(status);
        }
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).context("the server cannot be signalled")?;
        // A watchdog instead of polling: it is told when the child has ended in time.
        let (ended, watch) = mpsc::channel::<()>();
        let watchdog = std::thread::spawn(move || {
            let late = watch.recv_timeout(STOP_TIMEOUT) == Err(mpsc::RecvTimeoutError::Timeout);
            if late {
                // It may have ended at this very moment: then there is nothing to kill.
                let _ = kill_process(pid, Signal::KILL);
            }
            late
        });
        let status = self
            .child
            .wait()
            .context("the server cannot be waited for")?;
        drop(ended);
        if watchdog.join().unwrap_or(false) {
            bail!(
                "the server did not stop in {} s and was killed:\n{}",
                STOP_TIMEOUT.as_secs(),
                self.tail()
            );
        }
        self.check_exit(status)
    }

    fn check_exit(&self, status: ExitStatus) -> Result<()> {
        if !status.success() {
            bail!("the server ended with {status}:\n{}", self.tail());
        }
        Ok(())
    }

    fn tail(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only when it has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A server made of shell script, once its first line is in the log.
    fn script(folder: &Path, text: &str) -> Server {
        let program = folder.join("server.sh");
        std::fs::write(&program, format!("#!/bin/sh\n{text}\n")).expect("a temporary file");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700))
            .expect("own file");
        let arguments = [OsStr::new("--config"), OsStr::new("c.toml")];
        Server::start(&program, &arguments, (folder, "x.log"), &[]).expect("sh starts")
    }

    fn wait_for_log(server: &Server, text: &str) {
        let (_keep, never) = mpsc::channel::<()>();
        for _ in 0..600 {
            if std::fs::read_to_string(server.log()).is_ok_and(|log| log.contains(text)) {
                return;
            }
            let _ = never.recv_timeout(Duration::from_millis(50));
        }
        panic!("the script never said {text}");
    }

    #[test]
    fn a_server_that_stops_when_asked_stopped_cleanly() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut server = script(
            folder.path(),
            "trap 'exit 0' TERM; echo up $1 $2; while :; do sleep 0.05; done",
        );
        wait_for_log(&server, "up --config c.toml");
        server.check_alive().expect("it runs");
        server.stop().expect("it stops with 0");
    }

    #[test]
    fn a_server_that_ends_is_an_error_with_its_log() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut server = script(folder.path(), "echo the reason; exit 3");
        let status = server.child.wait().expect("a child");
        assert_eq!(status.code(), Some(3));
        let error = server.check_alive().expect_err("it ended").to_string();
        assert!(
            error.contains("exit status: 3") && error.ends_with("the reason"),
            "{error}"
        );
        assert!(
            server.stop().is_err(),
            "an exit code other than 0 is no clean stop"
        );
    }
}
