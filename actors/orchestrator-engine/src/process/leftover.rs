//! Processes of a former life of the daemon: found by process id and start time, and ended.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use super::cgroup::RunCgroup;
use super::pen::{Confinement, Pen};
use super::proc_table;
use crate::names::safe_name;

/// How long the end of leftovers is waited for: SIGKILL needs no help, only the kernel's time.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// Names a process for ever: an id is given again, but not with the same start time in one boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMark {
    /// Process id.
    pub pid: i32,
    /// Clock ticks between boot and its start.
    pub started: u64,
    /// The boot it was started in.
    pub boot: String,
}

impl ProcessMark {
    /// The mark of a living process; `None` when there is none of this id.
    pub fn of(pid: u32) -> Option<Self> {
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

/// What became of the processes of a former run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leftover {
    /// There was nothing left of it.
    Gone,
    /// So many processes were ended.
    Ended(usize),
    /// These, by process id, could not be ended.
    Unkillable(Vec<i32>),
}

/// Ends whatever is left of `run`, whose first process was `mark`. Blocks until it has gone, at most
/// a few seconds. A process that merely got the same id is left alone.
pub fn end_leftover(confinement: &Confinement, run: &str, mark: Option<&ProcessMark>) -> Leftover {
    let cgroup = existing(confinement)
        .into_iter()
        .find(|cgroup| cgroup.is_named(&safe_name(run)));
    let mut pen = Pen::of(cgroup, run);
    // Its session and group are its own only while it lives, or somebody in them does.
    if let Some(row) = mark.and_then(ProcessMark::row) {
        pen.led_by(row);
    }
    end(&mut pen)
}

impl Confinement {
    /// Ends every run of a former life of this daemon that still has a cgroup; returns how many
    /// processes were ended. Before the first run is started.
    pub fn end_all_leftovers(&self) -> usize {
        let ended = existing(self).into_iter().map(|cgroup| {
            // No run has this id, so nothing is found by its environment: the cgroup knows them all.
            match end(&mut Pen::of(Some(cgroup), "")) {
                Leftover::Ended(count) => count,
                Leftover::Gone | Leftover::Unkillable(_) => 0,
            }
        });
        ended.sum()
    }
}

fn existing(confinement: &Confinement) -> Vec<RunCgroup> {
    match confinement {
        Confinement::Cgroup(base) => base.existing(),
        Confinement::Scan => Vec::new(),
    }
}

fn end(pen: &mut Pen) -> Leftover {
    let found = pen.scan().len();
    let until = Instant::now() + PATIENCE;
    while !pen.is_empty() && Instant::now() < until {
        pen.signal(Signal::KILL);
        // A thread of the caller's own; `park_timeout` because nothing else can be waited for.
        std::thread::park_timeout(LOOK);
    }
    let left = pen.scan();
    let _ = pen.close();
    match (found, left.len()) {
        (0, 0) => Leftover::Gone,
        (found, 0) => Leftover::Ended(found),
        _ => Leftover::Unkillable(
            left.iter()
                .map(|row| row.pid.as_raw_nonzero().get())
                .collect(),
        ),
    }
}
