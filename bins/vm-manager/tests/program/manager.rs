//! A manager that runs as a process of its own.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Long enough on a machine that does other things as well; the first run builds an image.
pub(crate) const DEADLINE: Duration = Duration::from_secs(600);

/// The program, with nothing in its environment but `PATH` and a home.
pub(crate) fn program(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vm-manager"));
    command
        .env_clear()
        .env("HOME", home)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("VM_MANAGER_DATA", home.join("data"))
        .env("VM_MANAGER_LISTEN", "127.0.0.1:0")
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

pub(crate) fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// One that has said where it listens.
pub(crate) struct Manager {
    pub(crate) child: Child,
    pub(crate) address: String,
    log: Receiver<String>,
    seen: Vec<String>,
}

impl Manager {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let (send, log) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        let mut manager = Self {
            child,
            address: String::new(),
            log,
            seen: Vec::new(),
        };
        let line = manager.wait_for("server.listening");
        let address = line.split("http://").nth(1).expect("an address");
        manager.address = address.split('/').next().expect("an address").to_owned();
        manager
    }

    /// The first line of the log that has this in it.
    pub(crate) fn wait_for(&mut self, what: &str) -> String {
        if let Some(line) = self.seen.iter().find(|line| line.contains(what)) {
            return line.clone();
        }
        let deadline = Instant::now() + DEADLINE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self
                .log
                .recv_timeout(left)
                .unwrap_or_else(|_| panic!("no {what} in {:#?}", self.seen));
            self.seen.push(line.clone());
            if line.contains(what) {
                return line;
            }
        }
    }

    /// Ends it as a service manager does; its exit code, and its whole log.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
        let status = self.child.wait().expect("it ends");
        self.seen.extend(self.log.iter());
        (status.code(), self.seen.join("\n"))
    }

    /// Ends it without a word.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
