//! Concepts over HTTP: ranking by learnt vectors, thesaurus, graph, suggestions.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use config_core::Environment;
use search_actors::SearchSettings;
use search_web::{SearchServer, SearchServerOptions};
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// A deadline no healthy run comes near.
const DEADLINE: Duration = Duration::from_secs(60);

/// A running server; its clean end is asserted when it is dropped.
struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<std::io::Result<()>>>,
}

impl Server {
    /// Starts a server and waits until all sources' concepts are in one of these states.
    fn start(home: &Path, roles: &Value, states: &[&str]) -> Self {
        let roles =
            search_core::role::parse("roles.json", &roles.to_string(), &Environment::default());
        let settings = SearchSettings {
            roles: roles.expect("valid roles"),
            data: home.join("data/index"),
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
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has ports");
        let address = listener.local_addr().expect("a bound address");
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            actix_rt::System::new().block_on(async move {
                let server = SearchServer::prepare(&settings, options).start();
                server.serve(listener, async { drop(stopped.await) }).await
            })
        });
        let server = Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        };
        server.wait_for(|sources| {
            sources.iter().all(|source| {
                let state = source["concepts"]["state"].as_str().unwrap_or_default();
                states.contains(&state)
            })
        });
        server
    }

    fn wait_for(&self, holds: impl Fn(&[Value]) -> bool) {
        let began = Instant::now();
        let (_kept, never) = std::sync::mpsc::channel::<()>();
        loop {
            let health = self.get("/health");
            if holds(health["sources"].as_array().expect("sources")) {
                return;
            }
            assert!(began.elapsed() < DEADLINE, "not in time: {health}");
            // No runtime here: a wait on a channel that nothing is sent to.
            let _ = never.recv_timeout(Duration::from_millis(10));
        }
    }

    fn get(&self, path: &str) -> Value {
        let (status, body) = self.send("GET", path, "");
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    fn search(&self, body: &Value) -> Value {
        let (status, body) = self.send("POST", "/api/documents/search", &body.to_string());
        assert_eq!(status, 200, "{body}");
        body
    }

    fn send(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("answered");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).expect("a status");
        let body = serde_json::from_str(body).expect("JSON");
        (status.parse().expect("a number"), body)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(std::thread::JoinHandle::join);
        if !std::thread::panicking() {
            ended
                .expect("a thread")
                .expect("no panic")
                .expect("a clean end");
        }
    }
}

fn haystack(home: &Path) -> Value {
    json!({"name": "Files", "service": "LocalFiles", "location": home.join("files")})
}

fn small_home(home: &Path) -> Value {
    let texts: BTreeMap<&str, &str> = [
        ("crash.md", "# Erlang\n\nProcesses fail; let it crash and start again.\n"),
        ("trees.md", "---\ntags: [actors]\n---\n# Supervision trees\n\nSupervisors restart workers. Supervisors watch workers.\n"),
        ("other.md", "# Gardening\n\nSupervisors of gardens water the workers' flowers.\n"),
    ]
    .into();
    std::fs::create_dir_all(home.join("files")).expect("a folder");
    for (name, text) in texts {
        std::fs::write(home.join("files").join(name), text).expect("a file");
    }
    std::fs::create_dir_all(home.join("concepts")).expect("a folder");
    std::fs::write(
        home.join("concepts/fault tolerance.md"),
        "synonyms:: let it crash, self-healing\nurl:: https://example.org/ft\n",
    )
    .expect("a file");
    json!({"name": "R", "relevance_function": "ServiceGraph", "haystacks": [haystack(home)],
           "extra": {"thesaurus": home.join("concepts")}})
}

