//! The client: sends requests, follows redirects, reads bodies, repeats what may pass.

use std::rc::Rc;
use std::time::SystemTime;

use awc::{Client, ClientResponse};
use futures_util::StreamExt;
use tokio::time::timeout;
use url::Url;

use super::connect::ConnectOptions;
use super::error::{CallPhase, HttpError, redact_url};
use super::failure::failure;
use super::gzip::{BodyDecoder, InflateError};
use super::request::{HeaderText, HttpRequestBody, Method, Request};
use super::response::{Headers, Response};
use super::retry::{Retry, RetryDecision, RetryPolicy, jitter};
use super::streaming::{ResponseChunks, StreamingResponse};
use crate::http::{HttpOptions, Redirects};

/// Who asks.
const USER_AGENT: &str = concat!("orrery/", env!("CARGO_PKG_VERSION"));

/// How much is read of an answer that says why there is no stream.
const BEGINNING: usize = 64 << 10;

/// A client with its connections. Clones share them; it belongs to one thread, so each arbiter
/// makes its own.
#[derive(Clone)]
pub struct HttpClient {
    inner: Rc<Inner>,
}

struct Inner {
    options: HttpOptions,
    plain: Client,
    /// For `https`. A client of its own, because awc's pool tells connections apart by host and
    /// port only, and because the TLS is ours.
    secure: Client,
}

impl Default for HttpClient {
    fn default() -> Self {
        Self::new(HttpOptions::default())
    }
}

impl HttpClient {
    /// A client of these settings.
    #[must_use]
    pub fn new(options: HttpOptions) -> Self {
        let plain = client(&options, false);
        let secure = client(&options, true);
        Self {
            inner: Rc::new(Inner {
                options,
                plain,
                secure,
            }),
        }
    }

    /// The settings.
    #[must_use]
    pub fn options(&self) -> &HttpOptions {
        &self.inner.options
    }

    /// Sends a request and reads the whole answer, whatever its status.
    ///
    /// # Errors
    /// See [`HttpError`]; never `Status`.
    pub async fn call(&self, request: Request) -> Result<Response, HttpError> {
        let within = request.within.unwrap_or(self.inner.options.deadline);
        let limit = request.at_most.unwrap_or(self.inner.options.max_body);
        let url = redact_url(&request.url);
        let is_head = request.method == Method::Head;
        let mut phase = CallPhase::Waiting;
        let read = Box::pin(async {
            let (url, head) = self.inner.follow(request, true).await?;
            phase = CallPhase::Reading;
            read(url, head, is_head, limit).await
        });
        let answer = timeout(within, read).await;
        answer.unwrap_or(Err(HttpError::TimedOut {
            url,
            after: within,
            phase,
        }))
    }

    /// Sends a request and gives the answer as soon as its head is there, whatever its status.
    /// The deadline holds for the head; then each chunk has the idle time.
    ///
    /// # Errors
    /// See [`HttpError`]; never `Status`.
    pub async fn open(&self, request: Request) -> Result<StreamingResponse, HttpError> {
        let within = request.within.unwrap_or(self.inner.options.deadline);
        let url = redact_url(&request.url);
        let is_head = request.method == Method::Head;
        let follow = Box::pin(self.inner.follow(request, false));
        let followed = timeout(within, follow).await;
        let (url, head) = followed.unwrap_or(Err(HttpError::TimedOut {
            url,
            after: within,
            phase: CallPhase::Waiting,
        }))?;
        let headers = Headers(head.headers().clone());
        let chunks = ResponseChunks::new(&url, head, is_head)?;
        let idle = self.inner.options.idle;
        Ok(StreamingResponse::new(url, headers, chunks, idle))
    }

    /// As [`open`](Self::open), for answers of status 2xx; others are given with the beginning of
    /// their body (64 KiB), for those who know what it says.
    ///
    /// # Errors
    /// See [`HttpError`]; never `Status`.
    pub async fn open_or_read(
        &self,
        request: Request,
    ) -> Result<Result<StreamingResponse, Response>, HttpError> {
        let within = request.within.unwrap_or(self.inner.options.deadline);
        let streaming = self.open(request).await?;
        if streaming.is_success() {
            return Ok(Ok(streaming));
        }
        let at = SystemTime::now();
        let (url, status) = (streaming.url.clone(), streaming.status);
        let headers = streaming.headers.clone();
        // The status counts, not whether all was heard that was said about it.
        let body = timeout(within, read_beginning(streaming)).await;
        Ok(Err(Response {
            url,
            status,
            headers,
            body: body.unwrap_or_default().into(),
            at,
        }))
    }

