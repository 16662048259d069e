//! The processes of one run, however they try to leave it.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal};

use super::cgroup::{CgroupBase, RunCgroup};
use super::environment::RUN_VARIABLE;
use super::limits::ProcessLimits;
use super::proc_table::{self, ProcessRow};
use super::reaper;
use super::spec::ProcessEnd;

/// How processes of runs are kept together on this host.
#[derive(Debug, Clone)]
pub enum Confinement {
    /// A cgroup for each run, and the scan.
    Cgroup(CgroupBase),
    /// A scan of the process table only.
    Scan,
}

impl Confinement {
    /// The best this host allows; `instance` names the daemon (its data directory).
    pub fn detect(instance: &str) -> Self {
        CgroupBase::find(instance).map_or(Self::Scan, Self::Cgroup)
    }

    /// Whether a process that leaves its session, its parent and its environment behind is still
    /// found for certain.
    pub fn is_complete(&self) -> bool {
        matches!(self, Self::Cgroup(_))
    }
}

/// A process that cannot be mistaken for a later one of the same id.
type Identity = (i32, u64);

/// Scans in a row that have to find no process, where there is no cgroup to ask.
const EMPTY_SCANS: usize = 2;

/// Between two attempts to reap a namespace's first process, and how many there are at most: half a
/// second.
const REAP_INTERVAL: Duration = Duration::from_millis(5);
const MAX_REAP_ATTEMPTS: u32 = 100;

/// A process that shows no environment for so long has none.
const MAX_DOUBT: Duration = Duration::from_millis(250);

/// What is kept of the processes of one run.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    cgroup: Option<RunCgroup>,
    /// `ORCH_RUN_ID=<run>`.
    assignment: Vec<u8>,
    /// Whether the run has a process table of its own: then it is known by descent alone.
    namespace: bool,
    /// The first process of that table.
    first: Option<ProcessRow>,
    /// The first process: leader of the session and of the group. Its row is set once it runs.
    leader: Option<ProcessRow>,
    /// Every process that was looked at: whether it is of this run.
    known: HashMap<Identity, bool>,
    /// Those of it that are known by their environment only, which anybody can copy: ended with the
    /// run, not counted.
    claimed: HashSet<Identity>,
    /// Those that are younger than the run and showed another environment: a process that starts
    /// another program may take on this one's.
    strangers: HashSet<Identity>,
    /// Living processes of which that could not be told, and since when.
    doubtful: HashMap<Identity, Instant>,
}

impl ProcessGroup {
    pub(super) fn new(
        confinement: &Confinement,
        run: &str,
        limits: &ProcessLimits,
    ) -> io::Result<Self> {
        let cgroup = match confinement {
            Confinement::Cgroup(base) => Some(base.open(run, limits)?),
            Confinement::Scan => None,
        };
        Ok(Self::previous(cgroup, run))
    }

    /// The group of a run of a previous incarnation.
    pub(super) fn previous(cgroup: Option<RunCgroup>, run: &str) -> Self {
        let assignment = format!("{RUN_VARIABLE}={run}").into_bytes();
        Self {
            cgroup,
            assignment,
            namespace: false,
            first: None,
            leader: None,
            known: HashMap::new(),
            claimed: HashSet::new(),
            strangers: HashSet::new(),
            doubtful: HashMap::new(),
        }
    }

    pub(super) fn cgroup(&self) -> Option<&RunCgroup> {
        self.cgroup.as_ref()
    }

    /// Names the first process.
    pub(super) fn set_leader(&mut self, leader: ProcessRow) {
        self.leader = Some(leader);
        self.known.insert(identity(&leader), true);
    }

    /// The run has a process table of its own, whose first process is `first`, if that is known
    /// already.
    pub(super) fn in_namespace(&mut self, first: Option<ProcessRow>) {
        self.namespace = true;
        if let Some(first) = first {
            self.known.insert(identity(&first), true);
            self.first = Some(first);
        }
    }

    /// Living processes of the run, by a scan of the whole process table, without those that only
    /// make its namespace.
    pub(super) fn scan(&mut self) -> Vec<ProcessRow> {
        let mut found = self.everything();
        found.retain(|row| !self.is_wrapper(row));
        found
    }

    /// Whether a process only makes the run's namespace: the sandbox's program, and its first
    /// process.
    fn is_wrapper(&self, row: &ProcessRow) -> bool {
        let is = |other: &Option<ProcessRow>| {
            other
                .as_ref()
                .is_some_and(|other| identity(other) == identity(row))
        };
        self.namespace && (is(&self.leader) || is(&self.first))
    }

