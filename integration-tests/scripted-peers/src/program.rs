//! A program of the workspace as a process of its own: started, asked, and ended in the ways that a
//! process can end.
#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test that fails here should say where"
)]

use std::borrow::BorrowMut;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rustix::process::{Pid, Signal, kill_process};

use crate::wire::{self, Reply};

/// Long enough on a machine that does other things as well; a first start may build an image.
const LOG_TIMEOUT: Duration = Duration::from_secs(600);

/// A program that has told where it listens. Dropped, it is killed.
pub struct Program {
    /// The process.
    pub child: Child,
    /// Host and port that it listens at.
    pub address: String,
    log: Arc<Log>,
    /// Of its log, what [`next_with`](Self::next_with) has passed.
    passed: usize,
}

/// What it writes to standard error.
#[derive(Default)]
struct Log {
    lines: Mutex<Lines>,
    grown: Condvar,
}

#[derive(Default)]
struct Lines {
    read: Vec<String>,
    has_ended: bool,
}

impl Log {
    fn push(&self, line: Option<String>) {
        let mut lines = self.lines.lock();
        lines.has_ended = line.is_none();
        lines.read.extend(line);
        self.grown.notify_all();
    }
}

impl Program {
    /// Starts it, with a log of events, and waits until it listens.
    #[must_use]
    pub fn start(command: impl BorrowMut<Command>) -> Self {
        let mut program = Self::start_until(command, "server.listening");
        let line = program.wait_for("server.listening");
        let address = line.split("http://").nth(1).expect("it says where");
        program.address = address.split(['/', '"']).next().unwrap().to_owned();
        program
    }

    /// Starts it, with a log of events, and waits until this is in it.
    #[must_use]
    pub fn start_until(mut command: impl BorrowMut<Command>, what: &str) -> Self {
        let command = command.borrow_mut();
        if !command.get_envs().any(|(name, _)| name == "LOG_LEVEL") {
            command.env("LOG_LEVEL", "info");
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("`cargo xtask test` has built it");
        let lines = BufReader::new(child.stderr.take().unwrap()).split(b'\n');
        let log = Arc::new(Log::default());
        let kept = Arc::clone(&log);
        // A pipe that nobody reads is full one day.
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                kept.push(Some(String::from_utf8_lossy(&line).into_owned()));
            }
            kept.push(None);
        });
        let mut program = Self {
            child,
            address: String::new(),
            log,
            passed: 0,
        };
        program.next_with(what);
        program
    }

    /// The first line of its log that has this in it.
    pub fn wait_for(&self, what: &str) -> String {
        self.find(0, what).1
    }

    /// The first line with this in it from a place of its log on, and its place.
    #[must_use]
    pub fn find(&self, from: usize, what: &str) -> (usize, String) {
        let deadline = Instant::now() + LOG_TIMEOUT;
        let (mut lines, mut at) = (self.log.lines.lock(), from);
        loop {
            if let Some(line) = lines.read.get(at) {
                if line.contains(what) {
                    return (at, line.clone());
                }
                at += 1;
            } else {
                let grown = &self.log.grown;
                let is_late = lines.has_ended || grown.wait_until(&mut lines, deadline).timed_out();
                assert!(!is_late, "no {what} in {:#?}", lines.read);
            }
        }
    }

    /// The next line with this in it, behind those that were passed so.
    pub fn next_with(&mut self, what: &str) -> String {
        let (at, line) = self.find(self.passed, what);
        self.passed = at + 1;
        line
    }

    /// What it has logged until now.
    #[must_use]
    pub fn output(&self) -> String {
        self.log.lines.lock().read.join("\n")
    }

    /// One request, see [`ask`](crate::ask).
    #[must_use]
    pub fn ask(&self, request: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let reply = wire::ask(&self.address, request, headers, body);
        reply.unwrap_or_else(|| panic!("{request}: no answer of {}", self.address))
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Ends it as a service manager does: its exit code, and all that it logged.
    pub fn end(&mut self) -> (Option<i32>, String) {
        self.end_by(Signal::TERM)
    }

    /// The same by another signal.
    pub fn end_by(&mut self, signal: Signal) -> (Option<i32>, String) {
        self.signal(signal);
        self.ended()
    }

    /// Waits for its end: its exit code, and all that it logged.
    pub fn ended(&mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        let mut lines = self.log.lines.lock();
        while !lines.has_ended {
            self.log.grown.wait(&mut lines);
        }
        (status.code(), lines.read.join("\n"))
    }

    /// Asks it to end, and kills it when it has not ended within this time.
    pub fn end_within(&mut self, most: Duration) {
        let begun = Instant::now();
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal(Signal::TERM);
        }
        while matches!(self.child.try_wait(), Ok(None)) && begun.elapsed() < most {
            std::thread::park_timeout(Duration::from_millis(10));
        }
        self.kill();
    }

    /// Ends it without a chance to do anything.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}
