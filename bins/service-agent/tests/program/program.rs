//! The terminal client as people and scripts use it: in process, against a server, and what it
//! says when there is nothing to ask.

#[allow(dead_code, reason = "shared with the other tests of the client")]
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{Server, home};
use serde_json::Value;

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
fn i16_an_agent_gets_passages_with_paths_and_lines_within_its_budget() {
    let home = home();
    let filler = "/// Nothing.\nfn nothing() {}\n\n".repeat(200);
    let code = format!(
        "{filler}/// The height of a tide.\nfn tide_height() -> f64 {{\n    1.5\n}}\n\n{filler}"
    );
    std::fs::write(home.path().join("files/tide.rs"), code).expect("a file");
    let line = ["search", "height of a tide", "--in-process", "--for-agent"];
    let shown = agent(home.path(), &line);
    let shown = text(&shown);
    assert!(shown.contains("files/tide.rs:"), "{shown}");
    assert!(
        shown.contains("fn tide_height() -> f64 {\n    1.5"),
        "{shown}"
    );
    assert!(shown.len() < 4_000, "{shown}");
    let json = [&line[..], &["--format", "json", "--budget-tokens", "60"]].concat();
    let answer: Value = serde_json::from_slice(&agent(home.path(), &json).stdout).expect("JSON");
    let passages = answer["passages"].as_array().expect("passages");
    let tokens: u64 = passages
        .iter()
        .filter_map(|one| one["tokens"].as_u64())
        .sum();
    assert!((1..=60).contains(&tokens), "{answer}");
    let first = &passages[0];
    let at = first["line"].as_u64().expect("a line");
    assert!((600..605).contains(&at), "{first}");
    let wrong = agent(home.path(), &["search", "x", "--budget-tokens", "60"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", text(&wrong));
}

#[test]
fn i16_expressions_find_lines_and_a_wrong_one_says_where() {
    let home = home();
    let found = agent(
        home.path(),
        &[
            "search",
            r"re:/move\s+in ell\w+/i",
            "--in-process",
            "--format",
            "json",
        ],
    );
    let answer: Value = serde_json::from_slice(&found.stdout).expect("JSON");
    assert_eq!(answer["total"], 1, "{answer}");
    assert_eq!(answer["results"][0]["line"], 3, "{answer}");
    let wrong = agent(home.path(), &["search", "tides re:/(/", "--in-process"]);
    assert_ne!(wrong.status.code(), Some(0));
    assert!(text(&wrong).contains("unclosed group"), "{}", text(&wrong));
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
        text(&list).contains("Sky (default) · ServiceGraph"),
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

/// "URL of the API, used by clients": also as the API's own address.
#[test]
fn contract_the_server_s_address_may_end_in_api_and_a_wrong_one_is_told() {
    let home = home();
    let server = Server::start(home.path(), None);
    let ask = |place: &str| {
        Command::new(env!("CARGO_BIN_EXE_service-agent"))
            .env_clear()
            .env("HOME", home.path())
            .env(
                "SERVICE_SERVER_API_ENDPOINT",
                format!("{}{place}", server.url),
            )
            .args(["search", "tides"])
            .stdin(Stdio::null())
            .output()
            .expect("it runs")
    };
    for place in ["/api", "/api/"] {
        let found = ask(place);
        assert!(text(&found).contains("1. moon.txt"), "{}", text(&found));
    }
    let elsewhere = ask("/elsewhere");
    let said = text(&elsewhere);
    assert_eq!(
        elsewhere.status.code(),
        Some(1),
        "not \"nothing found\": {said}"
    );
    assert!(
        said.contains("is it the address of a search server?"),
        "{said}"
    );
}

#[test]
fn against_a_server_it_asks_the_server_with_its_token() {
    let home = home();
    let server = Server::start(home.path(), Some("s3cret"));
    let ask = |token: &str, arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_service-agent"))
            .env_clear()
            .env("HOME", home.path())
            .env("SERVICE_SERVER_API_ENDPOINT", &server.url)
            .env("SERVICE_API_TOKEN", token)
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .expect("it runs")
    };
    let found = ask("s3cret", &["search", "tides"]);
    assert!(text(&found).contains("1. moon.txt"), "{}", text(&found));
    let refused = ask("wrong", &["search", "tides"]);
    assert_eq!(refused.status.code(), Some(5), "{}", text(&refused));
    assert!(
        text(&refused).contains("SERVICE_API_TOKEN"),
        "{}",
        text(&refused)
    );
    let pasted = ask("s3cret", &["search", "(tides"]);
    assert!(
        text(&pasted).contains("1. moon.txt")
            && text(&pasted).contains("! searched for the words alone: this bracket is not closed"),
        "{}",
        text(&pasted)
    );
    let wrong = ask("s3cret", &["search", "NOT tides"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", text(&wrong));
    assert!(
        text(&wrong).contains("\n  NOT tides\n  ^"),
        "{}",
        text(&wrong)
    );
    let chat = ask("s3cret", &["chat", "What do tides follow?"]);
    assert!(
        text(&chat).contains("Tides follow the moon") && text(&chat).contains("[1] moon.txt"),
        "{}",
        text(&chat)
    );
    let index = ask("s3cret", &["index", "--source", "Files"]);
    assert_eq!(index.status.code(), Some(0), "{}", text(&index));
    assert!(
        text(&index).contains("Sky · Files · ready · 2 documents"),
        "{}",
        text(&index)
    );
    let none = ask("s3cret", &["index", "--source", "Nothing"]);
    assert_eq!(none.status.code(), Some(4), "{}", text(&none));
}

/// The role file is changed through the server, and through nobody where none runs.
#[test]
fn the_configuration_is_shown_checked_replaced_and_edited() {
    let home = home();
    let server = Server::start(home.path(), None);
    let file = home.path().join("new.json");
    for place in [&["--server", server.url.as_str()][..], &["--in-process"]] {
        let run = |arguments: &[&str]| {
            let all = [arguments, place].concat();
            agent(home.path(), &all)
        };
        let name = run(&["config", "get", "/name"]);
        assert_eq!(text(&name), "\"Sky\"\n");
        assert_eq!(run(&["config", "get", "/nothing"]).status.code(), Some(4));
        let whole = run(&["config", "get"]);
        let mut role: Value = serde_json::from_slice(&whole.stdout).expect("JSON");
        role["theme"] = if place.len() == 2 { "darkly" } else { "flatly" }.into();
        std::fs::write(&file, role.to_string()).expect("a file");
        let path = file.display().to_string();
        let set = run(&["config", "set", &path]);
        assert_eq!(set.status.code(), Some(0), "{}", text(&set));
        let stored = std::fs::read_to_string(home.path().join("role.json")).expect("the file");
        assert!(
            stored.contains(role["theme"].as_str().expect("a theme")),
            "{stored}"
        );
        role["theme"] = "darkli".into();
        std::fs::write(&file, role.to_string()).expect("a file");
        let wrong = run(&["config", "set", &path]);
        assert_eq!(wrong.status.code(), Some(2), "{}", text(&wrong));
        assert!(
            text(&wrong).contains("did you mean `darkly`?"),
            "{}",
            text(&wrong)
        );
        let invalid = run(&["config", "validate", &path]);
        assert_eq!(invalid.status.code(), Some(1), "{}", text(&invalid));
        assert!(text(&invalid).contains("darkli"), "{}", text(&invalid));
    }
    let edit = Command::new(env!("CARGO_BIN_EXE_service-agent"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.path())
        .env("SERVICE_SETTINGS_PATH", home.path().join("role.json"))
        .env("EDITOR", "sed -i s/flatly/cosmo/")
        .args(["config", "edit", "--in-process"])
        .output()
        .expect("it runs");
    assert_eq!(edit.status.code(), Some(0), "{}", text(&edit));
    let stored = std::fs::read_to_string(home.path().join("role.json")).expect("the file");
    assert!(stored.contains("cosmo"), "{stored}");
}

/// Another user of the machine has not the token of the server's data folder.
#[test]
fn t1_the_configuration_is_changed_by_its_owner_only() {
    let home = home();
    let server = Server::start(home.path(), None);
    let stranger = tempfile::tempdir().expect("a folder");
    let path = home.path().join("role.json").display().to_string();
    let change = |who: &Path| agent(who, &["config", "set", &path, "--server", &server.url]);
    let refused = change(stranger.path());
    assert_eq!(refused.status.code(), Some(5), "{}", text(&refused));
    assert!(
        text(&refused).contains("configuration-token"),
        "{}",
        text(&refused)
    );
    let done = change(home.path());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done));
}

#[test]
fn graph_chat_and_index_work_without_a_server() {
    let home = home();
    let index = agent(home.path(), &["index", "--in-process", "--format", "json"]);
    let health: Value = serde_json::from_slice(&index.stdout).expect("one JSON document");
    assert_eq!(health["sources"][0]["documents"], 2, "{}", text(&index));
    let graph = agent(home.path(), &["graph", "--in-process"]);
    assert_eq!(graph.status.code(), Some(0), "{}", text(&graph));
    let near = agent(home.path(), &["graph", "no such concept", "--in-process"]);
    assert_eq!(near.status.code(), Some(4), "{}", text(&near));
    let chat = agent(
        home.path(),
        &[
            "chat",
            "What do tides follow?",
            "--in-process",
            "--format",
            "json",
        ],
    );
    let answer: Value = serde_json::from_slice(&chat.stdout).expect("one JSON document");
    assert_eq!(
        answer["citations"][0]["title"],
        "moon.txt",
        "{}",
        text(&chat)
    );
}

#[test]
fn completions_and_the_manual_page_are_printed() {
    let home = home();
    for shell in ["bash", "zsh", "fish"] {
        let script = agent(home.path(), &["completions", shell]);
        assert!(text(&script).contains("service-agent"), "{}", text(&script));
    }
    let page = agent(home.path(), &["man"]);
    assert!(
        text(&page).starts_with(".ie") && text(&page).contains("service-agent"),
        "{}",
        text(&page)
    );
}
