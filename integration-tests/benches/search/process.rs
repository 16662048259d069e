//! A contender in a process of its own, and what the kernel says it used.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running contender; ended when dropped.
pub(crate) struct Running {
    child: Child,
}

/// What the kernel accounts to a process.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub(crate) struct Usage {
    /// User and system CPU seconds of the process so far.
    pub(crate) cpu_s: f64,
    /// Highest resident memory, MB (10^6 bytes), anonymous and file pages together.
    pub(crate) peak_mb: f64,
    /// Anonymous resident memory now, MB.
    pub(crate) anon_mb: f64,
    /// Resident pages of mapped files now, MB; the kernel can take them back at any time.
    pub(crate) file_mb: f64,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let child = command
            .stdin(Stdio::null())
            .spawn()
            .expect("the contender starts");
        Self { child }
    }

    pub(crate) fn usage(&self) -> Usage {
        usage_of(self.child.id())
    }

    /// Ends it as a service manager would, and waits.
    pub(crate) fn stop(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            pause(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn usage_of(pid: u32) -> Usage {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(") ").next().unwrap_or_default();
    let ticks: f64 = after_name
        .split(' ')
        .skip(11)
        .take(2)
        .filter_map(|t| t.parse::<f64>().ok())
        .sum();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mb = |name: &str| {
        let line = status
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_default();
        let kib: f64 = line
            .split_whitespace()
            .nth(1)
            .and_then(|n| n.parse().ok())
            .unwrap_or(0.0);
        kib * 1024.0 / 1e6
    };
    Usage {
        cpu_s: ticks / rustix::param::clock_ticks_per_second() as f64,
        peak_mb: mb("VmHWM:"),
        anon_mb: mb("RssAnon:"),
        file_mb: mb("RssFile:"),
    }
}

/// Runs a command to its end and returns its standard output and its own account of itself, which
/// a contender prints as its last line.
pub(crate) fn run_to_end(command: &mut Command) -> String {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .expect("it starts");
    assert!(
        output.status.success(),
        "{command:?} ended with {}",
        output.status
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What this process has used so far; contenders print it about themselves.
pub(crate) fn own_usage() -> Usage {
    usage_of(std::process::id())
}

/// Bytes of all files below `folder`.
pub(crate) fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => bytes_below(&entry.path()),
            Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |m| m.len()),
            _ => 0,
        })
        .sum()
}

/// Segments of all indexes below a folder: each has one file of lengths.
pub(crate) fn segments_below(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths
        .map(|path| match path.extension() {
            Some(kind) if kind == "fieldnorm" => 1,
            _ => segments_below(&path),
        })
        .sum()
}

/// Waits between two looks at something outside this process.
pub(crate) fn pause(time: Duration) {
    let (_keep, never) = std::sync::mpsc::channel::<()>();
    let _ = never.recv_timeout(time);
}
