//! Connections of jobs' machines: to the services themselves, or to the forge's own address, which
//! the VM manager leads here.
//!
//! ```text
//! GET /twirp/… ─────────────────────────────▶ services
//! CONNECT forge.example:443 HTTP/1.1 ┐
//! vm-reach: yes                      ├ of the VM manager ─▶ ForgeConnection, beside the requests that follow
//! (TLS that ends here, or plain HTTP)┘
//! ```

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use actix_web::dev::Extensions;
use actix_web::rt::net::TcpStream;
use bytes::{Buf as _, Bytes, BytesMut};
use edge_web::EdgeStream;
use http_clients::vmm::{NetworkTarget, REACH_FIELD, REACHED, TargetHost};
use parking_lot::Mutex;
use runner_actors::{HostIdentity, JobServices};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use url::Url;

/// What the VM manager's line begins with: no service has such a method.
const OPENING: &[u8] = b"CONNECT ";
/// Most bytes of its head.
const MAX_HEAD: usize = 4096;
/// The first byte of a handshake.
const HANDSHAKE: u8 = 0x16;

/// A connection that asked for the forge's own address.
#[derive(Debug, Clone)]
pub(super) struct ForgeConnection {
    /// The forge there.
    pub(super) base: Url,
    /// Why the machine's own network does not reach it; `None`: it does.
    pub(super) unreached: Option<String>,
}

/// What makes connections of what was accepted; one for all workers.
#[derive(Clone)]
pub(super) struct ConnectionAcceptor {
    services: JobServices,
    known: Arc<Mutex<HashMap<String, Arc<ServerConfig>>>>,
}

/// A connection as it is served.
pub(super) struct JobStream {
    io: Io,
    led: Option<ForgeConnection>,
}

enum Io {
    Plain(ReplayedStream),
    Tls(Box<TlsStream<ReplayedStream>>),
}

/// A connection of which something was read already.
struct ReplayedStream {
    before: Bytes,
    stream: TcpStream,
}

impl ConnectionAcceptor {
    pub(super) fn new(services: JobServices) -> Self {
        Self {
            services,
            known: Arc::default(),
        }
    }

    /// Finds out what a connection is.
    pub(super) async fn open(self, mut stream: TcpStream) -> io::Result<JobStream> {
        let mut begin = BytesMut::with_capacity(MAX_HEAD);
        let end = loop {
            if stream.read_buf(&mut begin).await? == 0 || !may_open(&begin) {
                return Ok(JobStream::plain(begin, stream, None));
            }
            if let Some(end) = head_end(&begin) {
                break end;
            }
            if begin.len() >= MAX_HEAD {
                return Err(io::ErrorKind::InvalidData.into());
            }
        };
        let head = begin.split_to(end);
        let (target, unreached) = read(&head).ok_or(io::ErrorKind::InvalidData)?;
        let base = self.services.forwarded_address(&target);
        // Of a job that has ended.
        let base = base.ok_or(io::ErrorKind::ConnectionRefused)?;
        let is_secure = base.scheme() == "https";
        let led = Some(ForgeConnection { base, unreached });
        if begin.is_empty() && stream.read_buf(&mut begin).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match (is_secure, begin.first() == Some(&HANDSHAKE)) {
            // Also of a place for TLS, where the proxy was asked for the whole `https` URL.
            (_, false) => Ok(JobStream::plain(begin, stream, led)),
            (true, true) => {
                let config = self.config(&target)?;
                let replayed = ReplayedStream {
                    before: begin.freeze(),
                    stream,
                };
                let tls = TlsAcceptor::from(config).accept(replayed).await?;
                Ok(JobStream {
                    io: Io::Tls(Box::new(tls)),
                    led,
                })
            }
            (false, true) => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn config(&self, target: &NetworkTarget) -> io::Result<Arc<ServerConfig>> {
        let host = host_of(target);
        if let Some(config) = self.known.lock().get(&host) {
            return Ok(Arc::clone(config));
        }
        let identity = self.services.identity_of(&host);
        let identity = identity.ok_or(io::ErrorKind::Unsupported)?;
        let config = config(target, &identity).map_err(io::Error::other)?;
        self.known.lock().insert(host, Arc::clone(&config));
        Ok(config)
    }
}

/// As a URL names it.
fn host_of(target: &NetworkTarget) -> String {
    match &target.host {
        TargetHost::Name(name) => name.clone(),
        TargetHost::Address(std::net::IpAddr::V6(address)) => format!("[{address}]"),
        TargetHost::Address(address) => address.to_string(),
    }
}

fn config(
    target: &NetworkTarget,
    identity: &HostIdentity,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(identity.key.clone()));
    let key = provider.key_provider.load_private_key(key)?;
    let chain = identity.chain.iter().cloned().map(CertificateDer::from);
    let name = match &target.host {
        TargetHost::Name(name) => Some(name.clone()),
        TargetHost::Address(_) => None,
    };
    let resolver = OneHost {
        name,
        key: Arc::new(CertifiedKey::new(chain.collect(), key)),
    };
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions()?;
    let mut config = builder
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The certificate of one host, for who asks for that host.
#[derive(Debug)]
struct OneHost {
    /// `None`: an address, which clients do not name.
    name: Option<String>,
    key: Arc<CertifiedKey>,
}

impl ResolvesServerCert for OneHost {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let asked = hello.server_name();
        let is_other = match (&self.name, asked) {
            (Some(name), Some(asked)) => !name.eq_ignore_ascii_case(asked),
            (None, Some(_)) => true,
            (_, None) => false,
        };
        (!is_other).then(|| Arc::clone(&self.key))
    }
}

/// Whether this may be the beginning of the manager's line.
fn may_open(begin: &[u8]) -> bool {
    let length = begin.len().min(OPENING.len());
    begin[..length] == OPENING[..length]
}

fn head_end(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    end.map(|at| at + 4)
}

/// The place, and why the machine does not reach it by itself.
fn read(head: &[u8]) -> Option<(NetworkTarget, Option<String>)> {
    let text = std::str::from_utf8(head).ok()?;
    let mut lines = text.lines();
    let mut words = lines.next()?.split(' ').skip(1);
    let target = words.next()?.parse().ok()?;
    let field = lines.next()?.strip_prefix(REACH_FIELD)?;
    let reach = field.strip_prefix(':')?.trim();
    Some((target, (reach != REACHED).then(|| reach.to_owned())))
}

impl JobStream {
    fn plain(before: BytesMut, stream: TcpStream, led: Option<ForgeConnection>) -> Self {
        let before = before.freeze();
        Self {
            io: Io::Plain(ReplayedStream { before, stream }),
            led,
        }
    }
}

impl EdgeStream for JobStream {
    fn read_what_is_there(&mut self, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(plain) if plain.before.is_empty() => plain.stream.read_what_is_there(buffer),
            Io::Plain(plain) => {
                plain.replay(buffer);
                Poll::Ready(Ok(()))
            }
            // What is there of it may be no whole record.
            Io::Tls(_) => Poll::Pending,
        }
    }

