//! What `--check` opens, and the limits that variables set.

use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use scripted_peers::Program;

use crate::{DEADLINE, home, program, search, text};

/// What `--check` ends with, and what it says.
fn checked(server: &mut Command) -> (Option<i32>, String) {
    let checked = server.arg("--check").output().expect("it runs");
    (checked.status.code(), text(&checked))
}

#[test]
fn check_opens_thesauri_and_models() {
    let home = home();
    let config = home.path().join("roles.json");
    let role = serde_json::json!({"name": "R", "relevance_function": "ServiceGraph",
        "haystacks": [{"name": "H", "service": "LocalFiles", "location": "Documents"}],
        "extra": {"thesaurus": "words.json", "embedding_model": "model"}});
    std::fs::write(&config, role.to_string()).expect("written");
    std::fs::write(home.path().join("words.json"), "[1, 2").expect("written");
    let (code, said) = checked(program(home.path()).arg("--config").arg(&config));
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("`extra.thesaurus`") && said.contains("words.json"),
        "{said}"
    );
    assert!(
        said.contains("`extra.embedding_model`") && said.contains("config.json"),
        "{said}"
    );
}

/// Each of these would be found out by the first search only; the message has its line.
#[test]
fn v13_check_refuses_what_the_first_search_would_refuse() {
    let home = home();
    let config = home.path().join("roles.json");
    std::fs::create_dir(home.path().join("empty")).expect("a folder");
    for (service, location, message) in [
        (
            "CommunityDocs",
            "devdocs:Nowhere",
            "does not exist: download the documentation",
        ),
        (
            "CommunityDocs",
            "devdocs:empty",
            "`index.json` and `db.json` in one folder",
        ),
        (
            "TaskTracker",
            "todo.txt:todo.txt",
            "todo.txt cannot be read",
        ),
        ("TaskTracker", "beads:empty", "cannot be read"),
        (
            "TaskTracker",
            "taskwarrior",
            "program `task` is in no folder of PATH",
        ),
        (
            "MCP",
            "stdio:no-such-server --x",
            "program `no-such-server` is in no folder of PATH",
        ),
        (
            "MCP",
            "stdio:/no/such/server",
            "program `/no/such/server` does not exist",
        ),
    ] {
        let role = format!(
            "{{\"name\": \"R\", \"haystacks\": [\n {{\"name\": \"H\", \"service\": \"{service}\", \"location\": \"{location}\"}}]}}"
        );
        std::fs::write(&config, role).expect("written");
        let mut server = program(home.path());
        server.env("PATH", home.path().join("empty"));
        let (code, said) = checked(server.arg("--config").arg(&config));
        assert_eq!(code, Some(1), "{location}: {said}");
        assert!(said.contains(message), "{location}: {said}");
        assert!(said.contains("roles.json:2:"), "{location}: {said}");
    }
}

/// The server starts with it, and waits for what may be mounted later.
#[test]
fn contract_a_folder_that_is_not_there_is_a_warning_of_check() {
    let home = home();
    let config = home.path().join("roles.json");
    for service in ["LocalFiles", "NotesGraph"] {
        let role = format!(
            "{{\"name\": \"R\", \"haystacks\": [\n {{\"name\": \"H\", \"service\": \"{service}\", \"location\": \"Nowhere\"}}]}}"
        );
        std::fs::write(&config, role).expect("written");
        let (code, said) = checked(program(home.path()).arg("--config").arg(&config));
        assert_eq!(code, Some(0), "{said}");
        assert!(
            said.contains("roles.json:2:") && said.contains("warning: "),
            "{said}"
        );
        let message = "does not exist: create it, mount it or correct `location`";
        assert!(said.contains(message), "{said}");
    }
}

#[test]
fn contract_check_before_the_first_start_warns() {
    let home = home();
    let (code, said) = checked(&mut program(home.path()));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("warning: there is no role file at"), "{said}");
    assert!(said.contains("the first start creates it"), "{said}");
    let (code, said) = checked(program(home.path()).args(["--listen", "0.0.0.0:1"]));
    assert_eq!(code, Some(1), "what is wrong is wrong all the same: {said}");
}

/// A connection, or a failure that says so: nobody who waits for ever tells what is wrong.
fn accept_in_time(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).expect("set");
    let (_kept, never) = std::sync::mpsc::channel::<()>();
    let began = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => return stream,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => panic!("cannot accept: {error}"),
        }
        assert!(began.elapsed() < DEADLINE, "the source was not asked");
        let _ = never.recv_timeout(Duration::from_millis(10));
    }
}

/// One search at a time: the second is told so at once, and when to come back.
#[test]
fn service_max_concurrent_searches_is_kept() {
    let home = home();
    // A source whose server takes the question and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("an address");
    let role = serde_json::json!({"name": "R", "relevance_function": "BM25F", "haystacks": [
        {"name": "H", "service": "LocalFiles", "location": "Documents"},
        {"name": "S", "service": "TaskTracker", "location": format!("gitea:http://{address}/a/b")}]});
    let config = home.path().join("roles.json");
    std::fs::write(&config, role.to_string()).expect("written");
    let mut command = program(home.path());
    command
        .env("SERVICE_MAX_CONCURRENT_SEARCHES", "1")
        .arg("--config")
        .arg(&config);
    let running = Program::start(command);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| search(&running, "needle"));
        // It is under way when the silent server is asked.
        let asked = accept_in_time(&silent);
        let second = search(&running, "needle");
        assert_eq!(second.status, 503, "{second:?}");
        assert!(second.header("retry-after").is_some(), "{second:?}");
        let is_named = second.body.contains("SERVICE_MAX_CONCURRENT_SEARCHES");
        assert!(is_named, "{second:?}");
        let first = first.join().expect("an answer");
        assert!(first.body.contains("partial_success"), "{first:?}");
        drop(asked);
    });
    assert_eq!(search(&running, "needle").status, 200);
}
