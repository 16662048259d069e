//! A control group for each execution: killing one leaves nothing, and a fork bomb stays in it.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

use nix::mount::{MsFlags, mount};
use vm_core::guest::Channel;

const MOUNT: &str = "/sys/fs/cgroup";
const JOBS: &str = "/sys/fs/cgroup/jobs";
/// Processes and threads of all executions together: a build uses hundreds, a bomb any number.
const MAX_TASKS: &str = "3000";
/// Memory left to the agent and the kernel, in KiB.
const KEPT_KIB: u64 = 24 * 1024;

/// Whether executions get a group.
static USABLE: OnceLock<bool> = OnceLock::new();

/// Mounts the hierarchy and makes the group of all executions. Without it they are killed by
/// process group, and the host is told so.
pub(crate) fn prepare_as_first_process() {
    let _ = USABLE.set(prepare().is_ok());
}

/// Whether killing an execution leaves nothing of it.
pub(crate) fn usable() -> bool {
    *USABLE.get().unwrap_or(&false)
}

fn prepare() -> io::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("cgroup2"), MOUNT, Some("cgroup2"), flags, None::<&str>)?;
    fs::create_dir_all(JOBS)?;
    // Limits need their controllers; killing does not.
    for controller in ["+pids", "+memory"] {
        let _ = fs::write(format!("{MOUNT}/cgroup.subtree_control"), controller);
    }
    let _ = fs::write(format!("{JOBS}/pids.max"), MAX_TASKS);
    if let Some(total) = total_kib() {
        let _ = fs::write(
            format!("{JOBS}/memory.max"),
            format!("{}K", total.saturating_sub(KEPT_KIB)),
        );
    }
    Ok(())
}

fn total_kib() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// The group of one execution; removed when dropped, if nothing runs in it any more.
#[derive(Debug)]
pub(crate) struct ExecCgroup(PathBuf);

impl ExecCgroup {
    /// A group for this execution, where there are groups.
    pub(crate) fn new(channel: Channel) -> Option<Self> {
        if !usable() {
            return None;
        }
        let path = PathBuf::from(format!("{JOBS}/c{channel}"));
        fs::create_dir(&path).ok().map(|()| Self(path))
    }

    /// To be written "0" to by whoever wants in.
    pub(crate) fn entrance(&self) -> io::Result<File> {
        File::options()
            .write(true)
            .open(self.0.join("cgroup.procs"))
    }

    /// Kills everything in it.
    pub(crate) fn kill(&self) {
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
    }
}

impl Drop for ExecCgroup {
    fn drop(&mut self) {
        // A server left running on purpose keeps its group.
        let _ = fs::remove_dir(&self.0);
    }
}
