//! What `top` shows, and what can happen to it.

use crossterm::event::{KeyEvent, MouseEvent};
use jiff::Timestamp;
use orchestrator_core::admin::{RunView, StatusView};
use serde_json::Value;

/// What the orchestrator said of itself at one moment.
#[derive(Debug, Clone)]
pub(super) struct StatusSnapshot {
    pub(super) status: StatusView,
    /// Running and waiting ones first, then the newest that ended.
    pub(super) runs: Vec<RunView>,
    /// The tree, a line each.
    pub(super) actors: Vec<ActorLine>,
}

/// An actor of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ActorLine {
    pub(super) depth: usize,
    pub(super) name: String,
    pub(super) state: String,
    pub(super) restarts: u64,
    pub(super) mailbox: u64,
    pub(super) capacity: u64,
    /// How its last incarnation ended, where it did not just stop.
    pub(super) last_exit: Option<String>,
}

/// The list that gets the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum TopFocus {
    #[default]
    Runs,
    Actors,
}

/// Something that is done to a run once it is confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunAction {
    Cancel,
    Retry,
}

impl RunAction {
    /// The word of the bridge, and of questions.
    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Retry => "retry",
        }
    }
}

/// A run that is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RunDetail {
    pub(super) id: String,
    pub(super) lines: Vec<String>,
    /// Lines above the first that is shown.
    pub(super) scroll: usize,
}

/// Everything that is shown.
#[derive(Debug, Clone)]
pub(super) struct TopModel {
    pub(super) size: (u16, u16),
    pub(super) now: Timestamp,
    pub(super) snapshot: Option<StatusSnapshot>,
    /// When that was.
    pub(super) fetched_at: Option<Timestamp>,
    pub(super) is_fetching: bool,
    pub(super) focus: TopFocus,
    /// The run that is chosen, by its id: the list moves below it.
    pub(super) run: Option<String>,
    /// The first actor that is shown.
    pub(super) actor: usize,
    pub(super) detail: Option<RunDetail>,
    /// Asks whether to do it to the chosen run.
    pub(super) question: Option<(RunAction, String)>,
    /// What was done, or went wrong; and whether it did.
    pub(super) notice: Option<(String, bool)>,
    pub(super) is_help: bool,
    /// One frame as text: no frames around lists, no keys.
    pub(super) is_text: bool,
}

/// Something that happened.
#[derive(Debug, Clone)]
pub(super) enum TopEvent {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Resized(u16, u16),
    Tick(Timestamp),
    Fetched(Result<Box<StatusSnapshot>, String>),
    Read(String, Result<String, String>),
    Done(RunAction, String, Result<String, String>),
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TopEffect {
    Quit,
    Suspend,
    Fetch,
    Read(String),
    Do(RunAction, String),
}

impl TopModel {
    pub(super) fn new(size: (u16, u16), now: Timestamp) -> Self {
        Self {
            size,
            now,
            snapshot: None,
            fetched_at: None,
            is_fetching: false,
            focus: TopFocus::Runs,
            run: None,
            actor: 0,
            detail: None,
            question: None,
            notice: None,
            is_help: false,
            is_text: false,
        }
    }

    pub(super) fn runs(&self) -> &[RunView] {
        self.snapshot
            .as_ref()
            .map_or(&[], |snapshot| &snapshot.runs)
    }

    pub(super) fn actors(&self) -> &[ActorLine] {
        self.snapshot
            .as_ref()
            .map_or(&[], |snapshot| &snapshot.actors)
    }

    /// Where the chosen run stands.
    pub(super) fn chosen_index(&self) -> usize {
        let id = self.run.as_deref();
        let at = self
            .runs()
            .iter()
            .position(|run| Some(run.id.as_str()) == id);
        at.unwrap_or(0)
    }

    /// The chosen run.
    pub(super) fn chosen(&self) -> Option<&RunView> {
        self.runs().get(self.chosen_index())
    }
}

/// Most levels of the tree that are shown.
const DEPTH: usize = 16;

/// The lines of an actor tree as the bridge gives it.
pub(super) fn actor_lines(tree: &Value) -> Vec<ActorLine> {
    let mut lines = Vec::new();
    add_actor(&mut lines, tree, 0);
    lines
}

fn add_actor(lines: &mut Vec<ActorLine>, node: &Value, depth: usize) {
    let Some(name) = node["name"].as_str().filter(|_| depth < DEPTH) else {
        return;
    };
    let text = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
    let number = |key: &str| node[key].as_u64().unwrap_or(0);
    lines.push(ActorLine {
        depth,
        name: name.to_owned(),
        state: text("state"),
        restarts: number("restarts"),
        mailbox: number("mailbox"),
        capacity: number("capacity"),
        last_exit: exit(&node["last_exit"]),
    });
    let children = node["children"].as_array().map_or(&[][..], Vec::as_slice);
    for child in children {
        add_actor(lines, child, depth + 1);
    }
}

/// How an actor ended: a word, or an object with one.
fn exit(exit: &Value) -> Option<String> {
    match exit {
        Value::Null => None,
        Value::String(word) => Some(word.clone()),
        Value::Object(fields) => {
            let words = fields.iter().map(|(name, value)| match value {
                Value::String(text) => format!("{name} {text}"),
                other => format!("{name} {other}"),
            });
            Some(words.collect::<Vec<_>>().join(", "))
        }
        other => Some(other.to_string()),
    }
}
