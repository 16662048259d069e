//! Packing a file or folder as a tar: links stay links, devices and sockets are left out.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tar::{Builder, EntryType, Header};
use vm_core::guest::TarSummary;

/// Deepest folder that is packed.
const MAX_DEPTH: usize = 200;

/// Writes the tar. A folder's entries are named from the folder on, a file by its own name.
pub(crate) fn pack(path: &Path, out: &mut dyn Write) -> io::Result<TarSummary> {
    // The path itself may be a link: it is what was asked for.
    let metadata = fs::metadata(path)?;
    let mute = Cell::new(false);
    let mut packer = Packer {
        builder: Builder::new(io::BufWriter::with_capacity(
            vm_core::guest::CHUNK,
            MuteWriter { out, mute: &mute },
        )),
        summary: TarSummary::default(),
    };
    let packed = if metadata.is_dir() {
        packer.folder(path, Path::new(""), 0)
    } else {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        packer.file(path, Path::new(name), &metadata)
    };
    // A builder writes the end of its tar when it is dropped: one that broke off has none.
    mute.set(packed.is_err());
    packed?;
    packer.builder.into_inner()?.flush()?;
    Ok(packer.summary)
}

/// Passes on what is written, until it is muted.
struct MuteWriter<'a> {
    out: &'a mut dyn Write,
    mute: &'a Cell<bool>,
}

impl Write for MuteWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.mute.get() {
            return Ok(bytes.len());
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

struct Packer<W: Write> {
    builder: Builder<W>,
    summary: TarSummary,
}

impl<W: Write> Packer<W> {
    fn folder(&mut self, path: &Path, name: &Path, depth: usize) -> io::Result<()> {
        if depth > MAX_DEPTH {
            return Err(io::Error::other(format!("{} is too deep", path.display())));
        }
        let mut entries: Vec<PathBuf> = fs::read_dir(path)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        entries.sort();
        for entry in entries {
            let Some(last) = entry.file_name() else {
                continue;
            };
            let name = name.join(last);
            // What vanishes while it is packed was not there.
            let Ok(metadata) = fs::symlink_metadata(&entry) else {
                continue;
            };
            if metadata.is_dir() {
                let mut header = header_of(&metadata);
                self.builder.append_data(&mut header, &name, io::empty())?;
                self.summary.entries += 1;
                self.folder(&entry, &name, depth + 1)?;
            } else if metadata.is_symlink() {
                let mut header = header_of(&metadata);
                header.set_size(0);
                self.builder
                    .append_link(&mut header, &name, fs::read_link(&entry)?)?;
                self.summary.entries += 1;
            } else if metadata.is_file() {
                self.file(&entry, &name, &metadata)?;
            }
        }
        Ok(())
    }

    /// A file with exactly the size in its header, even if it changes meanwhile.
    fn file(&mut self, path: &Path, name: &Path, metadata: &fs::Metadata) -> io::Result<()> {
        let size = metadata.len();
        let mut header = header_of(metadata);
        header.set_entry_type(EntryType::Regular);
        header.set_size(size);
        let content = File::open(path)?.chain(io::repeat(0)).take(size);
        self.builder.append_data(&mut header, name, content)?;
        self.summary.entries += 1;
        self.summary.bytes += size;
        Ok(())
    }
}

fn header_of(metadata: &fs::Metadata) -> Header {
    let mut header = Header::new_gnu();
    header.set_metadata(metadata);
    if !metadata.is_file() {
        header.set_size(0);
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x10_what_is_not_there_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut out = Vec::new();
        let error = pack(&folder.path().join("nothing"), &mut out).unwrap_err();
        assert_eq!((error.kind(), out.len()), (io::ErrorKind::NotFound, 0));
    }

    #[test]
    fn x10_a_tar_that_breaks_off_has_no_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut deep = folder.path().to_path_buf();
        for _ in 0..=MAX_DEPTH {
            deep.push("d");
        }
        fs::create_dir_all(&deep).unwrap();
        let mut out = Vec::new();
        pack(folder.path(), &mut out).unwrap_err();
        assert!(!out.ends_with(&[0; 1024]), "it looks whole");
    }
}
