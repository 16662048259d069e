//! The full screen and the line editor on a real pseudo-terminal, against a real server.

#[allow(
    dead_code,
    reason = "shared with the other tests of the client and other programs"
)]
#[path = "../../../command-line/tests/pty/mod.rs"]
mod pty;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Server, home};
use pty::Pty;
use rustix::process::Signal;
use serde_json::json;

/// A home with two roles and a document that tries to steer the terminal.
fn two_roles() -> tempfile::TempDir {
    let home = home();
    let files = home.path().join("files");
    let hostile = "# Hostile\n\nA comet \u{1b}[2J\u{1b}]0;owned\u{7} and \u{202e}more.\n";
    std::fs::write(files.join("hostile.md"), hostile).expect("a file");
    let role = |name: &str, location: &Path| {
        json!({"name": name, "relevance_function": "BM25F", "theme": "spacelab",
            "haystacks": [{"name": "Files", "service": "LocalFiles", "location": location}]})
    };
    let other = home.path().join("other");
    std::fs::create_dir(&other).expect("a folder");
    std::fs::write(
        other.join("sea.md"),
        "# Planets of the sea\n\nNo planets here.\n",
    )
    .expect("a file");
    let roles = json!({"roles": [role("Sky", &files), role("Sea", &other)], "default_role": "Sky"});
    std::fs::write(home.path().join("role.json"), roles.to_string()).expect("a file");
    home
}

fn agent(home: &Path, server: &Server, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_service-agent"));
    command
        .env_clear()
        .env("HOME", home)
        .env("TERM", "xterm-256color")
        .env("SERVICE_SERVER_API_ENDPOINT", &server.url)
        .args(arguments);
    command
}

fn interactive(home: &Path, server: &Server) -> Pty {
    let mut pty = Pty::spawn(&agent(home, server, &["interactive"]), 80, 24);
    pty.wait_for("Search ›");
    pty
}

#[test]
fn one_types_reads_resizes_switches_the_role_and_leaves() {
    let home = two_roles();
    let server = Server::start(home.path(), None);
    let mut pty = interactive(home.path(), &server);
    pty.wait_for("Sky · all sources");
    pty.send("planets");
    pty.wait_for("Orbit of planets");
    pty.wait_for("1 found");
    pty.send("\r");
    pty.wait_for("next match");
    pty.resize(120, 40);
    let wide = pty.wait_until("side by side", |shown| {
        shown.lines().any(|line| line.matches('┌').count() == 2)
    });
    assert!(wide.contains("Planets move in ellipses"), "{wide}");
    pty.resize(40, 12);
    pty.wait_until("one part", |shown| shown.matches('┌').count() == 1);
    pty.resize(80, 24);
    pty.send("\u{1b}");
    pty.wait_for("Enter read");
    pty.send("\u{12}");
    pty.wait_for("Search as");
    pty.send("\u{1b}[B\r");
    pty.wait_for("Sea · all sources");
    let shown = pty.wait_for("Planets of the sea");
    assert!(!shown.contains("Orbit of planets"), "{shown}");
    pty.send("\u{3}");
    assert_eq!(pty.wait(), 0);
    pty.assert_given_back();
}

/// The event of a size is lost where a key comes at the same moment.
#[test]
fn f15_a_new_size_is_seen_though_keys_come_with_it() {
    let home = two_roles();
    let server = Server::start(home.path(), None);
    let mut pty = interactive(home.path(), &server);
    pty.wait_for("Sky · all sources");
    for round in 0..25 {
        pty.resize(40, 12);
        pty.send("p");
        pty.wait_until(&format!("40 columns in round {round}"), |shown| {
            shown.contains("Search › p") && !shown.contains("all sources")
        });
        pty.resize(80, 24);
        pty.send("\u{7f}");
        pty.wait_until(&format!("80 columns in round {round}"), |shown| {
            shown.contains("Sky · all sources") && !shown.contains("Search › p")
        });
    }
    pty.send("\u{3}");
    assert_eq!(pty.wait(), 0);
}

#[test]
fn a_hostile_document_is_written_out() {
    let home = two_roles();
    let server = Server::start(home.path(), None);
    let mut pty = interactive(home.path(), &server);
    pty.send("comet");
    let shown = pty.wait_for("<U+001B>");
    assert!(
        shown.contains("Search › comet"),
        "the screen is whole:\n{shown}"
    );
    pty.send("\r");
    pty.wait_for("<U+202E>");
    pty.send("\u{11}");
    assert_eq!(pty.wait(), 0);
}

#[test]
fn questions_are_answered_from_documents() {
    let home = two_roles();
    let server = Server::start(home.path(), None);
    let mut pty = interactive(home.path(), &server);
    pty.send("\u{14}");
    pty.wait_for("Ask ›");
    pty.send("How do planets move?\r");
    pty.wait_for("extractive · no model");
    assert!(
        pty.contents().contains("Planets move in ellipses"),
        "{}",
        pty.contents()
    );
    pty.send("\u{3}");
    assert_eq!(pty.wait(), 0);
}

#[test]
fn signals_end_it_with_the_terminal_given_back() {
    let home = two_roles();
    let server = Server::start(home.path(), None);
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let mut pty = interactive(home.path(), &server);
        pty.send("planets");
        pty.wait_for("Orbit of planets");
        pty.signal(signal);
        assert_eq!(pty.wait(), code);
        pty.assert_given_back();
    }
}

#[test]
fn without_a_terminal_it_says_so() {
    let home = two_roles();
    let server = Server::start(home.path(), None);
    let output = agent(home.path(), &server, &["interactive"])
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty(), "nothing is drawn into a pipe");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("needs a terminal"), "{said}");
}

