//! Putting files into a directory without ever leaving it: every step of a path is opened by itself
//! and no link is followed, so nothing has to be compared afterwards.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{Mode, UtimensatFlags, fchmod, futimens, mkdirat, utimensat};
use nix::sys::time::TimeSpec;
use nix::unistd::{UnlinkatFlags, linkat, symlinkat, unlinkat};

const FOLDER: OFlag = OFlag::O_DIRECTORY
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC)
    .union(OFlag::O_RDONLY);

/// Why something was not put in place.
#[derive(Debug)]
pub(crate) enum ExtractionRefusal {
    /// It would leave the folder.
    Outside,
    /// The system refused.
    System(io::Error),
}

impl From<Errno> for ExtractionRefusal {
    fn from(error: Errno) -> Self {
        match error {
            // A step of the path is a link: where it leads is nobody's business.
            Errno::ELOOP | Errno::ENOTDIR => Self::Outside,
            other => Self::System(other.into()),
        }
    }
}

impl From<io::Error> for ExtractionRefusal {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// A directory that is filled from a tar.
#[derive(Debug)]
pub(crate) struct ExtractionRoot {
    root: OwnedFd,
    /// The folder used last, which the next entry is most likely in as well.
    last: Option<(PathBuf, OwnedFd)>,
}

impl ExtractionRoot {
    /// The folder at this path, which exists.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            root: File::open(path)?.into(),
            last: None,
        })
    }

    /// Makes a folder, or uses the one that is there.
    pub(crate) fn folder(&mut self, path: &Path, mode: u32) -> Result<(), ExtractionRefusal> {
        if steps(path)?.is_empty() {
            return Ok(());
        }
        let (parent, name) = self.parent(path)?;
        let folder = open_or_create(parent, name)?;
        fchmod(&folder, bits(mode))?;
        Ok(())
    }

    /// Writes a file of its own: what is there is replaced, never written through.
    pub(crate) fn file(
        &mut self,
        path: &Path,
        mode: u32,
        time_s: u64,
        content: &mut dyn Read,
    ) -> Result<(), ExtractionRefusal> {
        let (parent, name) = self.parent(path)?;
        let wanted = bits(mode);
        let flags =
            OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let create = || {
            openat(
                parent,
                name,
                flags,
                wanted & Mode::from_bits_truncate(0o777),
            )
        };
        let mut file = File::from(match create() {
            // Seldom: a checkout goes into an empty folder, and in an emulated machine each call
            // counts.
            Err(Errno::EEXIST) => {
                clear(parent, name)?;
                create()?
            }
            other => other?,
        });
        io::copy(content, &mut file)?;
        if file.metadata()?.mode() & 0o7777 != wanted.bits() {
            fchmod(&file, wanted)?;
        }
        let time = seconds(time_s);
        futimens(&file, &time, &time)?;
        Ok(())
    }

    /// Makes a symbolic link; where it leads to is not looked at, since nothing here follows it.
    pub(crate) fn symlink(
        &mut self,
        path: &Path,
        target: &Path,
        time_s: u64,
    ) -> Result<(), ExtractionRefusal> {
        let (parent, name) = self.parent(path)?;
        clear(parent, name)?;
        symlinkat(target, parent, name)?;
        let time = seconds(time_s);
        utimensat(parent, name, &time, &time, UtimensatFlags::NoFollowSymlink)?;
        Ok(())
    }

    /// Makes another name for a file that was put here before.
    pub(crate) fn hard_link(
        &mut self,
        path: &Path,
        target: &Path,
    ) -> Result<(), ExtractionRefusal> {
        let source = self.parent(target)?.0.try_clone_to_owned()?;
        let source_name = target
            .file_name()
            .ok_or(ExtractionRefusal::Outside)?
            .to_owned();
        let (parent, name) = self.parent(path)?;
        clear(parent, name)?;
        linkat(
            &source,
            source_name.as_os_str(),
            parent,
            name,
            AtFlags::empty(),
        )?;
        Ok(())
    }

    /// The folder of a path, made when it is not there, and the name in it.
    fn parent<'a>(
        &'a mut self,
        path: &'a Path,
    ) -> Result<(std::os::fd::BorrowedFd<'a>, &'a OsStr), ExtractionRefusal> {
        let steps = steps(path)?;
        let (name, folders) = steps.split_last().ok_or(ExtractionRefusal::Outside)?;
        let wanted: PathBuf = folders.iter().collect();
        if self.last.as_ref().is_none_or(|(known, _)| *known != wanted) {
            let mut folder = self.root.try_clone()?;
            for step in folders {
                folder = open_or_create(folder.as_fd(), step)?;
            }
            self.last = Some((wanted, folder));
        }
        let (_, folder) = self.last.as_ref().expect("it was set above");
        Ok((folder.as_fd(), name))
    }
}

