//! Real servers behind an address.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{PATIENT, file, mcp_error, npm_server, python, source, titles};

/// Ended when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts it, and reads its messages until `ready` finds what it looks for.
fn start<T>(command: &mut Command, ready: impl Fn(&str) -> Option<T>) -> (Server, T) {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut server = Server(child.spawn().unwrap());
    let mut messages = BufReader::new(server.0.stderr.take().unwrap()).lines();
    let found = messages.find_map(|line| ready(&line.unwrap()));
    let found = found.expect("it says when it listens");
    // Read on, so that it never waits for a reader.
    std::thread::spawn(move || messages.for_each(drop));
    (server, found)
}

/// The reference server; kept off all other interfaces than loopback.
fn everything() -> (Server, String) {
    let mut command = Command::new("node");
    let command = command.args(["--require", &file("loopback.cjs")]);
    let command = command.args([&npm_server("everything"), "streamableHttp"]);
    let (server, port) = start(command, |line| {
        line.strip_prefix("bound ").map(str::to_owned)
    });
    (server, format!("http://127.0.0.1:{port}/mcp"))
}

#[actix_rt::test]
async fn a_server_with_sessions_is_searched_again_in_its_session() {
    let (server, url) = everything();
    let source = source(&url, "{}", PATIENT);
    let found = source.search("instructions", 10).await.unwrap();
    assert!(!found.items.is_empty());
    let again = source.search("features", 10).await.unwrap();
    assert!(!again.cached);
    drop(server);
}

#[actix_rt::test]
async fn a_server_without_sessions_is_searched_by_address() {
    // Taken and given back: the SDK says only in its log which port it has.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let mut command = Command::new(python());
    let command = command.args([file("shelf.py"), port.to_string()]);
    let (server, ()) = start(command, |line| line.contains("running on").then_some(()));
    let source = source(&format!("http://127.0.0.1:{port}/mcp"), "{}", PATIENT);
    let pumps = source.search("valve", 10).await.unwrap();
    assert_eq!(titles(&pumps), ["Pumps"]);
    let rules = source.search("gasket", 10).await.unwrap();
    assert_eq!(titles(&rules), ["rules"]);
    drop(server);
    let gone = mcp_error(source.search("planets", 10).await).to_string();
    assert!(gone.contains("cannot reach"), "{gone}");
}

#[actix_rt::test]
async fn nobody_there_is_said_so() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let source = source(
        &format!("http://127.0.0.1:{port}/mcp"),
        "{}",
        Duration::from_secs(20),
    );
    let error = mcp_error(source.search("x", 10).await).to_string();
    assert!(error.contains("cannot reach"), "{error}");
}
