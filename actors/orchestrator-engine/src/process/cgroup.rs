//! One cgroup (version 2) a run: every process a run starts stays in it, whatever it does to its
//! session, parent or environment. <https://docs.kernel.org/admin-guide/cgroup-v2.html>

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use super::limits::ProcessLimits;
use crate::names::safe_name;

/// Deepest nesting that is looked at below a run's cgroup: agents may make their own.
const MAX_DEPTH: usize = 16;

/// A folder of the cgroup file system below which this daemon may make cgroups, named after the
/// daemon's data folder: two daemons on one machine never touch each other's.
#[derive(Debug, Clone)]
pub struct CgroupBase {
    path: PathBuf,
    /// Whether the kernel enforces bounds of processes and memory here.
    enforces: bool,
}

impl CgroupBase {
    /// Makes the base below this process's own cgroup, as a service manager delegates it
    /// (`Delegate=yes`); `None` where the host does not allow it.
    pub fn find(instance: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        Self::create_in(&own_folder(&mounts, &own)?, instance)
    }

    /// Makes the base below `parent`, a folder of a mounted cgroup file system.
    pub fn create_in(parent: &Path, instance: &str) -> Option<Self> {
        let path = parent.join(format!("orch-{}", safe_name(instance)));
        fs::create_dir(&path)
            .or_else(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => Ok(()),
                _ => Err(error),
            })
            .ok()?;
        OpenOptions::new()
            .write(true)
            .open(path.join("cgroup.procs"))
            .ok()?;
        // Refused where a cgroup above still holds processes of its own: bounds are then watched
        // from here, which is less exact but needs no privilege.
        let _ = fs::write(parent.join("cgroup.subtree_control"), "+pids +memory");
        let _ = fs::write(path.join("cgroup.subtree_control"), "+pids +memory");
        let active = fs::read_to_string(path.join("cgroup.subtree_control")).unwrap_or_default();
        let enforces = ["pids", "memory"]
            .iter()
            .all(|name| active.split_whitespace().any(|a| a == *name));
        Some(Self { path, enforces })
    }

    /// The cgroup of one run.
    pub(super) fn open(&self, run: &str, limits: &ProcessLimits) -> io::Result<RunCgroup> {
        let path = self.path.join(safe_name(run));
        fs::create_dir(&path)?;
        let cgroup = RunCgroup { path };
        if self.enforces {
            cgroup.limit("pids.max", limits.processes)?;
            cgroup.limit("memory.max", limits.memory)?;
        }
        Ok(cgroup)
    }

    /// The cgroups that are still there from before: runs of a previous incarnation of the daemon.
    pub(super) fn existing(&self) -> Vec<RunCgroup> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders
            .map(|entry| RunCgroup { path: entry.path() })
            .collect()
    }
}

/// Where this process is in the cgroup v2 file system.
fn own_folder(mounts: &str, own: &str) -> Option<PathBuf> {
    let inside = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mount = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let fields: Vec<&str> = before.split(' ').collect();
        // A bind mount of a part of the tree shows other paths than /proc/self/cgroup does.
        (after.starts_with("cgroup2 ") && *fields.get(3)? == "/").then(|| fields.get(4).copied())?
    })?;
    Some(Path::new(mount).join(inside))
}

/// The cgroup of one run.
#[derive(Debug)]
pub(super) struct RunCgroup {
    path: PathBuf,
}

impl RunCgroup {
    /// The file that a process writes `0` to in order to join.
    pub(super) fn entrance(&self) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .open(self.path.join("cgroup.procs"))
    }

    /// Whether this is the folder of that name.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.path.file_name().is_some_and(|own| own == name)
    }

    fn limit(&self, file: &str, most: Option<u64>) -> io::Result<()> {
        most.map_or(Ok(()), |most| {
            fs::write(self.path.join(file), most.to_string())
        })
    }

    /// Whether the kernel refused a new process because of the bound.
    pub(super) fn hit_processes(&self) -> bool {
        self.counter("pids.events", "max") > 0
    }

    /// Whether the kernel killed a process because of the bound of memory.
    pub(super) fn hit_memory(&self) -> bool {
        self.counter("memory.events", "oom_kill") > 0
    }

    fn counter(&self, file: &str, name: &str) -> u64 {
        let text = fs::read_to_string(self.path.join(file)).unwrap_or_default();
        let value = |line: &str| line.strip_prefix(name)?.trim().parse().ok();
        text.lines().find_map(value).unwrap_or(0)
    }

    /// Living processes, those in cgroups below included.
    pub(super) fn members(&self) -> Vec<Pid> {
        let mut found = Vec::new();
        self.visit_all(&mut |path| {
            let text = fs::read_to_string(path.join("cgroup.procs")).unwrap_or_default();
            found.extend(
                text.lines()
                    .filter_map(|line| Pid::from_raw(line.parse().ok()?)),
            );
        });
        found
    }

    /// Whether any living process is in it or below (`cgroup.events`).
    pub(super) fn is_populated(&self) -> bool {
        self.counter("cgroup.events", "populated") == 1
    }

    /// Kills everything at once, also what forks meanwhile; `false` where the kernel (before 5.14)
    /// cannot.
    pub(super) fn kill(&self) -> bool {
        fs::write(self.path.join("cgroup.kill"), "1").is_ok()
    }

    /// Removes the cgroup and those below. Fails while processes are in it.
    pub(super) fn remove(&self) -> io::Result<()> {
        let mut folders = Vec::new();
        self.visit_all(&mut |path| folders.push(path.to_owned()));
        folders.into_iter().rev().try_for_each(fs::remove_dir)
    }

    /// Visits the cgroup and those below it, parents first.
    fn visit_all(&self, visit: &mut dyn FnMut(&Path)) {
        let mut open = vec![(self.path.clone(), 0)];
        while let Some((path, depth)) = open.pop() {
            visit(&path);
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            if depth < MAX_DEPTH {
                open.extend(below.map(|entry| (entry.path(), depth + 1)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_folder_is_found_in_both_usual_layouts() {
        let unified = "35 24 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
        let hybrid = "34 32 0:31 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                      35 24 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let own = "9:name=systemd:/\n0::/system.slice/orchestrator.service\n";
        assert_eq!(
            own_folder(unified, own),
            Some(PathBuf::from(
                "/sys/fs/cgroup/system.slice/orchestrator.service"
            ))
        );
        assert_eq!(
            own_folder(hybrid, "0::/\n"),
            Some(PathBuf::from("/sys/fs/cgroup/unified"))
        );
        let part = "35 24 0:30 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
        assert_eq!(
            own_folder(part, own),
            None,
            "a part of the tree has other paths"
        );
        assert_eq!(own_folder("", own), None);
    }

    #[test]
    fn a_folder_that_is_no_cgroup_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(CgroupBase::create_in(folder.path(), "x").is_none());
        assert!(CgroupBase::create_in(Path::new("/proc"), "x").is_none());
    }
}
