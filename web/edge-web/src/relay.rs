//! A request passed on to another server, and its answer passed back: both bodies as they come,
//! WebSockets frame by frame.
//!
//! ```text
//! client ─▶ request_body, offered_protocols ─▶ http_clients::forward::Forwarder ─▶ server
//! client ◀─ respond, web_socket ◀───────────────────────────────────────────────── server
//! ```
//! Which requests are passed on, with which headers, and what failures are called is the caller's.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use actix_web::body::SizedStream;
use actix_web::http::header::{self, HeaderMap};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, web};
use actix_ws::{CloseCode, CloseReason, Message, MessageStream, Session};
use futures_util::{FutureExt as _, Stream, StreamExt as _};
use http_clients::forward::{ForwardBody, ForwardOptions, ForwardedResponse, Forwarder};
use http_clients::http::HttpError;
use http_clients::ws::{Frame, WsReceiver, WsSender};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::{Permit, Problem};

/// Largest body of a request that is passed on: pages send forms and texts.
const MAX_BODY_BYTES: u64 = 64 << 20;
/// How long one side may take nothing.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Whether a body turned out to be too large while it was sent.
#[derive(Debug, Clone, Default)]
pub struct TooLarge(Rc<Cell<bool>>);

impl TooLarge {
    /// The refusal, when it was.
    #[must_use]
    pub fn problem(&self) -> Option<Problem> {
        self.0.get().then(body_too_large)
    }
}

fn body_too_large() -> Problem {
    Problem::too_large(usize::try_from(MAX_BODY_BYTES).unwrap_or(usize::MAX))
}

/// The body of a request, 64 MiB at most. One that says its length is refused before it is read;
/// another breaks off, and `too_large` says so.
///
/// # Errors
/// 413.
pub fn request_body(
    request: &HttpRequest,
    body: web::Payload,
    too_large: &TooLarge,
) -> Result<ForwardBody<impl Stream<Item = io::Result<web::Bytes>> + use<>>, Problem> {
    let length = length(request.headers());
    if length.is_some_and(|length| length > MAX_BODY_BYTES) {
        return Err(body_too_large().closing());
    }
    let (mut left, too_large) = (MAX_BODY_BYTES, too_large.clone());
    let chunks = body.map(move |chunk| {
        let chunk = chunk.map_err(io::Error::other)?;
        let taken = left.checked_sub(chunk.len() as u64);
        left = taken.ok_or_else(|| {
            too_large.0.set(true);
            io::Error::other("the body is larger than is passed on")
        })?;
        Ok(chunk)
    });
    Ok(framed(request.headers(), chunks))
}

/// A request's body, framed as it came: what is empty on purpose says so.
pub fn framed<S>(headers: &HeaderMap, chunks: S) -> ForwardBody<S> {
    match length(headers) {
        Some(length) => ForwardBody::Sized(length, chunks),
        None if headers.contains_key(header::TRANSFER_ENCODING) => ForwardBody::Chunked(chunks),
        None => ForwardBody::Empty,
    }
}

/// The length that a message says its body has, in bytes.
#[must_use]
pub fn length(headers: &HeaderMap) -> Option<u64> {
    let length = headers.get(header::CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

/// Headers of one connection (RFC 9110, section 7.6.1), and what the next one says anew.
const OF_THE_CONNECTION: [&str; 13] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
    "expect",
    "content-length",
    "x-request-id",
];

/// The headers that are passed on: those that do not end with the connection, without what is left
/// out here.
#[must_use]
pub fn end_to_end(given: &HeaderMap, is_left_out: impl Fn(&str) -> bool) -> HeaderMap {
    let listed: Vec<String> = given
        .get_all(header::CONNECTION)
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let text = name.as_str();
        let is_of_connection =
            OF_THE_CONNECTION.contains(&text) || listed.iter().any(|one| one == text);
        if !is_of_connection && !is_left_out(text) {
            headers.append(name.clone(), value.clone());
        }
    }
    headers
}

/// The status of an answer; `None`: it is none.
#[must_use]
pub fn status(answer: &ForwardedResponse) -> Option<StatusCode> {
    StatusCode::from_u16(answer.status).ok()
}

/// An answer on its way back, with these of its headers. The permit is held until its last byte.
#[must_use]
pub fn respond(
    answer: ForwardedResponse,
    status: StatusCode,
    headers: &HeaderMap,
    method: &Method,
    permit: Permit,
) -> HttpResponse {
    let head = (status, headers, method);
    respond_until(answer, head, permit, std::future::pending())
}

/// The same; the body breaks off when `gone` ends before it: nothing more will come.
#[must_use]
pub fn respond_until(
    answer: ForwardedResponse,
    (status, headers, method): (StatusCode, &HeaderMap, &Method),
    permit: Permit,
    gone: impl Future<Output = ()> + 'static,
) -> HttpResponse {
    let length = length(&answer.headers);
    let mut response = HttpResponse::build(status);
    for (name, value) in headers {
        response.append_header((name.clone(), value.clone()));
    }
    let is_empty = method == Method::HEAD
        || status.is_informational()
        || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if is_empty {
        return response.finish();
    }
    let mut body = Box::pin(answer.into_body());
    let mut gone = Box::pin(gone.fuse());
    let body = futures_util::stream::poll_fn(move |task| {
        let _ = &permit;
        match body.poll_next_unpin(task) {
            Poll::Pending if gone.as_mut().poll(task).is_ready() => {
                let error = io::Error::other("whoever answered is gone");
                Poll::Ready(Some(Err(error)))
            }
            coming => coming.map(|chunk| chunk.map(|chunk| chunk.map_err(io::Error::other))),
        }
    });
    match length {
        Some(length) => response.body(SizedStream::new(length, body)),
        None => response.streaming(body),
    }
}

