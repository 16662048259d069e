//! Processes of a previous incarnation of the daemon: found by process id and start time, and
//! ended.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use super::cgroup::RunCgroup;
use super::proc_table;
use super::process_group::{Confinement, ProcessGroup};
use crate::names::safe_name;

/// How long their end is waited for: SIGKILL needs no help, only the kernel's time.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// Between two scans.
const SCAN_INTERVAL: Duration = Duration::from_millis(20);

/// Identifies a process for ever: an id is given again, but not with the same start time in one
/// boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessKey {
    /// Process id.
    pub pid: i32,
    /// Clock ticks between boot and its start.
    pub started: u64,
    /// The boot it was started in.
    pub boot: String,
}

impl ProcessKey {
    /// The key of a living process; `None` when there is none of this id.
    pub fn from_pid(pid: u32) -> Option<Self> {
        let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
        let row = proc_table::row(pid)?;
        Some(Self {
            pid: pid.as_raw_nonzero().get(),
            started: row.started,
            boot: proc_table::boot_id(),
        })
    }

    /// Whether this very process still lives.
    pub fn is_alive(&self) -> bool {
        self.row().is_some_and(|row| !row.zombie)
    }

    fn row(&self) -> Option<proc_table::ProcessRow> {
        let row = proc_table::row(Pid::from_raw(self.pid)?)?;
        (row.started == self.started && self.boot == proc_table::boot_id()).then_some(row)
    }
}

/// What became of the processes of a previous run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreviousRun {
    /// There was nothing left of it.
    Gone,
    /// So many processes were ended.
    Ended(usize),
    /// These, by process id, could not be ended.
    Unkillable(Vec<i32>),
}

/// Ends whatever is left of `run`, whose first process was `key`. Blocks until it has gone, at most
/// a few seconds. A process that merely got the same id is left alone.
pub fn end_previous_run(
    confinement: &Confinement,
    run: &str,
    key: Option<&ProcessKey>,
) -> PreviousRun {
    let cgroup = existing(confinement)
        .into_iter()
        .find(|cgroup| cgroup.is_named(&safe_name(run)));
    let mut group = ProcessGroup::previous(cgroup, run);
    // Its session and group are its own only while it lives, or somebody in them does.
    if let Some(row) = key.and_then(ProcessKey::row) {
        group.set_leader(row);
    }
    end(&mut group)
}

fn existing(confinement: &Confinement) -> Vec<RunCgroup> {
    match confinement {
        Confinement::Cgroup(base) => base.existing(),
        Confinement::Scan => Vec::new(),
    }
}

fn end(group: &mut ProcessGroup) -> PreviousRun {
    let found = group.scan().len();
    let until = Instant::now() + KILL_TIMEOUT;
    while !group.is_empty() && Instant::now() < until {
        group.signal(Signal::KILL);
        // A thread of the caller's own; `park_timeout` because nothing else can be waited for.
        std::thread::park_timeout(SCAN_INTERVAL);
    }
    let left = group.scan();
    let _ = group.close();
    match (found, left.len()) {
        (0, 0) => PreviousRun::Gone,
        (found, 0) => PreviousRun::Ended(found),
        _ => PreviousRun::Unkillable(
            left.iter()
                .map(|row| row.pid.as_raw_nonzero().get())
                .collect(),
        ),
    }
}
