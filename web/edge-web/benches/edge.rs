//! What the edge costs: a bare actix-web server against the same handlers behind the whole edge, in
//! turns, over 16 kept connections on loopback.
//!
//! Two figures per server: requests per second (client and server share the machine), and the CPU
//! time of the server's own threads per request, which does not depend on the client.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking and prints"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use actix_web::{App, HttpServer, Responder, web};
use edge_web::guard::HostPolicy;
use edge_web::{ApiJson, Edge, EdgeConfig, Metrics, Routes, ServeOptions, serve};
use serde::{Deserialize, Serialize};

const CLIENTS: usize = 2;
const CONNECTIONS: usize = 8;
const WORKERS: usize = 2;

#[derive(Serialize, Deserialize)]
struct Search {
    search_term: String,
    limit: u32,
}

async fn hello() -> impl Responder {
    "Hello, world!"
}

async fn bare_echo(body: web::Json<Search>) -> impl Responder {
    web::Json(body.into_inner())
}

async fn edge_echo(body: ApiJson<Search>) -> impl Responder {
    web::Json(body.into_inner())
}

/// Starts a server of its own thread; it lives as long as the process.
fn start(with_edge: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        actix_rt::System::new().block_on(async move {
            if with_edge {
                run_edge(listener, address).await;
            } else {
                run_bare(listener).await;
            }
        });
    });
    address
}

async fn run_bare(listener: TcpListener) {
    let factory = || {
        App::new()
            .route("/hello", web::get().to(hello))
            .route("/echo", web::post().to(bare_echo))
    };
    HttpServer::new(factory)
        .workers(WORKERS)
        .tcp_nodelay(true)
        .listen(listener)
        .unwrap()
        .run()
        .await
        .unwrap();
}

async fn run_edge(listener: TcpListener, address: SocketAddr) {
    let metrics = Metrics::new();
    let edge = Edge::new(EdgeConfig::new(HostPolicy::new(address, []), &metrics));
    let factory = move || {
        let routes = Routes::new(&metrics)
            .get("/hello", hello)
            .post("/echo", edge_echo);
        App::new()
            .configure(|config| routes.configure(config))
            .wrap(edge.clone())
    };
    let options = ServeOptions {
        workers: WORKERS,
        ..ServeOptions::default()
    };
    serve(listener, factory, options, std::future::pending())
        .await
        .unwrap();
}

struct Measured {
    per_second: f64,
    cpu_micros: f64,
}

/// Loads a server for `time`; each client thread writes to all its connections, then reads from
/// all.
fn load(address: SocketAddr, request: &'static str, time: Duration) -> Measured {
    let (done, counts) = mpsc::channel();
    let cpu = server_cpu();
    let start = Instant::now();
    for _ in 0..CLIENTS {
        let done = done.clone();
        std::thread::spawn(move || done.send(client(address, request, start + time)).unwrap());
    }
    drop(done);
    let requests = counts.iter().sum::<u64>() as f64;
    let seconds = start.elapsed().as_secs_f64();
    let cpu = server_cpu().saturating_sub(cpu);
    Measured {
        per_second: requests / seconds,
        cpu_micros: cpu.as_secs_f64() * 1e6 / requests,
    }
}

fn client(address: SocketAddr, request: &str, end: Instant) -> u64 {
    let mut connections: Vec<TcpStream> = (0..CONNECTIONS)
        .map(|_| TcpStream::connect(address).unwrap())
        .collect();
    let mut buffer = [0; 4096];
    let mut count = 0;
    while Instant::now() < end {
        for connection in &mut connections {
            connection.write_all(request.as_bytes()).unwrap();
        }
        for connection in &mut connections {
            // Both servers write each answer whole.
            let read = connection.read(&mut buffer).unwrap();
            assert!(
                buffer[..read].starts_with(b"HTTP/1.1 200"),
                "{:?}",
                std::str::from_utf8(&buffer[..read])
            );
            count += 1;
        }
    }
    count
}

/// CPU time of all threads of the servers (named by actix), from the kernel's accounts.
fn server_cpu() -> Duration {
    let mut total = 0;
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        if name.starts_with("actix") {
            let stat = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            total += stat
                .split(' ')
                .next()
                .and_then(|text| text.parse().ok())
                .unwrap_or(0_u64);
        }
    }
    Duration::from_nanos(total)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    // As in production: a subscriber at `info`, here with nowhere to write to.
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_writer(std::io::sink)
        .init();
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (rounds, time) = if quick {
        (3, Duration::from_millis(300))
    } else {
        (9, Duration::from_secs(2))
    };
    let (bare, edge) = (start(false), start(true));
    let get = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let post = "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 35\r\n\r\n{\"search_term\":\"actors\",\"limit\":10}";
    for (name, request) in [("GET", get), ("POST JSON", post)] {
        load(bare, request, time / 4);
        load(edge, request, time / 4);
        let runs: Vec<(Measured, Measured)> = (0..rounds)
            .map(|_| (load(bare, request, time), load(edge, request, time)))
            .collect();
        let bare_rate = median(runs.iter().map(|(bare, _)| bare.per_second));
        let edge_rate = median(runs.iter().map(|(_, edge)| edge.per_second));
        let bare_cpu = median(runs.iter().map(|(bare, _)| bare.cpu_micros));
        let edge_cpu = median(runs.iter().map(|(_, edge)| edge.cpu_micros));
        println!(
            "{name}: bare {bare_rate:.0}/s, {bare_cpu:.2} µs CPU a request; edge {edge_rate:.0}/s ({:.1} %), {edge_cpu:.2} µs ({:+.2} µs)",
            100.0 * edge_rate / bare_rate,
            edge_cpu - bare_cpu,
        );
    }
}
