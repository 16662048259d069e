//! Connections of programs to the proxy: taken on the loopback interface, carried to the host.
//!
//! ```text
//! program ─▶ 127.0.0.1:3128 ──────────┬─accept─▶ Open ─┬─ reader: socket ─credit─▶ Data, Finish
//! program ─▶ /run/orrery/proxy.sock ──┘                └─ writer: Data, Finish ─▶ socket, Credit
//! ```
//!
//! The agent understands nothing of what it carries: what may be reached is the host's to decide.

use std::collections::HashMap;
use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use nix::libc::linger;
use nix::sys::socket::{Shutdown, setsockopt, shutdown, sockopt};
use vm_core::guest::{Channel, Credits, STREAM_WINDOW, STREAMS, ToHost};
use vm_core::network::{PROXY_PORT, PROXY_SOCKET};

use crate::gate::GuestSendWindow;
use crate::port::Port;
use crate::system;
use crate::thread::thread;

/// Bytes read of a program at once: a buffer for each connection is memory of the VM.
const PIECE: usize = 16 * 1024;

/// What comes of a stream; nothing more when the sender is gone.
enum StreamChunk {
    Bytes(Vec<u8>),
    Finish,
}

/// A connection that the host knows of.
struct Stream {
    gate: Arc<GuestSendWindow>,
    pieces: Sender<StreamChunk>,
}

/// All connections of programs.
pub(crate) struct GuestNetwork {
    port: Arc<Port>,
    streams: Mutex<HashMap<Channel, Stream>>,
    permits: Permits,
    next: AtomicU32,
}

