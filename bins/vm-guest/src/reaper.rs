//! Waits for every child there is: those of ours, and orphans that fall to the first process.

use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;
use vm_core::ExecEnd;

/// Who wants to know how which process ended.
#[derive(Debug, Default)]
pub(crate) struct ProcessReaper {
    waiting: Mutex<HashMap<i32, Sender<ExecEnd>>>,
    spawned: Condvar,
}

impl ProcessReaper {
    /// Starts the thread that waits.
    pub(crate) fn start() -> std::io::Result<Arc<Self>> {
        let reaper = Arc::new(Self::default());
        let own = Arc::clone(&reaper);
        std::thread::Builder::new()
            .name("reaper".to_owned())
            .stack_size(64 * 1024)
            .spawn(move || own.run())?;
        Ok(reaper)
    }

    /// Spawns by `spawn`, which gives the process's number, and has its end sent to `end`. The lock
    /// is held meanwhile, so that a process that ends at once is not taken for an orphan.
    pub(crate) fn spawn<T>(
        &self,
        end: Sender<ExecEnd>,
        spawn: impl FnOnce() -> std::io::Result<(i32, T)>,
    ) -> std::io::Result<T> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let (pid, value) = spawn()?;
        waiting.insert(pid, end);
        self.spawned.notify_all();
        Ok(value)
    }

    fn run(&self) {
        loop {
            // Looked at, but left where it is: a process being spawned belongs to the spawning.
            match waitid(Id::All, WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {
                Ok(status) => {
                    if let Some(pid) = status.pid() {
                        self.reap(pid);
                    }
                }
                Err(nix::Error::EINTR) => {}
                // No child at all: wait until one is spawned.
                Err(_) => self.wait_for_a_child(),
            }
        }
    }

    fn reap(&self, pid: Pid) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let end = match waitpid(pid, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(_, code)) => ExecEnd::Exited { code },
            Ok(WaitStatus::Signaled(_, signal, _)) => ExecEnd::Signalled {
                signal: signal as i32,
            },
            _ => return,
        };
        if let Some(sender) = waiting.remove(&pid.as_raw()) {
            let _ = sender.send(end);
        }
    }

    fn wait_for_a_child(&self) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let time = std::time::Duration::from_secs(3600);
        // Awaited under the lock that spawning takes: no wake-up can be missed.
        let _ = self
            .spawned
            .wait_timeout_while(waiting, time, |waiting| waiting.is_empty());
    }
}
