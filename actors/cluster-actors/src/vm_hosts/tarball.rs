//! Tar streams to and from a VM.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::mpsc;

/// A small tar of these files (path, bytes, mode), in memory.
///
/// # Errors
/// When a path is too long.
pub fn of_files(files: &[(&str, &[u8], u32)]) -> std::io::Result<Bytes> {
    of_files_beside(None, files)
}

/// The same, and before them a folder that everybody may write to (its path) with a link in it (its
/// name, and where it leads).
///
/// # Errors
/// When a path is too long.
pub fn of_files_beside(
    folder: Option<(&str, (&str, &str))>,
    files: &[(&str, &[u8], u32)],
) -> std::io::Result<Bytes> {
    let mut builder = tar::Builder::new(Vec::new());
    if let Some((folder, (name, target))) = folder {
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        header.set_mode(0o1777);
        header.set_entry_type(tar::EntryType::Directory);
        builder.append_data(&mut header, folder, std::io::empty())?;
        header.set_mode(0o777);
        header.set_entry_type(tar::EntryType::Symlink);
        builder.append_link(&mut header, format!("{folder}/{name}"), target)?;
    }
    for (path, bytes, mode) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(*mode);
        header.set_entry_type(tar::EntryType::Regular);
        builder.append_data(&mut header, path, *bytes)?;
    }
    Ok(Bytes::from(builder.into_inner()?))
}

/// The one chunk of a small tar.
pub fn once(tar: Bytes) -> impl Stream<Item = Result<Bytes, std::io::Error>> {
    futures_util::stream::once(async move { Ok(tar) })
}

/// Packs a directory on a thread of its own, as it is read.
pub fn of_directory(directory: &Path) -> impl Stream<Item = Result<Bytes, std::io::Error>> + use<> {
    let directory = directory.to_owned();
    written(move |chunks| {
        let mut builder = tar::Builder::new(chunks);
        pack(&mut builder, &directory, Path::new(""))?;
        builder.into_inner()?.flush()
    })
}

/// Packs what is in a directory, under `name`. Modes are those of a checkout on any machine (755
/// for directories and programs, 644 for the rest): here its files are open to this program's user
/// alone, and in a VM they are to be as everybody expects them. Neither a socket nor a device is
/// packed: a checkout has none.
fn pack<W: Write>(
    builder: &mut tar::Builder<W>,
    directory: &Path,
    name: &Path,
) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let (path, name) = (entry.path(), name.join(entry.file_name()));
        let metadata = std::fs::symlink_metadata(&path)?;
        let mut header = tar::Header::new_gnu();
        header.set_metadata(&metadata);
        if metadata.is_symlink() {
            header.set_size(0);
            builder.append_link(&mut header, &name, std::fs::read_link(&path)?)?;
        } else if metadata.is_dir() {
            header.set_size(0);
            header.set_mode(0o755);
            builder.append_data(&mut header, &name, std::io::empty())?;
            pack(builder, &path, &name)?;
        } else if metadata.is_file() {
            let runs = metadata.permissions().mode() & 0o100 != 0;
            header.set_mode(if runs { 0o755 } else { 0o644 });
            // Exactly as long as the header says, even if it changes meanwhile.
            let file = std::fs::File::open(&path)?;
            let content = file.chain(std::io::repeat(0)).take(metadata.len());
            builder.append_data(&mut header, &name, content)?;
        }
    }
    Ok(())
}

/// Appends a file to a tar: its path, its bytes in number, and where they are read from.
pub type Append<'a> = dyn FnMut(&str, u64, &mut dyn Read) -> std::io::Result<()> + 'a;

