//! What the tests share: servers, and clients in a hurry.

use std::net::SocketAddr;
use std::time::Duration;

use actix_web::{App, HttpServer, web};
use http_clients::http::{HttpClient, HttpOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use url::Url;

/// Longer than anything here takes; what hangs fails a test instead of stopping it.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// A real server of these routes; it ends with the test's system.
pub(crate) fn serve<F>(configure: F) -> SocketAddr
where
    F: Fn(&mut web::ServiceConfig) + Clone + Send + 'static,
{
    let server = HttpServer::new(move || App::new().configure(configure.clone()))
        .workers(1)
        // A request may come as slowly as it likes.
        .client_request_timeout(Duration::ZERO)
        .disable_signals()
        .bind(("127.0.0.1", 0))
        .unwrap();
    let address = server.addrs()[0];
    actix_rt::spawn(server.run());
    address
}

/// A peer that reads one request on each connection, writes these bytes, waits, and closes.
pub(crate) async fn raw(answer: impl Into<Vec<u8>>, wait: Duration) -> SocketAddr {
    let answer = answer.into();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    actix_rt::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let answer = answer.clone();
            actix_rt::spawn(async move {
                let mut request = [0; 8192];
                let _ = connection.read(&mut request).await;
                let _ = connection.write_all(&answer).await;
                actix_rt::time::sleep(wait).await;
            });
        }
    });
    address
}

pub(crate) fn url(address: SocketAddr, path: &str) -> Url {
    format!("http://{address}{path}").parse().unwrap()
}

/// The defaults, with deadlines for tests.
pub(crate) fn options() -> HttpOptions {
    HttpOptions {
        deadline: LONG,
        idle: LONG,
        ..HttpOptions::default()
    }
}

pub(crate) fn client() -> HttpClient {
    HttpClient::new(options())
}
