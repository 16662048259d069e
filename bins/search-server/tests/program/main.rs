//! The program as its users start it: first start, `--check`, signals, refusals, the log.

mod limits;
mod packed;
mod pages;
mod process;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use scripted_peers::{Program, Reply};

const DEADLINE: Duration = Duration::from_secs(30);

fn program(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_search-server"));
    command
        .env_clear()
        .env("HOME", home)
        .env("SERVICE_DATA_PATH", home.join("data"))
        .env("SERVICE_SERVER_HOSTNAME", "127.0.0.1:0")
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(home.path().join("Documents")).expect("a folder");
    std::fs::write(home.path().join("Documents/note.md"), "# Note\n\nneedle\n").expect("a file");
    home
}

fn get(server: &Program, path: &str) -> Reply {
    server.ask(&format!("GET {path}"), &[], "")
}

/// The answer to a search of the default role.
fn search(server: &Program, words: &str) -> Reply {
    let body = format!("{{\"search_term\":{words:?}}}");
    let headers = [("Content-Type", "application/json")];
    server.ask("POST /api/documents/search", &headers, &body)
}

/// Waits until its one document is found.
fn until_indexed(server: &Program) {
    let deadline = Instant::now() + DEADLINE;
    while !get(server, "/health").body.contains("\"documents\":1") {
        assert!(Instant::now() < deadline, "{:?}", get(server, "/health"));
        std::thread::yield_now();
    }
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
fn the_service_manager_hears_that_it_listens_and_ends() {
    let home = home();
    let place = home.path().join("notify.sock");
    let socket = std::os::unix::net::UnixDatagram::bind(&place).expect("a socket");
    socket.set_read_timeout(Some(DEADLINE)).expect("a time");
    let hear = || {
        let mut bytes = [0; 1024];
        let read = socket.recv(&mut bytes).expect("a message in time");
        String::from_utf8_lossy(&bytes[..read]).trim().to_owned()
    };
    let mut command = program(home.path());
    command.env("NOTIFY_SOCKET", &place);
    let mut running = Program::start(command);
    assert_eq!(hear(), "READY=1");
    let (code, log) = running.end();
    assert_eq!(code, Some(0), "{log}");
    assert_eq!(hear(), "STOPPING=1");
}

#[test]
fn the_first_start_creates_a_role_file_at_the_contract_s_place_and_finds_something() {
    let home = home();
    let mut running = Program::start(program(home.path()));
    let file =
        std::fs::read_to_string(home.path().join(".config/service/config.json")).expect("created");
    assert!(
        file.contains("ServiceGraph") && file.contains("spacelab") && file.contains("Documents"),
        "{file}"
    );
    until_indexed(&running);
    let page = get(&running, "/").body;
    assert!(page.contains("<title>Orrery</title>"));
    let (code, log) = running.end();
    assert_eq!(code, Some(0), "{log}");
}

#[test]
fn both_signals_end_it_cleanly() {
    for signal in [Signal::INT, Signal::TERM] {
        let home = home();
        let (code, log) = Program::start(program(home.path())).end_by(signal);
        assert_eq!(code, Some(0), "{log}");
        assert!(log.contains("server.stopped"), "{log}");
        let odd = log.contains("WARN") || log.contains("ERROR");
        assert!(!odd, "a clean end has nothing to warn of: {log}");
    }
}

#[test]
fn check_says_everything_at_once_and_ends_with_1() {
    let home = home();
    let config = home.path().join("roles.json");
    let wrong =
        "{\n  \"name\": \"\",\n  \"relevance_function\": \"BM52\",\n  \"haystack\": []\n}\n";
    std::fs::write(&config, wrong).expect("written");
    let check = |format: &str| {
        program(home.path())
            .args(["--check", "--format", format, "--config"])
            .arg(&config)
            .output()
            .expect("it runs")
    };
    let human = check("human");
    assert_eq!(human.status.code(), Some(1), "{}", text(&human));
    for part in [
        "roles.json:2:",
        "roles.json:3:",
        "roles.json:4:",
        "did you mean `haystacks`?",
        "^",
    ] {
        assert!(
            text(&human).contains(part),
            "{part} is not in {}",
            text(&human)
        );
    }
    let json: serde_json::Value =
        serde_json::from_slice(&check("json").stdout).expect("one JSON document");
    assert_eq!(json["valid"], false);
    assert!(
        json["diagnostics"]
            .as_array()
            .is_some_and(|list| list.len() >= 3),
        "{json}"
    );
}

#[test]
fn check_opens_folders_and_accepts_what_is_right() {
    let home = home();
    let config = home.path().join("roles.json");
    let write = |folder: &str| {
        let role = serde_json::json!({"name": "R", "relevance_function": "BM25", "theme": "spacelab",
            "haystacks": [{"name": "H", "service": "LocalFiles", "location": folder}]});
        std::fs::write(&config, role.to_string()).expect("written");
        program(home.path())
            .arg("--check")
            .arg("--config")
            .arg(&config)
            .output()
            .expect("it runs")
    };
    let right = write("Documents");
    assert_eq!(right.status.code(), Some(0), "{}", text(&right));
    assert!(text(&right).contains("is valid"), "{}", text(&right));
    let missing = write("Nowhere");
    assert_eq!(
        missing.status.code(),
        Some(0),
        "a warning: {}",
        text(&missing)
    );
    assert!(text(&missing).contains("Nowhere"), "{}", text(&missing));
}

#[test]
fn wrong_usage_ends_with_2_and_wrong_variables_are_named() {
    let home = home();
    let usage = program(home.path())
        .arg("--nonsense")
        .output()
        .expect("it runs");
    assert_eq!(usage.status.code(), Some(2));
    let wrong = program(home.path())
        .env("SERVICE_CACHE_SIZE", "lots")
        .output()
        .expect("it runs");
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        text(&wrong).contains("SERVICE_CACHE_SIZE"),
        "{}",
        text(&wrong)
    );
}

