//! What users of such servers suffer from elsewhere, each impossible here (the list at the top of
//! the design).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use scripted_peers::GitRepository;
use search_core::role::Service;
use serde_json::{Value, json};
use store::LocalStateKind;

use crate::faults::{Manner, Peer};
use crate::harness::{Home, keys};

fn titles(answer: &Value) -> Vec<&str> {
    let results = answer["results"].as_array().expect("results");
    results
        .iter()
        .map(|one| one["title"].as_str().expect("a title"))
        .collect()
}

/// Bytes this process has read by system calls.
fn bytes_read() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").expect("a Linux system");
    let line = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    line.and_then(|number| number.parse().ok())
        .expect("a number")
}

#[test]
fn defect_sources_are_not_read_again_at_every_query() {
    let home = Home::new();
    let filler = "ordinary words that fill a page. ".repeat(1_000);
    for number in 0..200 {
        home.write(
            &format!("{number}.txt"),
            format!("needle {number}\n{filler}"),
        );
    }
    let server = home.start();
    let corpus = 200 * filler.len() as u64;
    let before = bytes_read();
    let answer = server.search(&json!({"search_term": "needle", "limit": 1}));
    assert_eq!(answer["total"], 200);
    let read = bytes_read() - before;
    assert!(read < corpus / 10, "{read} of {corpus} bytes");
}

#[test]
fn defect_words_are_found_wherever_they_stand() {
    let home = Home::new();
    home.write(
        "a.md",
        "# A\n\nThe valve\nis open.\n\nMuch later: a Pump.\n",
    );
    let server = home.start();
    assert_eq!(
        server.found("pump valve"),
        ["a.md"],
        "not only as a phrase on one line"
    );
}

#[test]
fn defect_statistics_are_those_of_the_corpus() {
    let home = Home::new();
    for number in 0..40 {
        home.write(&format!("common{number}.txt"), "common words here");
    }
    home.write("rare.txt", "rare and common");
    let server = home.start();
    let answer = server.search(&json!({"search_term": "common rare", "limit": 1, "explain": true}));
    assert_eq!(keys(&answer), ["rare.txt"]);
    let parts = answer["results"][0]["explanation"]["parts"]
        .as_array()
        .expect("parts");
    let documents = |term: &str| {
        let part = parts
            .iter()
            .find(|part| part["word"] == term || part["term"] == term);
        part.unwrap_or_else(|| panic!("{term}: {parts:?}"))["documents"].clone()
    };
    assert_eq!(
        (documents("common"), documents("rare")),
        (41.into(), 1.into()),
        "with one result shown"
    );
}

