//! Telling what the machine has too little of at the moment from what is wrong.

use std::io;

/// Error numbers without a kind of their own in the standard library: `ENFILE` and `EMFILE` have
/// the same numbers on every Unix; `EDQUOT` is Linux's.
const NUMBERS: [(i32, Shortage); 3] = [
    (23, Shortage::Descriptors),
    (24, Shortage::Descriptors),
    (122, Shortage::Disk),
];

/// What there is too little of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortage {
    /// File descriptors: of this process, or of the whole machine.
    Descriptors,
    /// Processes, threads, or what else a system call had to be tried again for.
    Processes,
    /// Memory.
    Memory,
    /// Room on the disk, or what a quota leaves of it.
    Disk,
}

impl Shortage {
    /// The shortage that this error stands for; `None` where waiting would not help.
    #[must_use]
    pub fn of(error: &io::Error) -> Option<Self> {
        let number = error.raw_os_error();
        let known = NUMBERS.iter().find(|(known, _)| Some(*known) == number);
        if let Some((_, shortage)) = known {
            return Some(*shortage);
        }
        match error.kind() {
            io::ErrorKind::WouldBlock => Some(Self::Processes),
            io::ErrorKind::OutOfMemory => Some(Self::Memory),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(Self::Disk),
            _ => None,
        }
    }

    /// In words, for a reason.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Descriptors => "the machine or this process has no file descriptors left",
            Self::Processes => "the machine takes no more processes or threads",
            Self::Memory => "there is no memory left",
            Self::Disk => "the disk or its quota is full",
        }
    }
}

/// Whether this error says that the machine has too little of something at the moment: a reason to
/// pause and try again, never a verdict about what was tried. Of system calls that make processes,
/// threads, files: a socket's `EAGAIN` means something else.
#[must_use]
pub fn is_resource_shortage(error: &io::Error) -> bool {
    Shortage::of(error).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t8_a_lack_of_means_is_told_from_a_mistake() {
        for (number, expected) in [
            (11, Some(Shortage::Processes)),
            (12, Some(Shortage::Memory)),
            (23, Some(Shortage::Descriptors)),
            (24, Some(Shortage::Descriptors)),
            (28, Some(Shortage::Disk)),
            (122, Some(Shortage::Disk)),
            (2, None),
            (5, None),
            (13, None),
            (30, None),
        ] {
            let error = io::Error::from_raw_os_error(number);
            assert_eq!(Shortage::of(&error), expected, "{error}");
            assert_eq!(is_resource_shortage(&error), expected.is_some());
        }
        assert!(!is_resource_shortage(&io::Error::other("wrong")));
    }
}
