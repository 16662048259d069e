//! What the peers share: a server on a port of its own, and the record of requests.

use std::net::SocketAddr;
use std::time::Instant;

use actix_web::HttpRequest;
use bytes::Bytes;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// `GET` and the like.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query, without its `?`.
    pub query: String,
    /// The `Authorization` header.
    pub authorization: Option<String>,
    /// The `User-Agent` header.
    pub user_agent: Option<String>,
    /// The body.
    pub body: Bytes,
    /// When it came.
    pub at: Instant,
}

impl Recorded {
    pub(crate) fn from_request(request: &HttpRequest, body: &Bytes) -> Self {
        let header = |name: &str| {
            let value = request.headers().get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        Self {
            method: request.method().to_string(),
            path: request.path().to_owned(),
            query: request.query_string().to_owned(),
            authorization: header("authorization"),
            user_agent: header("user-agent"),
            body: body.clone(),
            at: Instant::now(),
        }
    }

    /// The body as JSON; `null` if it is none.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A server that ends with its owner.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) handle: actix_web::dev::ServerHandle,
}

impl Drop for Running {
    fn drop(&mut self) {
        // The order is sent by the call; nobody has to wait for it.
        drop(self.handle.stop(false));
    }
}

/// The error that breaks a connection, once what was said before it is out: actix drops what it has
/// not written yet.
pub(crate) async fn broken() -> std::io::Error {
    actix_rt::time::sleep(std::time::Duration::from_millis(50)).await;
    std::io::ErrorKind::BrokenPipe.into()
}

/// Starts a server of this application on a port of its own.
macro_rules! start {
    ($configure:expr) => {{
        let configure = $configure;
        let server =
            actix_web::HttpServer::new(move || actix_web::App::new().configure(configure.clone()))
                .workers(1)
                .disable_signals()
                .shutdown_timeout(0)
                .bind(("127.0.0.1", 0))
                .expect("a port of the loopback address is free");
        let address = server.addrs()[0];
        let server = server.run();
        let handle = server.handle();
        actix_rt::spawn(server);
        $crate::server::Running { address, handle }
    }};
}
pub(crate) use start;
