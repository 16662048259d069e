//! Tar files in and out.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use tar::{Archive, EntryType};
use vm_core::guest::{CHUNK, Channel, FailureKind, GuestFailure, TarSummary, ToHost};

use crate::extraction_root::{ExtractionRefusal, ExtractionRoot};
use crate::gate::GuestSendWindow;
use crate::pack;
use crate::port::Port;

/// What comes for a tar that is being unpacked.
pub(crate) enum TarChunk {
    /// The next bytes.
    Bytes(Vec<u8>),
    /// It is complete.
    Finish,
    /// The host does not want it any more.
    Abort,
}

/// Where pieces go; what is under way is bounded by credit.
pub(crate) fn pieces() -> (Sender<TarChunk>, Receiver<TarChunk>) {
    channel()
}

/// Unpacks what comes into `folder`, and reports.
pub(crate) fn unpack(channel: Channel, folder: &str, pieces: Receiver<TarChunk>, port: &Port) {
    let mut reader = TarChunkReader {
        channel,
        pieces,
        port,
        current: Vec::new(),
        at: 0,
        owed: 0,
        state: State::Open,
    };
    let outcome = unpack_all(Path::new(folder), &mut reader);
    let message = match outcome {
        Ok(summary) => ToHost::Finished(summary),
        Err(_) if reader.state == State::Aborted => ToHost::Failed(aborted()),
        Err(failure) => ToHost::Failed(failure),
    };
    port.send(channel, &message);
}

fn unpack_all(folder: &Path, reader: &mut TarChunkReader<'_>) -> Result<TarSummary, GuestFailure> {
    let making = || format!("making {}", folder.display());
    fs::create_dir_all(folder).map_err(|error| system(&making(), &error))?;
    let mut root = ExtractionRoot::open(folder).map_err(|error| system(&making(), &error))?;
    let mut archive = Archive::new(&mut *reader);
    let mut summary = TarSummary::default();
    for entry in archive.entries().map_err(|error| bad_tar(&error))? {
        let mut entry = entry.map_err(|error| bad_tar(&error))?;
        let path = entry.path().map_err(|error| bad_tar(&error))?.into_owned();
        let size = entry.size();
        write_entry(&mut root, &path, &mut entry)?;
        summary.entries += 1;
        summary.bytes += size;
    }
    // What follows the end marker belongs to the tar as well; it must come before the report.
    io::copy(reader, &mut io::sink()).map_err(|error| bad_tar(&error))?;
    Ok(summary)
}

fn write_entry(
    root: &mut ExtractionRoot,
    path: &Path,
    entry: &mut tar::Entry<'_, impl Read>,
) -> Result<(), GuestFailure> {
    let header = entry.header();
    // Tars written by hand leave these empty.
    let folder = header.entry_type() == EntryType::Directory;
    let mode = header.mode().unwrap_or(if folder { 0o755 } else { 0o644 });
    let time = header.mtime().unwrap_or(0);
    let kind = header.entry_type();
    let target = entry
        .link_name()
        .map_err(|error| bad_tar(&error))?
        .map(std::borrow::Cow::into_owned);
    let done = match (kind, target) {
        (EntryType::Directory, _) => root.folder(path, mode),
        (EntryType::Symlink, Some(target)) => root.symlink(path, &target, time),
        (EntryType::Link, Some(target)) => root.hard_link(path, &target),
        (EntryType::XGlobalHeader, _) => Ok(()),
        (EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse, _) => {
            root.file(path, mode, time, entry)
        }
        _ => return Err(forbidden(path, "it is neither a file, a folder nor a link")),
    };
    done.map_err(|refusal| match refusal {
        ExtractionRefusal::Outside => forbidden(path, "it would leave its folder"),
        ExtractionRefusal::System(error) => system(&path.display().to_string(), &error),
    })
}

/// Packs a file or folder, and reports.
pub(crate) fn pack(channel: Channel, path: &str, gate: &Arc<GuestSendWindow>, port: &Port) {
    let mut writer = DataWriter {
        channel,
        gate,
        port,
    };
    let outcome = pack::pack(Path::new(path), &mut writer);
    let message = match outcome {
        Ok(summary) => ToHost::Finished(summary),
        Err(_) if gate.is_closed() => ToHost::Failed(aborted()),
        Err(error) => ToHost::Failed(system(path, &error)),
    };
    port.send(channel, &message);
}

