//! A server that is a program: one message a line, on its standard streams.
//!
//! Its pipes are served by threads of their own, which end with the pipes; the actor's thread only
//! hands lines over. The program has a process group of its own, which is killed when the wire is
//! dropped: nothing is written through it, so there is nothing to lose.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};
use search_sources_core::mcp::rpc::{self, IncomingMessage, RpcError};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::endpoint::MAX_MESSAGE_BYTES;
use super::error::McpError;

/// Lines that wait to be written; a server that does not read them is given up.
const MAX_QUEUED_LINES: usize = 64;

/// What is kept of standard error, in bytes.
const KEPT_STDERR: usize = 2 << 10;

/// Variables that the program is given: enough to find programs, folders and a language, and no
/// secret of this process.
const VARIABLES: [&str; 9] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TMPDIR",
];

type AnswerSender = oneshot::Sender<Result<Value, RpcError>>;

/// A running program.
pub(super) struct StdioWire {
    /// Dropped with the wire, which ends it.
    _process: Process,
    lines: SyncSender<Vec<u8>>,
    requests: Rc<PendingRequests>,
    last: Arc<Mutex<String>>,
    next: Cell<u64>,
}

/// Requests that wait for their answers; told when the program has ended.
#[derive(Default)]
struct PendingRequests {
    answers: RefCell<HashMap<u64, AnswerSender>>,
    closed: Cell<bool>,
    /// Why it was closed, when it was not the program's end.
    protocol_error: RefCell<Option<String>>,
}

impl PendingRequests {
    /// Notes a request; it is forgotten when the guard is dropped.
    fn insert(&self, id: u64, answer: AnswerSender) -> PendingGuard<'_> {
        self.answers.borrow_mut().insert(id, answer);
        PendingGuard { requests: self, id }
    }

    /// Hands an answer to whom it belongs.
    fn resolve(&self, id: u64, outcome: Result<Value, RpcError>) {
        if let Some(answer) = self.answers.borrow_mut().remove(&id) {
            let _ = answer.send(outcome);
        }
    }

    /// There are no more answers.
    fn close(&self) {
        self.closed.set(true);
        self.answers.borrow_mut().clear();
    }
}

/// Takes the entry of a request away when nobody waits for it any more.
struct PendingGuard<'r> {
    requests: &'r PendingRequests,
    id: u64,
}

impl Drop for PendingGuard<'_> {
    fn drop(&mut self) {
        self.requests.answers.borrow_mut().remove(&self.id);
    }
}

/// Killed with its group when dropped, and waited for.
struct Process(Option<Child>);

impl Drop for Process {
    fn drop(&mut self) {
        let Some(mut child) = self.0.take() else {
            return;
        };
        // It was not waited for, so the number is still its own.
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let waiting = std::thread::Builder::new().name("mcp-end".to_owned());
        let _ = waiting.spawn(move || child.wait());
    }
}

impl StdioWire {
    /// Starts the program. Must be called on a thread with a local task set.
    pub(super) fn start(command: &str, arguments: &[String]) -> Result<Self, McpError> {
        let failed = |error: std::io::Error| McpError::Start {
            command: command.to_owned(),
            reason: error.to_string(),
        };
        let given = VARIABLES
            .iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?)));
        let mut child = Command::new(command)
            .args(arguments)
            .env_clear()
            .envs(given)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let process = Process(Some(child));
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(failed(std::io::Error::other("it has no standard streams")));
        };
        let (lines, to_write) = sync_channel(MAX_QUEUED_LINES);
        let (sender, messages) = mpsc::channel(4);
        let last = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&last);
        thread("mcp-write", move || write_lines(stdin, &to_write)).map_err(failed)?;
        thread("mcp-read", move || read_lines(stdout, &sender)).map_err(failed)?;
        thread("mcp-stderr", move || capture_stderr(stderr, &kept)).map_err(failed)?;
        let requests = Rc::new(PendingRequests::default());
        actix_rt::spawn(pump(Rc::downgrade(&requests), messages, lines.clone()));
        Ok(Self {
            _process: process,
            lines,
            requests,
            last,
            next: Cell::new(1),
        })
    }

    /// Sends one message.
    pub(super) fn send(&self, message: &Value) -> Result<(), McpError> {
        let sent = self.lines.try_send(encode(message));
        sent.map_err(|_| self.end_error())
    }

    pub(super) async fn send_request(
        &self,
        make: impl FnOnce(u64) -> Value,
        within: Duration,
    ) -> Result<Value, McpError> {
        if !self.is_open() {
            return Err(self.end_error());
        }
        let id = self.next.get();
        self.next.set(id + 1);
        let message = make(id);
        let method = method(&message);
        let (answer, answered) = oneshot::channel();
        let _guard = self.requests.insert(id, answer);
        self.send(&message)?;
        match tokio::time::timeout(within, answered).await {
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(Ok(Err(error))) => Err(McpError::Refused { method, error }),
            Ok(Err(_)) => Err(self.end_error()),
            Err(_) => {
                let told = serde_json::json!({"requestId": id, "reason": "too late"});
                let _ = self.send(&rpc::notification("notifications/cancelled", &told));
                Err(McpError::TimedOut {
                    what: method,
                    after: within,
                })
            }
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.requests.closed.get()
    }

    pub(super) fn end_error(&self) -> McpError {
        if let Some(wrong) = self.requests.protocol_error.borrow().clone() {
            return McpError::Unreadable(wrong);
        }
        McpError::Ended {
            last: rpc::one_line(&self.last.lock()),
        }
    }

    /// Its process number, for tests.
    #[cfg(test)]
    pub(super) fn process_id(&self) -> u32 {
        self._process.0.as_ref().map_or(0, Child::id)
    }
}

