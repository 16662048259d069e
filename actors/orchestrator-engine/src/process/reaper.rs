//! Orphans of agents that became children of this process: they are reaped, or each would stay in
//! the process table for as long as the daemon runs.
//!
//! Children that somebody here started and waits for are left alone: those of the own session (git
//! and the like), and the first processes of runs, which lead sessions of their own and are
//! registered while their run goes on.

use std::collections::BTreeSet;
use std::process::{Child, Command};
use std::{fs, io};

use parking_lot::Mutex;
use rustix::process::{Pid, WaitOptions};

use super::proc_table;

/// The first processes of runs. Children are a matter of the whole process, and so is this.
static LEADERS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// A first process whose end is collected by its run; from when it is dropped on nobody else waits
/// for it.
#[derive(Debug)]
pub(super) struct RegisteredLeader(i32);

impl RegisteredLeader {
    /// Starts a program; nobody collects its end before it is registered.
    pub(super) fn start(command: &mut Command) -> io::Result<(Child, Self)> {
        let mut leaders = LEADERS.lock();
        let child = command.spawn()?;
        let pid = child.id().cast_signed();
        leaders.insert(pid);
        Ok((child, Self(pid)))
    }
}

impl Drop for RegisteredLeader {
    fn drop(&mut self) {
        LEADERS.lock().remove(&self.0);
    }
}

/// Makes processes whose parent has died children of this process, so that their ends can be
/// collected. For the whole process, once, by the program's `main`.
///
/// # Errors
/// When the kernel refuses.
pub fn adopt_orphans() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(io::Error::from)
}

/// Reaps all orphans that have ended.
pub(super) fn reap() {
    let leaders = LEADERS.lock();
    let Some(own) = proc_table::row(rustix::process::getpid()) else {
        return;
    };
    for pid in children() {
        let orphan = proc_table::row(pid)
            .is_some_and(|row| row.zombie && row.session != own.session)
            && !leaders.contains(&pid.as_raw_nonzero().get());
        if orphan {
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

/// The children of this process, of all its threads (`proc_pid_children(5)`).
fn children() -> Vec<Pid> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else {
        return Vec::new();
    };
    let lists = threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let mut found = Vec::new();
    for list in lists {
        let pids = list.split_ascii_whitespace();
        found.extend(pids.filter_map(|pid| Pid::from_raw(pid.parse().ok()?)));
    }
    found
}
