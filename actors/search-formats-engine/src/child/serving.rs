//! The child's side: bounded, then one document after the other until the parent closes the socket.

use std::ffi::OsString;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use rustix::process::{Resource, Rlimit, setrlimit};

use super::frame::{ReadRequest, receive, send};
use crate::parse;
use crate::text::{DocumentRefusal, ExtractedText};

/// The largest document that is taken over.
const MAX_DOCUMENT: u64 = 1 << 30;

/// Stack of the thread that parses. It is mapped before the limit is set: a main thread's stack
/// grows as it is used, and may not where no address space is left.
const STACK: usize = 16 << 20;

/// Serves the parent over the socket that is this process's standard input; returns when the parent
/// has closed it.
///
/// Call it before anything else in a process started by [`crate::ReaderPool`]: it takes this
/// process's rights to memory, files and new processes away.
///
/// # Errors
/// When standard input is no socket, or the parent speaks nonsense.
pub fn serve() -> std::io::Result<()> {
    let socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    socket.peer_addr()?;
    // A parser that panics says so in its answer, nowhere else.
    std::panic::set_hook(Box::new(|_| {}));
    let parser = thread::Builder::new().stack_size(STACK);
    let parser = parser.spawn(move || converse(&socket))?;
    let failed = || std::io::Error::other("the thread that parses failed");
    parser.join().map_err(|_| failed())?
}

/// One document after the other, until the parent closes the socket.
fn converse(socket: &UnixStream) -> std::io::Result<()> {
    let mut bounded = false;
    loop {
        let request: ReadRequest = match receive(&mut &*socket) {
            Ok(request) => request,
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        };
        if !bounded {
            bound(request.limits.memory)?;
            bounded = true;
        }
        send(&mut &*socket, &answer(&request, socket)?)?;
    }
}

/// [`serve`], when `arguments` (with the program's name first) say that a process started by
/// [`running_program`](super::ReaderProgram::running_program) is what this is; `None` elsewhere.
pub fn serve_if_asked(
    arguments: impl IntoIterator<Item = OsString>,
) -> Option<std::io::Result<()>> {
    let first = arguments.into_iter().nth(1)?;
    (first == super::READ_DOCUMENTS).then(serve)
}

fn answer(
    request: &ReadRequest,
    socket: &UnixStream,
) -> std::io::Result<Result<ExtractedText, DocumentRefusal>> {
    if request.bytes > MAX_DOCUMENT {
        return Err(std::io::Error::other("the document is too large"));
    }
    let mut bytes = Vec::new();
    let read = socket.take(request.bytes).read_to_end(&mut bytes)?;
    if read as u64 != request.bytes {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    let read = catch_unwind(AssertUnwindSafe(|| {
        parse::read(request.format, &bytes, &request.limits)
    }));
    Ok(read.unwrap_or_else(|_| Err(DocumentRefusal::Malformed("its parser failed".to_owned()))))
}

/// Bounds what this process may have. What it has mapped so far (the program itself, stacks, what
/// its allocator keeps ready) is not the document's.
fn bound(memory: u64) -> std::io::Result<()> {
    let to = |most: u64| Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    setrlimit(Resource::As, to(memory.saturating_add(mapped())))?;
    setrlimit(Resource::Core, to(0))?;
    setrlimit(Resource::Fsize, to(0))?;
    // The socket and the three standard ones are open already.
    setrlimit(Resource::Nofile, to(16))?;
    Ok(())
}

/// Bytes of address space that this process has now; 0 where the system does not tell.
fn mapped() -> u64 {
    let sizes = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = sizes.split(' ').next().and_then(|first| first.parse().ok());
    pages.unwrap_or(0_u64) * rustix::param::page_size() as u64
}
