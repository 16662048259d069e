//! Whether something failed for lack of descriptors, threads, memory or disk: the same works later,
//! and nobody is to blame for it.

use std::error::Error;
use std::io;
use std::path::Path;

/// What the system says (`errno`): EAGAIN, ENOMEM, ENFILE, EMFILE, ENOSPC, ENOBUFS, EDQUOT.
const ERRNOS: [i32; 7] = [11, 12, 23, 24, 28, 105, 122];

/// A disk with less room than this, in bytes, is full.
const MIN_FREE_BYTES: u64 = 64 << 10;

/// How programs say the same, in English.
const MESSAGES: [&str; 9] = [
    "Too many open files",
    "Resource temporarily unavailable",
    "Cannot allocate memory",
    "Out of memory",
    "No space left on device",
    "No buffer space available",
    "Disk quota exceeded",
    "unable to create thread",
    "Cannot fork",
];

/// By an error of the system.
pub fn of_io(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    number.is_some_and(|number| ERRNOS.contains(&number))
        || matches!(
            error.kind(),
            io::ErrorKind::OutOfMemory
                | io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::WouldBlock
        )
}

/// By what a program printed, or an error says.
pub fn of_text(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    MESSAGES
        .iter()
        .any(|words| text.contains(&words.to_ascii_lowercase()))
}

/// Whether nothing more can be written below a folder: not every program says why it failed.
pub fn is_disk_full(folder: &Path) -> bool {
    rustix::fs::statvfs(folder).is_ok_and(|disk| {
        disk.f_bavail.saturating_mul(disk.f_frsize) < MIN_FREE_BYTES
            || (disk.f_files > 0 && disk.f_favail == 0)
    })
}

/// By an error or one of its causes.
pub fn of_error(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.downcast_ref::<io::Error>().is_some_and(of_io) || of_text(&error.to_string()) {
            return true;
        }
        next = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t8_lack_is_told_from_mistakes() {
        for number in ERRNOS {
            let error = io::Error::from_raw_os_error(number);
            assert!(of_io(&error), "{error}");
            assert!(of_text(&error.to_string()), "{error}");
        }
        // ENOENT, EACCES, ENOEXEC, EIO.
        for number in [2, 13, 8, 5] {
            let error = io::Error::from_raw_os_error(number);
            assert!(!of_io(&error) && !of_text(&error.to_string()), "{error}");
        }
        let wrapped = git_engine::GitError::Failed {
            what: "init".into(),
            status: "exit status: 128".into(),
            message: "fatal: cannot copy: No space left on device".into(),
        };
        assert!(of_error(&wrapped));
    }
}
