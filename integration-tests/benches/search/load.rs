//! Closed-loop load over keep-alive connections: each connection sends its next request when the
//! former answer has arrived whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One phase of load on one server.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub(crate) struct Load {
    pub(crate) requests_per_s: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) failed: usize,
}

/// Sends the queries, starting at `offset`, for `time` over `connections`.
pub(crate) fn phase(
    port: u16,
    queries: &[String],
    offset: usize,
    connections: usize,
    time: Duration,
) -> Load {
    let bodies: Arc<Vec<Vec<u8>>> = Arc::new(queries.iter().map(|q| request(q)).collect());
    let next = Arc::new(AtomicUsize::new(offset));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let began = Instant::now();
    let (histogram, failed) = runtime.block_on(async {
        let tasks: Vec<_> = (0..connections)
            .map(|_| {
                tokio::spawn(connection(
                    port,
                    Arc::clone(&bodies),
                    Arc::clone(&next),
                    began + time,
                ))
            })
            .collect();
        let mut all = histogram();
        let mut failed = 0;
        for task in tasks {
            let (one, bad) = task.await.expect("a connection's task ends");
            all.add(one).expect("same bounds");
            failed += bad;
        }
        (all, failed)
    });
    let ms = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
    Load {
        requests_per_s: histogram.len() as f64 / began.elapsed().as_secs_f64(),
        p50_ms: ms(0.5),
        p99_ms: ms(0.99),
        failed,
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 3).expect("valid bounds")
}

fn request(query: &str) -> Vec<u8> {
    let body = serde_json::json!({"search_term": query, "limit": 10}).to_string();
    format!(
        "POST /api/documents/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

async fn connection(
    port: u16,
    bodies: Arc<Vec<Vec<u8>>>,
    next: Arc<AtomicUsize>,
    until: Instant,
) -> (Histogram<u64>, usize) {
    let mut stream = TcpStream::connect(("127.0.0.1", port))
        .await
        .expect("the server listens");
    stream.set_nodelay(true).expect("a TCP option");
    let (mut histogram, mut failed, mut buffer) = (histogram(), 0, Vec::with_capacity(64 << 10));
    while Instant::now() < until {
        let body = &bodies[next.fetch_add(1, Ordering::Relaxed) % bodies.len()];
        let sent = Instant::now();
        stream.write_all(body).await.expect("the request is sent");
        if !read_answer(&mut stream, &mut buffer).await {
            failed += 1;
        }
        histogram.saturating_record(u64::try_from(sent.elapsed().as_micros()).unwrap_or(u64::MAX));
    }
    (histogram, failed)
}

/// Reads one answer with a Content-Length; whether it was a 200.
async fn read_answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> bool {
    buffer.clear();
    loop {
        let read = stream.read_buf(buffer).await.expect("the answer is read");
        assert!(read > 0, "the server closed the connection");
        let Some(end) = find(buffer, b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
        let length: usize = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .and_then(|value| value.trim().parse().ok())
            .expect("an answer with a length");
        while buffer.len() < end + 4 + length {
            assert!(stream.read_buf(buffer).await.expect("the body is read") > 0);
        }
        return head.starts_with("http/1.1 200");
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}
