//! A VM manager whose machines play what a test says: it keeps every byte it is given, and misbehaves as planned.

mod serve;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use actix_web::web;
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::server::{Recorded, Running, start};

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

/// What a command does.
#[derive(Debug, Clone)]
pub struct Play {
    pieces: Vec<(&'static str, Bytes, u64)>,
    end: Option<Value>,
    cut: bool,
    files: Vec<(String, String)>,
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
            pieces: Vec::new(),
            end: Some(line),
            cut: false,
            files: Vec::new(),
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

    /// Writes this many times, piece by piece.
    #[must_use]
    pub fn often(mut self, text: impl Into<Bytes>, times: u64) -> Self {
        self.pieces.push(("stdout", text.into(), times));
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

type Plays = Box<dyn Fn(&Command) -> Play + Send + Sync>;

#[derive(Default)]
struct Script {
    plays: Option<Plays>,
    requests: Vec<Recorded>,
    /// VMs by id, and what they were ordered as.
    vms: BTreeMap<String, Value>,
    keys: BTreeMap<String, String>,
    ordered: u64,
    uploads: BTreeMap<(String, String), Bytes>,
    commands: Vec<(Command, Play, Arc<tokio::sync::Notify>)>,
    last: BTreeMap<String, usize>,
    planned: VecDeque<(String, Misbehaviour)>,
}

/// The manager. It ends when it is dropped.
pub struct ScriptedVmm {
    script: Arc<Mutex<Script>>,
    running: Running,
}

impl ScriptedVmm {
    /// Starts a manager whose commands do what `plays` says; needs a running actix system.
    #[must_use]
    pub fn start(plays: impl Fn(&Command) -> Play + Send + Sync + 'static) -> Self {
        let script = Script {
            plays: Some(Box::new(plays)),
            ..Script::default()
        };
        let script = Arc::new(Mutex::new(script));
        let data = web::Data::from(script.clone());
        let running = start!(move |app: &mut web::ServiceConfig| {
            app.app_data(data.clone())
                .app_data(web::PayloadConfig::new(64 << 20))
                .default_service(web::to(serve::serve));
        });
        Self { script, running }
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.running.address)
    }

    /// The next request whose `METHOD /path` begins so is answered otherwise.
    pub fn plan(&self, request: &str, misbehaviour: Misbehaviour) {
        let planned = (request.to_owned(), misbehaviour);
        self.script.lock().planned.push_back(planned);
    }

    /// Everything that was planned is forgotten.
    pub fn forget_plans(&self) {
        self.script.lock().planned.clear();
    }

    /// Every request so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Recorded> {
        self.script.lock().requests.clone()
    }

    /// Every command so far.
    #[must_use]
    pub fn commands(&self) -> Vec<Command> {
        let script = self.script.lock();
        script
            .commands
            .iter()
            .map(|(command, ..)| command.clone())
            .collect()
    }

    /// The machines that are given out: their ids.
    #[must_use]
    pub fn vms(&self) -> Vec<String> {
        self.script.lock().vms.keys().cloned().collect()
    }

    /// How many machines were ordered.
    #[must_use]
    pub fn ordered(&self) -> u64 {
        self.script.lock().ordered
    }

    /// A machine that nobody ordered over this connection.
    pub fn add_vm(&self, id: &str, owner: &str) {
        let vm = json!({"id": id, "state": "ready", "isolation": "emulated-vm", "owner": owner});
        self.script.lock().vms.insert(id.to_owned(), vm);
    }

    /// A machine goes away, with all that runs in it.
    pub fn remove_vm(&self, id: &str) {
        let mut script = self.script.lock();
        script.vms.remove(id);
        for (command, play, wake) in &mut script.commands {
            if command.vm == id && play.end.is_none() {
                play.end = Some(json!({"state": "lost", "exit_code": null, "signal": null}));
                wake.notify_waiters();
            }
        }
    }

    /// Every byte that was sent to a machine or the manager: paths, queries and bodies.
    #[must_use]
    pub fn everything(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for request in &self.script.lock().requests {
            all.extend_from_slice(request.path.as_bytes());
            all.extend_from_slice(request.query.as_bytes());
            all.extend_from_slice(&request.body);
        }
        all
    }
}