/// The subprotocols that a client offers for a WebSocket.
#[must_use]
pub fn offered_protocols(request: &HttpRequest) -> Vec<String> {
    let values = request.headers().get_all(header::SEC_WEBSOCKET_PROTOCOL);
    let names = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .map(str::trim);
    let names = names.filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// Connects a WebSocket to the server first, so that one that is not there has a status, then to
/// the client; frames go both ways until one side ends. `failed` says what a failure is called.
///
/// # Errors
/// 400 for other upgrades than WebSockets, and what `failed` gives.
pub async fn web_socket(
    (request, body): (&HttpRequest, web::Payload),
    (forwarder, target): (&Forwarder, &str),
    (headers, protocols): (&HeaderMap, &[String]),
    permit: Permit,
    failed: impl FnOnce(&HttpError) -> Problem,
) -> Result<HttpResponse, Problem> {
    let name = request.headers().get(header::UPGRADE);
    let is_socket = name.is_some_and(|name| name.as_bytes().eq_ignore_ascii_case(b"websocket"));
    if !is_socket || request.method() != Method::GET {
        return Err(Problem::bad_request("only WebSockets are upgraded to here"));
    }
    let connected = forwarder.web_socket(target, headers, protocols).await;
    let (chosen, sender, receiver) = connected.map_err(|error| failed(&error))?;
    let chosen: Vec<&str> = chosen.as_deref().into_iter().collect();
    let upgraded = actix_ws::handle_with_protocols(request, body, &chosen);
    let (response, session, messages) = upgraded.map_err(|error| {
        Problem::bad_request(format!("this is no beginning of a WebSocket: {error}"))
    })?;
    let messages = messages.max_frame_size(ForwardOptions::default().max_frame);
    actix_web::rt::spawn(async move {
        // The servers end before this one does, and their connections with them.
        let (_open, closing) = watch::channel(false);
        pass_frames(
            (sender, receiver),
            session,
            messages,
            closing,
            PassOptions::default(),
        )
        .await;
        drop(permit);
    });
    Ok(response)
}

/// How frames are passed.
#[derive(Debug, Clone, Copy)]
pub struct PassOptions {
    /// How long one side may take nothing.
    pub write_timeout: Duration,
    /// What the client is told when the other side has ended.
    pub gone: &'static str,
}

impl Default for PassOptions {
    fn default() -> Self {
        Self {
            write_timeout: WRITE_TIMEOUT,
            gone: "the server behind this one is gone",
        }
    }
}

impl PassOptions {
    fn reason(self) -> CloseReason {
        (CloseCode::Error, self.gone).into()
    }
}

/// Passes frames until one side has ended, is too slow, or this server ends.
pub async fn pass_frames(
    (sender, receiver): (WsSender, WsReceiver),
    session: Session,
    messages: MessageStream,
    mut closing: watch::Receiver<bool>,
    options: PassOptions,
) {
    let reason = tokio::select! {
        reason = up(messages, sender, options) => reason,
        reason = down(receiver, session.clone(), options) => reason,
        _ = closing.changed() => Some(CloseCode::Away.into()),
    };
    // Whoever does not read it is gone anyway.
    let _ = timeout(WRITE_TIMEOUT, session.close(reason)).await;
}

/// From the client to the other server; the reason to close with.
async fn up(
    mut messages: MessageStream,
    mut sender: WsSender,
    options: PassOptions,
) -> Option<CloseReason> {
    loop {
        let message = match messages.recv().await {
            Some(Ok(Message::Close(reason))) => {
                let _ = timeout(
                    options.write_timeout,
                    sender.send(Message::Close(reason.clone())),
                )
                .await;
                return reason;
            }
            Some(Ok(message)) => message,
            Some(Err(error)) => return Some((CloseCode::Protocol, error.to_string()).into()),
            None => return None,
        };
        match timeout(options.write_timeout, sender.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return Some(options.reason()),
        }
    }
}

/// From the other server to the client; the reason to close with.
async fn down(
    mut receiver: WsReceiver,
    mut session: Session,
    options: PassOptions,
) -> Option<CloseReason> {
    while let Some(frame) = receiver.next().await {
        let Ok(frame) = frame else { break };
        let sent = match frame {
            Frame::Text(text) => match String::from_utf8(text.to_vec()) {
                Ok(text) => timeout(options.write_timeout, session.text(text)).await,
                Err(_) => return Some((CloseCode::Invalid, "a text that is not UTF-8").into()),
            },
            Frame::Binary(bytes) => timeout(options.write_timeout, session.binary(bytes)).await,
            Frame::Continuation(item) => {
                timeout(options.write_timeout, session.continuation(item)).await
            }
            Frame::Ping(bytes) => timeout(options.write_timeout, session.ping(&bytes)).await,
            Frame::Pong(bytes) => timeout(options.write_timeout, session.pong(&bytes)).await,
            Frame::Close(reason) => return reason,
        };
        if !matches!(sent, Ok(Ok(()))) {
            return None;
        }
    }
    Some(options.reason())
}
