//! The connection as the HTTP parser sees it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_web::dev::Extensions;
use actix_web::rt::net::TcpStream;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::{HttpConnection, Scanner};
use crate::connections::ConnectionGuard;

/// How much is handed over before the parser gets its turn, in bytes. The parser alone would read
/// up to 128 KiB ahead of a handler that has refused the body already; and each read that fills its
/// buffer makes it double the buffer, for the rest of the connection.
const READ_QUANTUM: usize = 4 * 1024;

/// Bodies that say they are no larger are handed over whole, as far as they are there: nobody has
/// to put their pieces together. Most bodies of webhooks are.
const MAX_WHOLE_BODY: u64 = 32 * 1024;

/// How long the parts of a request that actix-http does not time may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StrictTimeouts {
    /// From the first byte of a head to its last.
    pub(crate) head: Duration,
    /// From the answer that ends a connection to its end.
    pub(crate) end: Duration,
    /// Without a byte of an answer being taken.
    pub(crate) stall: Duration,
}

/// A connection whose bytes pass a [`Scanner`], in bounded reads, and whose heads must be complete
/// in time.
#[derive(Debug)]
pub(crate) struct StrictStream<T> {
    inner: T,
    scanner: Scanner,
    connection: HttpConnection,
    /// What was handed over in this turn, in bytes.
    read_in_turn: usize,
    /// Something was handed over since the parser had its turn.
    handed: bool,
    timeouts: StrictTimeouts,
    /// Runs while a head is incomplete, or while the connection is ending.
    timer: Option<Pin<Box<Sleep>>>,
    /// Runs while the client takes nothing of an answer.
    stalled: Option<Pin<Box<Sleep>>>,
    /// Given back with the connection.
    _seat: ConnectionGuard,
}

impl<T> StrictStream<T> {
    pub(crate) fn new(inner: T, timeouts: StrictTimeouts, seat: ConnectionGuard) -> Self {
        Self {
            inner,
            scanner: Scanner::default(),
            connection: HttpConnection::with_permit(Arc::clone(&seat.place)),
            read_in_turn: 0,
            handed: false,
            timeouts,
            timer: None,
            stalled: None,
            _seat: seat,
        }
    }

    /// The connection itself.
    pub(crate) fn inner(&self) -> &T {
        &self.inner
    }

    /// What requests use to end the connection.
    pub(crate) fn connection(&self) -> HttpConnection {
        self.connection.clone()
    }

    /// Whether it is the parser's turn.
    fn has_enough(&self) -> bool {
        let rest = self.scanner.rest_of_body().unwrap_or(u64::MAX);
        self.read_in_turn >= READ_QUANTUM
            && rest.saturating_add(self.read_in_turn as u64) > MAX_WHOLE_BODY
    }

    /// Whether time is up, for the head that has begun or for a connection that is ending. The
    /// parser's own timer knows only the first head.
    fn is_overdue(&mut self, cx: &mut Context<'_>) -> bool {
        let timeout = match (self.connection.is_ending(), self.scanner.is_inside_head()) {
            (true, _) => self.timeouts.end,
            (false, true) => self.timeouts.head,
            (false, false) => {
                self.timer = None;
                return false;
            }
        };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(timeout)));
        timer.as_mut().poll(cx).is_ready()
    }
}

/// A connection that is served: as it was accepted, or what was made of it.
pub trait EdgeStream: AsyncRead + AsyncWrite + Unpin + 'static {
    /// Reads what has arrived, as somebody who leaves does: a request that is there whole gets an
    /// answer. The runtime does not know of it before its next turn.
    fn read_what_is_there(&mut self, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>>;

    /// Adds what handlers are to know of the connection.
    fn describe(&self, _data: &mut Extensions) {}
}

impl EdgeStream for TcpStream {
    fn read_what_is_there(&mut self, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut bytes = [0; READ_QUANTUM];
        let room = buffer.remaining().min(READ_QUANTUM);
        match rustix::net::recv(&*self, &mut bytes[..room], RecvFlags::DONTWAIT) {
            Ok((count, _)) => {
                buffer.put_slice(&bytes[..count]);
                Poll::Ready(Ok(()))
            }
            Err(Errno::AGAIN) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }
}

impl<T: EdgeStream> AsyncRead for StrictStream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let leaves = self.connection.leaves(cx);
        // Overdue is the end of the stream: the connection is closed without a word. An ending
        // connection is asked before it is read, as its client may never pause.
        if self.connection.is_ending() && self.is_overdue(cx) {
            return Poll::Ready(Ok(()));
        }
        let handed = std::mem::take(&mut self.handed);
        if self.has_enough() || (leaves && handed) {
            self.read_in_turn = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let room = buffer.remaining().min(READ_QUANTUM);
        let mut fresh = ReadBuf::new(buffer.initialize_unfilled_to(room));
        let read = if leaves {
            self.inner.read_what_is_there(&mut fresh)
        } else {
            Pin::new(&mut self.inner).poll_read(cx, &mut fresh)
        };
        match read {
            Poll::Pending => {
                self.read_in_turn = 0;
                if (leaves && !self.connection.is_answering()) || self.is_overdue(cx) {
                    Poll::Ready(Ok(()))
                } else {
                    Poll::Pending
                }
            }
            Poll::Ready(outcome) => {
                let fresh = fresh.filled_mut();
                let count = fresh.len();
                self.read_in_turn += count;
                self.handed = count > 0;
                self.scanner.scan(fresh);
                self.connection
                    .record_body(self.scanner.is_inside_body(), cx);
                buffer.advance(count);
                Poll::Ready(outcome)
            }
        }
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for StrictStream<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.inner).poll_write(cx, bytes) {
            Poll::Pending => {
                let timeout = self.timeouts.stall;
                let timer = self.stalled.get_or_insert_with(|| Box::pin(sleep(timeout)));
                ready!(timer.as_mut().poll(cx));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            Poll::Ready(outcome) => {
                self.stalled = None;
                Poll::Ready(outcome)
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.inner).poll_shutdown(cx))?;
        Poll::Ready(Ok(()))
    }
}
