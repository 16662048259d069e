//! The body of a long answer: the connection is not idle during it, and a stream ends when what
//! opened it is revoked.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::http::header::{self, HeaderMap};
use bytes::Bytes;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::guard::credential::Credential;
use crate::strict::ResponseGuard;

/// How soon a stream that has nothing to tell ends after its session or token. One that has ends
/// before the next piece.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A body that is under way.
pub(super) struct HeldBody {
    body: BoxBody,
    lease: Option<Lease>,
    _answering: Option<ResponseGuard>,
}

/// What a stream stands on.
struct Lease {
    credential: Credential,
    checks: Interval,
    /// Whether such a stream may end anywhere, as events do. A file that ends early must not look
    /// whole.
    has_events: bool,
}

impl HeldBody {
    pub(super) fn new(
        body: BoxBody,
        answering: Option<ResponseGuard>,
        credential: Option<Credential>,
        headers: &HeaderMap,
    ) -> Self {
        let kind = headers.get(header::CONTENT_TYPE);
        let has_events = kind.is_none_or(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        Self {
            body,
            lease: credential.map(|credential| Lease::new(credential, has_events)),
            _answering: answering,
        }
    }
}

impl Lease {
    fn new(credential: Credential, has_events: bool) -> Self {
        let mut checks = interval(CHECK_INTERVAL);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            credential,
            checks,
            has_events,
        }
    }

    /// Whether it has ended; whoever polls is woken to ask again.
    fn has_ended(&mut self, cx: &mut Context<'_>) -> bool {
        while self.checks.poll_tick(cx).is_ready() {}
        !self.credential.is_valid()
    }
}

impl MessageBody for HeldBody {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let Some(ended) = self.lease.take_if(|lease| lease.has_ended(cx)) else {
            return Pin::new(&mut self.body).poll_next(cx);
        };
        // What made the stream ends with it.
        self.body = BoxBody::new(());
        tracing::info!(
            event = "http.stream_revoked",
            "a stream ends: the session or the token that opened it does not hold any more"
        );
        if ended.has_events {
            return Poll::Ready(None);
        }
        let error = "the session or the token of this answer does not hold any more";
        Poll::Ready(Some(Err(io::Error::other(error).into())))
    }
}
