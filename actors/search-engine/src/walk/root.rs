//! The folder of a source: checked once, then the only way to reach its files.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use search_core::role::HiddenFiles;
use thiserror::Error;

use super::key::{decode_key, encode_key};
use super::mount::{self, MountPoint};
use super::skip::SkipReason;

/// Why a folder cannot be a source.
#[derive(Debug, Error)]
pub enum RootError {
    /// There is nothing at the path.
    #[error("folder {path} does not exist: create it, mount it or correct `location`")]
    Missing {
        /// The path as configured.
        path: String,
    },
    /// The path is not a folder.
    #[error(
        "{path} is not a folder: set `location` to the folder it lies in and name it in `glob`"
    )]
    NotAFolder {
        /// The path as configured.
        path: String,
    },
    /// The path contains `..`.
    #[error("folder {path} contains `..`: write the path without it{}", hint(.resolved.as_deref()))]
    ParentComponent {
        /// The path as configured.
        path: String,
        /// Where it leads, if anywhere.
        resolved: Option<PathBuf>,
    },
    /// The folder belongs to a pseudo file system, whose files have no end.
    #[error(
        "folder {path} is part of a pseudo file system of the kernel: choose a folder of files"
    )]
    PseudoFilesystem {
        /// The path as configured.
        path: String,
    },
    /// The folder cannot be listed.
    #[error("folder {path} cannot be read: {source}; give the user of this process access to it")]
    Unreadable {
        /// The path as configured.
        path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

fn hint(resolved: Option<&Path>) -> String {
    resolved
        .map(|path| format!(" ({})", path.display()))
        .unwrap_or_default()
}

/// A folder that exists, can be listed and holds real files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootDirectory {
    /// Absolute, without symbolic links.
    path: PathBuf,
    /// Number of the device it lies on.
    device: u64,
    /// Whether `.gitignore` files hide files.
    respects_gitignore: bool,
    /// Which hidden files are seen.
    hidden: HiddenFiles,
}

impl RootDirectory {
    /// Checks the folder. A symbolic link as the root itself is followed: it was asked for by name.
    ///
    /// # Errors
    /// [`RootError`] says what is wrong with the folder and what to do.
    pub fn open(path: &Path) -> Result<Self, RootError> {
        let shown = || encode_key(path);
        if path.components().any(|part| part == Component::ParentDir) {
            let resolved = path.canonicalize().ok();
            return Err(RootError::ParentComponent {
                path: shown(),
                resolved,
            });
        }
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => RootError::Missing { path: shown() },
            io::ErrorKind::NotADirectory => RootError::NotAFolder { path: shown() },
            _ => RootError::Unreadable {
                path: shown(),
                source,
            },
        };
        let real = path.canonicalize().map_err(failed)?;
        let data = real.metadata().map_err(failed)?;
        if !data.is_dir() {
            return Err(RootError::NotAFolder { path: shown() });
        }
        if is_pseudo(&real) {
            return Err(RootError::PseudoFilesystem { path: shown() });
        }
        std::fs::read_dir(&real).map_err(failed)?;
        Ok(Self {
            path: real,
            device: data.dev(),
            respects_gitignore: true,
            hidden: HiddenFiles::default(),
        })
    }

    /// The same folder, where `.gitignore` files hide files (as they do unless said) or not.
    #[must_use]
    pub fn respecting_gitignore(mut self, respects: bool) -> Self {
        self.respects_gitignore = respects;
        self
    }

    /// The same folder, with these hidden files seen; those that git tracks unless said.
    #[must_use]
    pub fn with_hidden(mut self, hidden: HiddenFiles) -> Self {
        self.hidden = hidden;
        self
    }

    pub(super) fn hidden_files(&self) -> HiddenFiles {
        self.hidden
    }

    pub(super) fn respects_gitignore(&self) -> bool {
        self.respects_gitignore
    }

    /// The absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The absolute path of a key; `None` if the text is no key.
    #[must_use]
    pub fn path_of(&self, key: &str) -> Option<PathBuf> {
        decode_key(key).map(|relative| self.path.join(relative))
    }

    /// The key of an absolute path; `None` for the root itself and paths elsewhere.
    #[must_use]
    pub fn key_of(&self, path: &Path) -> Option<String> {
        self.relative(path).map(encode_key)
    }

    /// A path below the root, relative to it; `None` for the root itself and paths elsewhere.
    pub(crate) fn relative<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        path.strip_prefix(&self.path)
            .ok()
            .filter(|relative| !relative.as_os_str().is_empty())
    }

    /// Opens a file below the root for reading.
    ///
    /// Never blocks (a FIFO without a writer opens at once) and never follows a symbolic link, not
    /// even one that took a folder's place since the walk.
    ///
    /// # Errors
    /// The reason to skip the file.
    pub fn open_file(&self, key: &str) -> Result<File, SkipReason> {
        let path = self.path_of(key).ok_or(SkipReason::Vanished)?;
        open_without_links(&path).map_err(|errno| SkipReason::from_io_error(&errno.into()))
    }

    /// Where a symbolic link leads.
    pub(super) fn link_reason(&self, link: &Path) -> SkipReason {
        match link.canonicalize() {
            Ok(target) if !target.starts_with(&self.path) => SkipReason::SymlinkOutOfRoot,
            Ok(target) if link.starts_with(&target) => SkipReason::SymlinkLoop,
            Ok(_) => SkipReason::Symlink,
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound => SkipReason::SymlinkBroken,
                io::ErrorKind::PermissionDenied => SkipReason::SymlinkOutOfRoot,
                // ELOOP has no stable kind of its own.
                _ => SkipReason::SymlinkLoop,
            },
        }
    }

    /// Why something that is neither a file nor a folder is not indexed.
    pub(crate) fn no_file(&self, path: &Path, kind: std::fs::FileType) -> SkipReason {
        match kind.is_symlink() {
            true => self.link_reason(path),
            false => SkipReason::NotARegularFile,
        }
    }

    /// Whether a folder below the root is a mount of a pseudo file system.
    pub(crate) fn is_pseudo_mount(&self, folder: &Path) -> bool {
        mount::find_mount(folder).is_some_and(|found| self.is_pseudo_at(folder, &found))
    }

    pub(super) fn is_pseudo_at(&self, folder: &Path, found: &MountPoint) -> bool {
        found.device != self.device && is_pseudo(folder)
    }

    /// Whether a file system is mounted at the folder with this key; the root itself has the empty
    /// one.
    #[must_use]
    pub fn is_mount(&self, key: &str) -> bool {
        let folder = match key {
            "" => Some(self.path.clone()),
            key => self.path_of(key),
        };
        let found = folder.and_then(|folder| mount::find_mount(&folder));
        found.is_some_and(|found| found.is_mount)
    }

    /// Whether the folder lies on a file system that other machines or programs can change
    /// without this kernel noticing, so that watching it is not enough.
    pub(crate) fn is_remote(&self) -> bool {
        magic(&self.path).is_some_and(|magic| REMOTE.contains(&magic))
    }
}

