//! A real server on port 0 and a client that writes and reads raw bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use actix_web::{App, HttpResponse, Responder, web};
use edge_web::guard::HostPolicy;
use edge_web::{
    ApiJson, Asset, BodyLimits, ConcurrencyLimit, Edge, EdgeConfig, ForgeVerifier, HealthChecks,
    Metrics, Problem, RequestId, Routes, ServeOptions, SignedBody, SignedBodyConfig, livez,
    metrics_text, readyz, serve,
};
use forge_core::{ParseOptions, SecretBook, WebhookSecrets};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

pub(crate) const SECRET: &str = "a webhook secret for tests";

/// The patience of a test with a machine under load; nothing is measured by it.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) metrics: Metrics,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

pub(crate) struct Setup {
    pub(crate) limits: BodyLimits,
    pub(crate) options: ServeOptions,
    pub(crate) configure: fn(&mut EdgeConfig),
    pub(crate) health: HealthChecks,
    pub(crate) gate: ConcurrencyLimit,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            limits: BodyLimits {
                max_bytes: 64 * 1024,
                deadline: Duration::from_secs(30),
            },
            options: ServeOptions {
                workers: 2,
                ..ServeOptions::default()
            },
            configure: |_| {},
            health: HealthChecks::new(),
            gate: ConcurrencyLimit::new(1, 7),
        }
    }
}

impl TestServer {
    pub(crate) fn start() -> Self {
        Self::with(Setup::default())
    }

    pub(crate) fn with(setup: Setup) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let metrics = Metrics::new();
        let (stop, stopped) = oneshot::channel();
        let of_server = metrics.clone();
        let thread = std::thread::spawn(move || {
            actix_rt::System::new().block_on(run(listener, setup, of_server, async {
                stopped.await.ok();
            }))
        });
        Self {
            address,
            metrics,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Asks for the shutdown, without waiting for it.
    pub(crate) fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
    }

    /// Waits for the end.
    pub(crate) fn join(&mut self) -> std::io::Result<()> {
        self.thread
            .take()
            .map_or(Ok(()), |thread| thread.join().unwrap())
    }

    pub(crate) fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(TEST_TIMEOUT)).unwrap();
        Client {
            stream,
            pending: Vec::new(),
        }
    }

    /// One request on a connection of its own.
    pub(crate) fn ask(&self, request: impl AsRef<[u8]>) -> Answer {
        let mut client = self.connect();
        client.write(request);
        client.answer()
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    }

    pub(crate) fn get_with(&self, path: &str, headers: &str) -> Answer {
        self.ask(format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"
        ))
    }

    pub(crate) fn post(&self, path: &str, headers: &str, body: impl AsRef<[u8]>) -> Answer {
        self.ask(post(path, headers, body.as_ref()))
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop();
        let outcome = self.join();
        if !std::thread::panicking() {
            outcome.expect("the server ends well");
        }
    }
}

/// A whole POST request; `headers` are lines with CRLF.
pub(crate) fn post(path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut request = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    )
    .into_bytes();
    request.extend_from_slice(body);
    request
}

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    pending: Vec<u8>,
}

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// Reads one answer (by its `Content-Length`).
    pub(crate) fn answer(&mut self) -> Answer {
        self.read_answer(true)
    }

    /// Reads one answer to `HEAD`.
    pub(crate) fn head_answer(&mut self) -> Answer {
        self.read_answer(false)
    }

    fn read_answer(&mut self, with_body: bool) -> Answer {
        let end = loop {
            if let Some(at) = self.pending.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            assert!(
                self.fill() > 0,
                "closed without an answer: {:?}",
                self.text()
            );
        };
        let head = String::from_utf8(self.pending.drain(..end).collect()).unwrap();
        let (first, rest) = head
            .trim_end()
            .split_once("\r\n")
            .unwrap_or((head.trim_end(), ""));
        let headers: Vec<(String, String)> = rest
            .lines()
            .map(|line| line.split_once(':').unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let status = first.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Answer {
            status,
            headers,
            body: Vec::new(),
        };
        let length = answer
            .header("content-length")
            .map_or(0, |text| text.parse().unwrap());
        let length: usize = if with_body && status != 304 {
            length
        } else {
            0
        };
        while self.pending.len() < length {
            assert!(self.fill() > 0, "closed inside a body");
        }
        answer.body = self.pending.drain(..length).collect();
        answer
    }

    fn fill(&mut self) -> usize {
        let mut buffer = [0; 64 * 1024];
        let read = self.stream.read(&mut buffer).unwrap_or(0);
        self.pending.extend_from_slice(&buffer[..read]);
        read
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.pending).into_owned()
    }

    /// Waits until the server closes the connection; returns what else it sent.
    pub(crate) fn closed(&mut self) -> String {
        let mut buffer = [0; 64 * 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return self.text(),
                Ok(read) => self.pending.extend_from_slice(&buffer[..read]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                    return self.text();
                }
                Err(error) => panic!("the connection is not closed: {error}"),
            }
        }
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {:?}", String::from_utf8_lossy(&self.body)))
    }

    /// Asserts a problem of this status and returns it.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16) -> serde_json::Value {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{self:?}"
        );
        let problem = self.json();
        assert_eq!(problem["status"], status);
        assert_eq!(problem["request_id"].as_str(), self.header("x-request-id"));
        for field in ["type", "title", "detail"] {
            assert!(!problem[field].as_str().unwrap().is_empty(), "{problem}");
        }
        problem
    }
}