#[test]
fn declared_words_are_searched_for_and_shown() {
    let home = tempfile::tempdir().expect("a folder");
    let roles = small_home(home.path());
    let server = Server::start(home.path(), &roles, &["too_few"]);
    let thesaurus = server.get("/api/thesaurus/R");
    assert_eq!(thesaurus["total"], 1, "{thesaurus}");
    assert_eq!(
        thesaurus["concepts"][0]["synonyms"],
        json!(["let it crash", "self-healing"])
    );
    for operator in ["or", "and"] {
        let answer = server.search(
            &json!({"search_term": "Fault tolerance", "operator": operator, "explain": true}),
        );
        assert_eq!(answer["results"][0]["title"], "Erlang", "{answer}");
        let concepts = answer["results"][0]["concepts"].to_string();
        assert!(concepts.contains("fault tolerance"), "{answer}");
        let notes = answer["notes"].to_string();
        assert!(notes.contains("let it crash"), "{answer}");
    }
    let (status, _) = server.send("GET", "/api/thesaurus/Nobody", "");
    assert_eq!(status, 404);
}

#[test]
fn the_graph_shows_a_concept_and_its_neighbours() {
    let home = tempfile::tempdir().expect("a folder");
    let roles = small_home(home.path());
    let server = Server::start(home.path(), &roles, &["too_few"]);
    let overview = server.get("/api/graph?limit=20");
    let names = overview["concepts"].to_string();
    for name in ["fault tolerance", "supervision trees", "actors"] {
        assert!(names.contains(name), "{name}: {overview}");
    }
    // A synonym stands for its concept.
    for concept in ["fault%20tolerance", "Let%20it%20crash"] {
        let near = server.get(&format!("/api/graph?role=R&concept={concept}"));
        assert_eq!(near["concepts"][0]["name"], "fault tolerance", "{near}");
        assert_eq!(near["concepts"][0]["kind"], "declared", "{near}");
        let documents = near["documents"].as_array().expect("documents");
        assert_eq!(documents.len(), 1, "{near}");
        assert!(
            documents[0].as_str().expect("an id").ends_with("/crash.md"),
            "{near}"
        );
        assert!(near["edges"].to_string().contains("together"), "{near}");
    }
    let crash = server.get("/api/graph?concept=fault%20tolerance");
    let crash = crash["documents"][0].as_str().expect("an id");
    let around = server.get(&format!("/api/graph?document={crash}"));
    let shared = around["concepts"].as_array().expect("concepts");
    let counts: Vec<u64> = shared
        .iter()
        .filter_map(|one| one["documents"].as_u64())
        .collect();
    assert!(counts.iter().all(|count| *count > 1), "{around}");
    assert!(counts.is_sorted(), "the rarest first: {around}");
    let near = around["documents"].as_array().expect("documents");
    assert!(near.iter().all(|id| id != crash), "{around}");
    assert_eq!(near.is_empty(), counts.is_empty(), "{around}");
    let wrong = [
        ("/api/graph?document=nothing/of-it.md", 404),
        ("/api/graph?document=nothing", 404),
        ("/api/graph?document=a/b&concept=c", 422),
        ("/api/graph?concept=nothing%20of%20it", 404),
        ("/api/graph?limit=501", 422),
        ("/api/graph?role=Nobody", 422),
    ];
    for (path, expected) in wrong {
        let (status, body) = server.send("GET", path, "");
        assert_eq!(status, expected, "{path}: {body}");
    }
}

#[test]
fn suggestions_come_from_titles_concepts_and_words() {
    let home = tempfile::tempdir().expect("a folder");
    let roles = small_home(home.path());
    let server = Server::start(home.path(), &roles, &["too_few"]);
    let texts = |q: &str| -> Vec<(String, String)> {
        let list = server.get(&format!("/api/autocomplete?role=R&q={q}&limit=5"));
        let list = list["suggestions"].as_array().expect("a list").clone();
        let text = |one: &Value, key: &str| one[key].as_str().expect("a text").to_owned();
        list.iter()
            .map(|one| (text(one, "text"), text(one, "kind")))
            .collect()
    };
    let has = |q: &str, text: &str| texts(q).iter().any(|(one, _)| one == text);
    assert!(has("fau", "fault tolerance"), "{:?}", texts("fau"));
    assert!(has("Gard", "gardening") || has("Gard", "Gardening"));
    assert!(has("supervisors", "supervisors"), "{:?}", texts("superv"));
    // A typing mistake.
    assert!(
        has("fualt%20tol", "fault tolerance"),
        "{:?}",
        texts("fualt")
    );
    assert!(texts("zzz").is_empty());
}
