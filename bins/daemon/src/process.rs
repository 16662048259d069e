//! The first steps of a process that serves: who can look into it and its files, and how much it
//! may open.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::fs::Mode;
use rustix::process::{DumpableBehavior, Resource, Rlimit};

/// Most open files that are asked for: where there is no limit, children that close "all"
/// descriptors up to it take minutes.
const MOST_OPEN_FILES: u64 = 1 << 20;

/// To be called first in `main`, again after each `execve`:
///
/// - what this process makes is its user's alone (umask 077);
/// - no other process of the same user can read its memory, its environment or its open files, and
///   it leaves no core dump (`PR_SET_DUMPABLE`, prctl(2)); programs that it starts are as they
///   always are;
/// - it may open as many files as the system lets it: 1,024, the usual soft limit, is what programs
///   with `select` can bear;
/// - SIGHUP does not end it. What it does instead is said once the program listens.
pub fn secure() {
    rustix::process::umask(Mode::from_raw_mode(0o077));
    // A kernel that refuses leaves what the file system protects.
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    raise_open_files();
    // The flag is not read: that there is a handler is what keeps the process alive.
    let _ = signal_hook::flag::register(
        signal_hook::consts::SIGHUP,
        Arc::new(AtomicBool::new(false)),
    );
}

/// From here on files are made with the usual permissions (umask 022): they become part of a file
/// system in which everybody finds programs. The folder that they are made in is its owner's alone
/// all the same.
pub fn make_files_of_a_system() {
    rustix::process::umask(Mode::from_raw_mode(0o022));
}

fn raise_open_files() {
    let now = rustix::process::getrlimit(Resource::Nofile);
    if let Some(wanted) = raised(now) {
        // A system that refuses leaves the limit as it is; connections are counted by what is in
        // force.
        let _ = rustix::process::setrlimit(Resource::Nofile, wanted);
    }
}

/// The limit to ask for; `None` when it is high enough. The hard limit stays: it is not this
/// program's.
fn raised(now: Rlimit) -> Option<Rlimit> {
    let wanted = now.maximum.unwrap_or(u64::MAX).min(MOST_OPEN_FILES);
    let enough = now.current.is_none_or(|current| current >= wanted);
    (!enough).then_some(Rlimit {
        current: Some(wanted),
        maximum: now.maximum,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t8_the_soft_limit_is_raised_to_the_hard_one_and_no_further() {
        let limit = |current, maximum| Rlimit { current, maximum };
        for (now, expected) in [
            (limit(Some(1024), Some(524_288)), Some(524_288)),
            (limit(Some(1024), Some(1024)), None),
            (limit(Some(1024), None), Some(MOST_OPEN_FILES)),
            (limit(Some(1024), Some(1 << 30)), Some(MOST_OPEN_FILES)),
            (limit(Some(1 << 30), Some(1 << 30)), None),
            (limit(None, None), None),
        ] {
            let raised = raised(now);
            assert_eq!(raised.and_then(|limit| limit.current), expected);
            assert!(raised.is_none_or(|limit| limit.maximum == now.maximum));
        }
    }
}