#[derive(PartialEq, Eq)]
enum State {
    Open,
    Finished,
    Aborted,
}

/// The pieces as one stream; what was read is given back as credit.
struct TarChunkReader<'a> {
    channel: Channel,
    pieces: Receiver<TarChunk>,
    port: &'a Port,
    current: Vec<u8>,
    at: usize,
    /// Bytes read that the host was not given credit for yet.
    owed: u32,
    state: State,
}

impl TarChunkReader<'_> {
    fn next_chunk(&mut self) -> io::Result<()> {
        self.owed = self
            .owed
            .saturating_add(u32::try_from(self.current.len()).unwrap_or(u32::MAX));
        self.current.clear();
        self.at = 0;
        // A frame for every quarter of the window is enough to keep the stream full.
        if self.owed >= vm_core::guest::WINDOW / 4 {
            self.port.send(self.channel, &ToHost::Credit(self.owed));
            self.owed = 0;
        }
        match self.pieces.recv() {
            Ok(TarChunk::Bytes(bytes)) => self.current = bytes,
            Ok(TarChunk::Finish) => self.state = State::Finished,
            Ok(TarChunk::Abort) | Err(_) => {
                self.state = State::Aborted;
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }
}

impl Read for TarChunkReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.current.len() {
            match self.state {
                State::Finished => return Ok(0),
                State::Aborted => return Err(io::ErrorKind::UnexpectedEof.into()),
                State::Open => self.next_chunk()?,
            }
        }
        let count = buffer.len().min(self.current.len() - self.at);
        buffer[..count].copy_from_slice(&self.current[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Sends what is written, as credit allows.
struct DataWriter<'a> {
    channel: Channel,
    gate: &'a GuestSendWindow,
    port: &'a Port,
}

impl Write for DataWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Data without a byte breaks the rules.
        if bytes.is_empty() {
            return Ok(0);
        }
        let granted = self.gate.take(bytes.len().min(CHUNK));
        if granted == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.port
            .send(self.channel, &ToHost::Data(bytes[..granted].into()));
        Ok(granted)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn aborted() -> GuestFailure {
    GuestFailure {
        kind: FailureKind::Aborted,
        what: "the host stopped the transfer".to_owned(),
    }
}

fn bad_tar(error: &io::Error) -> GuestFailure {
    GuestFailure {
        kind: FailureKind::BadTar,
        what: format!("the tar cannot be read: {error}"),
    }
}

fn forbidden(path: &Path, why: &str) -> GuestFailure {
    GuestFailure {
        kind: FailureKind::Forbidden,
        what: format!("{} is refused: {why}", path.display()),
    }
}

fn system(what: &str, error: &io::Error) -> GuestFailure {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => FailureKind::NotFound,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FailureKind::DiskFull,
        // What is there already, or comes in the same tar, is in the way.
        io::ErrorKind::AlreadyExists
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::DirectoryNotEmpty => FailureKind::Forbidden,
        _ => FailureKind::System,
    };
    GuestFailure {
        kind,
        what: format!("{what}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_what_is_in_the_way_of_a_tar_is_no_fault_of_the_machine() {
        let folder = tempfile::tempdir().unwrap();
        let mut root = ExtractionRoot::open(folder.path()).unwrap();
        let link = |root: &mut ExtractionRoot| {
            let made = root.symlink(Path::new("l"), Path::new("/tmp"), 0);
            made.map_err(|refusal| match refusal {
                ExtractionRefusal::Outside => FailureKind::Forbidden,
                ExtractionRefusal::System(error) => system("l", &error).kind,
            })
        };
        assert_eq!(link(&mut root), Ok(()));
        assert_eq!(link(&mut root), Ok(()), "a link is replaced");
        root.folder(Path::new("d"), 0o755).unwrap();
        let below = root.file(Path::new("l/x"), 0o644, 0, &mut &b""[..]);
        assert!(matches!(below, Err(ExtractionRefusal::Outside)));
        std::fs::remove_file(folder.path().join("l")).unwrap();
        root.file(Path::new("l/x"), 0o644, 0, &mut &b""[..])
            .unwrap();
        assert_eq!(link(&mut root), Err(FailureKind::Forbidden));
        let broken = io::Error::from_raw_os_error(5);
        assert_eq!(system("l", &broken).kind, FailureKind::System);
    }
}
