//! `top`: one frame as text, and the live screen on a real pseudo-terminal over the real daemon.

use rustix::process::Signal;

use crate::bridge::{Bridge, Script};
use crate::daemon::{Daemon, Site};
use crate::pty::Pty;
use crate::{code, err, orchctl, out};

fn live(site: &Site, daemon: &Daemon) -> Pty {
    let mut command = site.orchctl(daemon, &["top", "--interval", "1"]);
    command.env("TERM", "xterm-256color");
    let mut pty = Pty::spawn(&command, 110, 30);
    pty.wait_for("Actors ");
    pty
}

#[test]
fn one_frame_is_text_and_cannot_steer_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let bridge = Bridge::start(folder.path(), Script::default());
    let place = bridge.place();
    let mut args = vec!["top", "--once"];
    args.extend(place.iter().map(String::as_str));
    let output = orchctl(&args, &[("COLUMNS", "120")]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let text = out(&output);
    for part in [
        "queued 1",
        "paused: second",
        "main/developer",
        "dispatcher<U+001B>[2J",
        "panicked on purpose",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "{text:?}");
    // Without a terminal the same comes without the option.
    args.remove(1);
    assert_eq!(
        out(&orchctl(&args, &[("COLUMNS", "120")])).lines().count(),
        text.lines().count()
    );
}

#[test]
fn an_orchestrator_that_does_not_answer_is_an_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let admin = format!("--admin={}", folder.path().join("none.sock").display());
    let output = orchctl(&["top", "--once", &admin], &[]);
    assert_eq!(code(&output), 6, "{}", err(&output));
}

#[test]
fn a_run_is_seen_read_and_cancelled() {
    let site = Site::new();
    let daemon = site.start();
    let run = site.trigger(&daemon, "slow");
    site.in_state(&daemon, &run, "running");
    let mut pty = live(&site, &daemon);
    pty.wait_for("main/slow");
    pty.wait_for("running 1");
    pty.send("\r");
    pty.wait_for("begun");
    pty.send("\u{1b}");
    pty.wait_for("Enter read");
    pty.send("c");
    pty.wait_for("It ends its process");
    pty.send("n");
    pty.wait_for("Enter read");
    assert_eq!(
        site.json(&daemon, &["show", &run], 0)["ended"],
        false,
        "no is no"
    );
    pty.send("c");
    pty.wait_for("It ends its process");
    pty.send("y");
    pty.wait_for("r retry");
    assert_eq!(site.json(&daemon, &["show", &run], 0)["ended"], true);
    pty.resize(60, 12);
    pty.wait_until("one list", |shown| shown.matches('┌').count() == 1);
    pty.send("q");
    assert_eq!(pty.wait(), 0);
    pty.assert_given_back();
}

#[test]
fn it_outlives_the_orchestrator_and_gives_the_terminal_back_at_a_signal() {
    let site = Site::new();
    let daemon = site.start();
    let mut pty = live(&site, &daemon);
    assert_eq!(daemon.stop(), Some(0));
    let shown = pty.wait_for("cannot be reached");
    assert!(shown.contains("Actors "), "what was seen stays:\n{shown}");
    pty.signal(Signal::TERM);
    assert_eq!(pty.wait(), 143);
    pty.assert_given_back();
}

#[test]
#[ignore = "writes a picture of the documentation"]
fn picture_of_the_documentation() {
    let site = Site::new();
    let daemon = site.start();
    for agent in ["greeter", "failing", "killed", "greeter"] {
        let run = site.trigger(&daemon, agent);
        site.in_state(&daemon, &run, "exited");
    }
    let run = site.trigger(&daemon, "slow");
    site.in_state(&daemon, &run, "running");
    let mut pty = live(&site, &daemon);
    pty.wait_for("running 1");
    let folder = std::path::absolute("../../docs/pictures").expect("a folder to work in");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("top.svg"), pty.picture()).unwrap();
}
