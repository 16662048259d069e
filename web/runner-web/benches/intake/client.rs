//! The client: one thread, many connections.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use super::{BODY, SECRET};

static NEXT: AtomicU64 = AtomicU64::new(1);

/// Commits as a forge lists them, about as compressible as those: names, dates and messages differ,
/// addresses and people do not.
static COMMITS: LazyLock<String> = LazyLock::new(|| {
    const WORDS: [&str; 16] = [
        "fix", "the", "engine", "of", "a", "rocket", "add", "tests", "for", "orbit", "remove",
        "unused", "fuel", "pump", "docs", "and",
    ];
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut commits = String::new();
    while commits.len() < BODY - 1100 {
        let id = format!("{:016x}{:016x}{:08x}", next(), next(), next() >> 32);
        let message: Vec<&str> = (0..12)
            .map(|_| WORDS[next() as usize % WORDS.len()])
            .collect();
        commits.push_str(&format!(
            r#"{{"id":"{id}","tree_id":"{:016x}{:016x}{:08x}","distinct":true,"message":"{}","timestamp":"2026-11-{:02}T{:02}:{:02}:{:02}Z","url":"https://forge.example/acme/rocket/commit/{id}","author":{{"name":"Ada","email":"ada@example.org","username":"ada"}},"added":[],"removed":[],"modified":["src/{}/{}.rs"]}},"#,
            next(), next(), next() >> 32, message.join(" "), next() % 28 + 1, next() % 24, next() % 60, next() % 60, message[0], message[1]
        ));
    }
    commits.pop();
    commits
});

/// The request with this number: the same number is the same delivery.
fn request(number: u64) -> Vec<u8> {
    let sha = format!("{number:040x}");
    let head = format!(
        r#"{{"ref":"refs/heads/main","before":"{zero}","after":"{sha}","created":true,"deleted":false,"commits":[],"head_commit":{{"id":"{sha}","message":"m"}},"pusher":{{"login":"ada"}},"sender":{{"login":"ada"}},"repository":{{"full_name":"acme/rocket","clone_url":"http://127.0.0.1:9/a.git","default_branch":"main"}},"commit_list":["#,
        zero = "0".repeat(40)
    );
    let mut body = head;
    body.push_str(&COMMITS);
    body.push_str("]}");
    let signature = forge_core::sign(SECRET, body.as_bytes()).unwrap().hub();
    format!("POST /webhook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-GitHub-Event: push\r\nX-GitHub-Delivery: d-{number}\r\nX-Hub-Signature-256: {signature}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A connection that is opened again when the server closes it.
struct Connection {
    address: SocketAddr,
    stream: Option<TcpStream>,
    answer: Vec<u8>,
}

impl Connection {
    fn new(address: SocketAddr) -> Self {
        Self {
            address,
            stream: None,
            answer: Vec::new(),
        }
    }

    /// The status, whether it says when to come again, and the body; 0: the connection broke.
    async fn ask(&mut self, request: &[u8]) -> (u16, bool, String) {
        if let Ok(answer) = self.try_ask(request).await {
            return answer;
        }
        self.stream = None;
        (0, false, String::new())
    }

    async fn try_ask(&mut self, request: &[u8]) -> std::io::Result<(u16, bool, String)> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(self.address).await?;
                stream.set_nodelay(true)?;
                self.stream.insert(stream)
            }
        };
        stream.write_all(request).await?;
        self.answer.clear();
        loop {
            if stream.read_buf(&mut self.answer).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let Some(end) = self.answer.windows(4).position(|four| four == b"\r\n\r\n") else {
                continue;
            };
            let head = String::from_utf8_lossy(&self.answer[..end]).to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
            if self.answer.len() < end + 4 + length {
                continue;
            }
            let code = head[9..12].parse().unwrap();
            let body = String::from_utf8_lossy(&self.answer[end + 4..]).into_owned();
            if head.contains("connection: close") {
                self.stream = None;
            }
            return Ok((code, head.contains("retry-after"), body));
        }
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, work)
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap()
}

