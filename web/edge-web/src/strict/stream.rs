//! The connection as the HTTP parser sees it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::Scanner;

/// How much is handed over before the parser gets its turn, in bytes. The parser alone would read
/// 128 KiB ahead of a handler that has refused the body already.
const READ_AHEAD: usize = 16 * 1024;

/// A connection whose bytes pass a [`Scanner`], in bounded helpings, and whose heads must be complete
/// in time.
#[derive(Debug)]
pub(crate) struct StrictStream<T> {
    inner: T,
    scanner: Scanner,
    /// What was handed over in this turn, in bytes.
    helping: usize,
    /// How long a head may take once its first byte is there.
    head_timeout: Duration,
    /// Runs while a head is incomplete.
    head_timer: Option<Pin<Box<Sleep>>>,
}

impl<T> StrictStream<T> {
    pub(crate) fn new(inner: T, head_timeout: Duration) -> Self {
        Self {
            inner,
            scanner: Scanner::default(),
            helping: 0,
            head_timeout,
            head_timer: None,
        }
    }

    /// Whether the head that has begun is overdue; the parser's own timer knows only the first head.
    fn is_overdue(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.scanner.is_inside_head() {
            self.head_timer = None;
            return false;
        }
        let timeout = self.head_timeout;
        let timer = self
            .head_timer
            .get_or_insert_with(|| Box::pin(sleep(timeout)));
        timer.as_mut().poll(cx).is_ready()
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for StrictStream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.helping >= READ_AHEAD {
            self.helping = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        match Pin::new(&mut self.inner).poll_read(cx, buffer) {
            Poll::Pending => {
                self.helping = 0;
                // The end of the stream: the connection is closed without a word.
                if self.is_overdue(cx) {
                    Poll::Ready(Ok(()))
                } else {
                    Poll::Pending
                }
            }
            Poll::Ready(outcome) => {
                let fresh = &mut buffer.filled_mut()[before..];
                self.helping += fresh.len();
                self.scanner.scan(fresh);
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
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.inner).poll_shutdown(cx))?;
        Poll::Ready(Ok(()))
    }
}
