//! The guard of the screen, on a real pseudo-terminal: the terminal is as it was after every end.

#![allow(
    clippy::print_stdout,
    reason = "what the child says once the screen has ended"
)]

#[allow(dead_code, reason = "shared with the tests of the programs")]
mod pty;

use std::process::Command;

use command_line::terminal::{InputReader, Screen, TerminationSignals};
use pty::Pty;
use rustix::process::Signal;

/// Which end the child takes.
const END: &str = "TERMINAL_TEST_END";

/// This test program again, as the program with the screen.
fn child(end: &str) -> Pty {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args([
        "--exact",
        "the_program_with_the_screen",
        "--ignored",
        "--nocapture",
    ]);
    command.env(END, end);
    Pty::spawn(&command, 80, 24)
}

#[test]
#[ignore = "started by the other tests, on a terminal"]
fn the_program_with_the_screen() {
    let Ok(end) = std::env::var(END) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut signals = TerminationSignals::listen().expect("signals");
        let mut input = InputReader::start().expect("a terminal");
        let mut screen = Screen::open().expect("a terminal");
        let line = format!("waiting for {end}");
        screen
            .draw(|frame| frame.render_widget(line.as_str(), frame.area()))
            .expect("drawn");
        tokio::select! {
            signal = signals.next() => {
                drop(screen);
                println!("ended by {}", signal.name());
                #[expect(clippy::disallowed_methods, reason = "a signal ends programs so")]
                std::process::exit(signal.code().into());
            }
            _ = input.next() => {}
        }
        match end.as_str() {
            "panic" => panic!("on purpose"),
            "panic-elsewhere" => {
                let other = std::thread::spawn(|| panic!("in another thread"));
                assert!(other.join().is_err());
                screen
                    .draw(|frame| frame.render_widget("still here", frame.area()))
                    .expect("the screen stays");
                input.next().await;
            }
            _ => {}
        }
        drop(screen);
        println!("good end");
    });
}

#[test]
fn a_good_end_gives_the_terminal_back() {
    let mut pty = child("quit");
    pty.wait_for("waiting for quit");
    pty.send("q");
    assert_eq!(pty.wait(), 0);
    pty.assert_given_back();
    assert!(pty.contents().contains("good end"), "{}", pty.contents());
}

#[test]
fn signals_give_the_terminal_back() {
    for (signal, name, code) in [
        (Signal::TERM, "SIGTERM", 143),
        (Signal::HUP, "SIGHUP", 129),
        (Signal::INT, "SIGINT", 130),
    ] {
        let mut pty = child("signal");
        pty.wait_for("waiting for signal");
        pty.signal(signal);
        assert_eq!(pty.wait(), code, "{name}");
        pty.assert_given_back();
        assert!(pty.contents().contains(name), "{}", pty.contents());
    }
}

#[test]
fn a_panic_gives_the_terminal_back_and_its_message_can_be_read() {
    let mut pty = child("panic");
    pty.wait_for("waiting for panic");
    pty.send("x");
    assert_ne!(pty.wait(), 0);
    pty.assert_given_back();
    assert!(pty.contents().contains("on purpose"), "{}", pty.contents());
}

#[test]
fn a_panic_of_another_thread_leaves_the_screen_alone_and_is_told_afterwards() {
    let mut pty = child("panic-elsewhere");
    pty.wait_for("waiting for panic-elsewhere");
    pty.send("x");
    let shown = pty.wait_for("still here");
    assert!(!shown.contains("in another thread"), "{shown}");
    pty.send("x");
    assert_eq!(pty.wait(), 0);
    pty.assert_given_back();
    assert!(
        pty.contents().contains("in another thread"),
        "{}",
        pty.contents()
    );
}
