//! Health, metrics, panics, admission, shutdown, logging.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use edge_web::{BindError, ConcurrencyLimit, HealthChecks, ServeOptions, bind};

use crate::support::{Setup, TestServer};

/// A file that does not exist until [`Signal::give`].
struct Signal(tempfile::TempDir);

impl Signal {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> String {
        self.0.path().join("go").display().to_string()
    }

    fn give(&self) {
        std::fs::write(self.path(), "").unwrap();
    }
}

#[test]
fn readiness_names_what_is_missing() {
    let open = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&open);
    let health = HealthChecks::new()
        .check("store", || Ok(()))
        .check("index", move || {
            if flag.load(Ordering::SeqCst) {
                Ok(())
            } else {
                Err("the index is being opened".to_owned())
            }
        });
    let server = TestServer::with(Setup {
        health,
        ..Setup::default()
    });
    let answer = server.get("/readyz");
    assert_eq!(
        (answer.status, answer.header("retry-after")),
        (503, Some("5"))
    );
    let expected = serde_json::json!({"ready": false, "checks": [
        {"name": "store", "ok": true},
        {"name": "index", "ok": false, "detail": "the index is being opened"},
    ]});
    assert_eq!(answer.json(), expected);
    assert_eq!(server.get("/livez").status, 200);
    open.store(true, Ordering::SeqCst);
    assert_eq!(server.get("/readyz").status, 200);
}

#[test]
fn metrics_count_by_route_and_class() {
    let server = TestServer::start();
    for id in 0..3 {
        assert_eq!(server.get(&format!("/api/documents/{id}")).status, 200);
    }
    server.get("/api/documents/x").problem(404);
    server.get("/nowhere").problem(404);
    let own = prometheus::IntCounter::new("products_own_total", "Of another part.").unwrap();
    assert!(server.metrics.register(own.clone()));
    assert!(
        !server.metrics.register(own.clone()),
        "a name is taken once"
    );
    own.inc_by(3);
    let answer = server.get("/metrics");
    assert!(
        answer
            .header("content-type")
            .unwrap()
            .starts_with("text/plain; version=0.0.4")
    );
    let text = String::from_utf8(answer.body).unwrap();
    for line in [
        r#"http_request_duration_seconds_count{class="2xx",route="/api/documents/{id}"} 3"#,
        r#"http_request_duration_seconds_count{class="4xx",route="/api/documents/{id}"} 1"#,
        r#"http_request_duration_seconds_count{class="4xx",route="unmatched"} 1"#,
        "http_requests_in_flight 1",
        "products_own_total 3",
    ] {
        assert!(text.lines().any(|own| own == line), "{line}\nin\n{text}");
    }
}

#[test]
fn a_panic_is_a_500_and_the_worker_lives() {
    let options = ServeOptions {
        workers: 1,
        ..ServeOptions::default()
    };
    let server = TestServer::with(Setup {
        options,
        ..Setup::default()
    });
    for path in ["/api/panic", "/api/panic-at-once"] {
        let problem = server.get(path).problem(500);
        assert!(!problem.to_string().contains("forged"), "{problem}");
        assert_eq!(server.get("/livez").status, 200);
    }
    let text = server.metrics.render().unwrap();
    assert!(text.contains("http_handler_panics_total 2"), "{text}");
}

#[test]
fn a_full_house_is_a_503_with_retry_after() {
    let server = TestServer::with(Setup {
        gate: ConcurrencyLimit::new(1, 7),
        ..Setup::default()
    });
    let signal = Signal::new();
    let path = format!("/api/busy?file={}", signal.path());
    let mut first = server.connect();
    first.write(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    while !std::path::Path::new(&format!("{}.inside", signal.path())).exists() {
        std::thread::yield_now();
    }
    let refused = server.get(&path);
    refused.problem(503);
    assert_eq!(refused.header("retry-after"), Some("7"));
    signal.give();
    assert_eq!(first.answer().status, 200);
    assert_eq!(server.get(&path).status, 200, "the place is free again");
}

#[test]
fn the_actor_tree_is_shown() {
    let server = TestServer::start();
    let answer = server.get("/admin/actors");
    assert_eq!(answer.json()["name"], "root");
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[test]
fn a_shutdown_answers_what_is_under_way_and_closes_the_idle() {
    let mut server = TestServer::start();
    let signal = Signal::new();
    let mut idle = server.connect();
    idle.write("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(idle.answer().status, 200);
    let mut busy = server.connect();
    busy.write(format!(
        "GET /api/wait?file={} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        signal.path()
    ));
    while !server
        .get("/metrics")
        .body
        .windows(25)
        .any(|text| text == b"http_requests_in_flight 2")
    {}
    server.stop();
    assert_eq!(idle.closed(), "");
    signal.give();
    assert_eq!(busy.answer().body, b"waited");
    server.join().unwrap();
}

#[test]
fn hundreds_of_connections_at_once_wait_in_the_queue() {
    let allowed = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let crowd = allowed.trim().parse::<usize>().unwrap().min(600);
    let listener = bind("127.0.0.1:0".parse().unwrap(), "HOST").unwrap();
    let address = listener.local_addr().unwrap();
    // One that finds no place is dropped, and tries again after a second.
    let connect = |_| TcpStream::connect_timeout(&address, Duration::from_millis(900));
    let waiting: Vec<_> = (0..crowd).map_while(|nth| connect(nth).ok()).collect();
    assert_eq!(waiting.len(), crowd);
}

#[test]
fn a_used_address_names_the_variable_to_change() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address: SocketAddr = taken.local_addr().unwrap();
    let error = bind(address, "SERVICE_SERVER_HOSTNAME").unwrap_err();
    assert!(matches!(error, BindError::InUse { .. }));
    let expected = format!(
        "address {address} is already in use; choose another one with SERVICE_SERVER_HOSTNAME"
    );
    assert_eq!(error.to_string(), expected);
    let error = bind("203.0.113.1:80".parse().unwrap(), "HOST").unwrap_err();
    assert!(matches!(error, BindError::Other { .. }), "{error}");
}
