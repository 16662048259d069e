//! What this process has used, as the kernel counts it.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::cpu::{cpu_seconds, page_faults};

/// How often memory is looked at.
const MEMORY_INTERVAL: Duration = Duration::from_millis(20);

/// What a process has used since it began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// CPU seconds of all threads, in user and kernel mode.
    pub(crate) cpu: f64,
    /// Bytes that were or will be written to a disk.
    pub(crate) written: u64,
    /// Bytes that were read, from the page cache too; what is mapped does not count.
    pub(crate) read: u64,
    /// Pages that were not mapped when they were touched.
    pub(crate) faults: u64,
}

impl Usage {
    pub(crate) fn now() -> Self {
        let io = fs::read_to_string("/proc/self/io").unwrap();
        Self {
            cpu: cpu_seconds(),
            written: line(&io, "write_bytes:"),
            read: line(&io, "rchar:"),
            faults: page_faults(),
        }
    }

    /// What was used since `before`.
    pub(crate) fn since(before: Self) -> Self {
        let now = Self::now();
        Self {
            cpu: now.cpu - before.cpu,
            written: now.written - before.written,
            read: now.read - before.read,
            faults: now.faults - before.faults,
        }
    }
}

/// CPU seconds of the calling thread alone.
pub(crate) fn cpu_of_thread() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds = text.split_whitespace().next().unwrap();
    nanoseconds.parse::<f64>().unwrap() / 1e9
}

/// Memory, as the kernel counts it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Memory {
    /// The process's own, in megabytes.
    pub(crate) own: u64,
    /// Pages of mapped files, which the kernel may drop and read again.
    pub(crate) mapped: u64,
    /// The most that both were together since the process began.
    pub(crate) most: u64,
}

impl Memory {
    pub(crate) fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let megabytes = |name| line(&status, name) / 1024;
        Self {
            own: megabytes("RssAnon:"),
            mapped: megabytes("RssFile:"),
            most: megabytes("VmHWM:"),
        }
    }
}

/// The most memory there is while something happens. The kernel keeps the highest sum alone, so
/// both parts of it are looked at all the time.
#[derive(Debug)]
pub(crate) struct MemoryWatch {
    is_over: Arc<AtomicBool>,
    watching: JoinHandle<Memory>,
}

impl MemoryWatch {
    pub(crate) fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let watching = std::thread::spawn(move || {
            let mut highest = Memory::default();
            loop {
                let now = Memory::now();
                highest.own = highest.own.max(now.own);
                highest.mapped = highest.mapped.max(now.mapped);
                highest.most = now.most;
                if over.load(Ordering::Acquire) {
                    return highest;
                }
                std::thread::park_timeout(MEMORY_INTERVAL);
            }
        });
        Self { is_over, watching }
    }

    /// The most of either part, not of one moment.
    pub(crate) fn highest(self) -> Memory {
        self.is_over.store(true, Ordering::Release);
        self.watching.thread().unpark();
        self.watching.join().unwrap()
    }
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
