//! Connections of programs to the proxy: taken on the loopback interface, carried to the host.
//!
//! ```text
//! program ─▶ 127.0.0.1:3128 ─accept─▶ Open ─┬─ reader: socket ─credit─▶ Data, Finish
//!                                           └─ writer: Data, Finish ─▶ socket, Credit
//! ```
//!
//! The agent understands nothing of what it carries: what may be reached is the host's to decide.

use std::collections::HashMap;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use nix::libc::linger;
use nix::sys::socket::{setsockopt, sockopt};
use vm_core::guest::{Channel, Credits, STREAM_WINDOW, STREAMS, ToHost};
use vm_core::network::PROXY_PORT;

use crate::gate::Gate;
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
    gate: Arc<Gate>,
    pieces: Sender<StreamChunk>,
}

/// All connections of programs.
pub(crate) struct Network {
    port: Arc<Port>,
    streams: Mutex<HashMap<Channel, Stream>>,
    permits: Permits,
    next: AtomicU32,
}

impl Network {
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
        thread("proxy").spawn(move || own.accept_all(&listener))?;
        Ok(network)
    }

    fn accept_all(self: &Arc<Self>, listener: &TcpListener) {
        loop {
            // Given back by the connection's writer, when the host knows nothing of it any more.
            self.permits.take();
            let taken = listener
                .accept()
                .and_then(|(socket, _)| self.carry(Arc::new(socket)));
            if taken.is_err() {
                self.permits.give();
                // Out of file descriptors or threads: they come back when others end.
                system::pause(Duration::from_millis(20));
            }
        }
    }

    /// Tells the host, and carries both directions in threads. On an error the host knows nothing.
    fn carry(self: &Arc<Self>, socket: Arc<TcpStream>) -> io::Result<()> {
        let number = self.next.fetch_add(1, Ordering::Relaxed) | STREAMS;
        let gate = Arc::new(Gate::new(Credits::of(STREAM_WINDOW)));
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
            own.permits.give();
        });
        if spawned.is_err() {
            self.close(number);
        }
        spawned.map(drop)
    }

    /// What the program sends, as credit allows.
    fn read_all(&self, number: Channel, mut socket: &TcpStream, gate: &Gate) {
        let mut buffer = vec![0; PIECE];
        loop {
            let count = match socket.read(&mut buffer) {
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
    fn write_all(&self, number: Channel, mut socket: &TcpStream, coming: &Receiver<StreamChunk>) {
        let (mut owed, mut finished, mut broken) = (0, false, false);
        while let Ok(piece) = coming.recv() {
            match piece {
                StreamChunk::Finish => {
                    finished = true;
                    let _ = socket.shutdown(Shutdown::Write);
                }
                StreamChunk::Bytes(bytes) => {
                    if !broken && socket.write_all(&bytes).is_err() {
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
            reset_on_close(socket);
            let _ = socket.shutdown(Shutdown::Read);
        } else {
            let _ = socket.shutdown(Shutdown::Both);
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

/// Makes the last close of the socket a reset.
fn reset_on_close(socket: &TcpStream) {
    let at_once = linger {
        l_onoff: 1,
        l_linger: 0,
    };
    let _ = setsockopt(&socket.as_fd(), sockopt::Linger, &at_once);
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

    fn give(&self) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.given.notify_one();
    }
}