#[test]
fn defect_the_title_scorer_ranks() {
    let home = Home::new();
    for title in ["Pump valves", "Pump", "Repair of a pump", "Valve"] {
        home.write(
            &format!("{title}.md"),
            format!("# {title}\n\npump pump pump\n"),
        );
    }
    let server = home.start_with(&home.role("TitleScorer"), |_| {});
    let answer = server.search(&json!({"search_term": "pump"}));
    assert_eq!(titles(&answer), ["Pump", "Pump valves", "Repair of a pump"]);
    let scores: Vec<f64> = answer["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|one| one["score"].as_f64().expect("a score"))
        .collect();
    assert!(
        scores.windows(2).all(|pair| pair[0] > pair[1]),
        "{scores:?}"
    );
}

#[test]
fn defect_the_limit_is_kept() {
    let home = Home::new();
    for number in 0..30 {
        home.write(&format!("{number}.txt"), "needle");
    }
    let server = home.start();
    for (limit, shown) in [(1, 1), (7, 7), (1000, 30)] {
        let answer = server.search(&json!({"search_term": "needle", "limit": limit}));
        assert_eq!(keys(&answer).len(), shown);
        assert_eq!(answer["total"], 30);
    }
}

/// More documents than vectors are learnt from, so that concepts rank.
fn subjects(home: &Home) {
    let words = [
        "orbit", "comet", "planet", "moon", "pump", "valve", "seal", "pipe",
    ];
    for number in 0..240_usize {
        let word = |step: usize| words[(number / 60 * 2 + number * step) % 2 + number / 60 * 2];
        let text: String = (1..30).map(|step| format!("{} ", word(step))).collect();
        home.write(
            &format!("{number:03}.md"),
            format!("# Note {number}\n\n{text} n{number}\n"),
        );
    }
}

#[test]
fn defect_the_same_query_has_the_same_answer_again_after_a_restart_and_a_re_index() {
    let home = Home::new();
    subjects(&home);
    let roles = home.role("ServiceGraph");
    let ready = |server: &crate::harness::Server| {
        server.eventually("concepts are learnt", || {
            server.get("/health").json()["sources"][0]["concepts"]["state"] == "ready"
        });
    };
    let ask = |server: &crate::harness::Server| -> Vec<(String, String)> {
        ["orbit", "pump valve", "comet n7", "seal"]
            .into_iter()
            .flat_map(|words| {
                let answer = server.search(&json!({"search_term": words, "limit": 50}));
                let results = answer["results"].as_array().expect("results").clone();
                results
                    .into_iter()
                    .map(|one| (one["id"].to_string(), one["score"].to_string()))
            })
            .collect()
    };
    // Nothing is answered from a cache.
    let start = || home.start_with(&roles, |options| options.cache_bytes = 0);
    let server = start();
    ready(&server);
    let first = ask(&server);
    assert!(first.len() > 100);
    for _ in 0..3 {
        assert_eq!(ask(&server), first, "earlier queries leave nothing behind");
    }
    assert_eq!(
        server
            .post("/api/sources/Test/Files/reindex", &json!({}))
            .status,
        202
    );
    // Whichever moment this hits: before, in the middle, after.
    for _ in 0..5 {
        assert_eq!(ask(&server), first, "during a re-index");
    }
    server.wait_until_indexed();
    assert_eq!(ask(&server), first, "after a re-index");
    drop(server);
    let again = start();
    ready(&again);
    assert_eq!(ask(&again), first, "after a restart");
}

#[test]
fn defect_a_failing_source_does_not_empty_the_answer() {
    let home = Home::new();
    home.write("valve.md", "# Valve\n\nthe valve\n");
    let peer = Peer::new(Manner::Status(500));
    let mut roles = home.role("BM25F");
    let failing = json!({"name": "First", "service": "AtomicData", "location": peer.url()});
    roles["haystacks"]
        .as_array_mut()
        .expect("a list")
        .insert(0, failing);
    let server = home.start_with(&roles, |_| {});
    let answer = server.search(&json!({"search_term": "valve"}));
    assert_eq!(answer["status"], "partial_success");
    assert_eq!(titles(&answer), ["Valve"]);
    assert!(answer["sources"][0]["error"].is_string(), "{answer}");
}

#[test]
fn defect_no_kind_of_source_is_a_placeholder() {
    let home = Home::new();
    let peer = Peer::new(Manner::Status(500));
    let url = peer.url();
    let folder = home.files();
    let folder = folder.to_str().expect("text");
    let repository = home.path().join("repository");
    GitRepository::new(repository.clone()).commit("empty");
    let repository = repository.to_str().expect("text");
    let mut haystacks = Vec::new();
    for (spelling, service) in Service::CHOICES
        .iter()
        .filter(|(name, service)| *name == service.as_str())
    {
        let location = match service {
            Service::LocalFiles | Service::NotesGraph => folder.to_owned(),
            Service::GitRepository => repository.to_owned(),
            Service::CommunityDocs => format!("discourse:{url}"),
            Service::TaskTracker => format!("gitea:{url}/a/b"),
            _ if *spelling == "Elastic" => format!("{url}/index"),
            _ => url.clone(),
        };
        haystacks.push(json!({"name": spelling, "service": spelling, "location": location}));
    }
    let roles = json!({"name": "All", "relevance_function": "BM25F", "haystacks": haystacks});
    let server = home.start_with(&roles, |_| {});
    for source in server.get("/health").json()["sources"]
        .as_array()
        .expect("sources")
    {
        assert_eq!(source["state"], "ready", "{source}");
    }
    let answer = server.search(&json!({"search_term": "anything"}));
    for source in answer["sources"].as_array().expect("sources") {
        let remote = !matches!(
            source["service"].as_str(),
            Some("LocalFiles" | "NotesGraph" | "GitRepository")
        );
        assert_eq!(
            source["error"].is_string(),
            remote,
            "asked, and told that it failed: {source}"
        );
    }
}

#[test]
fn defect_failures_are_not_answered_200() {
    let home = Home::new();
    let server = home.start();
    let post = |path: &str, body: Value| server.post(path, &body);
    server.get("/api/nothing").problem(404);
    server.get("/api/documents/none").problem(404);
    server.get("/api/documents/search").problem(405);
    post(
        "/api/documents/search",
        json!({"search_term": "a", "role": "Nobody"}),
    )
    .problem(422);
    post("/api/documents/search", json!({"search_term": "NOT a"})).problem(422);
    post("/api/documents/search", json!({"search": "a"})).problem(400);
    post("/api/documents/summarize", json!({"role": "Test"})).problem(422);
    post("/api/chat", json!({"role": "Nobody", "message": "a"})).problem(422);
    server
        .send(
            "POST",
            "/api/chat",
            &[("Content-Type", "text/plain")],
            b"{}",
        )
        .problem(415);
}

#[test]
fn defect_keys_are_not_handed_to_any_origin() {
    let running = crate::settings::Configured::start(&crate::settings::roles());
    let answer = running.server.send(
        "GET",
        "/api/config",
        &[("Origin", "http://evil.example")],
        b"",
    );
    assert!(answer.header("access-control-allow-origin").is_none());
    answer.problem(403);
    let own = running.server.get("/api/config");
    assert!(!own.text().contains("sk-"), "{}", own.text());
}

#[test]
fn defect_no_language_model_is_asked_in_a_search() {
    let home = Home::new();
    home.write("valve.md", "# Valve\n\nthe valve\n");
    let peer = Peer::new(Manner::Status(500));
    let mut roles = home.role("ServiceGraph");
    roles["extra"] =
        json!({"llm_provider": "localllm", "localllm_base_url": peer.url(), "localllm_model": "m"});
    let server = home.start_with(&roles, |_| {});
    for words in ["valve", "what is a valve", "walve"] {
        assert_eq!(
            server.search(&json!({"search_term": words}))["status"],
            "success"
        );
    }
    assert_eq!(peer.asked.load(Ordering::SeqCst), 0);
}

#[test]
fn defect_conversations_outlive_a_restart() {
    let home = Home::new();
    home.write("valve.md", "# Valve\n\nThe valve is closed by hand.\n");
    for kind in [LocalStateKind::Redb, LocalStateKind::Sqlite] {
        let folder = home.path().join(kind.name());
        std::fs::create_dir(&folder).expect("a folder");
        let start = || {
            let state = kind.open(&folder, "test").expect("the state opens");
            home.start_with(&home.role("BM25F"), |options| {
                options.state = Some(Arc::from(state));
            })
        };
        let server = start();
        let answer = server.post("/api/chat", &json!({"message": "how is the valve closed?"}));
        assert_eq!(answer.status, 200, "{}", answer.text());
        let id = answer.json()["conversation_id"]
            .as_str()
            .expect("an id")
            .to_owned();
        drop(server);
        let again = start();
        let kept = again.get(&format!("/api/conversations/{id}")).json();
        assert_eq!(
            kept["messages"].as_array().map(Vec::len),
            Some(2),
            "{kind}: {kept}"
        );
    }
}

#[test]
fn defect_the_paths_of_the_contract_exist() {
    let home = Home::new();
    home.write("valve.md", "# Valve\n\nThe valve is closed by hand.\n");
    let server = home.start();
    for path in ["/health", "/"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    for (path, body) in [
        (
            "/api/documents/search",
            json!({"search_term": "valve", "limit": 5}),
        ),
        (
            "/api/documents/search",
            json!({"search_term": "valve", "limit": 5, "role": "Test"}),
        ),
        (
            "/api/documents/summarize",
            json!({"content": "The valve. It is closed.", "role": "Test"}),
        ),
        ("/api/chat", json!({"message": "valve", "role": "Test"})),
    ] {
        let answer = server.post(path, &body);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    }
    server.get("/ws").problem(426);
}