/// A tar of files that `write` appends, as they are read.
pub fn of_parts<F>(write: F) -> impl Stream<Item = Result<Bytes, std::io::Error>> + use<F>
where
    F: FnOnce(&mut Append<'_>) -> std::io::Result<()> + Send + 'static,
{
    written(move |chunks| {
        let mut builder = tar::Builder::new(chunks);
        write(&mut |path, size, reader| {
            let mut header = tar::Header::new_gnu();
            header.set_size(size);
            header.set_mode(0o644);
            header.set_entry_type(tar::EntryType::Regular);
            builder.append_data(&mut header, path, reader.take(size))
        })?;
        builder.into_inner()?.flush()
    })
}

/// The bytes of a file that is open already: it may be removed meanwhile.
pub fn of_open_file(
    mut file: std::fs::File,
) -> impl Stream<Item = Result<Bytes, std::io::Error>> + use<> {
    written(move |mut chunks| {
        std::io::copy(&mut file, &mut chunks)?;
        chunks.flush()
    })
}

/// What `write` writes on a thread of its own, as it comes; its error is the last item.
fn written<F>(write: F) -> impl Stream<Item = Result<Bytes, std::io::Error>> + use<F>
where
    F: FnOnce(Chunks) -> std::io::Result<()> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(8);
    tokio::task::spawn_blocking(move || {
        let chunks = Chunks {
            sender: sender.clone(),
            buffer: Vec::with_capacity(CHUNK),
        };
        if let Err(error) = write(chunks) {
            let _ = sender.blocking_send(Err(error));
        }
    });
    futures_util::stream::unfold(receiver, |mut receiver| async move {
        let next = receiver.recv().await?;
        Some((next, receiver))
    })
}

const CHUNK: usize = 256 << 10;

/// Gives what is written to the stream, in chunks.
struct Chunks {
    sender: mpsc::Sender<Result<Bytes, std::io::Error>>,
    buffer: Vec<u8>,
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK));
        let gone = |_| std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        self.sender
            .blocking_send(Ok(Bytes::from(chunk)))
            .map_err(gone)
    }
}

/// Regular files of a small tar: last part of the path, and bytes (at most `most` each; longer ones
/// come one byte too long, so that whoever reads them sees it).
///
/// # Errors
/// When it is no tar, or is cut.
pub fn files_in(tar: &[u8], most: usize) -> std::io::Result<Vec<(String, Vec<u8>)>> {
    let mut archive = tar::Archive::new(tar);
    let mut files = Vec::new();
    for entry in archive.entries()? {
        let entry = entry?;
        if entry.header().entry_type() != tar::EntryType::Regular {
            continue;
        }
        let name = entry
            .path()?
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let mut bytes = Vec::new();
        entry.take(most as u64 + 1).read_to_end(&mut bytes)?;
        files.extend(name.map(|name| (name, bytes)));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t10_a_checkout_that_only_we_can_read_has_the_usual_modes_in_a_vm() {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        std::fs::create_dir(place("src")).unwrap();
        std::fs::write(place("src/main.rs"), "fn main() {}").unwrap();
        std::fs::write(place("run.sh"), "#!/bin/sh\n").unwrap();
        std::os::unix::fs::symlink("run.sh", place("link")).unwrap();
        for (name, mode) in [("src/main.rs", 0o600), ("run.sh", 0o700), ("src", 0o700)] {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(place(name), mode).unwrap();
        }
        let mut builder = tar::Builder::new(Vec::new());
        pack(&mut builder, directory.path(), Path::new("")).unwrap();
        let bytes = builder.into_inner().unwrap();
        let mut archive = tar::Archive::new(&bytes[..]);
        let mut found: Vec<(String, u32, u64, Option<String>)> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let header = entry.header();
                (
                    entry.path().unwrap().to_string_lossy().into_owned(),
                    header.mode().unwrap() & 0o777,
                    header.size().unwrap(),
                    entry
                        .link_name()
                        .unwrap()
                        .map(|name| name.to_string_lossy().into_owned()),
                )
            })
            .collect();
        found.sort();
        let file = |name: &str, mode, size| (name.to_owned(), mode, size, None);
        assert_eq!(found[0].3.as_deref(), Some("run.sh"));
        assert_eq!(
            found[1..],
            [
                file("run.sh", 0o755, 10),
                file("src", 0o755, 0),
                file("src/main.rs", 0o644, 12)
            ]
        );
    }

    #[test]
    fn small_files_there_and_back() {
        let tar = of_files(&[("a/env", b"x=1", 0o644), ("b", b"", 0o755)]).unwrap();
        let files = files_in(&tar, 10).unwrap();
        assert_eq!(
            files,
            [
                ("env".to_owned(), b"x=1".to_vec()),
                ("b".to_owned(), Vec::new())
            ]
        );
        assert_eq!(files_in(&tar, 1).unwrap()[0].1.len(), 2);
    }
}
