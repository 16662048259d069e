//! An answer's body as it comes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use awc::ClientResponse;
use awc::error::PayloadError;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use tokio::time::{Instant, Sleep, sleep};
use url::Url;

use super::error::{CallPhase, HttpError, redact_url};
use super::response::Headers;

/// The body of an answer, chunk by chunk, cut short never in silence.
pub(crate) struct ResponseChunks {
    response: ClientResponse,
    url: String,
    /// The body ends with the connection: the only way an HTTP/1.0 server can say so.
    until_closed: bool,
    ended: bool,
}

impl ResponseChunks {
    /// The body behind a head that was sent for `HEAD`, or not.
    pub(crate) fn new(
        url: &Url,
        response: ClientResponse,
        is_head: bool,
    ) -> Result<Self, HttpError> {
        let headers = response.headers();
        let framed =
            headers.contains_key("content-length") || headers.contains_key("transfer-encoding");
        let bodiless = is_head || matches!(response.status().as_u16(), 100..=199 | 204 | 304);
        let old = response.version() < awc::http::Version::HTTP_11;
        if !framed && !bodiless && !old {
            // awc would give an empty body.
            return Err(HttpError::BadBody {
                url: redact_url(url),
                reason: "it has neither a length nor chunks".to_owned(),
            });
        }
        Ok(Self {
            response,
            url: redact_url(url),
            until_closed: !framed,
            ended: bodiless,
        })
    }

    fn failure(&self, error: &PayloadError) -> HttpError {
        let reason = match error {
            error if is_end(error) => "it is cut short".to_owned(),
            PayloadError::Io(error) | PayloadError::Incomplete(Some(error)) => {
                format!("the connection broke: {error}")
            }
            error => error.to_string(),
        };
        HttpError::BadBody {
            url: self.url.clone(),
            reason,
        }
    }
}

/// Whether the connection has just ended, in order.
fn is_end(error: &PayloadError) -> bool {
    match error {
        PayloadError::Incomplete(None) => true,
        PayloadError::Io(error) | PayloadError::Incomplete(Some(error)) => {
            error.kind() == io::ErrorKind::UnexpectedEof
        }
        _ => false,
    }
}

impl Stream for ResponseChunks {
    type Item = Result<Bytes, HttpError>;

    fn poll_next(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.ended {
            return Poll::Ready(None);
        }
        let Poll::Ready(next) = this.response.poll_next_unpin(task) else {
            return Poll::Pending;
        };
        this.ended = !matches!(next, Some(Ok(_)));
        Poll::Ready(match next {
            Some(Ok(chunk)) => Some(Ok(chunk)),
            Some(Err(error)) if this.until_closed && is_end(&error) => None,
            Some(Err(error)) => Some(Err(this.failure(&error))),
            None => None,
        })
    }
}

/// An answer of any status whose body is read as it comes. Not decompressed: streams are asked for
/// as they are. Dropping it closes the connection.
///
/// It is a stream of chunks; each is waited for at most the idle time, and after an error it ends.
pub struct StreamingResponse {
    /// The address that answered, after redirects.
    pub url: Url,
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: Headers,
    chunks: ResponseChunks,
    idle: Duration,
    sleep: Pin<Box<Sleep>>,
    failed: bool,
}

impl StreamingResponse {
    pub(crate) fn new(url: Url, headers: Headers, chunks: ResponseChunks, idle: Duration) -> Self {
        Self {
            status: chunks.response.status().as_u16(),
            url,
            headers,
            chunks,
            idle,
            sleep: Box::pin(sleep(idle)),
            failed: false,
        }
    }

    /// The next chunk; `None` at the end of a whole body.
    pub async fn next_chunk(&mut self) -> Option<Result<Bytes, HttpError>> {
        self.next().await
    }

    /// Whether the status is 2xx.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Another idle time from here on.
    #[must_use]
    pub fn idle(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self.sleep.as_mut().reset(Instant::now() + idle);
        self
    }
}

impl Stream for StreamingResponse {
    type Item = Result<Bytes, HttpError>;

    fn poll_next(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.failed {
            return Poll::Ready(None);
        }
        if let Poll::Ready(next) = this.chunks.poll_next_unpin(task) {
            this.sleep.as_mut().reset(Instant::now() + this.idle);
            this.failed = !matches!(next, Some(Ok(_)));
            return Poll::Ready(next);
        }
        if this.sleep.as_mut().poll(task).is_pending() {
            return Poll::Pending;
        }
        this.failed = true;
        Poll::Ready(Some(Err(HttpError::TimedOut {
            url: this.chunks.url.clone(),
            after: this.idle,
            phase: CallPhase::Reading,
        })))
    }
}

impl std::fmt::Debug for StreamingResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Streaming")
            .field("url", &self.chunks.url)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}