impl GuestNetwork {
    /// Takes connections from now on, at most so many at once; others wait to be taken.
    pub(crate) fn start(port: Arc<Port>, streams: u16) -> io::Result<Arc<Self>> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY_PORT))?;
        let network = Arc::new(Self {
            port,
            streams: Mutex::default(),
            permits: Permits::new(streams),
            next: AtomicU32::new(STREAMS),
        });
        let own = Arc::clone(&network);
        thread("proxy").spawn(move || {
            own.accept_all(|| Ok(Socket::from(OwnedFd::from(listener.accept()?.0))));
        })?;
        let (own, listener) = (Arc::clone(&network), socket_file(Path::new(PROXY_SOCKET))?);
        thread("proxy file").spawn(move || {
            own.accept_all(|| Ok(Socket::from(OwnedFd::from(listener.accept()?.0))));
        })?;
        Ok(network)
    }

    fn accept_all(self: &Arc<Self>, accept: impl Fn() -> io::Result<Socket>) {
        loop {
            let taken = accept().and_then(|socket| {
                // Given back by the connection's writer, when the host knows nothing of it.
                self.permits.take();
                let carried = self.start_relay(Arc::new(socket));
                carried.inspect_err(|_| self.permits.release())
            });
            if taken.is_err() {
                // Out of file descriptors or threads: they come back when others end.
                system::pause(Duration::from_millis(20));
            }
        }
    }

    /// Tells the host, and carries both directions in threads. On an error the host knows nothing.
    fn start_relay(self: &Arc<Self>, socket: Arc<Socket>) -> io::Result<()> {
        let number = self.next.fetch_add(1, Ordering::Relaxed) | STREAMS;
        let gate = Arc::new(GuestSendWindow::new(Credits::new(STREAM_WINDOW)));
        let (pieces, coming) = channel();
        let stream = Stream {
            gate: Arc::clone(&gate),
            pieces,
        };
        self.lock().insert(number, stream);
        let own = Arc::clone(self);
        let spawned = thread("download").spawn(move || {
            own.port.send(number, &ToHost::Open);
            let (reading, reader) = (Arc::clone(&own), Arc::clone(&socket));
            let upload = thread("upload");
            if upload
                .spawn(move || reading.read_all(number, &reader, &gate))
                .is_err()
            {
                own.port.send(number, &ToHost::Abort);
            }
            own.write_all(number, &socket, &coming);
            drop(socket);
            own.permits.release();
        });
        if spawned.is_err() {
            self.close(number);
        }
        spawned.map(drop)
    }

    /// What the program sends, as credit allows.
    fn read_all(&self, number: Channel, socket: &Socket, gate: &GuestSendWindow) {
        let mut buffer = vec![0; PIECE];
        loop {
            let count = match socket.stream().read(&mut buffer) {
                Ok(0) => return self.port.send(number, &ToHost::Finish),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return self.port.send(number, &ToHost::Abort),
            };
            let mut rest = &buffer[..count];
            while !rest.is_empty() {
                let granted = gate.take(rest.len());
                if granted == 0 {
                    return;
                }
                let (now, later) = rest.split_at(granted);
                self.port.send(number, &ToHost::Data(now.into()));
                rest = later;
            }
        }
    }

    /// What the host sends, until it knows nothing of the stream any more.
    fn write_all(&self, number: Channel, socket: &Socket, coming: &Receiver<StreamChunk>) {
        let (mut owed, mut finished, mut broken) = (0, false, false);
        while let Ok(piece) = coming.recv() {
            match piece {
                StreamChunk::Finish => {
                    finished = true;
                    socket.shutdown(Shutdown::Write);
                }
                StreamChunk::Bytes(bytes) => {
                    if !broken && socket.stream().write_all(&bytes).is_err() {
                        broken = true;
                        self.port.send(number, &ToHost::Abort);
                    }
                    owed += u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                    if owed >= STREAM_WINDOW / 4 {
                        self.port
                            .send(number, &ToHost::Credit(std::mem::take(&mut owed)));
                    }
                }
            }
        }
        if !finished {
            // What broke off must not look like an end.
            socket.reset_on_close();
            socket.shutdown(Shutdown::Read);
        } else {
            socket.shutdown(Shutdown::Both);
        }
    }

    /// The next bytes of a stream.
    pub(crate) fn data(&self, number: Channel, bytes: Vec<u8>) {
        if let Some(stream) = self.lock().get(&number) {
            // A writer that is gone needs none.
            let _ = stream.pieces.send(StreamChunk::Bytes(bytes));
        }
    }

    /// The peer has sent all it had.
    pub(crate) fn finish(&self, number: Channel) {
        if let Some(stream) = self.lock().get(&number) {
            let _ = stream.pieces.send(StreamChunk::Finish);
        }
    }

    /// More of a stream may be sent.
    pub(crate) fn credit(&self, number: Channel, bytes: u32) {
        if let Some(stream) = self.lock().get(&number) {
            stream.gate.add(bytes);
        }
    }

    /// Nothing more comes of a stream. What has come is still written.
    pub(crate) fn close(&self, number: Channel) {
        if let Some(stream) = self.lock().remove(&number) {
            stream.gate.close();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Channel, Stream>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection of a program, over the loopback interface or by the socket's file.
struct Socket(File);

impl From<OwnedFd> for Socket {
    fn from(socket: OwnedFd) -> Self {
        Self(File::from(socket))
    }
}

impl Socket {
    fn stream(&self) -> &File {
        &self.0
    }

    /// A peer that is gone needs none.
    fn shutdown(&self, how: Shutdown) {
        let _ = shutdown(self.0.as_raw_fd(), how);
    }

    /// Makes the last close a reset, where the socket has such.
    fn reset_on_close(&self) {
        let at_once = linger {
            l_onoff: 1,
            l_linger: 0,
        };
        let _ = setsockopt(&self.0.as_fd(), sockopt::Linger, &at_once);
    }
}

/// Takes connections at a path that every program may open: those that speak HTTP over such files
/// alone, or whatever host they name.
fn socket_file(path: &Path) -> io::Result<UnixListener> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o666))?;
    Ok(listener)
}

/// How many connections may still be taken.
struct Permits {
    left: Mutex<u16>,
    given: Condvar,
}

impl Permits {
    fn new(left: u16) -> Self {
        Self {
            left: Mutex::new(left),
            given: Condvar::new(),
        }
    }

    fn take(&self) {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = self
            .given
            .wait_while(left, |left| *left == 0)
            .unwrap_or_else(PoisonError::into_inner);
        *left -= 1;
    }

    fn release(&self) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.given.notify_one();
    }
}
