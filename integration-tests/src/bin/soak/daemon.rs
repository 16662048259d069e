//! One of the programs: started, killed and started again at the same address, its log kept in one
//! file.

use std::fs::OpenOptions;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::wire;

/// Longest time from a start until the program answers, on a machine that does other things as
/// well.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// Longest time from SIGTERM to the end.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// A program and how it is started.
#[derive(Debug)]
pub(crate) struct Daemon {
    pub(crate) name: &'static str,
    pub(crate) address: SocketAddr,
    program: PathBuf,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    log: PathBuf,
    admin: Option<SocketAddr>,
    child: Mutex<Option<Child>>,
}

impl Daemon {
    /// A program that is not started yet.
    pub(crate) fn new(
        name: &'static str,
        address: SocketAddr,
        program: PathBuf,
        arguments: Vec<String>,
        variables: Vec<(String, String)>,
        log: PathBuf,
    ) -> Self {
        Self {
            name,
            address,
            program,
            arguments,
            variables,
            log,
            admin: None,
            child: Mutex::new(None),
        }
    }

    /// The same with an address for operators, where its health is asked.
    pub(crate) fn with_admin(mut self, admin: SocketAddr) -> Self {
        self.admin = Some(admin);
        self
    }

    /// Where its health is asked.
    pub(crate) fn health_address(&self) -> SocketAddr {
        self.admin.unwrap_or(self.address)
    }

    /// Its number, while it is started.
    pub(crate) fn process(&self) -> Option<u32> {
        self.child
            .lock()
            .expect("not poisoned")
            .as_ref()
            .map(Child::id)
    }

    /// SIGSTOP.
    pub(crate) fn pause(&self) {
        self.signal(rustix::process::Signal::STOP);
    }

    /// SIGCONT.
    pub(crate) fn resume(&self) {
        self.signal(rustix::process::Signal::CONT);
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(child) = &*self.child.lock().expect("not poisoned") {
            // One that has ended needs no signal.
            let _ = rustix::process::kill_process(rustix::process::Pid::from_child(child), signal);
        }
    }

    /// Starts it, without waiting until it answers.
    pub(crate) fn spawn(&self) -> Result<()> {
        let mut log = OpenOptions::new();
        let log = log.create(true).append(true).open(&self.log)?;
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env_remove("NOTIFY_SOCKET")
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("{} cannot be started", self.program.display()))?;
        *self.child.lock().expect("not poisoned") = Some(child);
        Ok(())
    }

    /// Waits until it answers `/livez`.
    ///
    /// # Errors
    /// When it ends by itself, or does not answer in time; with the end of its log.
    pub(crate) fn wait_ready(&self) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < START_TIMEOUT {
            let ended = match self.child.lock().expect("not poisoned").as_mut() {
                Some(child) => child.try_wait()?,
                None => bail!("{} was not started", self.name),
            };
            if let Some(status) = ended {
                bail!("{} ended by itself ({status}): {}", self.name, self.tail());
            }
            let answer = wire::ask(self.address, "GET /livez", &[], "");
            if answer.is_some_and(|answer| answer.status == 200) {
                return Ok(());
            }
            pause(Duration::from_millis(20));
        }
        bail!(
            "{} did not answer for {} s: {}",
            self.name,
            START_TIMEOUT.as_secs(),
            self.tail()
        )
    }

    /// SIGKILL.
    pub(crate) fn kill(&self) {
        if let Some(mut child) = self.child.lock().expect("not poisoned").take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// SIGTERM, and SIGKILL when that does not end it.
    pub(crate) fn stop(&self) {
        let Some(mut child) = self.child.lock().expect("not poisoned").take() else {
            return;
        };
        let pid = rustix::process::Pid::from_child(&child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let started = Instant::now();
        while started.elapsed() < STOP_TIMEOUT {
            if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            pause(Duration::from_millis(20));
        }
        let _ = child.kill();
        let _ = child.wait();
    }

    fn tail(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n    ")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port of the loopback address that is free now, and stays the program's over its restarts.
pub(crate) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// Waits between two looks at something outside this process.
pub(crate) fn pause(time: Duration) {
    let (_keep, never) = std::sync::mpsc::channel::<()>();
    let _ = never.recv_timeout(time);
}
