//! Remote sources against real HTTP servers that answer well, badly, slowly, hugely or not at all.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod mcp;
mod recorded;

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use parking_lot::Mutex;
use search_actors::remote::{RemoteError, RemoteSettings, RemoteSource};
use search_core::role::{Haystack, parse};

/// A server that gives one answer to everything, and remembers what it was asked.
struct Peer {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
    server: ServerHandle,
}

type Answer = Arc<dyn Fn(&HttpRequest) -> HttpResponse + Send + Sync>;

impl Peer {
    fn new(answer: impl Fn(&HttpRequest) -> HttpResponse + Send + Sync + 'static) -> Self {
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&asked);
        let answer: Answer = Arc::new(answer);
        let server = HttpServer::new(move || {
            let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
            App::new().default_service(web::to(move |request: HttpRequest| {
                let headers = ["authorization", "x-atomic-agent", "x-atomic-signature"];
                let headers: Vec<&str> = headers
                    .iter()
                    .filter_map(|name| request.headers().get(*name)?.to_str().ok())
                    .collect();
                log.lock()
                    .push(format!("{} {}", request.uri(), headers.join(" ")));
                let answer = answer(&request);
                async move { answer }
            }))
        });
        let server = server.workers(1).bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", server.addrs()[0]);
        let server = server.run();
        let handle = server.handle();
        actix_rt::spawn(server);
        Self {
            address,
            asked,
            server: handle,
        }
    }

    fn json(body: &'static str) -> Self {
        Self::new(move |_| {
            HttpResponse::Ok()
                .content_type("application/json")
                .body(body)
        })
    }

    async fn stop(self) -> Vec<String> {
        self.server.stop(false).await;
        let asked = self.asked.lock();
        asked.clone()
    }
}

fn haystack(service: &str, location: &str, parameters: &str) -> Haystack {
    let text = format!(
        r#"{{"name":"R","relevance_function":"BM25","theme":"spacelab","haystacks":[{{"name":"x","service":"{service}","location":"{location}","extra_parameters":{parameters}}}]}}"#
    );
    let environment = config_core::Environment::default();
    let parsed = parse("role.json", text.as_bytes(), &environment).unwrap();
    parsed.roles()[0].haystacks[0].clone()
}

fn source(haystack: &Haystack) -> RemoteSource {
    let settings = RemoteSettings {
        deadline: Duration::from_secs(20),
    };
    RemoteSource::new(haystack, settings).unwrap().unwrap()
}

const ISSUES: &str = r#"[{"html_url":"https://f.example/a/b/issues/3","number":3,"title":"Valve","body":"leaks","state":"open"}]"#;

#[actix_rt::test]
async fn issues_are_asked_for_with_the_token_and_kept_for_a_while() {
    let peer = Peer::json(ISSUES);
    let haystack = haystack(
        "TaskTracker",
        &format!("gitea:{}/a/b", peer.address),
        r#"{"api_token":"t0ken"}"#,
    );
    let source = source(&haystack);
    let first = source.search("valve & co", 10).await.unwrap();
    assert_eq!(
        (first.items[0].title.as_str(), first.cached),
        ("#3 Valve", false)
    );
    let second = source.search("valve & co", 10).await.unwrap();
    assert_eq!((second.items, second.cached), (first.items, true));
    let asked = peer.stop().await;
    let question = |q: &str| {
        format!("/api/v1/repos/a/b/issues?q={q}&type=issues&state=all&limit=10 token t0ken")
    };
    let mut asked = asked;
    asked.sort();
    assert_eq!(asked, ["co", "valve", "valve+%26+co"].map(question));
}

/// A Gitea finds `q` as one phrase, in title, text and comments; its answer holds no comment.
#[actix_rt::test]
async fn v8_words_apart_and_words_of_comments_find_their_issues() {
    const TEXTS: [(u64, &str, &str, &str); 3] = [
        (3, "Valve", "the pump leaks", ""),
        (4, "Pump", "noise", "it is the gasket of the valve"),
        (5, "Paint", "blue", ""),
    ];
    let peer = Peer::new(|request| {
        let query = url::form_urlencoded::parse(request.query_string().as_bytes());
        let q = query.clone().find(|(key, _)| key == "q");
        let q = q.map(|(_, q)| q.to_lowercase()).unwrap_or_default();
        let host = request.connection_info().host().to_owned();
        let issues: Vec<_> = TEXTS
            .iter()
            .filter(|(_, title, body, comment)| {
                [title, body, comment].iter().any(|text| text.to_lowercase().contains(&q))
            })
            .map(|(number, title, body, _)| {
                serde_json::json!({"id": number, "url": format!("http://{host}/api/v1/repos/a/b/issues/{number}"),
                    "html_url": format!("http://{host}/a/b/issues/{number}"), "number": number, "title": title, "body": body,
                    "user": {"id": 1, "login": "ada", "login_name": ""}, "original_author": "", "labels": [], "milestone": null,
                    "assignee": null, "state": "open", "is_locked": false, "comments": 1, "created_at": "2026-11-20T10:00:00Z",
                    "updated_at": "2026-11-21T10:00:00Z", "closed_at": null, "due_date": null, "pull_request": null,
                    "repository": {"id": 1, "name": "b", "owner": "a", "full_name": "a/b"}})
            })
            .collect();
        HttpResponse::Ok().json(issues)
    });
    let place = format!("gitea:{}/a/b", peer.address);
    let source = source(&haystack("TaskTracker", &place, "{}"));
    let found = source.search("valve leaks", 10).await.unwrap();
    let titles: Vec<&str> = found.items.iter().map(|item| item.title.as_str()).collect();
    assert_eq!(titles, ["a/b#3 Valve", "a/b#4 Pump"]);
    // What is found by a comment alone holds its word, so that nothing drops it later.
    assert!(
        found.items[1]
            .body
            .contains("The forge found it for: valve"),
        "{:?}",
        found.items
    );
    assert!(!found.items[0].body.contains("The forge"));
    peer.stop().await;
}