async fn run(
    listener: TcpListener,
    setup: Setup,
    metrics: Metrics,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let address = listener.local_addr()?;
    let mut config = EdgeConfig::new(HostPolicy::new(address, []), &metrics);
    (setup.configure)(&mut config);
    let edge = Edge::new(config);
    let book = SecretBook::shared(WebhookSecrets::new(SECRET).unwrap());
    let verifier = ForgeVerifier::new(book, ParseOptions::default());
    let signed = SignedBodyConfig::new(verifier, setup.limits, &metrics);
    let (limits, health, gate) = (setup.limits, setup.health, setup.gate);
    let factory = move || {
        App::new()
            .app_data(signed.clone())
            .app_data(limits)
            .app_data(web::Data::new(metrics.clone()))
            .app_data(web::Data::new(health.clone()))
            .app_data(web::Data::new(gate.clone()))
            .configure(|config| routes(&metrics).configure(config))
            .wrap(edge.clone())
    };
    serve(listener, factory, setup.options, shutdown).await
}

pub(crate) fn routes(metrics: &Metrics) -> Routes {
    Routes::new(metrics)
        .get("/livez", livez)
        .get("/readyz", readyz)
        .get("/metrics", metrics_text)
        .post("/webhook", webhook)
        .post("/api/search", search)
        .get("/api/documents/{id}", document)
        .get("/api/wait", wait)
        .get("/api/page", page)
        .get("/api/busy", busy)
        .get("/api/events", events)
        .get("/api/panic", panic_later)
        .get("/api/panic-at-once", PanicAtOnce)
        .get("/api/ignored-error", ignored_error)
        .get("/ws", || async { "upgraded" })
        .get("/asset", asset)
        .get("/empty", empty_asset)
        .get("/packed", packed_asset)
        .get("/large", || async { vec![b'x'; 64 * 1024 * 1024] })
        .get("/admin/actors", || {
            edge_web::actor_tree(async { Ok(serde_json::json!({"name": "root", "children": []})) })
        })
}

async fn webhook(body: SignedBody<ForgeVerifier>) -> Result<impl Responder, Problem> {
    let delivery = body.0.into_delivery()?;
    Ok(HttpResponse::Accepted().body(delivery.id.to_string()))
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    search_term: String,
    #[serde(default)]
    limit: Option<u64>,
    #[serde(default)]
    sources: Vec<Source>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Source {
    name: String,
}

async fn search(body: ApiJson<Search>) -> Result<impl Responder, Problem> {
    let search = body.into_inner();
    if search.search_term.is_empty() {
        let fault = edge_web::FieldError::new("search_term", "must not be empty");
        return Err(Problem::unprocessable(
            "the search makes no sense",
            vec![fault],
        ));
    }
    Ok(web::Json(search))
}

async fn document(id: web::Path<u32>, request: actix_web::HttpRequest) -> impl Responder {
    use actix_web::HttpMessage as _;
    let known = request
        .extensions()
        .get::<RequestId>()
        .map(ToString::to_string);
    format!("{id} {}", known.unwrap_or_default())
}

#[derive(Deserialize)]
struct Page {
    size: u8,
}

async fn page(page: web::Query<Page>) -> impl Responder {
    page.size.to_string()
}

/// Answers when the file named by the query exists: a test decides when.
async fn wait(query: web::Query<std::collections::HashMap<String, String>>) -> impl Responder {
    let file = query["file"].clone();
    while !std::path::Path::new(&file).exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    "waited"
}

/// Like `wait`, but one at a time; leaves a second file behind once it is inside.
async fn busy(
    gate: web::Data<ConcurrencyLimit>,
    query: web::Query<std::collections::HashMap<String, String>>,
) -> Result<impl Responder, Problem> {
    let _permit = gate.try_acquire()?;
    std::fs::write(format!("{}.inside", query["file"]), "").unwrap();
    Ok(wait(query).await)
}

/// One event, and then nothing for ever; of the kind that the query names.
async fn events(query: web::Query<std::collections::HashMap<String, String>>) -> HttpResponse {
    use futures_util::StreamExt as _;
    let one = futures_util::stream::iter([Ok::<_, actix_web::Error>("data: 1\n\n".into())]);
    HttpResponse::Ok()
        .content_type(query["kind"].clone())
        .streaming(one.chain(futures_util::stream::pending()))
}

async fn panic_later() -> &'static str {
    tokio::task::yield_now().await;
    panic!("handler\r\nforged line")
}

async fn ignored_error() -> Result<&'static str, std::io::Error> {
    Err(std::io::Error::other("the password is hunter2"))
}

/// Panics before there is a future.
#[derive(Clone)]
struct PanicAtOnce;

impl actix_web::Handler<()> for PanicAtOnce {
    type Output = &'static str;
    type Future = std::future::Ready<&'static str>;

    fn call(&self, (): ()) -> Self::Future {
        panic!("at once")
    }
}

pub(crate) const ASSET: &str = "0123456789";

async fn asset(request: actix_web::HttpRequest) -> HttpResponse {
    Asset::from((ASSET, "text/plain")).respond(&request)
}

async fn packed_asset(request: actix_web::HttpRequest) -> HttpResponse {
    Asset::from((ASSET, "text/plain"))
        .compressed(Some(b"by gzip"), Some(b"by brotli"))
        .respond(&request)
}

async fn empty_asset(request: actix_web::HttpRequest) -> HttpResponse {
    Asset::new("", "text/css").immutable().respond(&request)
}
