//! Sources that hang, fail, lie and flood, and clients that leave, seen through the whole server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Home, keys};

/// How a peer answers everything.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Manner {
    Status(u16),
    Hangs,
    HalfJson,
    /// A gigabyte, as far as somebody reads it.
    Floods,
    /// Issues whose text is in another encoding than they say.
    WrongCharset,
}

/// A server of one manner; it ends with the process. Counts requests, and connections that were
/// closed on it.
pub(crate) struct Peer {
    address: SocketAddr,
    pub(crate) asked: Arc<AtomicUsize>,
    pub(crate) left: Arc<AtomicUsize>,
}

impl Peer {
    pub(crate) fn new(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let (asked, left): (Arc<AtomicUsize>, Arc<AtomicUsize>) = Default::default();
        let peer = Self {
            address: listener.local_addr().expect("an address"),
            asked: Arc::clone(&asked),
            left: Arc::clone(&left),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (asked, left) = (Arc::clone(&asked), Arc::clone(&left));
                std::thread::spawn(move || {
                    serve(stream, manner, &asked);
                    left.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        peer
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

const LATIN: &[u8] = b"[{\"html_url\":\"https://f.example/1\",\"number\":1,\"title\":\"valve \xe4\xf6\xfc\",\"body\":\"valve\",\"state\":\"open\",\"labels\":[]}]";

/// Answers each request of a connection, until that is closed.
fn serve(stream: TcpStream, manner: Manner, asked: &AtomicUsize) {
    let mut output = stream.try_clone().expect("a second handle");
    let mut input = BufReader::new(stream);
    loop {
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if !matches!(input.read_line(&mut line), Ok(1..)) {
                return;
            }
        }
        asked.fetch_add(1, Ordering::SeqCst);
        let whole = |status: &str, body: &[u8], length: usize| {
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: {length}\r\n\r\n"
            );
            [head.as_bytes(), body].concat()
        };
        let answer = match manner {
            Manner::Status(status) => whole(&format!("{status} No"), b"{}", 2),
            Manner::Hangs => {
                // Until the other side leaves.
                let _ = input.read(&mut [0]);
                return;
            }
            Manner::HalfJson => whole("200 OK", b"[{\"title\": \"va", 14),
            Manner::WrongCharset => whole("200 OK", LATIN, LATIN.len()),
            Manner::Floods => {
                let _ = output.write_all(&whole("200 OK", b"[", 1 << 30));
                let piece = vec![b' '; 1 << 16];
                while output.write_all(&piece).is_ok() {}
                return;
            }
        };
        if output.write_all(&answer).is_err() {
            return;
        }
    }
}

#[test]
fn sources_that_hang_fail_lie_or_flood_are_told_of_in_time_and_empty_nothing() {
    let home = Home::new();
    home.write("valve.md", "# Valve\n\nthe valve\n");
    let manners = [
        Manner::Hangs,
        Manner::Status(500),
        Manner::HalfJson,
        Manner::Floods,
        Manner::WrongCharset,
    ];
    let peers: Vec<Peer> = manners.into_iter().map(Peer::new).collect();
    let mut roles = home.role("BM25F");
    let haystacks = roles["haystacks"].as_array_mut().expect("a list");
    for (peer, manner) in peers.iter().zip(manners) {
        let location = format!("gitea:{}/a/b", peer.url());
        haystacks.push(
            json!({"name": format!("{manner:?}"), "service": "TaskTracker", "location": location}),
        );
    }
    let server = home.start_with(&roles, |_| {});
    let before = resident();
    let began = Instant::now();
    let answer = server.search(&json!({"search_term": "valve"}));
    let took = began.elapsed();
    assert!(
        took < Duration::from_secs(8),
        "{took:?}; the deadline is 2 s"
    );
    assert_eq!(answer["status"], "partial_success");
    assert!(keys(&answer).contains(&"valve.md".to_owned()), "{answer}");
    let report = |name: &str| -> Value {
        let sources = answer["sources"].as_array().expect("sources");
        sources
            .iter()
            .find(|one| one["name"] == name)
            .expect("a report")
            .clone()
    };
    assert!(report("Files")["error"].is_null());
    for name in ["Hangs", "Status(500)", "HalfJson", "Floods"] {
        let said = report(name);
        assert!(
            said["error"]
                .as_str()
                .is_some_and(|reason| !reason.is_empty()),
            "{said}"
        );
        assert!(said["took_ms"].as_f64() < Some(3_000.0), "{said}");
    }
    // Either its text is understood, or it is told that it is not: never replaced in silence by
    // nothing.
    let latin = report("WrongCharset");
    assert!(latin["error"].is_string() || latin["hits"] == 1, "{latin}");
    let grown = resident().saturating_sub(before);
    assert!(
        grown < 200 << 20,
        "a gigabyte was offered, {grown} bytes were taken"
    );
    // Once more: who failed is left alone for a while, and still told of.
    let again = server.search(&json!({"search_term": "valve"}));
    assert_eq!(again["status"], "partial_success");
    assert!(keys(&again).contains(&"valve.md".to_owned()));
}

/// Bytes of memory this process holds.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").expect("a Linux system");
    let pages = status
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("a number") * 4096
}

/// Sends a request and leaves before it is answered.
fn leave(address: SocketAddr, path: &str, body: &Value, asked: impl Fn() -> bool) {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("sent");
    let began = Instant::now();
    while !asked() {
        assert!(
            began.elapsed() < crate::harness::DEADLINE,
            "the other server is never asked"
        );
        std::thread::yield_now();
    }
    drop(stream);
}

#[test]
fn a_client_that_leaves_a_summary_ends_it() {
    let home = Home::new();
    let peer = Peer::new(Manner::Hangs);
    let mut roles = home.role("BM25F");
    roles["extra"] =
        json!({"llm_provider": "localllm", "localllm_base_url": peer.url(), "localllm_model": "m"});
    let server = home.start_with(&roles, |_| {});
    let body = json!({"content": "The valve is closed by hand. It leaks.", "role": "Test"});
    let began = Instant::now();
    leave(server.address, "/api/documents/summarize", &body, || {
        peer.asked.load(Ordering::SeqCst) > 0
    });
    server.eventually("the model's server is left", || {
        peer.left.load(Ordering::SeqCst) > 0
    });
    // A model has 60 s to its first word.
    assert!(
        began.elapsed() < Duration::from_secs(25),
        "{:?}",
        began.elapsed()
    );
}