    /// The living processes of the run and of its namespace.
    fn everything(&mut self) -> Vec<ProcessRow> {
        let table = proc_table::all();
        self.remove_dead(&table);
        let inside = self
            .cgroup
            .as_ref()
            .map(RunCgroup::members)
            .unwrap_or_default();
        for row in &table {
            let found = match inside.contains(&row.pid) {
                true => Some(true),
                false => self.belongs(row),
            };
            let Some(found) = found.or_else(|| self.record_uncertain_scan(row)) else {
                continue;
            };
            let known = self.known.entry(identity(row)).or_insert(found);
            *known |= found;
        }
        if let Some(leader) = self
            .leader
            .filter(|_| self.namespace && self.first.is_none())
        {
            let child = |row: &&ProcessRow| row.parent == leader.pid.as_raw_nonzero().get();
            let first = table.iter().find(child).copied();
            self.in_namespace(first);
        }
        self.add_children(&table);
        reaper::reap();
        let mine = table
            .into_iter()
            .filter(|row| !row.zombie && self.known.get(&identity(row)) == Some(&true));
        mine.collect()
    }

    /// Living processes of the run that are cheap to find: those of the cgroup, else the scan.
    pub(super) fn members(&mut self) -> Vec<Pid> {
        match &self.cgroup {
            Some(cgroup) => cgroup.members(),
            None => {
                let mut found = self.scan();
                found.retain(|row| !self.claimed.contains(&identity(row)));
                found.into_iter().map(|row| row.pid).collect()
            }
        }
    }

    /// Whether a process shows by itself that it is of this run; `None` when this scan cannot tell.
    /// In a namespace only descent counts.
    fn belongs(&mut self, row: &ProcessRow) -> Option<bool> {
        let known = self.known.get(&identity(row)).copied();
        if known == Some(true) {
            return known;
        }
        if self.namespace {
            return Some(false);
        }
        let led = |leader: &ProcessRow| row.session == leader.session || row.group == leader.group;
        if self.leader.as_ref().is_some_and(led) {
            return Some(true);
        }
        // A fork has its parent's environment from its first moment: one look is enough until the
        // run ends.
        if known.is_some() || self.cgroup.is_some() || row.pid == rustix::process::getpid() {
            return Some(false);
        }
        let carries = proc_table::has_variable(row, &self.assignment);
        let is_younger = |leader: &ProcessRow| row.started >= leader.started;
        match carries {
            Some(true) => _ = self.claimed.insert(identity(row)),
            Some(false) if self.leader.as_ref().is_none_or(is_younger) => {
                self.strangers.insert(identity(row));
            }
            _ => {}
        }
        carries
    }

    /// One more scan that could not tell; after a while the process is none of the run's, and one
    /// that is older than the run never was.
    fn record_uncertain_scan(&mut self, row: &ProcessRow) -> Option<bool> {
        if row.zombie {
            return None;
        }
        let older = |leader: &ProcessRow| row.started < leader.started;
        if self.leader.as_ref().is_some_and(older) {
            return Some(false);
        }
        let since = self.doubtful.entry(identity(row));
        let since = since.or_insert_with(Instant::now);
        (since.elapsed() >= MAX_DOUBT).then_some(false)
    }

    /// Children of the run's processes are of the run, and so are theirs.
    fn add_children(&mut self, table: &[ProcessRow]) {
        let by_pid: HashMap<i32, Identity> = table
            .iter()
            .map(|row| (identity(row).0, identity(row)))
            .collect();
        loop {
            let mut more = Vec::new();
            for row in table {
                let Some(parent) = by_pid.get(&row.parent) else {
                    continue;
                };
                if self.known.get(parent) != Some(&true) {
                    continue;
                }
                let counts = !self.claimed.contains(parent);
                // Descent outweighs what a process carries.
                let fresh = self.known.get(&identity(row)) != Some(&true);
                if fresh || (counts && self.claimed.contains(&identity(row))) {
                    more.push((identity(row), counts));
                }
            }
            if more.is_empty() {
                return;
            }
            for (identity, counts) in more {
                self.known.insert(identity, true);
                if counts {
                    self.claimed.remove(&identity);
                } else {
                    self.claimed.insert(identity);
                }
            }
        }
    }