fn method(message: &Value) -> String {
    message["method"].as_str().unwrap_or_default().to_owned()
}

fn encode(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let builder = std::thread::Builder::new().name(name.to_owned());
    builder.spawn(work).map(drop)
}

/// What a line of the program is.
enum ProgramLine {
    Message(Value),
    TooLong,
}

/// Hands each answer to whom it belongs, answers the program's own requests, and says at the end
/// that it is over.
async fn pump(
    requests: Weak<PendingRequests>,
    mut messages: mpsc::Receiver<ProgramLine>,
    lines: SyncSender<Vec<u8>>,
) {
    while let Some(line) = messages.recv().await {
        let Some(requests) = requests.upgrade() else {
            return;
        };
        let message = match line {
            ProgramLine::Message(message) => message,
            ProgramLine::TooLong => {
                let error = format!("a message is longer than {MAX_MESSAGE_BYTES} bytes");
                *requests.protocol_error.borrow_mut() = Some(error);
                break;
            }
        };
        match rpc::incoming(&message) {
            IncomingMessage::Response { id, outcome } => requests.resolve(id, outcome),
            IncomingMessage::Request { id, method } => {
                let _ = lines.try_send(encode(&rpc::client_reply(&id, &method)));
            }
            IncomingMessage::Other => {}
        }
    }
    if let Some(requests) = requests.upgrade() {
        requests.close();
    }
}

fn write_lines(mut stdin: ChildStdin, lines: &Receiver<Vec<u8>>) {
    for line in lines {
        if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

/// Lines that are no JSON are free text that strayed: passed over.
fn read_lines(stdout: ChildStdout, sender: &mpsc::Sender<ProgramLine>) {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = stdout.by_ref().take(MAX_MESSAGE_BYTES as u64 + 1);
        match limited.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(read) if read > MAX_MESSAGE_BYTES => {
                let _ = sender.blocking_send(ProgramLine::TooLong);
                return;
            }
            Ok(_) => {}
        }
        let Ok(message) = serde_json::from_slice(&line) else {
            continue;
        };
        if sender.blocking_send(ProgramLine::Message(message)).is_err() {
            return;
        }
    }
}

/// Keeps the end of what the program says to people.
fn capture_stderr(mut stderr: ChildStderr, kept: &Mutex<String>) {
    let mut piece = [0; 4096];
    while let Ok(read) = stderr.read(&mut piece) {
        if read == 0 {
            return;
        }
        let mut kept = kept.lock();
        kept.push_str(&String::from_utf8_lossy(&piece[..read]));
        let over = kept.len().saturating_sub(KEPT_STDERR);
        let over = kept.ceil_char_boundary(over);
        kept.drain(..over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix_rt::test]
    async fn the_program_ends_with_the_wire_and_its_children_too() {
        let script =
            r#"sleep 1000 & echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"child\":$!}}"; wait"#;
        let wire = StdioWire::start("sh", &["-c".to_owned(), script.to_owned()]).unwrap();
        let ask = |id| rpc::request(id, "x", &Value::Null);
        let answer = wire.send_request(ask, Duration::from_secs(20)).await;
        let child = answer.unwrap()["child"].as_u64().unwrap();
        let own = wire.process_id();
        drop(wire);
        let alive = |pid: u64| {
            let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            !state.is_empty() && !state.contains(") Z ")
        };
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while alive(child) || alive(own.into()) {
            assert!(std::time::Instant::now() < deadline, "they live on");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[actix_rt::test]
    async fn secrets_of_this_process_stay_here() {
        let script = r#"read line; n=$(env | grep -c CARGO); echo "{\"id\":1,\"result\":$n}""#;
        assert!(
            std::env::var_os("CARGO_PKG_NAME").is_some(),
            "tests run below cargo"
        );
        let wire = StdioWire::start("sh", &["-c".to_owned(), script.to_owned()]).unwrap();
        let ask = |id| rpc::request(id, "x", &Value::Null);
        let answer = wire.send_request(ask, Duration::from_secs(20)).await;
        assert_eq!(answer, Ok(Value::from(0)));
    }
}
