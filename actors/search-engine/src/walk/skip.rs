//! Why a path is not indexed: a closed list, so that every reason can be counted and explained.

use std::collections::BTreeMap;
use std::io;

use crate::shortage::is_lack;

/// Why a path was not indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// The content is not text.
    Binary,
    /// Larger than the limit.
    TooLarge,
    /// The file holds nothing but white space.
    Empty,
    /// Permission denied, or the device reported an error.
    Unreadable,
    /// A FIFO, a socket or a device.
    NotARegularFile,
    /// A symbolic link to a place inside the root, which is indexed under its own path.
    Symlink,
    /// A symbolic link that leads out of the root.
    SymlinkOutOfRoot,
    /// A symbolic link that leads to itself or to a folder it lies in.
    SymlinkLoop,
    /// A symbolic link to nothing.
    SymlinkBroken,
    /// A folder of a pseudo file system such as `/proc`.
    PseudoFilesystem,
    /// A folder whose own `.gitignore` hides all that is in it.
    HiddenByGitignore,
    /// Its name, or that of a folder it lies in, begins with a dot, and git does not track it.
    Hidden,
    /// Secret by its name: a key, a password, a file of programs that keep such.
    Secret,
    /// Gone between being listed and being read.
    Vanished,
    /// A document that can only be opened with a password.
    Encrypted,
    /// A document that is not of the format its name says.
    Damaged,
    /// The process that read a document ended, or could not be started.
    ParserFailed,
    /// A document that would unpack to too much.
    UnpacksToTooMuch,
    /// A document that took too long to read.
    TooSlow,
    /// A page that does nothing but lead to another at once.
    Redirect,
    /// A file that a notes program keeps beside the notes.
    NoNote,
    /// A commit of another repository (a submodule): its files are not in this one.
    Submodule,
    /// A file that stands for one in another store (Git LFS).
    LfsPointer,
    /// The machine lacked descriptors, memory or threads: nothing is known of the file, and it is
    /// looked at again.
    NoResources,
}

impl SkipReason {
    /// All reasons, in the order in which people are told about them.
    pub const ALL: [Self; 24] = [
        Self::Unreadable,
        Self::TooLarge,
        Self::Binary,
        Self::Empty,
        Self::NotARegularFile,
        Self::Symlink,
        Self::SymlinkOutOfRoot,
        Self::SymlinkLoop,
        Self::SymlinkBroken,
        Self::PseudoFilesystem,
        Self::HiddenByGitignore,
        Self::Hidden,
        Self::Secret,
        Self::Vanished,
        Self::Encrypted,
        Self::Damaged,
        Self::ParserFailed,
        Self::UnpacksToTooMuch,
        Self::TooSlow,
        Self::Redirect,
        Self::NoNote,
        Self::Submodule,
        Self::LfsPointer,
        Self::NoResources,
    ];

    /// Whether it says nothing of the content: what was known of the path goes on being found. The
    /// machine, or the program that reads documents, was not able to look; that it can tomorrow is
    /// as likely as not. All other reasons are what was seen of the path.
    #[must_use]
    pub const fn leaves_known(self) -> bool {
        matches!(
            self,
            Self::Unreadable | Self::ParserFailed | Self::TooSlow | Self::NoResources
        )
    }

    /// The stable name used in `/health`, metrics and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::TooLarge => "too_large",
            Self::Empty => "empty",
            Self::Unreadable => "unreadable",
            Self::NotARegularFile => "not_a_regular_file",
            Self::Symlink => "symlink",
            Self::SymlinkOutOfRoot => "symlink_out_of_root",
            Self::SymlinkLoop => "symlink_loop",
            Self::SymlinkBroken => "symlink_broken",
            Self::PseudoFilesystem => "pseudo_filesystem",
            Self::HiddenByGitignore => "hidden_by_gitignore",
            Self::Hidden => "hidden",
            Self::Secret => "secret",
            Self::Vanished => "vanished",
            Self::Encrypted => "encrypted",
            Self::Damaged => "damaged",
            Self::ParserFailed => "parser_failed",
            Self::UnpacksToTooMuch => "unpacks_to_too_much",
            Self::TooSlow => "too_slow",
            Self::Redirect => "redirect",
            Self::NoNote => "no_note",
            Self::Submodule => "submodule",
            Self::LfsPointer => "lfs_pointer",
            Self::NoResources => "no_resources",
        }
    }

    /// The reason of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == name)
    }

    /// The reason behind a failed system call on a path.
    pub(crate) fn from_io_error(error: &io::Error) -> Self {
        if is_lack(error) {
            return Self::NoResources;
        }
        match error
            .raw_os_error()
            .map(rustix::io::Errno::from_raw_os_error)
        {
            Some(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Self::Vanished,
            // The name has become a link since it was listed; following it could lead anywhere.
            Some(rustix::io::Errno::LOOP) => Self::SymlinkOutOfRoot,
            Some(rustix::io::Errno::NXIO | rustix::io::Errno::NODEV | rustix::io::Errno::ISDIR) => {
                Self::NotARegularFile
            }
            _ => Self::Unreadable,
        }
    }

    pub(crate) fn from_walk_error(error: &ignore::Error) -> Self {
        if matches!(error, ignore::Error::Loop { .. }) {
            return Self::SymlinkLoop;
        }
        error
            .io_error()
            .map_or(Self::Unreadable, Self::from_io_error)
    }
}

impl std::fmt::Display for SkipReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A path that was not indexed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkippedPath {
    /// Key of the path; empty for the root itself.
    pub key: String,
    /// Why.
    pub reason: SkipReason,
}

/// How many paths were skipped, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkipCounts(BTreeMap<SkipReason, u64>);

impl SkipCounts {
    /// Counts one more.
    pub fn add(&mut self, reason: SkipReason) {
        *self.0.entry(reason).or_default() += 1;
    }

    /// How many were skipped for this reason.
    #[must_use]
    pub fn get(&self, reason: SkipReason) -> u64 {
        self.0.get(&reason).copied().unwrap_or_default()
    }

    /// Counts one less.
    pub fn subtract(&mut self, reason: SkipReason) {
        if let Some(count) = self.0.get_mut(&reason) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&reason);
            }
        }
    }

    /// How many were skipped in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// The reasons that occurred, with their stable names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0
            .iter()
            .map(|(reason, count)| (reason.as_str(), *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_listed_once_under_its_own_name() {
        let names: std::collections::BTreeSet<_> = SkipReason::ALL
            .iter()
            .map(|reason| reason.as_str())
            .collect();
        assert_eq!(names.len(), SkipReason::ALL.len());
        for reason in SkipReason::ALL {
            assert_eq!(SkipReason::from_name(reason.as_str()), Some(reason));
        }
    }

    #[test]
    fn counts_add_up() {
        let mut counts = SkipCounts::default();
        for reason in [SkipReason::Binary, SkipReason::Empty, SkipReason::Binary] {
            counts.add(reason);
        }
        assert_eq!((counts.get(SkipReason::Binary), counts.total()), (2, 3));
        assert_eq!(
            counts.iter().collect::<Vec<_>>(),
            [("binary", 2), ("empty", 1)]
        );
    }
}
