//! The process table, as `/proc` shows it.

use std::fs;
use std::path::Path;

use rustix::process::Pid;

/// One process: the fields of `/proc/PID/stat` that are used here (proc_pid_stat(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessRow {
    pub(super) pid: Pid,
    /// The parent's process id; 0 for those the kernel started.
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    /// Clock ticks since boot; with the process id it names a process for ever (until a reboot).
    pub(super) started: u64,
    /// Has ended, and only waits to be reaped.
    pub(super) zombie: bool,
}

/// The row of one process; `None` when there is none.
pub(super) fn row(pid: Pid) -> Option<ProcessRow> {
    let stat = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    parse(pid, &stat)
}

/// Every process that can be seen.
pub(super) fn all() -> Vec<ProcessRow> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pid = |entry: fs::DirEntry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?);
    entries.flatten().filter_map(pid).filter_map(row).collect()
}

/// The name of a process may hold anything, parentheses too: fields begin after the last one.
fn parse(pid: Pid, stat: &[u8]) -> Option<ProcessRow> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields: Vec<&str> = std::str::from_utf8(&stat[end + 1..])
        .ok()?
        .split_ascii_whitespace()
        .collect();
    let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
    Some(ProcessRow {
        pid,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// Whether the environment a process was started with holds `NAME=value`. A process of another user
/// cannot be looked at: `false`. `None`: it cannot be told now; a process that is just becoming
/// another program shows nothing for that moment.
pub(super) fn has_variable(row: &ProcessRow, assignment: &[u8]) -> Option<bool> {
    let read = fs::read(format!("/proc/{}/environ", row.pid.as_raw_nonzero()));
    match read {
        Ok(environment) if environment.is_empty() => of_the_kernel(row).then_some(false),
        Ok(environment) => Some(
            environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == assignment),
        ),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Some(false),
        Err(_) => None,
    }
}

/// The kernel's own threads: children of `kthreadd`, which is process 2.
fn of_the_kernel(row: &ProcessRow) -> bool {
    row.parent == 2 || (row.parent == 0 && row.pid.as_raw_nonzero().get() == 2)
}

/// Resident memory in bytes: the private part, so that shared libraries are not counted for each.
pub(super) fn memory_bytes(pid: Pid) -> u64 {
    let text =
        fs::read_to_string(format!("/proc/{}/statm", pid.as_raw_nonzero())).unwrap_or_default();
    let pages: Vec<u64> = text
        .split(' ')
        .filter_map(|field| field.trim().parse().ok())
        .collect();
    match pages[..] {
        [_, resident, shared, ..] => {
            resident.saturating_sub(shared) * rustix::param::page_size() as u64
        }
        _ => 0,
    }
}

/// Identifies this boot: process ids and start times mean nothing after it.
pub(super) fn boot_id() -> String {
    let text = fs::read_to_string(Path::new("/proc/sys/kernel/random/boot_id")).unwrap_or_default();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = b"42 (a) R 1 (b) S 7 8 9 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 123456 0 0\n";
        let pid = Pid::from_raw(42).unwrap();
        let expected = ProcessRow {
            pid,
            parent: 7,
            group: 8,
            session: 9,
            started: 123_456,
            zombie: false,
        };
        assert_eq!(parse(pid, stat), Some(expected));
        assert_eq!(parse(pid, b"42 (sh"), None);
        assert_eq!(parse(pid, b"42 (sh) S 1"), None);
    }

    #[test]
    fn this_process_is_in_the_table() {
        let me = rustix::process::getpid();
        let found = row(me).expect("it runs");
        assert!(all().contains(&found));
        assert!(memory_bytes(me) > 0);
        assert!(!boot_id().is_empty());
    }
}
