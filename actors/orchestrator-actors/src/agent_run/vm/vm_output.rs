//! What comes out of a VM: a tar made by whoever owns the machine, so it is judged here.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Component, Path, PathBuf};

use super::guest::{COMMITS, REPORTS};

/// Most bytes of the tar: commits and reports together.
pub(super) const MAX_BYTES: u64 = 2 << 30;
/// Most reports.
const MAX_FILES: usize = 10_000;

/// What was found in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ReturnedFiles {
    /// The bundle of the agent's commits, where it made any.
    pub(super) commits: Option<PathBuf>,
    /// Why some of it was left.
    pub(super) left: Option<String>,
}

/// Unpacks commits into `directory` and reports below `reports`, which exists: plain files and
/// folders only, below where they belong. Blocks.
///
/// # Errors
/// When the tar is cut, or the disk refuses the commits.
pub(super) fn unpack(mut tar: File, directory: &Path, reports: &Path) -> io::Result<ReturnedFiles> {
    tar.rewind()?;
    let mut returned = ReturnedFiles::default();
    let mut archive = tar::Archive::new(tar);
    for (count, entry) in archive.entries()?.enumerate() {
        let mut entry = entry?;
        if count >= MAX_FILES {
            returned.left = Some(format!("there are more than {MAX_FILES} reports"));
            break;
        }
        let kind = entry.header().entry_type();
        let path = entry.path()?.into_owned();
        let Some(place) = below_out(&path) else {
            returned.left = Some(format!("{} leads out of its folder", path.display()));
            continue;
        };
        if place == Path::new(COMMITS) && kind == tar::EntryType::Regular {
            let file = directory.join(COMMITS);
            write(&mut entry, &file)?;
            returned.commits = Some(file);
        } else if let Ok(report) = place.strip_prefix(REPORTS) {
            let target = reports.join(report);
            let made = match kind {
                tar::EntryType::Directory => fs::create_dir_all(&target),
                tar::EntryType::Regular => fs::create_dir_all(target.parent().unwrap_or(reports))
                    .and_then(|()| write(&mut entry, &target)),
                _ => Err(io::Error::other("it is neither a file nor a folder")),
            };
            // A report that cannot be kept costs no other, and no commit.
            if let Err(error) = made {
                returned.left = Some(format!("{}: {error}", path.display()));
            }
        }
    }
    Ok(returned)
}

/// A file of its own: what there is already is no link, for nothing here makes one.
fn write(content: &mut impl Read, path: &Path) -> io::Result<()> {
    io::copy(content, &mut File::create(path)?).map(drop)
}

/// The place below the folder that was packed, whether its name stands in front or not; `None`
/// when it leads elsewhere.
fn below_out(path: &Path) -> Option<PathBuf> {
    let mut place = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => place.push(part),
            Component::CurDir => {}
            Component::RootDir | Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    Some(
        place
            .strip_prefix("out")
            .map(Path::to_owned)
            .unwrap_or(place),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tar_of(entries: &[(tar::EntryType, &str, &str)]) -> File {
        let mut builder = tar::Builder::new(tempfile::tempfile().expect("a file"));
        for (kind, name, content) in entries {
            let mut header = tar::Header::new_ustar();
            header.set_entry_type(*kind);
            header.set_mode(0o644);
            let body = if *kind == tar::EntryType::Regular {
                content.as_bytes()
            } else {
                // By hand: the library refuses what a stranger would write.
                header.as_old_mut().linkname[..content.len()].copy_from_slice(content.as_bytes());
                b""
            };
            header.set_size(body.len() as u64);
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            builder.append(&header, body).expect("it is appended");
        }
        builder.into_inner().expect("it is whole")
    }

    #[test]
    fn i18_what_comes_out_of_a_vm_stays_where_it_belongs() {
        use tar::EntryType;
        let folder = tempfile::tempdir().expect("a folder");
        let (own, reports) = (folder.path().join("own"), folder.path().join("reports"));
        for folder in [&own, &reports] {
            fs::create_dir(folder).expect("it is made");
        }
        let tar = tar_of(&[
            (EntryType::Directory, "out/", ""),
            (EntryType::Regular, "out/commits.bundle", "bundle"),
            (EntryType::Regular, "out/reports/a/b.txt", "text"),
            (EntryType::Symlink, "out/reports/link", "/etc/passwd"),
            (EntryType::Regular, "out/reports/a", "a folder already"),
            (EntryType::Regular, "out/reports/../../../x", "outside"),
            (EntryType::Regular, "/etc/x", "outside"),
            (EntryType::Regular, "out/other", "nobody asked"),
        ]);
        let returned = unpack(tar, &own, &reports).expect("it is read");
        assert_eq!(returned.commits, Some(own.join("commits.bundle")));
        assert!(returned.left.is_some());
        let text = fs::read_to_string(reports.join("a/b.txt")).expect("a report");
        assert_eq!(text, "text");
        let names = |folder: &Path| {
            let entries = fs::read_dir(folder).expect("a folder").flatten();
            let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&reports), ["a"]);
        assert_eq!(names(folder.path()), ["own", "reports"]);
        assert_eq!(names(&own), ["commits.bundle"]);
    }
}
