//! Requests of `object_store` over the workspace's own HTTP client, which has the deadlines, the
//! TLS and the pool.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use config_core::Secret;
use futures_util::StreamExt as _;
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient as StoreClient, HttpConnector, HttpError as StoreError, HttpErrorKind, HttpRequest,
    HttpResponse, HttpResponseBody, HttpService,
};
use tokio::sync::{mpsc, oneshot};

use crate::http::{HttpClient, HttpError, HttpOptions, Method, Request};

/// Longest time until the head of an answer: a part of 8 MiB is sent within it.
const HEADER_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest time between two chunks of an answer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
/// Chunks of an answer that wait for their reader.
const CHUNKS: usize = 4;

/// A request on its way to the thread whose connections carry it, and where the answer goes.
pub(crate) struct QueuedRequest {
    request: HttpRequest,
    answer: oneshot::Sender<Result<HttpResponse, StoreError>>,
}

/// The other end of [`run_exchanges`]; connections belong to one thread.
#[derive(Clone)]
pub(crate) struct HttpBridge(pub(crate) mpsc::UnboundedSender<QueuedRequest>);

impl fmt::Debug for HttpBridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpBridge")
    }
}

impl HttpConnector for HttpBridge {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<StoreClient> {
        Ok(StoreClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for HttpBridge {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, StoreError> {
        let ended = || StoreError::new(HttpErrorKind::Unknown, BridgeClosed);
        let (answer, answered) = oneshot::channel();
        let exchange = QueuedRequest { request, answer };
        self.0.send(exchange).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the thread of the object storage has ended")]
struct BridgeClosed;

/// Sends what comes, each beside the others, until nobody can send any more.
pub(crate) async fn run_exchanges(mut exchanges: mpsc::UnboundedReceiver<QueuedRequest>) {
    let client = HttpClient::new(HttpOptions {
        deadline: HEADER_TIMEOUT,
        idle: IDLE_TIMEOUT,
        ..HttpOptions::default()
    });
    while let Some(QueuedRequest { request, answer }) = exchanges.recv().await {
        let client = client.clone();
        actix_rt::spawn(async move {
            let _ = answer.send(exchange(&client, request).await);
        });
    }
}

async fn exchange(client: &HttpClient, request: HttpRequest) -> Result<HttpResponse, StoreError> {
    let mut streaming = client
        .open(converted(request).await?)
        .await
        .map_err(failure)?;
    let mut response = http::Response::builder().status(streaming.status);
    for (name, value) in streaming.headers.iter() {
        response = response.header(name, value);
    }
    let (chunks, body) = mpsc::channel(CHUNKS);
    actix_rt::spawn(async move {
        while let Some(chunk) = streaming.next().await {
            // Whoever reads no more has dropped its end: so is the connection.
            if chunks.send(chunk.map_err(failure)).await.is_err() {
                return;
            }
        }
    });
    let body = HttpResponseBody::new(ChunkBody(body));
    response.body(body).map_err(unusable)
}

/// The body of an answer, from the thread that reads it.
struct ChunkBody(mpsc::Receiver<Result<Bytes, StoreError>>);

impl Body for ChunkBody {
    type Data = Bytes;
    type Error = StoreError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StoreError>>> {
        let next = self.0.poll_recv(task);
        next.map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
    }
}

/// The headers that requests have; the client makes `host` and `content-length` itself.
const HEADERS: [&str; 18] = [
    "accept",
    "authorization",
    "content-md5",
    "content-type",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-unmodified-since",
    "range",
    "x-amz-checksum-algorithm",
    "x-amz-checksum-sha256",
    "x-amz-checksum-type",
    "x-amz-content-sha256",
    "x-amz-copy-source",
    "x-amz-date",
    "x-amz-security-token",
    "x-amz-tagging",
    "x-amz-user-agent",
];

async fn converted(request: HttpRequest) -> Result<Request, StoreError> {
    let (head, body) = request.into_parts();
    let method = match head.method.as_str() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        other => return Err(unusable(std::io::Error::other(other.to_owned()))),
    };
    let url = head.uri.to_string().parse().map_err(unusable)?;
    let mut converted = Request::new(method, url);
    for (name, value) in &head.headers {
        if ["host", "content-length", "user-agent"].contains(&name.as_str()) {
            continue;
        }
        let known = HEADERS.iter().find(|known| **known == name.as_str());
        let known = known
            .ok_or_else(|| unusable(std::io::Error::other(format!("no header {name} is known"))))?;
        let value = value.to_str().map_err(unusable)?.to_owned();
        converted = match *known {
            "authorization" | "x-amz-security-token" => {
                converted.secret_header(*known, Secret::new(value))
            }
            _ => converted.header(known, value),
        };
    }
    if matches!(method, Method::Post | Method::Put) {
        // An empty one has a length too: servers ask for it.
        converted = converted.body(body.collect().await?.to_bytes());
    }
    Ok(converted)
}

fn unusable(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::new(HttpErrorKind::Unknown, error)
}

/// What may be tried again, and whether the request was sent, as `object_store` asks.
fn failure(error: HttpError) -> StoreError {
    let kind = match &error {
        error if error.was_not_sent() => HttpErrorKind::Connect,
        HttpError::TimedOut { .. } => HttpErrorKind::Timeout,
        HttpError::Unavailable { .. } | HttpError::BadBody { .. } => HttpErrorKind::Interrupted,
        _ => HttpErrorKind::Unknown,
    };
    StoreError::new(kind, error)
}
