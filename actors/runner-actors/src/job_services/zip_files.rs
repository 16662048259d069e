//! Zips, as clients pack artifacts, and tars, as the store has them.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use super::zip_end::check_directory;
use crate::artifact_zip::zip_of_tar;

/// The longest target of a link.
const MAX_LINK: u64 = 4096;

/// Writes what a zip holds as a tar. The zip is a stranger's: names that lead out are refused, and
/// what it unpacks to is bounded by who takes the tar.
pub(super) fn tar_of_zip(mut zip: File, tar: impl Write) -> std::io::Result<()> {
    check_directory(&mut zip)?;
    let mut zip = ZipArchive::new(zip).map_err(std::io::Error::other)?;
    let mut tar = tar::Builder::new(tar);
    let mut links = Links::default();
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(std::io::Error::other)?;
        let Some(name) = entry.enclosed_name() else {
            let text = "an entry of the zip leads out of it";
            return Err(std::io::Error::other(text));
        };
        links.check(&name, entry.is_symlink())?;
        let mut header = tar::Header::new_gnu();
        let mode = entry.unix_mode().unwrap_or(0o644) & 0o777;
        let executable = mode & 0o111 != 0;
        header.set_mode(if executable { 0o755 } else { 0o644 });
        header.set_size(0);
        if entry.is_dir() {
            header.set_mode(0o755);
            header.set_entry_type(tar::EntryType::Directory);
            tar.append_data(&mut header, &name, std::io::empty())?;
        } else if entry.is_symlink() {
            let mut target = String::new();
            (&mut entry).take(MAX_LINK).read_to_string(&mut target)?;
            header.set_entry_type(tar::EntryType::Symlink);
            tar.append_link(&mut header, &name, target)?;
        } else {
            // What the zip says of its sizes is looked at when it is read.
            header.set_size(entry.size());
            let size = entry.size();
            let mut exact = (&mut entry).take(size);
            tar.append_data(&mut header, &name, &mut exact)?;
            if exact.limit() != 0 {
                return Err(std::io::Error::other("the zip is not whole"));
            }
        }
    }
    tar.finish()
}

/// Where the links of a zip are, and its folders: what lies below a link leads where that does.
#[derive(Default)]
struct Links {
    links: HashSet<PathBuf>,
    folders: HashSet<PathBuf>,
}

impl Links {
    fn check(&mut self, name: &Path, is_link: bool) -> std::io::Result<()> {
        let mut wrong = is_link && self.folders.contains(name);
        for folder in name.ancestors().skip(1) {
            wrong |= self.links.contains(folder);
            if !self.folders.insert(folder.to_owned()) {
                break;
            }
        }
        if wrong {
            let text = "an entry of the zip lies below a link";
            return Err(std::io::Error::other(text));
        }
        if is_link {
            self.links.insert(name.to_owned());
        }
        Ok(())
    }
}

/// A tar with one file, the zip of what a tar holds; both lie beside it while they are made, and
/// have no names.
pub(crate) fn tar_of_zipped(tar: &Path, name: &str) -> std::io::Result<File> {
    let folder = tar.parent().unwrap_or(tar);
    let mut zip = tempfile::tempfile_in(folder)?;
    zip_of_tar(File::open(tar)?, BufWriter::new(&mut zip))?;
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(zip.seek(SeekFrom::End(0))?);
    zip.rewind()?;
    let mut file = tempfile::tempfile_in(folder)?;
    let mut outer = tar::Builder::new(&mut file);
    outer.append_data(&mut header, format!("{name}.zip"), &mut zip)?;
    outer.finish()?;
    drop(outer);
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    #[test]
    fn i17_nothing_of_a_zip_lies_below_its_links() {
        let tar = |names: &[&str]| -> std::io::Result<Vec<u8>> {
            let folder = tempfile::tempdir()?;
            let path = folder.path().join("zip");
            let mut zip = ZipWriter::new(File::create(&path)?);
            for name in names {
                let options = SimpleFileOptions::default();
                match name.strip_prefix('@') {
                    Some(link) => zip.add_symlink(link, "/tmp/lw", options)?,
                    None => zip.start_file(*name, options)?,
                }
            }
            zip.finish()?;
            let mut out = Vec::new();
            tar_of_zip(File::open(path)?, &mut out).map(|()| out)
        };
        for names in [
            &["@l", "l/pwn.txt"][..],
            &["l/pwn.txt", "@l"],
            &["a/b/c/x", "@a/b"],
            &["@a/b", "a/b/c/x"],
        ] {
            let said = tar(names).unwrap_err().to_string();
            assert!(said.contains("below a link"), "{names:?}: {said}");
        }
        for names in [&["@l", "lx", "d/l"][..], &["d/x", "@d/l", "d/y"]] {
            assert!(!tar(names).unwrap().is_empty(), "{names:?}");
        }
    }
}
