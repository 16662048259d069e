//! The client for scripts against a real server: every command, every exit code, one JSON document
//! each.

#[allow(dead_code, reason = "shared with the tests of the other client")]
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::common::Server;
use serde_json::{Value, json};

const CONCEPTS: &str = "# Earth satellite\n\nsynonyms:: moon, luna\n";

/// The home of the other client, with a thesaurus.
fn home() -> tempfile::TempDir {
    let home = crate::common::home();
    std::fs::create_dir(home.path().join("concepts")).expect("a folder");
    std::fs::write(home.path().join("concepts/satellite.md"), CONCEPTS).expect("a file");
    let text = std::fs::read_to_string(home.path().join("role.json")).expect("the role");
    let mut role: Value = serde_json::from_str(&text).expect("JSON");
    role["extra"] = json!({"thesaurus": home.path().join("concepts")});
    std::fs::write(home.path().join("role.json"), role.to_string()).expect("the role");
    home
}

fn command(home: &Path, server: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_service-cli"));
    command
        .env_clear()
        .env("HOME", home)
        .env("SERVICE_SERVER_API_ENDPOINT", server)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn with_input(mut command: Command, input: &str) -> Output {
    let mut child: Child = command.stdin(Stdio::piped()).spawn().expect("it runs");
    let mut stdin = child.stdin.take().expect("its input");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

/// The exit code and the one document.
fn document(output: &Output) -> (i32, Value) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let document = serde_json::from_str(&text);
    let document = document.unwrap_or_else(|error| panic!("{error}: {text}"));
    (output.status.code().expect("no signal"), document)
}

#[test]
fn every_command_prints_one_document() {
    let home = home();
    let server = Server::start(home.path(), None);
    let run = |arguments: &[&str]| {
        document(
            &command(home.path(), &server.url, arguments)
                .output()
                .expect("it runs"),
        )
    };
    let (code, found) = run(&[
        "search",
        "tides",
        "--body",
        "--explain",
        "--source",
        "Files",
    ]);
    assert_eq!(
        (code, &found["results"][0]["title"]),
        (0, &json!("moon.txt"))
    );
    assert!(
        found["results"][0]["body"].is_string() && found["results"][0]["explanation"].is_object()
    );
    let id = found["results"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();

    let (code, read) = run(&["documents", "get", &id]);
    assert_eq!((code, &read["title"]), (0, &json!("moon.txt")));
    let (code, list) = run(&["roles"]);
    assert_eq!((code, &list["default_role"]), (0, &json!("Sky")));
    let (code, config) = run(&["config", "get"]);
    assert_eq!((code, &config["name"]), (0, &json!("Sky")));
    let (code, graph) = run(&["graph", "--limit", "5"]);
    assert!(code == 0 && graph["concepts"].is_array(), "{graph}");
    let (code, words) = run(&["thesaurus"]);
    assert_eq!(
        (code, &words["concepts"][0]["name"]),
        (0, &json!("Earth satellite")),
        "{words}"
    );
    let (code, near) = run(&["autocomplete", "moo"]);
    assert!(
        code == 0
            && near["suggestions"]
                .as_array()
                .is_some_and(|near| !near.is_empty()),
        "{near}"
    );
    let (code, summary) = run(&["summarize", "--document", &id]);
    assert_eq!(
        (code, &summary["provider"]),
        (0, &json!("extractive")),
        "{summary}"
    );
    let (code, answer) = run(&["chat", "What do tides follow?"]);
    assert_eq!(
        (code, &answer["citations"][0]["title"]),
        (0, &json!("moon.txt")),
        "{answer}"
    );
    let (code, health) = run(&["health"]);
    assert!(code == 0 && health["sources"].is_array(), "{health}");
    let (code, sources) = run(&["sources", "--role", "Sky"]);
    assert_eq!((code, &sources["sources"][0]["documents"]), (0, &json!(2)));
    let (_, skipped) = run(&["skipped", "Sky", "Files"]);
    assert!(skipped["skipped"].is_array(), "{skipped}");
    let (code, accepted) = run(&["reindex", "Sky", "Files"]);
    assert_eq!((code, &accepted["status"]), (0, &json!("accepted")));

    let summarize = command(home.path(), &server.url, &["summarize"]);
    let (code, summary) = document(&with_input(summarize, "Pumps move water. They are oiled."));
    assert!(code == 0 && summary["summary"].is_string(), "{summary}");
    let script = command(home.path(), &server.url, &["completions", "bash"])
        .output()
        .expect("it runs");
    assert!(String::from_utf8_lossy(&script.stdout).contains("service-cli"));
}

#[test]
fn texts_are_read_and_written_with_the_thesaurus() {
    let home = home();
    let server = Server::start(home.path(), None);
    let run = |arguments: &[&str], input: &str| {
        with_input(command(home.path(), &server.url, arguments), input)
    };
    let (code, replaced) = document(&run(
        &["replace", "--writing", "wiki"],
        "The Moon, not moonlight.\n",
    ));
    assert_eq!(code, 0);
    assert_eq!(
        replaced["text"],
        "The [[Earth satellite]], not moonlight.\n"
    );
    assert_eq!(replaced["replaced"], 1);
    let raw = run(&["replace", "--raw", "--role", "Sky"], "Luna.\n");
    assert_eq!(String::from_utf8_lossy(&raw.stdout), "Earth satellite.\n");
    let (code, found) = document(&run(&["extract"], "Nothing here.\n\nThe moon is full.\n"));
    assert_eq!(code, 0);
    assert_eq!(
        found["paragraphs"],
        json!([{"start": 15, "text": "The moon is full.", "concepts": ["Earth satellite"]}])
    );
    let (code, none) = document(&run(&["extract"], "Nothing here."));
    assert_eq!((code, &none["paragraphs"]), (4, &json!([])));
}

#[test]
fn the_configuration_is_replaced_and_checked() {
    let home = home();
    let server = Server::start(home.path(), None);
    let text = std::fs::read_to_string(home.path().join("role.json")).expect("the role");
    let set = command(home.path(), &server.url, &["config", "set", "-"]);
    let (code, role) = document(&with_input(set, &text.replace("spacelab", "darkly")));
    assert_eq!((code, &role["theme"]), (0, &json!("darkly")));
    let validate = || command(home.path(), &server.url, &["config", "validate", "-"]);
    let (code, valid) = document(&with_input(validate(), &text));
    assert_eq!((code, &valid["status"]), (0, &json!("valid")));
    let (code, invalid) = document(&with_input(validate(), &text.replace("spacelab", "darkli")));
    assert_eq!(
        (code, &invalid["error"]["kind"]),
        (1, &json!("configuration")),
        "{invalid}"
    );
}

#[test]
fn each_way_to_fail_has_its_exit_code() {
    let home = home();
    let server = Server::start(home.path(), Some("s3cret"));
    let run = |token: &str, arguments: &[&str]| {
        let mut command = command(home.path(), &server.url, arguments);
        document(
            &command
                .env("SERVICE_API_TOKEN", token)
                .output()
                .expect("it runs"),
        )
    };
    for (token, arguments, code, kind) in [
        ("s3cret", &["search", "NOT tides"][..], 2, "refused"),
        ("s3cret", &["search", "x", "--role", "Sly"], 2, "refused"),
        ("s3cret", &["search"], 2, "usage"),
        ("s3cret", &["graph", "no such concept"], 4, "not_found"),
        (
            "s3cret",
            &["documents", "get", "nothing/at/all"],
            4,
            "not_found",
        ),
        ("s3cret", &["reindex", "Sky", "Nothing"], 4, "not_found"),
        (
            "s3cret",
            &["skipped", "Sky", "Files", "--reason", "heavy"],
            2,
            "refused",
        ),
        ("wrong", &["search", "tides"], 5, "not_allowed"),
        (
            "s3cret",
            &["roles", "--server", "http://127.0.0.1:1/"],
            6,
            "unreachable",
        ),
    ] {
        let (found, document) = run(token, arguments);
        assert_eq!(
            (found, &document["error"]["kind"]),
            (code, &json!(kind)),
            "{arguments:?}: {document}"
        );
        assert_eq!(document["status"], "error");
    }
    let (code, nothing) = run("s3cret", &["search", "xylophone"]);
    assert_eq!((code, &nothing["total"]), (4, &json!(0)));
    let (code, wrong) = run("s3cret", &["config", "set", "/nowhere/role.json"]);
    assert_eq!(
        (code, &wrong["error"]["kind"]),
        (1, &json!("configuration"))
    );
}

#[test]
fn a_silent_server_is_7_and_ctrl_c_is_130() {
    let home = home();
    // It takes connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", silent.local_addr().expect("an address"));
    let mut late = command(home.path(), &url, &["roles", "--timeout", "1"]);
    let (code, document_) = document(&late.output().expect("it runs"));
    assert_eq!(
        (code, &document_["error"]["kind"]),
        (7, &json!("timed_out"))
    );
    drop(silent.accept().expect("the first connection"));

    let waiting = command(home.path(), &url, &["roles", "--timeout", "60"])
        .spawn()
        .expect("it runs");
    let _connection = silent.accept().expect("it asks");
    let interrupted = Command::new("kill")
        .args(["-INT", &waiting.id().to_string()])
        .status();
    assert!(interrupted.expect("kill").success());
    let (code, document_) = document(&waiting.wait_with_output().expect("it ends"));
    assert_eq!(
        (code, &document_["error"]["kind"]),
        (130, &json!("interrupted"))
    );
}

#[test]
fn without_a_server_it_searches_itself() {
    let home = home();
    let output = Command::new(env!("CARGO_BIN_EXE_service-cli"))
        .env_clear()
        .env("HOME", home.path())
        .env("SERVICE_SETTINGS_PATH", home.path().join("role.json"))
        .env("SERVICE_DATA_PATH", home.path().join("data"))
        .args(["search", "tides", "--in-process"])
        .output()
        .expect("it runs");
    let (code, found) = document(&output);
    assert_eq!(
        (code, &found["results"][0]["title"]),
        (0, &json!("moon.txt"))
    );
}
