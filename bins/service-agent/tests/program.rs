//! The terminal client as people and scripts use it: in process, against a server, and what it
//! says when there is nothing to ask.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use config_core::Environment;
use search_actors::SearchSettings;
use search_web::{SearchServer, ServerOptions};
use serde_json::Value;

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(home.path().join("files")).expect("a folder");
    std::fs::write(
        home.path().join("files/orbit.md"),
        "# Orbit of planets\n\nPlanets move in ellipses.\n",
    )
    .expect("a file");
    std::fs::write(
        home.path().join("files/moon.txt"),
        "The moon\n\nTides follow the moon.\n",
    )
    .expect("a file");
    let role = serde_json::json!({"name": "Sky", "relevance_function": "BM25F", "theme": "spacelab",
        "haystacks": [{"name": "Files", "service": "LocalFiles", "location": home.path().join("files")}]});
    std::fs::write(home.path().join("role.json"), role.to_string()).expect("a role file");
    home
}

fn agent(home: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_service-agent"))
        .env_clear()
        .env("HOME", home)
        .env("SERVICE_SETTINGS_PATH", home.join("role.json"))
        .env("SERVICE_DATA_PATH", home.join("data"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("it runs")
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
fn in_process_it_indexes_and_finds() {
    let home = home();
    let found = agent(
        home.path(),
        &["search", "planets in ellipses", "--in-process"],
    );
    assert_eq!(found.status.code(), Some(0), "{}", text(&found));
    let shown = String::from_utf8_lossy(&found.stdout).into_owned();
    for part in [
        "1. Orbit of planets",
        "files/orbit.md:3",
        "Planets move in ellipses",
    ] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    assert!(!shown.contains('\u{1b}'), "not a terminal: no colours");
}

#[test]
fn json_is_the_server_s_answer_and_nothing_found_is_4() {
    let home = home();
    let found = agent(
        home.path(),
        &[
            "search",
            "tides",
            "--in-process",
            "--format",
            "json",
            "--limit",
            "1",
        ],
    );
    let answer: Value = serde_json::from_slice(&found.stdout).expect("one JSON document");
    assert_eq!(answer["results"][0]["title"], "moon.txt");
    let none = agent(home.path(), &["search", "xylophone", "--in-process"]);
    assert_eq!(none.status.code(), Some(4), "{}", text(&none));
    assert!(text(&none).contains("nothing found"), "{}", text(&none));
}

#[test]
fn terms_and_operators_of_the_contract_work() {
    let home = home();
    let total = |arguments: &[&str]| {
        let mut all = vec!["search"];
        all.extend_from_slice(arguments);
        all.extend_from_slice(&["--in-process", "--format", "json"]);
        let output = agent(home.path(), &all);
        serde_json::from_slice::<Value>(&output.stdout).expect("one JSON document")["total"].clone()
    };
    assert_eq!(
        total(&["planets", "--terms", "tides,moon", "--operator", "or"]),
        2
    );
    assert_eq!(
        total(&["planets", "--terms", "tides,moon", "--operator", "and"]),
        0
    );
    assert_eq!(
        total(&["", "--terms", "tides,moon", "--operator", "and"]),
        1
    );
    assert_eq!(total(&["tides", "--role", "Sky"]), 1);
}

#[test]
fn roles_are_listed() {
    let home = home();
    let list = agent(home.path(), &["roles", "list", "--in-process"]);
    assert_eq!(list.status.code(), Some(0), "{}", text(&list));
    assert!(
        text(&list).contains("Sky (default) · BM25F"),
        "{}",
        text(&list)
    );
    let json = agent(
        home.path(),
        &["roles", "list", "--in-process", "--format", "json"],
    );
    let list: Value = serde_json::from_slice(&json.stdout).expect("one JSON document");
    assert_eq!(list["default_role"], "Sky");
}

#[test]
fn what_goes_wrong_has_its_exit_code() {
    let home = home();
    for (arguments, code, said) in [
        (
            &["search", "x", "--role", "Sly", "--in-process"][..],
            2,
            "did you mean \"Sky\"?",
        ),
        (&["search"][..], 2, "Usage"),
        (&["search", "x", "--limit", "-3"][..], 2, "--limit"),
        (
            &["search", "x", "--server", "http://127.0.0.1:1/"][..],
            6,
            "127.0.0.1:1",
        ),
        (&["search", "x", "--server", "not a url"][..], 1, "--server"),
        (
            &["search", "x", "--config", "/nowhere/role.json"][..],
            1,
            "/nowhere/role.json",
        ),
    ] {
        let output = agent(home.path(), arguments);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {}",
            text(&output)
        );
        assert!(
            text(&output).contains(said),
            "{arguments:?}: {}",
            text(&output)
        );
        assert!(output.stdout.is_empty(), "errors go to standard error");
    }
}

#[test]
fn against_a_server_it_asks_the_server_with_its_token() {
    let home = home();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let role = std::fs::read(home.path().join("role.json")).expect("the role file");
    let roles =
        search_core::role::parse("role.json", &role, &Environment::default()).expect("valid");
    let settings = SearchSettings {
        roles,
        data: home.path().join("server"),
        max_concurrent_searches: 4,
        search_timeout: std::time::Duration::from_secs(10),
        search_threads: 1,
    };
    let options = ServerOptions {
        token: Some("s3cret".to_owned()),
        ..ServerOptions::default()
    };
    let server = std::thread::spawn(move || {
        actix_rt::System::new().block_on(async move {
            SearchServer::start(&settings, options)
                .serve(listener, async { drop(stopped.await) })
                .await
        })
    });
    let ask = |token: &str| {
        Command::new(env!("CARGO_BIN_EXE_service-agent"))
            .env_clear()
            .env("HOME", home.path())
            .env("SERVICE_SERVER_API_ENDPOINT", &url)
            .env("SERVICE_API_TOKEN", token)
            .args(["search", "tides"])
            .output()
            .expect("it runs")
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while ask("s3cret").status.code() != Some(0) {
        assert!(
            std::time::Instant::now() < deadline,
            "{}",
            text(&ask("s3cret"))
        );
    }
    assert!(text(&ask("s3cret")).contains("1. moon.txt"));
    let refused = ask("wrong");
    assert_eq!(refused.status.code(), Some(5), "{}", text(&refused));
    assert!(
        text(&refused).contains("SERVICE_API_TOKEN"),
        "{}",
        text(&refused)
    );
    drop(stop);
    server.join().expect("no panic").expect("a clean end");
}