/// Each connection asks, waits, asks again.
pub(super) fn closed(address: SocketAddr, connections: usize, turn: Duration) -> Histogram<u64> {
    block_on(async {
        let until = Instant::now() + turn;
        let tasks: Vec<_> = (0..connections)
            .map(|_| {
                tokio::task::spawn_local(async move {
                    let mut connection = Connection::new(address);
                    let mut latency: Histogram<u64> = Histogram::new(3).unwrap();
                    while Instant::now() < until {
                        let request = request(NEXT.fetch_add(1, Ordering::Relaxed));
                        let asked = Instant::now();
                        let (code, _, body) = connection.ask(&request).await;
                        assert_eq!(code, 202, "{body}");
                        latency.record(micros(asked)).unwrap();
                    }
                    latency
                })
            })
            .collect();
        let mut all: Histogram<u64> = Histogram::new(3).unwrap();
        for task in tasks {
            all.add(task.await.unwrap()).unwrap();
        }
        all
    })
}

/// What came of requests at a fixed rate.
pub(super) struct Open {
    latency: Histogram<u64>,
    pub(super) accepted: Vec<u64>,
    refused: u64,
    without_retry: u64,
    broken: u64,
    others: u64,
    took: Duration,
}

/// So many requests a second, whatever the answers take, over at most `connections`; times count
/// from when each was due.
pub(super) fn open(address: SocketAddr, rate: u64, during: Duration, connections: usize) -> Open {
    block_on(async {
        let open = Rc::new(RefCell::new(Open {
            latency: Histogram::new(3).unwrap(),
            accepted: Vec::new(),
            refused: 0,
            without_retry: 0,
            broken: 0,
            others: 0,
            took: Duration::ZERO,
        }));
        let begun = Instant::now();
        let (next, total) = (Rc::new(Cell::new(0)), rate * during.as_secs());
        let tasks: Vec<_> = (0..connections)
            .map(|_| {
                let (open, next) = (Rc::clone(&open), Rc::clone(&next));
                tokio::task::spawn_local(async move {
                    let mut connection = Connection::new(address);
                    loop {
                        let turn = next.get();
                        if turn >= total {
                            return;
                        }
                        next.set(turn + 1);
                        let due = begun + Duration::from_secs_f64(turn as f64 / rate as f64);
                        tokio::time::sleep_until(due.into()).await;
                        let number = NEXT.fetch_add(1, Ordering::Relaxed);
                        let (code, retry, _) = connection.ask(&request(number)).await;
                        open.borrow_mut().count(code, retry, number, due);
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let mut open = Rc::try_unwrap(open).ok().unwrap().into_inner();
        open.took = begun.elapsed();
        open
    })
}

impl Open {
    fn count(&mut self, code: u16, retry: bool, number: u64, due: Instant) {
        match code {
            202 => {
                self.accepted.push(number);
                self.latency.record(micros(due)).unwrap();
            }
            503 => {
                self.refused += 1;
                self.without_retry += u64::from(!retry);
            }
            0 => self.broken += 1,
            _ => self.others += 1,
        }
    }

    pub(super) fn shown(&self) -> String {
        let ms = |quantile: f64| self.latency.value_at_quantile(quantile) as f64 / 1000.0;
        format!(
            "{} accepted, {} refused with 503 ({} of them without Retry-After), {} broken, {} others, in {:.1} s; accepted from their due time: p50 {:.1} ms, p99 {:.1} ms, p99.9 {:.1} ms",
            self.accepted.len(),
            self.refused,
            self.without_retry,
            self.broken,
            self.others,
            self.took.as_secs_f64(),
            ms(0.5),
            ms(0.99),
            ms(0.999)
        )
    }

    /// How many of the acknowledged ones the runner does not know: each is sent again and must be a
    /// duplicate.
    pub(super) fn lost(&self, address: SocketAddr) -> usize {
        block_on(async {
            let mut connection = Connection::new(address);
            let mut lost = 0;
            for number in &self.accepted {
                let (code, _, body) = connection.ask(&request(*number)).await;
                lost += usize::from(code != 200 || !body.contains("duplicate"));
            }
            lost
        })
    }
}

/// The time until 20 requests in a row are answered with 202 within 50 ms each.
pub(super) fn until_normal(address: SocketAddr) -> Duration {
    block_on(async {
        let begun = Instant::now();
        let mut connection = Connection::new(address);
        let (mut good, mut since) = (0, begun);
        while good < 20 && begun.elapsed() < Duration::from_secs(60) {
            let request = request(NEXT.fetch_add(1, Ordering::Relaxed));
            let asked = Instant::now();
            let (code, ..) = connection.ask(&request).await;
            if code == 202 && asked.elapsed() <= Duration::from_millis(50) {
                if good == 0 {
                    since = asked;
                }
                good += 1;
            } else {
                good = 0;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        since - begun
    })
}
