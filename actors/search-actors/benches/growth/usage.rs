//! What this process has used, as the kernel counts it.

use std::fs;
use std::time::{Duration, Instant};

use crate::cpu::cpu_seconds;

/// What a process has used since it began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// CPU seconds of all threads, in user and kernel mode.
    pub(crate) cpu: f64,
    /// Bytes that were or will be written to a disk.
    pub(crate) written: u64,
    /// Bytes that were read, from the page cache too; what is mapped does not count.
    pub(crate) read: u64,
}

impl Usage {
    pub(crate) fn now() -> Self {
        let io = fs::read_to_string("/proc/self/io").unwrap();
        Self {
            cpu: cpu_seconds(),
            written: line(&io, "write_bytes:"),
            read: line(&io, "rchar:"),
        }
    }

    /// What was used since `before`.
    pub(crate) fn since(before: Self) -> Self {
        let now = Self::now();
        Self {
            cpu: now.cpu - before.cpu,
            written: now.written - before.written,
            read: now.read - before.read,
        }
    }
}

/// Megabytes of memory: of its own now, of mapped files now, and the most there ever was.
pub(crate) fn memory() -> (u64, u64, u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let megabytes = |name| line(&status, name) / 1024;
    (
        megabytes("RssAnon:"),
        megabytes("RssFile:"),
        megabytes("VmHWM:"),
    )
}

fn line(text: &str, name: &str) -> u64 {
    let found = text.lines().find_map(|line| line.strip_prefix(name));
    let number = found.and_then(|rest| rest.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Waits until the process has been idle for `quiet`: no more CPU than looking at it takes.
pub(crate) fn wait_until_idle(quiet: Duration) {
    let (mut since, mut before) = (Instant::now(), Usage::now());
    while since.elapsed() < quiet {
        std::thread::park_timeout(Duration::from_millis(250));
        let now = Usage::now();
        if now.cpu - before.cpu > 0.015 || now.written > before.written {
            since = Instant::now();
        }
        before = now;
    }
}
