//! Whom a stream of a VM is relayed to.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

/// Whom a stream is relayed to; one thread sends and one receives.
pub(super) trait Peer: Sync {
    /// Its connection.
    fn socket(&self) -> &TcpStream;
    /// Sends all of these.
    fn send(&self, bytes: &[u8]) -> io::Result<()>;
    /// What came, none of it at its end.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize>;
    /// Nothing more is sent.
    fn finish(&self);
}

impl Peer for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let mut socket = self;
        socket.write_all(bytes)
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut socket = self;
        socket.read(buffer)
    }

    fn finish(&self) {
        let _ = self.shutdown(Shutdown::Write);
    }
}