#[test]
fn lines_are_completed_run_and_remembered() {
    let home = two_roles();
    let server = Server::start(home.path(), None);
    let mut pty = Pty::spawn(&agent(home.path(), &server, &["repl"]), 80, 24);
    pty.wait_for("› ");
    pty.send("search planets --role Se\t");
    pty.wait_for("--role Sea");
    pty.send("\r");
    pty.wait_for("Planets of the sea");
    pty.send("use Sky\r");
    pty.wait_for("Sky ›");
    pty.send("search planets\r");
    pty.wait_for("Orbit of planets");
    pty.send("nonsense\r");
    pty.wait_for("unrecognized subcommand");
    let history = home.path().join(".local/state/service/history");
    let kept = std::fs::read_to_string(&history).expect("a history");
    assert!(
        kept.contains("use Sky"),
        "each line is kept at once: {kept}"
    );
    pty.send("quit\r");
    assert_eq!(pty.wait(), 0, "a person has seen what failed");
    pty.assert_given_back();
    let mode = std::fs::metadata(&history)
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_signal_at_the_prompt_gives_the_terminal_back() {
    let home = two_roles();
    let server = Server::start(home.path(), None);
    let mut pty = Pty::spawn(&agent(home.path(), &server, &["repl"]), 80, 24);
    pty.wait_for("› ");
    pty.send("search pla");
    pty.wait_for("search pla");
    pty.signal(Signal::TERM);
    assert_eq!(pty.wait(), 143);
    pty.assert_given_back();
}

/// Lines in, what is printed and the exit code out.
fn piped(home: &Path, server: &Server, lines: &str) -> (String, String, Option<i32>) {
    let mut child = agent(home, server, &["repl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(lines.as_bytes()).expect("written");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
        output.status.code(),
    )
}

#[test]
fn a_pipe_gets_answers_and_the_code_of_the_last_failure() {
    let home = two_roles();
    let server = Server::start(home.path(), None);
    let of = |lines: &str| piped(home.path(), &server, lines);
    let (out, err, code) = of("# a comment\n\nroles list\nsearch planets --format json\n");
    assert_eq!(code, Some(0), "{err}");
    assert!(
        out.contains("Sky (default)") && out.contains("\"results\""),
        "{out}"
    );
    assert!(
        !out.contains('\u{1b}') && !out.contains('›'),
        "no prompt, no colours: {out:?}"
    );

    let (out, _, code) = of("search xylophone\nroles list");
    assert_eq!(code, Some(4), "nothing was found, and the rest went on");
    assert!(out.contains("Sky (default)"), "{out}");

    let (_, err, code) = of("serch x\n");
    assert_eq!(code, Some(2));
    assert!(err.contains("search"), "it says what was meant: {err}");

    let (out, _, code) = of("search xylophone\nserch\nquit\nroles list\n");
    assert_eq!(code, Some(2), "the last failure counts");
    assert!(!out.contains("Sky (default)"), "nothing is run after quit");

    let (out, _, code) = of("help\nsearch --help\n");
    assert_eq!(code, Some(0));
    assert!(
        out.contains("interactive") && out.contains("--limit"),
        "{out}"
    );
    assert!(
        !home.path().join(".local/state/service").exists(),
        "a pipe has no history"
    );
}

/// Keeps a picture for docs/pictures, which are made by
/// `cargo nextest run -p service-agent -p orchctl --run-ignored only -E 'test(picture)'`.
fn keep(pty: &Pty, name: &str) {
    let folder = std::path::absolute("../../docs/pictures").expect("a folder to work in");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(name), pty.picture()).expect("written");
}

#[test]
#[ignore = "writes pictures of the documentation"]
fn picture_of_the_documentation() {
    let home = home();
    // A copy: no folder of this machine is seen on a picture.
    let docs = home.path().join("orrery/docs");
    std::fs::create_dir_all(&docs).expect("a folder");
    let pages = std::path::absolute("../../docs").expect("a folder to work in");
    for page in std::fs::read_dir(pages)
        .expect("the documentation")
        .flatten()
    {
        let is_page = page.path().extension().is_some_and(|end| end == "md");
        if is_page && page.file_name() != "CLI.md" {
            std::fs::copy(page.path(), docs.join(page.file_name())).expect("copied");
        }
    }
    let role = |name: &str, function: &str| {
        json!({"name": name, "relevance_function": function, "theme": "spacelab",
            "haystacks": [{"name": "Orrery", "service": "LocalFiles", "location": docs}]})
    };
    let roles = json!({"roles": [role("Engineer", "ServiceGraph"), role("Reader", "BM25F")], "default_role": "Engineer"});
    std::fs::write(home.path().join("role.json"), roles.to_string()).expect("a file");
    let server = Server::start(home.path(), None);
    let mut command = agent(home.path(), &server, &["interactive"]);
    let mut pty = Pty::spawn(command.env("COLORTERM", "truecolor"), 110, 30);
    pty.wait_for("Engineer · all sources");
    pty.send("restart policy");
    pty.wait_for("found ·");
    pty.wait_until("the text", |shown| !shown.contains("reading…"));
    keep(&pty, "interactive.svg");
    pty.send("\u{3}");
    assert_eq!(pty.wait(), 0);

    let mut pty = Pty::spawn(&agent(home.path(), &server, &["repl"]), 100, 24);
    pty.wait_for("› ");
    pty.send("use Reader\rsearch 'stop order' --limit 2\r");
    pty.wait_for(" shown ·");
    pty.send("search tides --ro\t");
    pty.wait_for("--role");
    keep(&pty, "repl.svg");
}