#[test]
fn a_port_in_use_is_named_with_what_to_change() {
    let home = home();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let refused = program(home.path())
        .env("SERVICE_SERVER_HOSTNAME", &address)
        .output()
        .expect("it runs");
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused);
    assert!(
        said.contains(&address) && said.contains("SERVICE_SERVER_HOSTNAME"),
        "{said}"
    );
}

#[test]
fn s15_listening_everywhere_needs_a_token_or_an_explicit_flag() {
    let home = home();
    let refused = program(home.path())
        .env("SERVICE_SERVER_HOSTNAME", "0.0.0.0:0")
        .output()
        .expect("it runs");
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        text(&refused).contains("SERVICE_API_TOKEN"),
        "{}",
        text(&refused)
    );
    let mut open = program(home.path());
    open.env("SERVICE_SERVER_HOSTNAME", "0.0.0.0:0")
        .arg("--allow-unauthenticated");
    let log = Program::start(open).output();
    assert!(log.contains("config.exposed"), "{log}");
}

#[test]
fn s16_line_breaks_and_escapes_of_a_request_do_not_reach_the_log() {
    let home = home();
    let mut command = program(home.path());
    command.env("LOG_LEVEL", "debug");
    let mut running = Program::start(command);
    let answer = get(
        &running,
        "/api/nothing%0d%0aINFO%20forged%1b[31m?q=%0aforged",
    );
    assert_eq!(answer.status, 404, "{answer:?}");
    let (_, log) = running.end();
    let is_forged = log.lines().any(|line| line.starts_with("INFO forged"));
    assert!(!is_forged && !log.contains('\u{1b}'), "{log}");
}

/// Two servers on one data folder would write over each other.
#[test]
fn a_second_server_on_the_same_data_is_refused_by_name_and_harms_nothing() {
    let home = home();
    let first = Program::start(program(home.path()));
    let second = program(home.path()).output().expect("it runs");
    assert_eq!(second.status.code(), Some(1));
    let said = text(&second);
    assert!(
        said.contains(&format!("search-server (pid {}", first.child.id())),
        "{said}"
    );
    let health = get(&first, "/health");
    assert_eq!(health.json()["status"], "ok", "{health:?}");
}

/// A notebook and a message: formats whose bytes are text, so that only a reader tells their title.
const NOTEBOOK: &str = r##"{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[{"cell_type":"markdown","metadata":{},"source":["# Orbit study\n","aphelion drift"]}]}"##;
const MESSAGE: &str = "From: a@example.org\r\nSubject: Perihelion plans\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\ndGhlIHJhcmUgd29yZCBpcyBzeXp5Z3kK\r\n";

#[test]
fn documents_that_could_do_harm_are_read_in_another_process_and_shown() {
    let home = home();
    let documents = home.path().join("Documents");
    std::fs::write(documents.join("study.ipynb"), NOTEBOOK).expect("a file");
    std::fs::write(documents.join("plans.eml"), MESSAGE).expect("a file");
    std::fs::write(documents.join("broken.pdf"), b"%PDF-1.4\nnothing else").expect("a file");
    let mut running = Program::start(program(home.path()));
    running.wait_for("source.ready");
    let notebook = search(&running, "aphelion").body;
    assert!(notebook.contains(r#""title":"Orbit study""#), "{notebook}");
    assert!(!notebook.contains("nbformat"), "{notebook}");
    let message = search(&running, "syzygy").body;
    assert!(
        message.contains(r#""title":"Perihelion plans""#),
        "{message}"
    );
    assert!(message.contains("the rare word is syzygy"), "{message}");
    let health = get(&running, "/health").body;
    assert!(health.contains(r#""damaged":1"#), "{health}");
    assert!(!health.contains("parser_failed"), "{health}");
    running.end();

    let refused = program(home.path()).arg("__read-documents").output();
    let refused = refused.expect("it starts");
    assert_eq!(
        refused.status.code(),
        Some(1),
        "standard input is no socket"
    );
}
