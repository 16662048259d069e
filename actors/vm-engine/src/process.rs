//! The process behind a VM: started with little, known by number and start time, ended for sure.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use serde::{Deserialize, Serialize};

use crate::error::DriverError;

/// Name of the record in a VM's folder.
const RECORD: &str = "process.json";
/// What the process says of itself.
const STDERR: &str = "stderr.log";
/// What the guest's console says, where it is kept.
pub(crate) const CONSOLE: &str = "console.log";
/// How long a killed process may take to be gone.
const KILL_DEADLINE: Duration = Duration::from_secs(5);

/// A process on the host, named so that a number given to another process since is noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRecord {
    /// Its number.
    pub pid: u32,
    /// When it was started, in clock ticks since boot, as in `/proc/<pid>/stat`.
    pub start_ticks: u64,
    /// The folder that goes with it.
    pub folder: PathBuf,
}

/// A process in a group and a folder of its own.
#[derive(Debug)]
pub(crate) struct DriverProcess {
    child: Mutex<Child>,
    record: ProcessRecord,
    file_limit: Mutex<FileLimit>,
}

/// How large a file of a process may get, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileLimit {
    /// At first.
    pub(crate) usual: u64,
    /// After all that [`DriverProcess::allow_growth`] has added.
    pub(crate) most: u64,
}

impl FileLimit {
    /// One that stays as it is.
    pub(crate) fn fixed(bytes: u64) -> Self {
        Self {
            usual: bytes,
            most: bytes,
        }
    }
}

impl DriverProcess {
    /// Starts `command` in `folder`; its standard error goes to a file there.
    pub(crate) fn start(
        mut command: Command,
        folder: &Path,
        file_limit: FileLimit,
        hint: &'static str,
    ) -> Result<Self, DriverError> {
        use std::os::unix::process::CommandExt as _;
        let files = |source| DriverError::Files {
            what: "making",
            path: folder.join(STDERR),
            source,
        };
        let stderr = File::create(folder.join(STDERR)).map_err(files)?;
        command
            .current_dir(folder)
            .process_group(0)
            .stderr(Stdio::from(stderr));
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().map_err(|source| DriverError::Program {
            program,
            hint,
            source,
        })?;
        limit(&child, file_limit);
        let record = ProcessRecord {
            pid: child.id(),
            start_ticks: start_ticks(child.id()).unwrap_or(0),
            folder: folder.to_path_buf(),
        };
        let process = Self {
            child: Mutex::new(child),
            record,
            file_limit: Mutex::new(file_limit),
        };
        let json = serde_json::to_vec(&process.record).expect("numbers and a path are always JSON");
        let path = folder.join(RECORD);
        if let Err(source) = fs::write(&path, json) {
            process.kill()?;
            return Err(DriverError::Files {
                what: "writing",
                path,
                source,
            });
        }
        Ok(process)
    }

    /// Its number and start time.
    pub(crate) fn record(&self) -> &ProcessRecord {
        &self.record
    }

    /// How it ended, if it has within `wait`.
    pub(crate) fn wait_for_end(&self, wait: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        loop {
            if let Ok(Some(status)) = self.child.lock().try_wait() {
                return Some(status);
            }
            if start.elapsed() >= wait {
                return None;
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    /// In words: how it ended and the last it said.
    pub(crate) fn obituary(&self) -> String {
        let status = self.wait_for_end(Duration::from_millis(300));
        let how = status.map_or_else(
            || "its process runs still".to_owned(),
            |status| status.to_string(),
        );
        let tails = [STDERR, CONSOLE].map(|name| tail(&self.record.folder.join(name)));
        let said = tails.iter().filter(|tail| !tail.is_empty());
        said.fold(how, |text, tail| text + ": " + tail)
    }

    /// Lets its files grow by so many bytes more, up to the most it was started with.
    pub(crate) fn allow_growth(&self, bytes: u64) {
        let Some(pid) = i32::try_from(self.record.pid).ok().and_then(Pid::from_raw) else {
            return;
        };
        let mut limit = self.file_limit.lock();
        limit.usual = limit.usual.saturating_add(bytes).min(limit.most);
        let wider = Rlimit {
            current: Some(limit.usual),
            maximum: Some(limit.most),
        };
        // Without it the process fails to write, and says so.
        let _ = prlimit(Some(pid), Resource::Fsize, wider);
    }

    /// Kills it and all of its group, and waits until it is gone.
    pub(crate) fn kill(&self) -> Result<(), DriverError> {
        let mut child = self.child.lock();
        if let Ok(None) = child.try_wait() {
            kill_group(child.id());
            let _ = child.kill();
        }
        drop(child);
        match self.wait_for_end(KILL_DEADLINE) {
            Some(_) => Ok(()),
            None => Err(DriverError::Deadline {
                deadline: KILL_DEADLINE,
                detail: "ending its process".to_owned(),
            }),
        }
    }
}

/// MiB that are free on the disk that a folder is on; `None` when the system does not say.
pub(crate) fn free_mib(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize) >> 20)
}

/// Whether the disk that a folder is on has no room left: VMs' own disks grow there. A folder that
/// is gone says nothing.
#[must_use]
pub fn disk_is_full(folder: &Path) -> bool {
    const LEAST: u64 = 1 << 20;
    rustix::fs::statvfs(folder)
        .is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < LEAST)
}

/// The last of a file, for people. Only that is read: what a guest makes its monitor say can be
/// long.
fn tail(path: &Path) -> String {
    use std::io::{Read as _, Seek as _, SeekFrom};
    const LAST: u64 = 600;
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LAST)))?;
        let mut bytes = Vec::new();
        file.take(LAST).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default())
        .trim()
        .to_owned()
}

