//! TLS that the manager opens for a request of which the proxy was given the whole `https` URL:
//! many programs ask so, and their authors never see it where there is no proxy.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use vm_core::guest::CHUNK;
use vm_core::network::{NetworkTarget, TargetHost};

use super::peer::Peer;

type ClientConfigResult = Result<Arc<ClientConfig>, String>;

/// Which authorities are trusted, asked for with the first connection; nobody's by default.
#[derive(Clone)]
pub struct TrustedAuthorities(Arc<dyn Fn() -> ClientConfigResult + Send + Sync>);

impl TrustedAuthorities {
    /// Trusts whom the configuration trusts; an error is why there is none.
    pub fn with_config(config: impl Fn() -> ClientConfigResult + Send + Sync + 'static) -> Self {
        Self(Arc::new(config))
    }
}

impl Default for TrustedAuthorities {
    fn default() -> Self {
        Self::with_config(|| Err("no authority is trusted here".to_owned()))
    }
}

/// A peer that is spoken to through TLS; one thread sends and one receives.
pub(super) struct TlsPeer {
    socket: TcpStream,
    connection: Mutex<ClientConnection>,
    /// What came and was not read yet.
    pending: Mutex<Vec<u8>>,
}

impl TlsPeer {
    /// Shakes hands, within this time.
    ///
    /// # Errors
    /// Why not, in words.
    pub(super) fn open(
        trust: &TrustedAuthorities,
        target: &NetworkTarget,
        socket: TcpStream,
        within: Duration,
    ) -> Result<Self, String> {
        let name = match &target.host {
            TargetHost::Name(name) => {
                ServerName::try_from(name.clone()).map_err(|error| error.to_string())?
            }
            TargetHost::Address(address) => ServerName::from(*address),
        };
        let connection = ClientConnection::new((trust.0)()?, name);
        let mut connection = connection.map_err(|error| error.to_string())?;
        shake_hands(&mut connection, &socket, within).map_err(|error| error.to_string())?;
        Ok(Self {
            socket,
            connection: Mutex::new(connection),
            pending: Mutex::default(),
        })
    }

    /// What is to be written, taken out first: nobody waits for the socket with the lock held.
    fn write_out(&self, change: impl FnOnce(&mut ClientConnection)) -> io::Result<()> {
        let mut bytes = Vec::new();
        {
            let mut connection = self.connection.lock();
            change(&mut connection);
            while connection.wants_write() {
                connection.write_tls(&mut bytes)?;
            }
        }
        (&self.socket).write_all(&bytes)
    }
}

fn shake_hands(
    connection: &mut ClientConnection,
    mut socket: &TcpStream,
    within: Duration,
) -> io::Result<()> {
    let until = Instant::now() + within;
    socket.set_write_timeout(Some(within))?;
    loop {
        while connection.wants_write() {
            connection.write_tls(&mut socket)?;
        }
        if !connection.is_handshaking() {
            return Ok(());
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        match connection.read_tls(&mut socket) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Which of both it is depends on the system.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(ErrorKind::TimedOut.into());
            }
            Err(error) => return Err(error),
        }
        if let Err(error) = connection.process_new_packets() {
            // The peer is told, if it still listens.
            let _ = connection.write_tls(&mut socket);
            return Err(io::Error::other(error));
        }
    }
}

impl Peer for TlsPeer {
    fn socket(&self) -> &TcpStream {
        &self.socket
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(CHUNK) {
            let mut written = Ok(());
            self.write_out(|connection| written = connection.writer().write_all(piece))?;
            written?;
        }
        Ok(())
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut pending = self.pending.lock();
        loop {
            {
                let mut connection = self.connection.lock();
                match connection.reader().read(buffer) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    // As most programs take it: what came says itself whether it is whole.
                    Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                    read => return read,
                }
                if !pending.is_empty() {
                    let count = connection.read_tls(&mut pending.as_slice())?;
                    pending.drain(..count);
                    connection.process_new_packets().map_err(io::Error::other)?;
                    continue;
                }
            }
            pending.resize(CHUNK, 0);
            let read = (&self.socket).read(&mut pending);
            pending.truncate(*read.as_ref().unwrap_or(&0));
            if read? == 0 {
                self.connection.lock().read_tls(&mut io::empty())?;
            }
        }
    }

    fn finish(&self) {
        let _ = self.write_out(|connection| connection.send_close_notify());
        let _ = self.socket.shutdown(Shutdown::Write);
    }
}
