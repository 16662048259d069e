//! Sources that are asked at query time, in the answer beside files: real HTTP servers that answer,
//! hang and lie.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[path = "remote_sources_parts/local.rs"]
mod local;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use actix_web::{App, HttpResponse, HttpServer, web};
use search_actors::messages::{ReadDocument, Search};
use search_actors::{SearchSettings, SearchTree};
use search_core::answer::{AnswerStatus, SearchAnswer, SourceState};
use search_core::query::SearchRequest;
use search_engine::answering::{DocumentRequest, SearchParams};
use supervision::{Root, SupervisorSpec, TreeExit};

/// A deadline no healthy run comes near.
const DEADLINE: Duration = Duration::from_secs(20);

/// How a peer answers everything.
#[derive(Clone, Copy)]
enum Manner {
    Says(&'static str),
    Status(u16),
    Hangs,
    /// More than any answer may have.
    Floods,
}

/// A server of one manner; counts what it is asked.
struct Peer {
    address: String,
    asked: Arc<AtomicUsize>,
}

impl Peer {
    fn new(manner: Manner) -> Self {
        let asked: Arc<AtomicUsize> = Arc::default();
        let counter = Arc::clone(&asked);
        let server = HttpServer::new(move || {
            let counter = Arc::clone(&counter);
            App::new().default_service(web::to(move || {
                counter.fetch_add(1, Ordering::SeqCst);
                answer(manner)
            }))
        });
        let server = server.workers(1).disable_signals();
        let server = server.bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", server.addrs()[0]);
        actix_rt::spawn(server.run());
        Self { address, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

async fn answer(manner: Manner) -> HttpResponse {
    match manner {
        Manner::Says(body) => HttpResponse::Ok()
            .content_type("application/json")
            .body(body),
        Manner::Status(status) => {
            HttpResponse::build(actix_web::http::StatusCode::from_u16(status).unwrap()).finish()
        }
        Manner::Hangs => std::future::pending().await,
        Manner::Floods => {
            let piece = || Ok::<_, actix_web::Error>(web::Bytes::from(vec![b' '; 1 << 20]));
            let pieces = futures_util::stream::repeat_with(piece);
            HttpResponse::Ok().streaming(futures_util::StreamExt::take(pieces, 1024))
        }
    }
}

const ISSUES: &str = r#"[
 {"html_url":"https://f.example/a/b/issues/3","number":3,"title":"Leaking valve","body":"the valve leaks and leaks","state":"open","labels":[{"name":"urgent"}]}]"#;

/// The search part of a server over one role.
struct Running {
    root: Root,
    peers: Servers,
}

struct Servers {
    registry: search_actors::RoleRegistry,
    search: supervision::ChildRef<search_actors::SearchService>,
    threads: search_actors::IndexThreads,
}

fn haystack(name: &str, service: &str, location: &str) -> String {
    format!(r#"{{"name":{name:?},"service":{service:?},"location":{location:?}}}"#)
}

impl Running {
    async fn start(data: &Path, haystacks: &[String]) -> Self {
        let role = format!(
            r#"{{"name":"R","relevance_function":"BM25","theme":"spacelab","haystacks":[{}]}}"#,
            haystacks.join(",")
        );
        let environment = config_core::Environment::default();
        let roles = search_core::role::parse("role.json", &role, &environment);
        let tree = SearchTree::new(&SearchSettings {
            roles: roles.expect("a valid role"),
            data: data.to_owned(),
            max_concurrent_searches: 8,
            search_timeout: DEADLINE,
            search_threads: 1,
            learning_rests: search_actors::LearningRests::default(),
            limits: search_actors::SearchLimits::default(),
        });
        let peers = Servers {
            registry: tree.registry,
            search: tree.search,
            threads: tree.threads,
        };
        let root = Root::start(SupervisorSpec::root("test").supervisor(tree.supervisor));
        let began = Instant::now();
        while !peers.registry.now().is_settled() {
            assert!(
                began.elapsed() < DEADLINE,
                "{:?}",
                peers.registry.now().health()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Self { root, peers }
    }

    async fn search(&self, text: &str) -> SearchAnswer {
        let order = SearchParams {
            request: SearchRequest::for_text(text),
            limit: 10,
            ..SearchParams::default()
        };
        let answer = self.peers.search.ask(Search(order)).await;
        answer.expect("the service runs").expect("an answer")
    }

    async fn stop(self) {
        self.root.handle().stop();
        assert_eq!(self.root.verdict().await, TreeExit::Stopped);
        self.peers.threads.join_all();
    }
}

fn errors(answer: &SearchAnswer) -> Vec<(&str, usize, &str)> {
    let reports = answer.sources.iter();
    reports
        .map(|one| {
            (
                one.name.as_str(),
                one.hits,
                one.error.as_deref().unwrap_or(""),
            )
        })
        .collect()
}

#[actix_rt::test]
async fn files_issues_and_tasks_are_one_ranked_list_that_stays_the_same() {
    let home = tempfile::tempdir().unwrap();
    let files = home.path().join("files");
    std::fs::create_dir(&files).unwrap();
    std::fs::write(files.join("a.txt"), "a pump, and somewhere a valve\n").unwrap();
    let tasks = home.path().join("todo.txt");
    std::fs::write(
        &tasks,
        "(A) order a valve valve valve +pump @shop\nx sleep\n",
    )
    .unwrap();
    let forge = Peer::new(Manner::Says(ISSUES));
    let running = Running::start(
        &home.path().join("index"),
        &[
            haystack("files", "LocalFiles", files.to_str().unwrap()),
            haystack(
                "issues",
                "TaskTracker",
                &format!("gitea:{}/a/b", forge.address),
            ),
            haystack(
                "tasks",
                "TaskTracker",
                &format!("todo.txt:{}", tasks.display()),
            ),
        ],
    )
    .await;
    let answer = running.search("valve").await;
    assert_eq!(
        errors(&answer),
        [("files", 1, ""), ("issues", 1, ""), ("tasks", 1, "")]
    );
    assert_eq!((answer.status, answer.total), (AnswerStatus::Success, 3));
    let scores: Vec<f32> = answer.results.iter().map(|one| one.score).collect();
    assert!(
        scores.is_sorted_by(|a, b| a >= b) && scores[2] > 0.0,
        "{scores:?}"
    );
    assert_eq!(
        answer.results[2].source, "files",
        "it names the valve once in a longer text"
    );
    let issue = answer
        .results
        .iter()
        .find(|one| one.source == "issues")
        .unwrap();
    assert_eq!(issue.url, "https://f.example/a/b/issues/3");
    assert_eq!(issue.snippet, "the valve leaks and leaks");
    assert_eq!(issue.highlights, [[4, 9]]);

    let again = running.search("valve").await;
    assert_eq!(again.results, answer.results);
    assert_eq!(forge.asked(), 1, "its answer is still fresh");

    let request = DocumentRequest {
        id: issue.id.clone(),
        ..DocumentRequest::default()
    };
    let read = running.peers.search.ask(ReadDocument(request)).await;
    let view = read.expect("the service runs").expect("it was shown");
    assert_eq!(view.body, "the valve leaks and leaks");

    let none = running.search("tag:urgent").await;
    assert_eq!(
        (forge.asked(), none.status),
        (1, AnswerStatus::Success),
        "no word to ask with"
    );
    running.stop().await;
}

#[actix_rt::test]
async fn s10_servers_that_hang_fail_lie_or_flood_delay_nobody_past_the_deadline_and_empty_nothing()
{
    let home = tempfile::tempdir().unwrap();
    let files = home.path().join("files");
    std::fs::create_dir(&files).unwrap();
    std::fs::write(files.join("a.txt"), "a valve\n").unwrap();
    let good = Peer::new(Manner::Says(ISSUES));
    let hangs = Peer::new(Manner::Hangs);
    let fails = Peer::new(Manner::Status(500));
    let lies = Peer::new(Manner::Says(r#"{"posts": [{"id": 1, "blurb": "va"#));
    let floods = Peer::new(Manner::Floods);
    let discourse = |name: &str, peer: &Peer| {
        haystack(
            name,
            "CommunityDocs",
            &format!("discourse:{}", peer.address),
        )
    };
    let running = Running::start(
        &home.path().join("index"),
        &[
            haystack("files", "LocalFiles", files.to_str().unwrap()),
            discourse("hangs", &hangs),
            discourse("fails", &fails),
            discourse("lies", &lies),
            discourse("floods", &floods),
            haystack("nobody", "CommunityDocs", "discourse:http://127.0.0.1:1"),
            haystack(
                "good",
                "TaskTracker",
                &format!("gitea:{}/a/b", good.address),
            ),
        ],
    )
    .await;
    let answer = tokio::time::timeout(DEADLINE, running.search("valve")).await;
    let answer = answer.expect("it ends, though a peer never does");
    assert_eq!(answer.status, AnswerStatus::PartialSuccess);
    let found: Vec<&str> = answer
        .results
        .iter()
        .map(|one| one.source.as_str())
        .collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found.contains(&"files") && found.contains(&"good"),
        "{found:?}"
    );
    for (name, hits, error) in errors(&answer) {
        let is_good = matches!(name, "files" | "good");
        assert_eq!(
            (hits, error.is_empty()),
            (usize::from(is_good), is_good),
            "{name}: {error}"
        );
    }
    let error_of = |name: &str| {
        let report = answer.sources.iter().find(|one| one.name == name);
        report.and_then(|one| one.error.clone()).unwrap()
    };
    assert!(error_of("fails").contains("500"), "{}", error_of("fails"));
    assert!(
        error_of("lies").contains("the forum"),
        "{}",
        error_of("lies")
    );
    let told = |name: &str| {
        let health = running.peers.registry.now().health();
        health.into_iter().find(|one| one.name == name).unwrap()
    };
    assert!(told("hangs").error.is_some() && told("good").error.is_none());
    assert_eq!(
        told("hangs").state,
        SourceState::Ready,
        "it is asked again later"
    );
    running.stop().await;
}

#[actix_rt::test]
async fn a_file_of_tasks_that_is_none_is_reported() {
    let home = tempfile::tempdir().unwrap();
    let missing = home.path().join("none.txt");
    let folder = home.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    let running = Running::start(
        &home.path().join("index"),
        &[
            haystack(
                "missing",
                "TaskTracker",
                &format!("todo.txt:{}", missing.display()),
            ),
            haystack(
                "folder",
                "TaskTracker",
                &format!("todo.txt:{}", folder.display()),
            ),
            haystack("zero", "TaskTracker", "todo.txt:/dev/zero"),
        ],
    )
    .await;
    let answer = running.search("valve").await;
    let reasons: Vec<_> = errors(&answer).iter().map(|one| one.2.to_owned()).collect();
    assert!(reasons[0].contains("No such file"), "{reasons:?}");
    assert!(reasons[1].ends_with("not_a_regular_file"), "{reasons:?}");
    assert!(reasons[2].ends_with("not_a_regular_file"), "{reasons:?}");
    running.stop().await;
}

#[actix_rt::test]
async fn folders_of_notes_and_of_documentation_are_indexed_like_files() {
    let home = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put(
        "notes/pages/Valve.md",
        "alias:: stopcock\ntype:: [[Part]]\n\n- closes the pipe\n",
    );
    put(
        "notes/journals/2026_11_21.md",
        "- TODO look at the [[Valve]] #urgent\n",
    );
    put("notes/logseq/bak/Valve.md", "- an old valve\n");
    put("notes/logseq/config.edn", "{:valve 1}\n");
    put(
        "std/vec/struct.Vec.html",
        "<html><head><title>Vec in std::vec - Rust</title></head><body><main><h1>Struct Vec</h1><p>A contiguous growable array with a valve.</p></main></body></html>",
    );
    put("std/search.html", "<html><body>valve</body></html>");
    put("std/src/lib.rs.html", "<html><body>valve</body></html>");
    let place = |name: &str| home.path().join(name).display().to_string();
    let running = Running::start(
        &home.path().join("index"),
        &[
            haystack("notes", "NotesGraph", &place("notes")),
            haystack(
                "docs",
                "CommunityDocs",
                &format!("rustdoc:{}", place("std")),
            ),
            haystack(
                "web docs",
                "CommunityDocs",
                "rustdoc:https://docs.example/std",
            ),
        ],
    )
    .await;
    let answer = running.search("valve").await;
    let mut keys: Vec<&str> = answer
        .results
        .iter()
        .filter_map(|one| one.id.split_once('/').map(|(_, key)| key))
        .collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        [
            "journals/2026_11_21.md",
            "pages/Valve.md",
            "vec/struct.Vec.html"
        ]
    );
    let unreachable = errors(&answer)[2].2.to_owned();
    assert!(!unreachable.is_empty(), "there is no docs.example");
    let alias = running.search("stopcock").await;
    assert_eq!(alias.results[0].title, "Valve");
    let tagged = running.search("tag:urgent").await;
    assert_eq!(tagged.total, 1);
    let journals = running.search("tag:journal").await;
    assert_eq!(journals.total, 1);
    running.stop().await;
}