    /// Sends a request until it succeeds or the policy gives up; what was last is returned, an
    /// answer of whatever status. A request that is not idempotent is repeated only when it
    /// certainly was not sent.
    ///
    /// # Errors
    /// The last attempt's; never `Status`.
    pub async fn call_retrying(
        &self,
        request: Request,
        policy: &RetryPolicy,
    ) -> Result<Response, HttpError> {
        let mut next = Some(request);
        let mut attempt = 0;
        loop {
            let request = next.take().expect("set by the former round");
            attempt += 1;
            next = request.try_clone();
            let idempotent = request.idempotent;
            let outcome = self.call(request).await;
            let error = match &outcome {
                Ok(response) if response.status < 400 => return outcome,
                Ok(response) => response.clone().into_error(),
                Err(error) => error.clone(),
            };
            let may_repeat = next.is_some() && (idempotent || error.was_not_sent());
            match policy.verdict(attempt, Retry::for_error(&error), jitter()) {
                RetryDecision::Again(delay) if may_repeat => tokio::time::sleep(delay).await,
                _ => return outcome,
            }
        }
    }
}

fn client(options: &HttpOptions, secure: bool) -> Client {
    let connect = ConnectOptions {
        within: options.connect,
        addresses: options.addresses.clone(),
        unix_socket: options.unix_socket.clone(),
        tls: secure.then(|| options.tls.clone()),
    };
    connect.client(options.connections)
}

impl Inner {
    /// Sends a request and follows redirects as far as they are followed.
    async fn follow(
        &self,
        mut request: Request,
        compressed: bool,
    ) -> Result<(Url, ClientResponse), HttpError> {
        let mut left = match self.options.redirects {
            Redirects::Never => 0,
            Redirects::SameOrigin(most) | Redirects::Anywhere(most) => most,
        };
        loop {
            let next = request.try_clone();
            let url = request.url.clone();
            let method = request.method;
            let response = self.send(request, compressed).await?;
            let status = response.status().as_u16();
            let to = match location(status, &url, &response) {
                Some(to) if self.options.redirects != Redirects::Never => to,
                _ => return Ok((url, response)),
            };
            let refused = |reason| HttpError::Redirected {
                url: redact_url(&url),
                to: redact_url(&to),
                reason,
            };
            if left == 0 {
                return Err(refused("too many redirects"));
            }
            left -= 1;
            self.check_redirect(&url, &to).map_err(refused)?;
            let Some(mut next) = next else {
                return Err(refused("the request's body can be sent only once"));
            };
            if to.origin() != url.origin() {
                next.headers
                    .retain(|(name, value)| is_sent_cross_origin(name, value));
            }
            if status == 303 || (matches!(status, 301 | 302) && method == Method::Post) {
                next.method = if method == Method::Head {
                    method
                } else {
                    Method::Get
                };
                next.body = HttpRequestBody::Empty;
                next.headers
                    .retain(|(name, _)| !name.starts_with("content-"));
            }
            next.url = to;
            request = next;
        }
    }

