//! What the scripted machines play, and what the manager has been asked so far.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::server::Recorded;

/// A command, as it was asked for.
#[derive(Debug, Clone)]
pub struct Command {
    /// The machine.
    pub vm: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Its environment.
    pub env: BTreeMap<String, String>,
    /// Its folder.
    pub cwd: String,
    /// Its time.
    pub timeout_ms: Option<u64>,
    /// The text of the script among its arguments, if there is one.
    pub script: String,
}

impl Command {
    /// Whether the runner looks for reports of tests by it.
    pub(super) fn lists_reports(&self) -> bool {
        self.argv.first().is_some_and(|program| program == "find")
    }
}

/// What a command does.
#[derive(Debug, Clone)]
pub struct Play {
    pub(super) chunks: Vec<(&'static str, Bytes, u64)>,
    pub(super) end: Option<Value>,
    pub(super) cut: bool,
    pub(super) files: Vec<(String, String)>,
    pub(super) after: Duration,
}

impl Play {
    /// Exits with this code.
    #[must_use]
    pub fn exit(code: i32) -> Self {
        Self::end(json!({"state": "exited", "exit_code": code, "signal": null}))
    }

    /// Ends with this last line.
    #[must_use]
    pub fn end(line: Value) -> Self {
        Self {
            chunks: Vec::new(),
            end: Some(line),
            cut: false,
            files: Vec::new(),
            after: Duration::ZERO,
        }
    }

    /// Never ends by itself.
    #[must_use]
    pub fn hang() -> Self {
        Self {
            end: None,
            ..Self::exit(0)
        }
    }

    /// The connection breaks where the end would be.
    #[must_use]
    pub fn cut() -> Self {
        Self {
            cut: true,
            ..Self::hang()
        }
    }

    /// Writes this.
    #[must_use]
    pub fn out(self, text: impl Into<Bytes>) -> Self {
        self.often(text, 1)
    }

    /// Writes this many times, chunk by chunk.
    #[must_use]
    pub fn often(mut self, text: impl Into<Bytes>, times: u64) -> Self {
        self.chunks.push(("stdout", text.into(), times));
        self
    }

    /// Takes so long before its end.
    #[must_use]
    pub fn after(mut self, time: Duration) -> Self {
        self.after = time;
        self
    }

    /// Leaves this in one of the step's files: `output`, `env`, `path`, `summary`.
    #[must_use]
    pub fn file(mut self, name: &str, text: &str) -> Self {
        self.files.push((name.to_owned(), text.to_owned()));
        self
    }
}

/// What an answer is instead of the right one.
#[derive(Debug, Clone)]
pub enum Misbehaviour {
    /// None at all, until the connection is closed.
    Hang,
    /// This status.
    Status(u16),
    /// 200 with this body.
    Body(Bytes),
    /// A list that never ends.
    EndlessList,
    /// The connection breaks.
    Break,
}

pub(super) type Plays = Box<dyn Fn(&Command) -> Play + Send + Sync>;

#[derive(Default)]
pub(super) struct Script {
    pub(super) plays: Option<Plays>,
    pub(super) requests: Vec<Recorded>,
    /// VMs by id, and what they were ordered as.
    pub(super) vms: BTreeMap<String, Value>,
    pub(super) keys: BTreeMap<String, String>,
    pub(super) ordered: u64,
    pub(super) uploads: BTreeMap<(String, String), Bytes>,
    pub(super) commands: Vec<(Command, Play, Arc<tokio::sync::Notify>)>,
    pub(super) last: BTreeMap<String, usize>,
    /// Reports of tests, by their paths from the workspace.
    pub(super) reports: Vec<(String, String)>,
    pub(super) planned: VecDeque<(String, Misbehaviour)>,
}
