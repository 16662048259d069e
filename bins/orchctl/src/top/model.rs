//! What `top` shows, and how keys and answers change it. Pure.

use crossterm::event::{KeyEvent, KeyEventKind, MouseButton, MouseEvent, MouseEventKind};
use jiff::Timestamp;
use orchestrator_core::admin::{RunView, StatusView};
use serde_json::Value;

use super::keys::{self, Action};
use crate::human;

/// What the orchestrator said of itself at one moment.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
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
pub(super) enum Focus {
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
pub(super) struct Model {
    pub(super) size: (u16, u16),
    pub(super) now: Timestamp,
    pub(super) snapshot: Option<Snapshot>,
    /// When that was.
    pub(super) fetched_at: Option<Timestamp>,
    pub(super) is_fetching: bool,
    pub(super) focus: Focus,
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
pub(super) enum Event {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Resized(u16, u16),
    Tick(Timestamp),
    Fetched(Result<Box<Snapshot>, String>),
    Read(String, Result<String, String>),
    Done(RunAction, String, Result<String, String>),
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    Quit,
    Suspend,
    Fetch,
    Read(String),
    Do(RunAction, String),
}

impl Model {
    pub(super) fn new(size: (u16, u16), now: Timestamp) -> Self {
        Self {
            size,
            now,
            snapshot: None,
            fetched_at: None,
            is_fetching: false,
            focus: Focus::Runs,
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

/// Changes what is shown; gives what has to be done.
pub(super) fn update(model: &mut Model, event: Event) -> Vec<Effect> {
    match event {
        Event::Key(key) if key.kind == KeyEventKind::Release => {}
        Event::Key(key) => {
            let action = keys::action(model, key);
            model.notice = None;
            if let Some(action) = action {
                return act(model, action);
            }
            // Anything but yes is no.
            model.question = None;
        }
        Event::Mouse(mouse) => return pointed(model, mouse),
        Event::Resized(columns, rows) => model.size = (columns, rows),
        Event::Tick(now) => {
            model.now = now;
            // One look at a time: a slow line is not asked twice.
            if !model.is_fetching {
                model.is_fetching = true;
                return vec![Effect::Fetch];
            }
        }
        Event::Fetched(Ok(snapshot)) => {
            model.is_fetching = false;
            model.fetched_at = Some(model.now);
            model.snapshot = Some(*snapshot);
            if let Some((_, true)) = model.notice {
                model.notice = None;
            }
            model.actor = model.actor.min(model.actors().len().saturating_sub(1));
        }
        Event::Fetched(Err(reason)) => {
            model.is_fetching = false;
            model.notice = Some((reason, true));
        }
        Event::Read(id, text) => {
            let text = text.unwrap_or_else(|reason| reason);
            if let Some(detail) = model.detail.as_mut().filter(|detail| detail.id == id) {
                detail.lines = human::text(&text).lines().map(str::to_owned).collect();
            }
        }
        Event::Done(action, id, Ok(what)) => {
            model.notice = Some((format!("{} {id}: {what}", action.verb()), false));
            return vec![Effect::Fetch];
        }
        Event::Done(action, id, Err(reason)) => {
            model.notice = Some((format!("{} {id}: {reason}", action.verb()), true));
        }
    }
    Vec::new()
}

fn act(model: &mut Model, action: Action) -> Vec<Effect> {
    match action {
        Action::Quit => return vec![Effect::Quit],
        Action::Suspend => return vec![Effect::Suspend],
        Action::ToggleHelp => model.is_help = !model.is_help,
        Action::Back => model.detail = None,
        Action::SwitchList => {
            model.focus = match model.focus {
                Focus::Runs => Focus::Actors,
                Focus::Actors => Focus::Runs,
            };
        }
        Action::Move(by) => moved(model, by),
        Action::Read => {
            if let Some(run) = model.chosen() {
                let detail = RunDetail {
                    id: run.id.clone(),
                    lines: human::run(run).lines().map(str::to_owned).collect(),
                    scroll: 0,
                };
                let effect = Effect::Read(detail.id.clone());
                model.detail = Some(detail);
                return vec![effect];
            }
        }
        Action::Ask(what) => {
            let id = model.chosen().map(|run| run.id.clone());
            model.question = id.map(|id| (what, id));
        }
        Action::Confirm => {
            if let Some((what, id)) = model.question.take() {
                return vec![Effect::Do(what, id)];
            }
        }
        Action::Refresh => {
            model.is_fetching = true;
            return vec![Effect::Fetch];
        }
    }
    Vec::new()
}

fn moved(model: &mut Model, by: isize) {
    let to = |from: usize, of: usize| from.saturating_add_signed(by).min(of.saturating_sub(1));
    if let Some(detail) = &mut model.detail {
        detail.scroll = to(detail.scroll, detail.lines.len());
        return;
    }
    match model.focus {
        Focus::Runs => {
            let at = to(model.chosen_index(), model.runs().len());
            model.run = model.runs().get(at).map(|run| run.id.clone());
        }
        Focus::Actors => model.actor = to(model.actor, model.actors().len()),
    }
}

fn pointed(model: &mut Model, mouse: MouseEvent) -> Vec<Effect> {
    let areas = super::draw::areas(model);
    let at = (mouse.column, mouse.row).into();
    let over_actors = areas.actors.contains(at);
    match mouse.kind {
        MouseEventKind::ScrollUp | MouseEventKind::ScrollDown => {
            let by = if mouse.kind == MouseEventKind::ScrollUp {
                -1
            } else {
                1
            };
            if model.detail.is_none() {
                model.focus = if over_actors {
                    Focus::Actors
                } else {
                    Focus::Runs
                };
            }
            moved(model, by);
        }
        MouseEventKind::Down(MouseButton::Left) if model.detail.is_none() => {
            if over_actors {
                model.focus = Focus::Actors;
                return Vec::new();
            }
            let list = areas.run_rows();
            if !list.contains(at) {
                return Vec::new();
            }
            model.focus = Focus::Runs;
            let first = super::draw::first_run(model, &areas);
            let clicked = first + usize::from(mouse.row - list.y);
            let id = model.runs().get(clicked).map(|run| run.id.clone());
            if id.is_some() && id == model.run {
                return act(model, Action::Read);
            }
            model.run = id.or_else(|| model.run.take());
        }
        _ => {}
    }
    Vec::new()
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