    fn check_redirect(&self, from: &Url, to: &Url) -> Result<(), &'static str> {
        if !matches!(to.scheme(), "http" | "https") {
            return Err("it is neither http nor https");
        }
        if from.scheme() == "https" && to.scheme() == "http" {
            return Err("it would leave TLS");
        }
        let same = from.origin() == to.origin();
        if !same && matches!(self.options.redirects, Redirects::SameOrigin(_)) {
            return Err("it is another origin");
        }
        Ok(())
    }

    async fn send(&self, request: Request, compressed: bool) -> Result<ClientResponse, HttpError> {
        let url = request.url;
        let wrong = |reason: String| HttpError::BadRequest {
            url: redact_url(&url),
            reason,
        };
        if let Some(reason) = request.wrong {
            return Err(wrong(reason));
        }
        let client = match url.scheme() {
            "http" => &self.plain,
            "https" => &self.secure,
            _ => return Err(wrong("it is neither http nor https".to_owned())),
        };
        let method = awc::http::Method::from_bytes(request.method.as_str().as_bytes())
            .expect("the method's word is a token");
        let mut sending = client
            .request(method, target(&url))
            .insert_header(("user-agent", USER_AGENT))
            .insert_header(("host", authority(&url)));
        if compressed {
            sending = sending.insert_header(("accept-encoding", "gzip"));
        }
        for (name, value) in &request.headers {
            let header = awc::http::header::HeaderValue::from_str(value.expose());
            let header = header.map_err(|_| {
                wrong(format!(
                    "the value of {name} holds characters no header can"
                ))
            })?;
            let name = awc::http::header::HeaderName::from_bytes(name.as_bytes());
            let name = name.map_err(|_| wrong("a header has no usable name".to_owned()))?;
            sending = sending.insert_header((name, header));
        }
        let sent = match request.body {
            HttpRequestBody::Empty => sending.send().await,
            HttpRequestBody::Bytes(bytes) => sending.send_body(bytes).await,
            HttpRequestBody::Chunks(chunks) => sending.send_stream(chunks).await,
            HttpRequestBody::Sized(bytes, chunks) => {
                let body = actix_http::body::SizedStream::new(bytes, chunks);
                sending.send_body(body).await
            }
        };
        sent.map_err(|error| failure(&url, self.options.connect, error))
    }
}

/// The address as awc is to see it. Its scheme is always `http`: the TLS is ours, and an `https`
/// would have awc look for one of its own.
fn target(url: &Url) -> String {
    let query = url.query().map(|query| format!("?{query}"));
    let port = url.port_or_known_default().unwrap_or(80);
    let host = url.host_str().unwrap_or_default();
    format!(
        "http://{host}:{port}{}{}",
        url.path(),
        query.unwrap_or_default()
    )
}

/// The `Host` header's value: no port when it is the scheme's own.
fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Whether a header goes along to another origin.
fn is_sent_cross_origin(name: &str, value: &HeaderText) -> bool {
    let credentials = ["authorization", "proxy-authorization", "cookie"];
    !matches!(value, HeaderText::Secret(_))
        && !credentials.contains(&name.to_ascii_lowercase().as_str())
}

/// Where a redirect leads, if the answer is one.
fn location(status: u16, url: &Url, response: &ClientResponse) -> Option<Url> {
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let to = response.headers().get("location")?.to_str().ok()?;
    let mut to = url.join(to).ok()?;
    to.set_fragment(None);
    Some(to)
}

async fn read(
    url: Url,
    head: ClientResponse,
    is_head: bool,
    limit: usize,
) -> Result<Response, HttpError> {
    let at = SystemTime::now();
    let status = head.status().as_u16();
    let headers = Headers(head.headers().clone());
    let bad = |reason| HttpError::BadBody {
        url: redact_url(&url),
        reason,
    };
    let refuse = |error| match error {
        InflateError::TooLarge => HttpError::TooLarge {
            url: redact_url(&url),
            limit,
        },
        InflateError::Broken(reason) => bad(reason),
    };
    let plain = headers.get("content-encoding").is_none();
    let detail_of_answer = headers.number("content-length").unwrap_or(0);
    if plain && !is_head && detail_of_answer > limit as u64 {
        return Err(refuse(InflateError::TooLarge));
    }
    let mut chunks = ResponseChunks::new(&url, head, is_head)?;
    let mut body = BodyDecoder::new(headers.get("content-encoding"), limit).map_err(bad)?;
    let mut empty = true;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        empty &= chunk.is_empty();
        body.push(&chunk).map_err(refuse)?;
    }
    // An answer without a body may still carry the encoding it would have had.
    let body = if empty {
        bytes::Bytes::new()
    } else {
        body.finish().map_err(refuse)?
    };
    Ok(Response {
        url,
        status,
        headers,
        body,
        at,
    })
}

/// The beginning of a body.
async fn read_beginning(mut streaming: StreamingResponse) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(Ok(chunk)) = streaming.next().await {
        body.extend_from_slice(&chunk);
        if body.len() >= BEGINNING {
            break;
        }
    }
    body
}
