//! A search server in this process, on a folder and a port of its own.

#[path = "home.rs"]
mod home;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use config_core::Environment;
use search_actors::SearchSettings;
use search_web::{SearchServer, SearchServerOptions};
use serde_json::{Value, json};
use tokio::sync::oneshot;

pub(crate) use self::home::Home;

/// A deadline no healthy run comes near.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

impl Home {
    pub(crate) fn start(&self) -> Server {
        self.start_with(&self.role("BM25F"), |_| {})
    }

    /// Starts a server that wants a token; it may still be indexing.
    pub(crate) fn start_guarded(&self, token: &str) -> Server {
        self.launch(&self.role("BM25F"), |options| {
            options.token = Some(token.to_owned());
        })
    }

    /// Starts a server with this role file and waits until it has indexed everything.
    pub(crate) fn start_with(
        &self,
        roles: &Value,
        change: impl FnOnce(&mut SearchServerOptions),
    ) -> Server {
        let server = self.launch(roles, change);
        server.wait_until_indexed();
        server
    }

    /// Starts a server with this role file; it may still be indexing.
    pub(crate) fn launch(
        &self,
        roles: &Value,
        change: impl FnOnce(&mut SearchServerOptions),
    ) -> Server {
        let roles =
            search_core::role::parse("roles.json", &roles.to_string(), &Environment::default());
        let settings = SearchSettings {
            roles: roles.expect("valid roles"),
            data: self.path().join("index"),
            max_concurrent_searches: 64,
            search_timeout: DEADLINE,
            search_threads: 2,
            learning_rests: search_actors::LearningRests::default(),
            limits: search_actors::SearchLimits::default(),
        };
        let mut options = SearchServerOptions {
            cache_bytes: 1 << 20,
            ..SearchServerOptions::default()
        };
        options.serve.workers = 1;
        change(&mut options);
        Server::start(settings, options)
    }
}

/// A running server; stopped, and its clean end asserted, when dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<std::io::Result<()>>>,
}

impl Server {
    fn start(settings: SearchSettings, options: SearchServerOptions) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has ports");
        let address = listener.local_addr().expect("a bound address");
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            actix_rt::System::new().block_on(async move {
                let server = SearchServer::prepare(&settings, options).start();
                server.serve(listener, async { drop(stopped.await) }).await
            })
        });
        Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Waits until every source has been looked at.
    pub(crate) fn wait_until_indexed(&self) {
        self.eventually("everything is indexed", || {
            let health = self.get("/health").json();
            let sources = health["sources"].as_array().expect("sources").clone();
            sources
                .iter()
                .all(|source| source["state"] == "ready" || source["state"] == "failed")
        });
    }

    /// Waits for a condition that a change in the background brings about.
    pub(crate) fn eventually(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < DEADLINE, "not in time: {what}");
            let (_keep, never) = std::sync::mpsc::channel::<()>();
            let _ = never.recv_timeout(Duration::from_millis(5));
        }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(
            "POST",
            path,
            &[("Content-Type", "application/json")],
            body.to_string().as_bytes(),
        )
    }

    /// A search that must succeed.
    pub(crate) fn search(&self, body: &Value) -> Value {
        let answer = self.post("/api/documents/search", body);
        assert_eq!(answer.status, 200, "{body}: {}", answer.text());
        answer.json()
    }

    /// Keys (file names) found for a query, best first.
    pub(crate) fn found(&self, query: &str) -> Vec<String> {
        keys(&self.search(&json!({"search_term": query, "limit": 1000})))
    }

    /// Sends a request with `Connection: close`; `Host` is the server's own unless given.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            head += &format!("Host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() || method == "POST" {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        let mut stream = TcpStream::connect(self.address).expect("the server listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        stream
            .write_all((head + "\r\n").as_bytes())
            .expect("the head is sent");
        // A refused request may be answered before its body has been read.
        let _ = stream.write_all(body);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Answer::parse(&bytes)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        let end = self.thread.take().expect("dropped once").join();
        if !std::thread::panicking() {
            end.expect("the server did not panic")
                .expect("the server ended cleanly");
        }
    }
}

/// File names of the results, best first.
pub(crate) fn keys(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array().expect("results");
    let key = |result: &Value| {
        let id = result["id"].as_str().expect("an id");
        id.split_once('/').expect("source and key").1.to_owned()
    };
    results.iter().map(key).collect()
}

/// An HTTP answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .expect("a whole head");
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1))
            .and_then(|code| code.parse().ok());
        let headers = lines.filter_map(|line| line.split_once(": "));
        Self {
            status: status.expect("a status"),
            headers: headers
                .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
                .collect(),
            body: bytes[end + 4..].to_vec(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The problem of a refused request: the right type, the status repeated, a detail.
    pub(crate) fn problem(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{}",
            self.text()
        );
        let problem = self.json();
        assert_eq!(problem["status"], status);
        assert!(
            problem["detail"]
                .as_str()
                .is_some_and(|detail| !detail.is_empty()),
            "{problem}"
        );
        assert!(problem["request_id"].is_string(), "{problem}");
        problem
    }
}