/// proc, sysfs, devpts, devtmpfs is tmpfs, cgroup, cgroup2, debugfs, tracefs, securityfs, bpf,
/// configfs, pstore, selinux, binfmt_misc, mqueue (linux/magic.h).
const PSEUDO: [u32; 15] = [
    0x9fa0,
    0x6265_6572,
    0x1cd1,
    0x0027_e0eb,
    0x6367_7270,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0xcafe_4a11,
    0x6265_6570,
    0x6165_676c,
    0xf97c_ff8c,
    0x4249_4e4d,
    0x1980_0202,
    0xde5e_81e4,
];

/// NFS, SMB, CIFS, SMB2, AFS, Ceph, 9P, FUSE (linux/magic.h).
const REMOTE: [u32; 8] = [
    0x6969,
    0x517b,
    0xff53_4d42,
    0xfe53_4d42,
    0x5346_414f,
    0x00c3_6400,
    0x0102_1997,
    0x6573_5546,
];

fn is_pseudo(folder: &Path) -> bool {
    magic(folder).is_some_and(|magic| PSEUDO.contains(&magic))
}

/// Number of the kind of file system; its type differs between architectures, its low 32 bits do
/// not.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn magic(folder: &Path) -> Option<u32> {
    rustix::fs::statfs(folder)
        .ok()
        .map(|data| data.f_type as u32)
}

const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// `path` is absolute and was free of links when the root was opened, so the kernel may refuse
/// any link on the way.
fn open_without_links(path: &Path) -> rustix::io::Result<File> {
    use rustix::fs::{CWD, ResolveFlags, openat2};
    let resolve = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);
    match rustix::io::retry_on_intr(|| openat2(CWD, path, READ, Mode::empty(), resolve)) {
        // Kernels before 5.6, and sandboxes that do not know the call: there only the last name
        // is guarded against links.
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {
            rustix::fs::open(path, READ, Mode::empty()).map(File::from)
        }
        opened => opened.map(File::from),
    }
}