#[actix_rt::test]
async fn an_atomic_server_gets_a_signed_request() {
    use base64::Engine;
    let engine = base64::engine::general_purpose::STANDARD;
    let secret = engine.encode(format!(
        r#"{{"privateKey":"{}","subject":"http://x/agents/me"}}"#,
        engine.encode([7; 32])
    ));
    let peer = Peer::json("[]");
    let haystack = haystack(
        "AtomicData",
        &peer.address,
        &format!(r#"{{"agent_secret":"{secret}"}}"#),
    );
    assert!(
        source(&haystack)
            .search("valve", 5)
            .await
            .unwrap()
            .items
            .is_empty()
    );
    let asked = peer.stop().await;
    assert!(
        asked[0].starts_with("/search?q=valve&limit=5&include=true http://x/agents/me "),
        "{asked:?}"
    );
}

#[actix_rt::test]
async fn a_failing_server_is_left_alone_for_a_while() {
    let peer = Peer::new(|_| {
        HttpResponse::TooManyRequests()
            .insert_header(("retry-after", "30"))
            .body("slow down")
    });
    let haystack = haystack(
        "CommunityDocs",
        &format!("discourse:{}", peer.address),
        "{}",
    );
    let source = source(&haystack);
    let first = source.search("x", 5).await.unwrap_err();
    assert!(first.to_string().contains("429"), "{first}");
    let second = source.search("y", 5).await.unwrap_err();
    let RemoteError::BackingOff { left, .. } = &second else {
        panic!("{second}");
    };
    assert!(*left > Duration::from_secs(20), "{second}");
    assert_eq!(
        peer.stop().await.len(),
        1,
        "the second question was not sent"
    );
}

#[actix_rt::test]
async fn lies_of_every_kind_are_errors_and_not_results() {
    type Lie = (&'static str, fn(&HttpRequest) -> HttpResponse);
    let lies: [Lie; 6] = [
        ("half a JSON", |_| {
            HttpResponse::Ok().body(r#"[{"html_url":"https://f"#)
        }),
        ("a page", |_| {
            HttpResponse::Ok()
                .content_type("text/html")
                .body("<html>log in</html>")
        }),
        ("another shape", |_| {
            HttpResponse::Ok().body(r#"{"message":"moved"}"#)
        }),
        ("500", |_| HttpResponse::InternalServerError().finish()),
        ("a redirect elsewhere", |_| {
            HttpResponse::Found()
                .insert_header(("location", "http://127.0.0.2:9/"))
                .finish()
        }),
        ("too much", |_| HttpResponse::Ok().body(vec![b' '; 9 << 20])),
    ];
    for (name, lie) in lies {
        let peer = Peer::new(lie);
        let haystack = haystack(
            "TaskTracker",
            &format!("forgejo:{}/a/b", peer.address),
            "{}",
        );
        let answer = source(&haystack).search("x", 5).await;
        assert!(answer.is_err(), "{name}: {answer:?}");
        peer.stop().await;
    }
}

#[actix_rt::test]
async fn a_hanging_or_absent_server_ends_at_the_deadline() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("discourse:http://{}", listener.local_addr().unwrap());
    let settings = RemoteSettings {
        deadline: Duration::from_millis(300),
    };
    let begun = Instant::now();
    let hanging = RemoteSource::new(&haystack("CommunityDocs", &silent, "{}"), settings)
        .unwrap()
        .unwrap();
    let error = hanging.search("x", 5).await.unwrap_err();
    assert!(error.to_string().contains("did not answer"), "{error}");
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "the deadline holds"
    );
    drop(listener);
    let absent = RemoteSource::new(&haystack("CommunityDocs", &silent, "{}"), settings)
        .unwrap()
        .unwrap();
    let error = absent.search("x", 5).await.unwrap_err();
    assert!(error.to_string().contains("cannot reach"), "{error}");
}

#[test]
fn sources_of_this_machine_are_not_asked_here() {
    for (service, location) in [
        ("LocalFiles", "/srv"),
        ("TaskTracker", "taskwarrior"),
        ("CommunityDocs", "rustdoc:/srv"),
        ("NotesGraph", "/srv"),
    ] {
        assert!(
            !search_actors::remote::is_remote(&haystack(service, location, "{}")),
            "{service} {location}"
        );
    }
}
