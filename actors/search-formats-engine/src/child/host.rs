//! The parent's side: children that are kept for the next document, and ended when one takes too
//! long.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::READ_DOCUMENTS;
use super::frame::{ReadRequest, receive, send};
use crate::format::DocumentFormat;
use crate::text::{DocumentLimits, DocumentRefusal, ExtractedText};

/// What is started as a child: a program that calls [`crate::serve`] when it gets these arguments.
#[derive(Debug, Clone)]
pub struct ReaderProgram {
    /// Its path: usually the running program itself.
    pub path: PathBuf,
    /// Arguments that lead to [`crate::serve`].
    pub arguments: Vec<OsString>,
}

impl ReaderProgram {
    /// The running program itself, which begins with [`crate::serve_if_asked`].
    pub fn running_program(path: PathBuf) -> Self {
        Self {
            path,
            arguments: vec![READ_DOCUMENTS.into()],
        }
    }
}

/// Reads documents in child processes; clones share them.
#[derive(Debug, Clone)]
pub struct ReaderPool {
    program: Arc<ReaderProgram>,
    limits: DocumentLimits,
    /// Children that wait for work.
    idle: Arc<Mutex<Vec<Reader>>>,
}

/// Children kept waiting.
const MAX_IDLE_READERS: usize = 2;
/// Keeps the allocator of the child from reserving address space ahead: mimalloc takes 1 GiB at
/// once, which is all that the child may have.
const SMALL_ARENAS: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "65536");
/// EAGAIN, ENOMEM, ENFILE, EMFILE: a child cannot be started now, whatever the document is.
const LACKS: [i32; 4] = [11, 12, 23, 24];
/// Documents one child reads before it is replaced: what parsers leak goes with it.
const DOCUMENTS: u32 = 500;

impl ReaderPool {
    /// Nothing is started before the first document.
    pub fn new(program: ReaderProgram, limits: DocumentLimits) -> Self {
        Self {
            program: Arc::new(program),
            limits,
            idle: Arc::default(),
        }
    }

    /// The text of a document; blocks, at most for the time limit.
    ///
    /// # Errors
    /// When the document is refused, took too long, or took its process down. The next call is not
    /// affected.
    pub fn read(
        &self,
        format: DocumentFormat,
        bytes: &[u8],
    ) -> Result<ExtractedText, DocumentRefusal> {
        let waiting = self.idle.lock().pop();
        let mut reader = match waiting {
            Some(reader) => reader,
            None => Reader::start(&self.program)?,
        };
        let answer = reader.read(format, bytes, &self.limits);
        let answer = match answer {
            Ok(answer) => answer,
            Err(broken) => return Err(reader.end_child(&broken, self.limits.time)),
        };
        let mut idle = self.idle.lock();
        if reader.documents < DOCUMENTS && idle.len() < MAX_IDLE_READERS {
            idle.push(reader);
        }
        answer
    }
}

#[derive(Debug)]
struct Reader {
    child: Child,
    socket: UnixStream,
    documents: u32,
}

impl Reader {
    fn start(program: &ReaderProgram) -> Result<Self, DocumentRefusal> {
        let no_reader = |error: std::io::Error| match error.raw_os_error() {
            Some(number) if LACKS.contains(&number) => {
                DocumentRefusal::NoResources(error.to_string())
            }
            _ => DocumentRefusal::NoReader(error.to_string()),
        };
        let (ours, theirs) = UnixStream::pair().map_err(no_reader)?;
        let mut command = Command::new(&program.path);
        command
            .args(&program.arguments)
            .env_clear()
            .env(SMALL_ARENAS.0, SMALL_ARENAS.1)
            .current_dir("/");
        command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().map_err(no_reader)?;
        Ok(Self {
            child,
            socket: ours,
            documents: 0,
        })
    }

    fn read(
        &mut self,
        format: DocumentFormat,
        bytes: &[u8],
        limits: &DocumentLimits,
    ) -> std::io::Result<Result<ExtractedText, DocumentRefusal>> {
        self.documents += 1;
        let deadline = Instant::now() + limits.time;
        let request = ReadRequest {
            format,
            limits: *limits,
            bytes: bytes.len() as u64,
        };
        self.socket.set_write_timeout(Some(limits.time))?;
        send(&mut self.socket, &request)?;
        for part in bytes.chunks(1 << 20) {
            self.socket.set_write_timeout(Some(time_left(deadline)?))?;
            self.socket.write_all(part)?;
        }
        self.socket.set_read_timeout(Some(time_left(deadline)?))?;
        receive(&mut self.socket)
    }

    /// Ends a child that broke the conversation, and says what the document did.
    fn end_child(mut self, broken: &std::io::Error, limit: Duration) -> DocumentRefusal {
        let too_slow = matches!(broken.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock);
        if too_slow {
            // Dropped: killed and waited for.
            return DocumentRefusal::TooSlow(limit);
        }
        // It has closed its end: it is gone or about to be; one that is not is killed.
        let patience = Instant::now() + Duration::from_secs(1);
        while Instant::now() < patience {
            match self.child.try_wait() {
                Ok(Some(status)) => return DocumentRefusal::Died(status.to_string()),
                Ok(None) => std::thread::park_timeout(Duration::from_millis(5)),
                Err(error) => return DocumentRefusal::Died(error.to_string()),
            }
        }
        DocumentRefusal::Died(broken.to_string())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn time_left(deadline: Instant) -> std::io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    Ok(left)
}
