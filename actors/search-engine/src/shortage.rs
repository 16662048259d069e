//! What a machine may lack for a while: descriptors, threads, memory, room on the disk.
//!
//! Such a lack says nothing about a source or an index. Whoever meets it waits and tries again.

use std::io;

use rustix::io::Errno;

/// Whether the error is a lack of descriptors, threads, memory or room.
#[must_use]
pub fn is_lack(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    match errno {
        Some(errno) => matches!(
            errno,
            Errno::MFILE | Errno::NFILE | Errno::AGAIN | Errno::NOMEM | Errno::NOSPC | Errno::DQUOT
        ),
        None => matches!(
            error.kind(),
            io::ErrorKind::OutOfMemory | io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        ),
    }
}

/// Whether the error tells of the machine, not of what a file holds: a lack, a permission, a server
/// that is away. What has no number comes from reading a content that cannot be.
pub(crate) fn is_of_machine(error: &io::Error) -> bool {
    if is_lack(error) {
        return true;
    }
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    // A sector that cannot be read is as good as damaged content: both are written anew.
    errno.is_some_and(|errno| {
        !matches!(
            errno,
            Errno::NOENT | Errno::NOTDIR | Errno::ISDIR | Errno::IO | Errno::INVAL
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{Errno, io, is_lack, is_of_machine};

    #[test]
    fn t8_a_lack_of_the_machine_is_told_from_what_a_file_holds() {
        for errno in [
            Errno::MFILE,
            Errno::NFILE,
            Errno::AGAIN,
            Errno::NOMEM,
            Errno::NOSPC,
            Errno::DQUOT,
        ] {
            assert!(is_lack(&errno.into()), "{errno:?}");
            assert!(is_of_machine(&errno.into()), "{errno:?}");
        }
        assert!(is_lack(&io::ErrorKind::StorageFull.into()));
        for errno in [Errno::ACCESS, Errno::ROFS, Errno::NOTCONN, Errno::STALE] {
            assert!(!is_lack(&errno.into()), "{errno:?}");
            assert!(is_of_machine(&errno.into()), "{errno:?}");
        }
        for errno in [Errno::NOENT, Errno::IO, Errno::ISDIR] {
            assert!(!is_of_machine(&errno.into()), "{errno:?}");
        }
        assert!(!is_of_machine(&io::ErrorKind::UnexpectedEof.into()));
        assert!(!is_of_machine(&io::Error::other("no number")));
    }
}
