//! Where jobs run: apart from the agent, which shares a kernel with them and has what they must not
//! have, the way to the host.
//!
//! ```text
//! agent (first process, not dumpable) ── spawner: a thread with its own mounts and PID namespace
//!                                            ├─ keeper: first process there, waits for orphans
//!                                            └─ jobs: root without the capabilities below
//! ```
//!
//! A job sees neither the agent's process nor its port: `/proc` is of its own namespace, the ports'
//! nodes are removed, `/sys` cannot be written, and without [`DROPPED`] nothing of that is undone.
//! What a job needs more than that, it finds in a user namespace of its own (`unshare -Ur`).

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_dumpable;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

use crate::error::{AgentError, ErrorContext as _};
use crate::thread::thread;

/// What reaches another process's memory and descriptors, the kernel, or devices that were not
/// given.
const DROPPED: [CapabilitySet; 12] = [
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_BOOT,
    CapabilitySet::MKNOD,
    CapabilitySet::DAC_READ_SEARCH,
    CapabilitySet::BPF,
    CapabilitySet::PERFMON,
    CapabilitySet::CHECKPOINT_RESTORE,
    CapabilitySet::MAC_ADMIN,
    CapabilitySet::MAC_OVERRIDE,
];
/// Programs that the kernel starts by itself, for crashes or modules, get these capabilities: none.
const HELPERS: &str = "/proc/sys/kernel/usermodehelper/bset";
/// Device nodes that no job has a use for: memory, the disk below the file system, consoles.
const HIDDEN: [&str; 5] = ["mem", "port", "kmem", "vda", "nvram"];
/// How the keeper is started.
pub(crate) const NAMESPACE_HOLDER: &str = "--keeper";

/// Something that the spawner does.
type Work = Box<dyn FnOnce() + Send>;

/// The thread that starts all jobs: they inherit where it is, and what it may.
pub(crate) struct Spawner(Mutex<Sender<Work>>);

impl Spawner {
    /// One whose jobs are apart from the agent, or, where somebody else has made a sandbox, one
    /// that does nothing more.
    pub(crate) fn start(apart: bool) -> Result<Self, AgentError> {
        let (orders, work) = channel::<Work>();
        let (ready, begun) = channel();
        let body = move || {
            let entered = if apart { confine_thread() } else { Ok(()) };
            let usable = entered.is_ok();
            let _ = ready.send(entered);
            while let Some(work) = usable.then(|| work.recv().ok()).flatten() {
                work();
            }
        };
        thread("spawner")
            .spawn(body)
            .context("starting the spawner")?;
        let gone = |_| std::io::Error::other("it ended");
        begun
            .recv()
            .map_err(gone)
            .context("starting the spawner")??;
        Ok(Self(Mutex::new(orders)))
    }

    /// Does `work` where jobs are, and waits for it.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> std::io::Result<T> {
        let (sender, done) = channel();
        let work = Box::new(move || drop(sender.send(work())));
        let orders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = |_| std::io::Error::other("the spawner has ended");
        orders.send(work).map_err(|_| gone(()))?;
        drop(orders);
        done.recv().map_err(|_| gone(()))
    }
}

/// Keeps other processes of the same user from reaching into this one.
pub(crate) fn close_memory() {
    // Every kernel has it.
    let _ = set_dumpable(false);
}

/// Takes away what could be used to come between the agent and the host. The port is open by now.
pub(crate) fn hide_devices() {
    let _ = fs::write(HELPERS, "0 0");
    for entry in fs::read_dir("/dev").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("vport") || name.starts_with("hvc") || HIDDEN.contains(&&*name) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Leaves the agent's place with this thread, for one where jobs may be.
fn confine_thread() -> Result<(), AgentError> {
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID).context("making namespaces")?;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, private, None::<&str>).context("leaving the mounts")?;
    for place in ["/sys", "/sys/fs/cgroup"] {
        read_only(place).context(format!("closing {place}"))?;
    }
    for capability in DROPPED {
        match remove_capability_from_bounding_set(capability) {
            // A kernel that does not know it does not give it.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => {
                return Err(std::io::Error::from(error)).context("dropping capabilities");
            }
        }
    }
    start_namespace_holder().context("starting the keeper")
}

fn read_only(place: &str) -> nix::Result<()> {
    let flags = MsFlags::MS_REMOUNT
        | MsFlags::MS_BIND
        | MsFlags::MS_RDONLY
        | MsFlags::MS_NOSUID
        | MsFlags::MS_NODEV
        | MsFlags::MS_NOEXEC;
    match mount(None::<&str>, place, None::<&str>, flags, None::<&str>) {
        // Without control groups nothing is mounted there.
        Err(nix::Error::EINVAL) if !is_mounted(place) => Ok(()),
        outcome => outcome,
    }
}

fn is_mounted(place: &str) -> bool {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    mounts
        .lines()
        .any(|line| line.split(' ').nth(1) == Some(place))
}

/// The first process of the namespace: without it there is none. It is the first to see a `/proc`
/// of it.
#[allow(
    unsafe_code,
    reason = "the standard library has no other way to do something in the child"
)]
fn start_namespace_holder() -> std::io::Result<()> {
    let mut keeper = Command::new("/proc/self/exe");
    keeper
        .arg(NAMESPACE_HOLDER)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let prepare = || {
        let quiet = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount(Some("proc"), "/proc", Some("proc"), quiet, None::<&str>)?;
        Ok(())
    };
    // SAFETY: between fork and exec only one system call is made, with constant texts.
    unsafe { keeper.pre_exec(prepare) };
    // It lives as long as the machine; the reaper waits for it as for an orphan.
    keeper.spawn().map(drop)
}

/// Waits for orphans of jobs, for ever.
pub(crate) fn reap_orphans() -> ! {
    close_memory();
    let mut child = SigSet::empty();
    child.add(Signal::SIGCHLD);
    // Blocked, one that comes between two looks is not lost.
    let _ = child.thread_block();
    loop {
        while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            if status == WaitStatus::StillAlive {
                break;
            }
        }
        let _ = child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_where_jobs_are_and_its_outcome_comes_back() {
        let spawner = Spawner::start(false).unwrap();
        let name = spawner.run(|| std::thread::current().name().map(str::to_owned));
        assert_eq!(name.unwrap().as_deref(), Some("spawner"));
        assert_eq!(spawner.run(|| 7).unwrap(), 7);
    }
}
