//! A request of somebody else passed on to one server of one's own, and its answer back: both
//! bodies as they come, nothing of them held.
//!
//! What may be passed on is the caller's decision; here stand the bounds. Connecting has a time,
//! the head of the answer has one, the number of connections is limited, redirects are not
//! followed, nothing is decompressed, and the target is sent as it is: nobody normalises it on the
//! way. Dropping the answer closes the connection.

use std::net::SocketAddr;
use std::time::Duration;

use actix_http::Method;
use actix_http::header::{HeaderMap, HeaderName, HeaderValue};
use awc::{Client, ClientResponse};
use bytes::Bytes;
use futures_util::Stream;
use tokio::time::timeout;
use url::Url;

use crate::http::{AddressPolicy, CallPhase, ConnectOptions, HttpError, Tls, failure, redact_url};
use crate::ws::{self, WsOptions, WsReceiver, WsSender};

/// How requests are passed on.
#[derive(Debug, Clone)]
pub struct ForwardOptions {
    /// Longest time to connect.
    pub connect: Duration,
    /// Longest time from the request to the head of its answer.
    pub head: Duration,
    /// Most connections at once, of one thread.
    pub connections: usize,
    /// Largest frame of a WebSocket in bytes.
    pub max_frame: usize,
    /// Sends the `Host` that is among the headers, where the server is to answer for it.
    pub keep_host: bool,
}

impl Default for ForwardOptions {
    /// 2 s, 60 s, 64 connections, 64 KiB.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(2),
            head: Duration::from_secs(60),
            connections: 64,
            max_frame: 64 << 10,
            keep_host: false,
        }
    }
}

/// A body on its way, with its length where it is known; none for a request without a body.
pub enum ForwardBody<S> {
    /// There is none.
    Empty,
    /// So many bytes.
    Sized(u64, S),
    /// In chunks.
    Chunked(S),
}

/// The way to one server; it belongs to one thread.
#[derive(Clone)]
pub struct Forwarder {
    /// `None`: it is found by its name.
    address: Option<SocketAddr>,
    origin: Url,
    options: ForwardOptions,
    client: Client,
}

/// An answer whose head is there.
pub struct ForwardedResponse {
    /// The status code.
    pub status: u16,
    /// The headers, all of them.
    pub headers: HeaderMap,
    response: ClientResponse,
}

impl Forwarder {
    /// The way to the server at `address`, by plain HTTP.
    #[must_use]
    pub fn new(address: SocketAddr, options: ForwardOptions) -> Self {
        let url = format!("http://{address}/");
        Self {
            address: Some(address),
            origin: url.parse().expect("an address makes an URL"),
            client: client(&options, None),
            options,
        }
    }

    /// The way to the server that has this address, by name, and by TLS where it says `https`.
    /// Nothing where it has no host, or is of another scheme.
    #[must_use]
    pub fn to(url: &Url, options: ForwardOptions) -> Option<Self> {
        url.host_str().filter(|host| !host.is_empty())?;
        let tls = match url.scheme() {
            "http" => None,
            "https" => Some(Tls::System),
            _ => return None,
        };
        let origin: Url = url.origin().ascii_serialization().parse().ok()?;
        Some(Self {
            client: client(&options, tls),
            origin,
            address: None,
            options,
        })
    }

    /// Where it leads; nothing where that is a name.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// What awc is to see in front of a target: the TLS is ours, and an `https` would have it look
    /// for one of its own.
    fn base(&self) -> String {
        let host = self.origin.host_str().unwrap_or_default();
        let port = self.origin.port_or_known_default().unwrap_or(80);
        format!("http://{host}:{port}")
    }

    /// As `Host` names it.
    fn host(&self) -> &str {
        &self.origin[url::Position::BeforeHost..url::Position::AfterPort]
    }

    /// Sends a request and gives the answer as soon as its head is there, whatever its status.
    /// `target` is path and query as they stand in the request line. `Host` is the server's, unless
    /// the options keep it.
    ///
    /// # Errors
    /// See [`HttpError`]; never `Status`.
    pub async fn send<S, E>(
        &self,
        method: Method,
        target: &str,
        headers: &HeaderMap,
        body: ForwardBody<S>,
    ) -> Result<ForwardedResponse, HttpError>
    where
        S: Stream<Item = Result<Bytes, E>> + 'static,
        E: Into<Box<dyn std::error::Error>> + 'static,
    {
        let address = format!("{}{target}", self.base());
        let mut sending = self.client.request(method, address).no_decompress();
        for (name, value) in headers {
            sending = sending.append_header((name.clone(), value.clone()));
        }
        if !self.options.keep_host || !headers.contains_key("host") {
            sending = sending.insert_header(("host", self.host()));
        }
        let sent = async move {
            match body {
                ForwardBody::Empty => sending.send().await,
                ForwardBody::Sized(length, chunks) => {
                    let chunks = Box::pin(chunks);
                    let body = actix_http::body::SizedStream::new(length, chunks);
                    sending.send_body(body).await
                }
                ForwardBody::Chunked(chunks) => sending.send_stream(Box::pin(chunks)).await,
            }
        };
        let sent = timeout(self.options.head, Box::pin(sent)).await;
        let response = sent
            .map_err(|_| HttpError::TimedOut {
                url: redact_url(&self.origin),
                after: self.options.head,
                phase: CallPhase::Waiting,
            })?
            .map_err(|error| failure(&self.origin, self.options.connect, error))?;
        Ok(ForwardedResponse {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            response,
        })
    }

    /// Connects a WebSocket; gives the protocol that the server chose as well.
    ///
    /// # Errors
    /// As [`ws::connect`].
    pub async fn web_socket(
        &self,
        target: &str,
        headers: &HeaderMap,
        protocols: &[String],
    ) -> Result<(Option<String>, WsSender, WsReceiver), HttpError> {
        let options = WsOptions {
            connect: self.options.connect,
            // A shell opens when its VM has gone on.
            upgrade: self.options.head,
            max_frame: self.options.max_frame,
            tls: Tls::System,
            ..WsOptions::default()
        };
        let address = format!("ws{}{target}", self.base().trim_start_matches("http"));
        let headers: Vec<(HeaderName, HeaderValue)> = headers
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        ws::open(&self.origin, &address, &options, (headers, protocols)).await
    }
}

fn client(options: &ForwardOptions, tls: Option<Tls>) -> Client {
    let connect = ConnectOptions {
        within: options.connect,
        addresses: AddressPolicy::Any,
        unix_socket: None,
        tls,
    };
    connect.client(options.connections)
}

impl ForwardedResponse {
    /// The body as it comes. It ends with an error where the server broke off.
    pub fn into_body(self) -> impl Stream<Item = Result<Bytes, awc::error::PayloadError>> {
        self.response
    }
}

impl std::fmt::Debug for Forwarder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forwarder")
            .field("origin", &self.origin.as_str())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for ForwardedResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forwarded")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}