fn kill_group(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// No core dumps (they hold the guest's memory), few files, no file larger than its disk can get.
fn limit(child: &Child, file_limit: FileLimit) {
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return;
    };
    let limit = |current, maximum| Rlimit {
        current: Some(current),
        maximum: Some(maximum),
    };
    for (resource, limit) in [
        (Resource::Core, limit(0, 0)),
        (Resource::Nofile, limit(512, 512)),
        (Resource::Fsize, limit(file_limit.usual, file_limit.most)),
    ] {
        // A limit of ours that is lower than wanted stays: that is no harm.
        let _ = prlimit(Some(pid), resource, limit);
    }
}

/// When a process was started, in clock ticks since boot; `None` when there is none.
pub(crate) fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and can hold anything; what follows the last one is numbers.
    let after_name = stat.rsplit_once(") ")?.1;
    let mut fields = after_name.split(' ');
    // A zombie is gone, but for its parent's interest.
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// What a previous incarnation of the manager left behind, and was ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrphanProcess {
    /// The VM's or template's folder.
    pub folder: PathBuf,
    /// The process that was killed, when it still ran.
    pub killed: Option<u32>,
}

/// Ends what a previous incarnation of the manager left in `runtime`: kills processes whose number
/// and start time are still those written down, and those that work in one of its folders; removes
/// the folders. To be called before anything is started there.
///
/// # Errors
/// When the folder cannot be read, or something in it not be removed.
pub fn end_orphans(runtime: &Path) -> io::Result<Vec<OrphanProcess>> {
    let entries = match fs::read_dir(runtime) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut leftovers = Vec::new();
    for entry in entries {
        let folder = entry?.path();
        if !folder.is_dir() {
            continue;
        }
        let mut killed = None;
        for pid in recorded(&folder).into_iter().chain(working_in(&folder)) {
            kill_group(pid);
            if let Some(target) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = rustix::process::kill_process(target, Signal::KILL);
            }
            killed = Some(pid);
            await_end(pid);
        }
        fs::remove_dir_all(&folder)?;
        leftovers.push(OrphanProcess { folder, killed });
    }
    Ok(leftovers)
}

fn recorded(folder: &Path) -> Option<u32> {
    let json = fs::read(folder.join(RECORD)).ok()?;
    let record: ProcessRecord = serde_json::from_slice(&json).ok()?;
    (start_ticks(record.pid) == Some(record.start_ticks)).then_some(record.pid)
}

/// Processes that work in the folder: those that were started, but not written down any more.
fn working_in(folder: &Path) -> Vec<u32> {
    let Ok(folder) = folder.canonicalize() else {
        return Vec::new();
    };
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let works_there =
        |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder);
    pids.filter(works_there).collect()
}

fn await_end(pid: u32) {
    let start = Instant::now();
    while start_ticks(pid).is_some() && start.elapsed() < KILL_DEADLINE {
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper(folder: &Path) -> DriverProcess {
        let mut command = Command::new("sleep");
        command.arg("1000");
        DriverProcess::start(command, folder, FileLimit::fixed(1 << 20), "").unwrap()
    }

    #[test]
    fn a_killed_process_is_gone_and_says_how() {
        let folder = tempfile::tempdir().unwrap();
        let process = sleeper(folder.path());
        let pid = process.record().pid;
        assert_eq!(start_ticks(pid), Some(process.record().start_ticks));
        process.kill().unwrap();
        assert_eq!(start_ticks(pid), None);
        assert!(
            process.obituary().contains("signal: 9"),
            "{}",
            process.obituary()
        );
        process.kill().unwrap();
    }

    #[test]
    fn t5_of_a_long_file_only_the_end_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("said");
        // A hole of a terabyte, and the last words.
        let file = File::create(&path).unwrap();
        file.set_len(1 << 40).unwrap();
        let mut file = File::options().append(true).open(&path).unwrap();
        std::io::Write::write_all(&mut file, b"the last words\n").unwrap();
        assert!(tail(&path).ends_with("the last words"));
        fs::write(&path, "short\n").unwrap();
        assert_eq!(tail(&path), "short");
        assert_eq!(tail(&folder.path().join("none")), "");
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = DriverProcess::start(
            Command::new("no-such-monitor"),
            folder.path(),
            FileLimit::fixed(0),
            "install it",
        )
        .unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("no-such-monitor cannot be started"),
            "{error}"
        );
    }

    #[test]
    fn leftovers_are_ended_and_others_left_alone() {
        let runtime = tempfile::tempdir().unwrap();
        let (one, two, three) = (
            runtime.path().join("vm-1"),
            runtime.path().join("vm-2"),
            runtime.path().join("vm-3"),
        );
        [&one, &two, &three]
            .into_iter()
            .for_each(|folder| fs::create_dir(folder).unwrap());
        let known = sleeper(&one);
        let unknown = sleeper(&two);
        fs::remove_file(two.join(RECORD)).unwrap();
        // A number that belongs to another process by now: this test's own.
        let reused = ProcessRecord {
            pid: std::process::id(),
            start_ticks: 1,
            folder: three.clone(),
        };
        fs::write(three.join(RECORD), serde_json::to_vec(&reused).unwrap()).unwrap();

        let mut leftovers = end_orphans(runtime.path()).unwrap();
        leftovers.sort_by(|a, b| a.folder.cmp(&b.folder));
        let killed: Vec<_> = leftovers.iter().map(|leftover| leftover.killed).collect();
        assert_eq!(
            killed,
            [Some(known.record().pid), Some(unknown.record().pid), None]
        );
        assert!(!one.exists() && !two.exists() && !three.exists());
        assert_eq!(end_orphans(runtime.path()).unwrap(), []);
        assert_eq!(end_orphans(&runtime.path().join("none")).unwrap(), []);
    }
}
