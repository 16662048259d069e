//! A connection's bytes. An end of input is an error here: HTTP's own framing says where a body
//! ends, and awc takes a connection that just ends for the end of the body.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_rt::net::ActixStream;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::client::TlsStream;

/// A connection.
#[derive(Debug)]
pub(crate) enum Io {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    Unix(UnixStream),
}

macro_rules! each {
    ($self:expr, $io:ident => $call:expr) => {
        match $self {
            Io::Tcp($io) => $call,
            Io::Tls($io) => $call,
            Io::Unix($io) => $call,
        }
    };
}

impl AsyncRead for Io {
    fn poll_read(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (before, room) = (buffer.filled().len(), buffer.remaining());
        let read = each!(self.get_mut(), io => Pin::new(io).poll_read(task, buffer));
        match read {
            Poll::Ready(Ok(())) if room > 0 && buffer.filled().len() == before => {
                Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()))
            }
            other => other,
        }
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        each!(self.get_mut(), io => Pin::new(io).poll_write(task, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self.get_mut(), io => Pin::new(io).poll_flush(task))
    }

    fn poll_shutdown(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self.get_mut(), io => Pin::new(io).poll_shutdown(task))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self.get_mut(), io => Pin::new(io).poll_write_vectored(task, parts))
    }

    fn is_write_vectored(&self) -> bool {
        each!(self, io => io.is_write_vectored())
    }
}

impl ActixStream for Io {
    fn poll_read_ready(&self, task: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        self.poll_ready(Interest::READABLE, task)
    }

    fn poll_write_ready(&self, task: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        self.poll_ready(Interest::WRITABLE, task)
    }
}

impl Io {
    fn poll_ready(&self, interest: Interest, task: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        match self {
            Self::Tcp(tcp) => std::pin::pin!(tcp.ready(interest)).poll(task),
            Self::Tls(tls) => std::pin::pin!(tls.get_ref().0.ready(interest)).poll(task),
            Self::Unix(unix) => std::pin::pin!(unix.ready(interest)).poll(task),
        }
    }
}
