//! What each key does in `top`: one table for dispatch, help line and help page.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::model::{Focus, Model, RunAction};

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    Suspend,
    ToggleHelp,
    Back,
    SwitchList,
    Move(isize),
    Read,
    Ask(RunAction),
    Confirm,
    Refresh,
}

/// Key, how it is shown, what it does, and when.
type Row = (
    KeyCode,
    KeyModifiers,
    &'static str,
    &'static str,
    fn(&Model) -> bool,
    Action,
);

const NONE: KeyModifiers = KeyModifiers::NONE;
const CTRL: KeyModifiers = KeyModifiers::CONTROL;

fn always(_: &Model) -> bool {
    true
}

fn helps(model: &Model) -> bool {
    model.is_help
}

fn asks(model: &Model) -> bool {
    model.question.is_some()
}

fn reads(model: &Model) -> bool {
    free(model) && model.detail.is_some()
}

fn free(model: &Model) -> bool {
    !model.is_help && model.question.is_none()
}

fn lists(model: &Model) -> bool {
    free(model) && model.detail.is_none()
}

fn has_run(model: &Model) -> bool {
    free(model)
        && (model.focus == Focus::Runs || model.detail.is_some())
        && model.chosen().is_some()
}

fn has_list_run(model: &Model) -> bool {
    has_run(model) && model.detail.is_none()
}

fn can_cancel(model: &Model) -> bool {
    has_run(model) && model.chosen().is_some_and(|run| !run.ended)
}

fn can_retry(model: &Model) -> bool {
    has_run(model) && model.chosen().is_some_and(|run| run.ended)
}

#[rustfmt::skip] // a table: a row a line
const TABLE: &[Row] = &[
    (KeyCode::Esc, NONE, "Esc", "close", helps, Action::ToggleHelp),
    (KeyCode::Char('q'), NONE, "", "", helps, Action::ToggleHelp),
    (KeyCode::Char('y'), NONE, "y", "yes; any other key: no", asks, Action::Confirm),
    (KeyCode::Esc, NONE, "Esc", "back", reads, Action::Back),
    (KeyCode::Char('q'), NONE, "", "", reads, Action::Back),
    (KeyCode::Up, NONE, "↑↓", "move", free, Action::Move(-1)),
    (KeyCode::Down, NONE, "", "", free, Action::Move(1)),
    (KeyCode::Char('k'), NONE, "", "", free, Action::Move(-1)),
    (KeyCode::Char('j'), NONE, "", "", free, Action::Move(1)),
    (KeyCode::PageUp, NONE, "", "", free, Action::Move(-10)),
    (KeyCode::PageDown, NONE, "", "", free, Action::Move(10)),
    (KeyCode::Home, NONE, "", "", free, Action::Move(-100_000)),
    (KeyCode::End, NONE, "", "", free, Action::Move(100_000)),
    (KeyCode::Enter, NONE, "Enter", "read", has_list_run, Action::Read),
    (KeyCode::Char('c'), NONE, "c", "cancel", can_cancel, Action::Ask(RunAction::Cancel)),
    (KeyCode::Char('r'), NONE, "r", "retry", can_retry, Action::Ask(RunAction::Retry)),
    (KeyCode::Tab, NONE, "Tab", "runs/actors", lists, Action::SwitchList),
    (KeyCode::Char(' '), NONE, "Space", "look now", lists, Action::Refresh),
    (KeyCode::F(1), NONE, "?", "help", free, Action::ToggleHelp),
    (KeyCode::Char('?'), NONE, "", "", free, Action::ToggleHelp),
    (KeyCode::Char('q'), NONE, "q", "quit", lists, Action::Quit),
    (KeyCode::Char('c'), CTRL, "", "", always, Action::Quit),
    (KeyCode::Char('z'), CTRL, "", "", always, Action::Suspend),
];

/// What a key does now.
pub(super) fn action(model: &Model, key: KeyEvent) -> Option<Action> {
    let modifiers = match key.code {
        KeyCode::Char(_) => key.modifiers - KeyModifiers::SHIFT,
        _ => key.modifiers,
    };
    let row = TABLE.iter().find(|(code, with, _, _, works, _)| {
        *code == key.code && *with == modifiers && works(model)
    });
    row.map(|row| row.5)
}

/// The keys that work now, and what they do.
pub(super) fn help(model: &Model) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
    let shown = |row: &&Row| !row.2.is_empty() && row.4(model);
    TABLE.iter().filter(shown).map(|row| (row.2, row.3))
}