    fn describe(&self, data: &mut Extensions) {
        if let Some(led) = &self.led {
            data.insert(led.clone());
        }
    }
}

impl ReplayedStream {
    fn replay(&mut self, buffer: &mut ReadBuf<'_>) {
        let count = self.before.len().min(buffer.remaining());
        buffer.put_slice(&self.before[..count]);
        self.before.advance(count);
    }
}

impl AsyncRead for ReplayedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.before.is_empty() {
            return Pin::new(&mut self.stream).poll_read(task, buffer);
        }
        self.replay(buffer);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ReplayedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(task, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(task)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(task)
    }
}

macro_rules! each {
    ($self:expr, $io:ident => $call:expr) => {
        match &mut $self.get_mut().io {
            Io::Plain($io) => $call,
            Io::Tls($io) => $call,
        }
    };
}

impl AsyncRead for JobStream {
    fn poll_read(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        each!(self, io => Pin::new(io).poll_read(task, buffer))
    }
}

impl AsyncWrite for JobStream {
    fn poll_write(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        each!(self, io => Pin::new(io).poll_write(task, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, io => Pin::new(io).poll_flush(task))
    }

    fn poll_shutdown(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, io => Pin::new(io).poll_shutdown(task))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_what_the_manager_says_of_a_connection_is_read() {
        let (target, reach) =
            read(b"CONNECT f.test:443 HTTP/1.1\r\nVm-Reach: yes\r\n\r\n").unwrap();
        assert_eq!((target.to_string(), reach), ("f.test:443".to_owned(), None));
        let refused = b"CONNECT f.test:443 HTTP/1.1\r\nVm-Reach: not on the list\r\n\r\n";
        assert_eq!(read(refused).unwrap().1.unwrap(), "not on the list");
        for wrong in [
            "CONNECT f.test HTTP/1.1\r\nVm-Reach: yes\r\n\r\n",
            "CONNECT f.test:443 HTTP/1.1\r\n\r\n",
            "CONNECT f.test:443 HTTP/1.1\r\nHost: yes\r\n\r\n",
        ] {
            assert!(read(wrong.as_bytes()).is_none(), "{wrong}");
        }
        assert!(may_open(b"CONN") && may_open(b"CONNECT x") && !may_open(b"GET / "));
        assert!(!may_open(b"CONNECTED"));
    }
}