/// The names a path consists of, without `.`.
fn steps(path: &Path) -> Result<Vec<&OsStr>, ExtractionRefusal> {
    let mut steps = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(step) => steps.push(step),
            Component::CurDir => {}
            Component::RootDir | Component::ParentDir | Component::Prefix(_) => {
                return Err(ExtractionRefusal::Outside);
            }
        }
    }
    Ok(steps)
}

/// The folder `name` in `parent`, made when it is not there. A link is no folder.
fn open_or_create(
    parent: std::os::fd::BorrowedFd<'_>,
    name: &OsStr,
) -> Result<OwnedFd, ExtractionRefusal> {
    match openat(parent, name, FOLDER, Mode::empty()) {
        Err(Errno::ENOENT) => {}
        other => return Ok(other?),
    }
    match mkdirat(parent, name, Mode::from_bits_truncate(0o755)) {
        Ok(()) | Err(Errno::EEXIST) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(openat(parent, name, FOLDER, Mode::empty())?)
}

/// Makes room for a file or link. A folder that is in the way stays, and is an error later on.
fn clear(parent: std::os::fd::BorrowedFd<'_>, name: &OsStr) -> Result<(), ExtractionRefusal> {
    match unlinkat(parent, name, UnlinkatFlags::NoRemoveDir) {
        Ok(()) | Err(Errno::ENOENT | Errno::EISDIR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn bits(mode: u32) -> Mode {
    Mode::from_bits_truncate(mode & 0o7777)
}

fn seconds(time: u64) -> TimeSpec {
    TimeSpec::new(i64::try_from(time).unwrap_or(i64::MAX), 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_folders_and_links_are_put_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let mut root = ExtractionRoot::open(folder.path()).unwrap();
        root.folder(Path::new("./"), 0o755).unwrap();
        root.folder(Path::new("a/b"), 0o750).unwrap();
        root.file(Path::new("a/b/one"), 0o6757, 1000, &mut &b"1"[..])
            .unwrap();
        let mode = fs::metadata(folder.path().join("a/b/one")).unwrap().mode();
        assert_eq!(mode & 0o7777, 0o6757, "whatever the umask is");
        root.file(Path::new("a/b/one"), 0o644, 2000, &mut &b"2"[..])
            .unwrap();
        root.symlink(Path::new("a/link"), Path::new("b/one"), 3000)
            .unwrap();
        root.hard_link(Path::new("other"), Path::new("a/b/one"))
            .unwrap();
        assert_eq!(
            fs::read_to_string(folder.path().join("a/link")).unwrap(),
            "2"
        );
        let metadata = fs::metadata(folder.path().join("other")).unwrap();
        assert_eq!(
            (metadata.mode() & 0o777, metadata.mtime(), metadata.nlink()),
            (0o644, 2000, 2)
        );
        assert_eq!(
            fs::metadata(folder.path().join("a/b")).unwrap().mode() & 0o777,
            0o750
        );
    }

    #[test]
    fn nothing_leaves_the_folder() {
        let outer = tempfile::tempdir().unwrap();
        let inside = outer.path().join("inside");
        fs::create_dir(&inside).unwrap();
        fs::write(outer.path().join("kept"), "kept").unwrap();
        let mut root = ExtractionRoot::open(&inside).unwrap();
        root.symlink(Path::new("out"), Path::new(".."), 0).unwrap();
        root.symlink(Path::new("kept"), Path::new("../kept"), 0)
            .unwrap();
        let mut write = |path: &str| root.file(Path::new(path), 0o644, 0, &mut &b"x"[..]);
        for path in ["../x", "/x", "out/x", "out/kept", "a/../../x", ""] {
            assert!(
                matches!(write(path), Err(ExtractionRefusal::Outside)),
                "{path}"
            );
        }
        // A link that is in the way is replaced, not written through.
        write("kept").unwrap();
        assert_eq!(
            fs::read_to_string(outer.path().join("kept")).unwrap(),
            "kept"
        );
        assert!(matches!(
            root.folder(Path::new("out/made"), 0o755),
            Err(ExtractionRefusal::Outside)
        ));
        assert!(matches!(
            root.hard_link(Path::new("stolen"), Path::new("out/kept")),
            Err(ExtractionRefusal::Outside)
        ));
        assert!(!outer.path().join("made").exists());
    }
}
