//! A WebSocket to another server: frames as they come, both ways.
//!
//! The connection is made like those of [`http`](crate::http): the name is looked up once, its
//! address passes the policy, TLS is ours. Frames are bounded in size; nothing is put together, so
//! nothing grows.

use std::pin::Pin;
use std::time::Duration;

use actix_http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use awc::error::{WsClientError, WsProtocolError};
use config_core::Secret;
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _};
use url::Url;

pub use actix_http::ws::{CloseCode, CloseReason, Frame, Item, Message};

use crate::http::{AddressPolicy, ConnectOptions, HttpError, Tls, failure, redact_url};

/// How a connection is made, and how large its frames may be.
#[derive(Debug, Clone)]
pub struct WsOptions {
    /// Longest time for look-up, connection and TLS handshake.
    pub connect: Duration,
    /// Longest time from then to the server's answer.
    pub upgrade: Duration,
    /// Largest frame in bytes.
    pub max_frame: usize,
    /// Which addresses may be connected to.
    pub addresses: AddressPolicy,
    /// Which certificates are trusted.
    pub tls: Tls,
}

impl Default for WsOptions {
    /// 5 s each, 64 KiB, any address, the system's certificates.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            upgrade: Duration::from_secs(5),
            max_frame: 64 << 10,
            addresses: AddressPolicy::Any,
            tls: Tls::System,
        }
    }
}

/// What sends to the other server.
pub struct WsSender(Pin<Box<dyn Sink<Message, Error = WsProtocolError>>>);

/// What comes from the other server.
pub struct WsReceiver(Pin<Box<dyn Stream<Item = Result<Frame, WsProtocolError>>>>);

/// Connects to a `ws` or `wss` address.
///
/// # Errors
/// [`HttpError::Unavailable`], [`HttpError::TimedOut`], [`HttpError::Refused`] as for a call;
/// [`HttpError::Status`] when the server answers but does not upgrade.
pub async fn connect(url: &Url, options: &WsOptions) -> Result<(WsSender, WsReceiver), HttpError> {
    connect_as(url, None, options).await
}

/// As [`connect`], with a bearer token.
///
/// # Errors
/// As [`connect`].
pub async fn connect_as(
    url: &Url,
    token: Option<&Secret<String>>,
    options: &WsOptions,
) -> Result<(WsSender, WsReceiver), HttpError> {
    let mut headers = Vec::new();
    if let Some(token) = token {
        let value = HeaderValue::from_str(&format!("Bearer {}", token.expose()));
        let mut value = value.map_err(|_| HttpError::BadRequest {
            url: redact_url(url),
            reason: "the token cannot stand in a header".to_owned(),
        })?;
        value.set_sensitive(true);
        headers.push((AUTHORIZATION, value));
    }
    let secure = matches!(url.scheme(), "wss" | "https");
    // The connection is TLS already where it has to be; awc must not make it so once more.
    let query = url.query().map(|query| format!("?{query}"));
    let (host, path) = (url.host_str().unwrap_or_default(), url.path());
    let port = url.port().unwrap_or(if secure { 443 } else { 80 });
    let plain = format!("ws://{host}:{port}{path}{}", query.unwrap_or_default());
    let (_, sender, receiver) = open(url, &plain, options, (headers, &[])).await?;
    Ok((sender, receiver))
}

/// Connects to `plain` with further headers and the protocols that are offered; gives the one that
/// was chosen as well.
pub(crate) async fn open(
    url: &Url,
    plain: &str,
    options: &WsOptions,
    (headers, protocols): (Vec<(HeaderName, HeaderValue)>, &[String]),
) -> Result<(Option<String>, WsSender, WsReceiver), HttpError> {
    let secure = matches!(url.scheme(), "wss" | "https");
    let connect = ConnectOptions {
        within: options.connect,
        addresses: options.addresses.clone(),
        unix_socket: None,
        tls: secure.then(|| options.tls.clone()),
    };
    let client = connect.client(1);
    let mut request = client.ws(plain).max_frame_size(options.max_frame);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    if !protocols.is_empty() {
        request = request.protocols(protocols);
    }
    let connecting = Box::pin(request.connect());
    let within = options.connect + options.upgrade;
    let connected = tokio::time::timeout(within, connecting).await;
    let timed_out = || HttpError::TimedOut {
        url: redact_url(url),
        after: within,
        phase: crate::http::CallPhase::Waiting,
    };
    let connected = connected.map_err(|_| timed_out())?;
    let (response, framed) = connected.map_err(|error| error_from_awc(url, options, error))?;
    let chosen = response.headers().get("sec-websocket-protocol");
    let chosen = chosen.and_then(|value| value.to_str().ok());
    let chosen = chosen.map(str::to_owned);
    let (sender, receiver) = framed.split();
    let (sender, receiver) = (Box::pin(sender), Box::pin(receiver));
    Ok((chosen, WsSender(sender), WsReceiver(receiver)))
}

impl WsSender {
    /// Sends a frame; it waits while the other server reads nothing.
    ///
    /// # Errors
    /// The connection is gone.
    pub async fn send(&mut self, message: Message) -> Result<(), WsGone> {
        let sent = self.0.send(message).await;
        sent.map_err(|error| WsGone(error.to_string()))
    }
}

impl WsReceiver {
    /// The next frame; `None` when the connection has ended.
    ///
    /// # Errors
    /// The connection broke, or a frame is not as it has to be.
    pub async fn next(&mut self) -> Option<Result<Frame, WsGone>> {
        let frame = self.0.next().await?;
        Some(frame.map_err(|error| WsGone(error.to_string())))
    }
}

/// The connection is of no use any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the connection broke: {0}")]
pub struct WsGone(pub String);

fn error_from_awc(url: &Url, options: &WsOptions, error: WsClientError) -> HttpError {
    match error {
        WsClientError::SendRequest(error) => failure(url, options.connect, error),
        WsClientError::InvalidResponseStatus(status) => HttpError::Status {
            url: redact_url(url),
            status: status.as_u16(),
            retry_after: None,
            body: String::new(),
        },
        other => HttpError::Unavailable {
            url: redact_url(url),
            reason: other.to_string(),
            sent: true,
        },
    }
}

impl std::fmt::Debug for WsSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WsSender")
    }
}

impl std::fmt::Debug for WsReceiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WsReceiver")
    }
}