    fn remove_dead(&mut self, table: &[ProcessRow]) {
        let alive: HashSet<Identity> = table.iter().map(identity).collect();
        self.known.retain(|identity, _| alive.contains(identity));
        self.claimed.retain(|identity| alive.contains(identity));
        self.strangers.retain(|identity| alive.contains(identity));
        let known = &self.known;
        self.doubtful
            .retain(|identity, _| alive.contains(identity) && !known.contains_key(identity));
    }

    /// Sends a signal to every process of the run.
    pub(super) fn signal(&mut self, signal: Signal) {
        if signal == Signal::KILL {
            self.cgroup.as_ref().map(RunCgroup::kill);
            // The kernel ends a namespace with its first process, whatever forks meanwhile.
            if let Some(first) = &self.first {
                send(first, signal);
            }
            for row in self.everything() {
                send(&row, signal);
            }
            return;
        }
        // What makes the namespace ends with it, not before the agent has had its time.
        for row in self.scan() {
            send(&row, signal);
        }
    }

    /// Whether no process of the run lives. Without a cgroup only several scans in a row that find
    /// no process, and none in doubt, say so: one may miss a process whose parent ends during the
    /// scan.
    pub(super) fn is_empty(&mut self) -> bool {
        match &self.cgroup {
            Some(cgroup) => !cgroup.is_populated() && self.everything().is_empty(),
            None if self.namespace => self.everything().is_empty(),
            None => (0..EMPTY_SCANS).all(|_| {
                self.rescan_strangers();
                self.scan().is_empty() && !self.is_in_doubt()
            }),
        }
    }

    /// The next scan reads the environments of strangers anew: one that was seen between its fork
    /// and its program may carry this run's variable by now.
    fn rescan_strangers(&mut self) {
        for identity in self.strangers.drain() {
            if self.known.get(&identity) == Some(&false) {
                self.known.remove(&identity);
            }
        }
    }

    /// Whether a living process may be of the run.
    fn is_in_doubt(&self) -> bool {
        let known = &self.known;
        self.doubtful
            .keys()
            .any(|identity| !known.contains_key(identity))
    }

    /// The end of the agent, as what wraps it tells it: a signal as 128 and its number.
    pub(super) fn unwrapped(&self, end: ProcessEnd) -> ProcessEnd {
        match end {
            ProcessEnd::Code(code @ 129..=159) if self.namespace => ProcessEnd::Signal(code - 128),
            end => end,
        }
    }

    /// Collects the end of the namespace's first process, which became an orphan of ours when its
    /// parent ended.
    pub(super) fn reap_first(&self) {
        let Some(first) = &self.first else { return };
        for _ in 0..MAX_REAP_ATTEMPTS {
            reaper::reap();
            if proc_table::row(first.pid).is_none_or(|now| now.started != first.started) {
                return;
            }
            std::thread::park_timeout(REAP_INTERVAL);
        }
    }

    /// Takes the cgroup away.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.cgroup.take().map_or(Ok(()), |cgroup| cgroup.remove())
    }
}

fn identity(row: &ProcessRow) -> Identity {
    (row.pid.as_raw_nonzero().get(), row.started)
}

/// Sends a signal to this very process: a later one that got the same id is left alone.
fn send(row: &ProcessRow, signal: Signal) {
    let Ok(handle) = rustix::process::pidfd_open(row.pid, PidfdFlags::empty()) else {
        return;
    };
    // The handle names whoever has the id now; the table tells whether that is still the same.
    if proc_table::row(row.pid).is_some_and(|now| now.started == row.started) {
        let _ = rustix::process::pidfd_send_signal(&handle, signal);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::{ProcessGroup, identity};

    #[test]
    fn i18_a_process_that_takes_on_the_run_s_variable_after_a_scan_is_found_at_its_end() {
        let run = "01a22de0-late-variable";
        let mut shell = Command::new("/bin/sh")
            .args(["-c", &format!("read go; ORCH_RUN_ID={run} exec sleep 300")])
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut group = ProcessGroup::previous(None, run);
        assert!(group.scan().is_empty());
        let mut input = shell.stdin.take().expect("a pipe");
        input.write_all(b"go\n").expect("is read");
        let program = format!("/proc/{}/comm", shell.id());
        while std::fs::read_to_string(&program).expect("it lives") != "sleep\n" {
            std::thread::yield_now();
        }
        let _ = group.is_empty();
        let id = shell.id().cast_signed();
        let found = group.scan().iter().any(|row| identity(row).0 == id);
        shell.kill().expect("it lives");
        shell.wait().expect("it ends");
        assert!(found, "what carries the run's variable is of the run");
    }
}
