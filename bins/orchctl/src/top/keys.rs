//! What each key does in `top`: one table for dispatch, help line and help page.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::model::{RunAction, TopFocus, TopModel};

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TopAction {
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
    fn(&TopModel) -> bool,
    TopAction,
);

const NONE: KeyModifiers = KeyModifiers::NONE;
const CTRL: KeyModifiers = KeyModifiers::CONTROL;

fn always(_: &TopModel) -> bool {
    true
}

fn helps(model: &TopModel) -> bool {
    model.is_help
}

fn asks(model: &TopModel) -> bool {
    model.question.is_some()
}

fn reads(model: &TopModel) -> bool {
    free(model) && model.detail.is_some()
}

fn free(model: &TopModel) -> bool {
    !model.is_help && model.question.is_none()
}

fn lists(model: &TopModel) -> bool {
    free(model) && model.detail.is_none()
}

fn has_run(model: &TopModel) -> bool {
    free(model)
        && (model.focus == TopFocus::Runs || model.detail.is_some())
        && model.chosen().is_some()
}

fn has_list_run(model: &TopModel) -> bool {
    has_run(model) && model.detail.is_none()
}

fn can_cancel(model: &TopModel) -> bool {
    has_run(model) && model.chosen().is_some_and(|run| !run.ended)
}

fn can_retry(model: &TopModel) -> bool {
    has_run(model) && model.chosen().is_some_and(|run| run.ended)
}

#[rustfmt::skip] // a table: a row a line
const TABLE: &[Row] = &[
    (KeyCode::Esc, NONE, "Esc", "close", helps, TopAction::ToggleHelp),
    (KeyCode::Char('q'), NONE, "", "", helps, TopAction::ToggleHelp),
    (KeyCode::Char('y'), NONE, "y", "yes; any other key: no", asks, TopAction::Confirm),
    (KeyCode::Esc, NONE, "Esc", "back", reads, TopAction::Back),
    (KeyCode::Char('q'), NONE, "", "", reads, TopAction::Back),
    (KeyCode::Up, NONE, "↑↓", "move", free, TopAction::Move(-1)),
    (KeyCode::Down, NONE, "", "", free, TopAction::Move(1)),
    (KeyCode::Char('k'), NONE, "", "", free, TopAction::Move(-1)),
    (KeyCode::Char('j'), NONE, "", "", free, TopAction::Move(1)),
    (KeyCode::PageUp, NONE, "", "", free, TopAction::Move(-10)),
    (KeyCode::PageDown, NONE, "", "", free, TopAction::Move(10)),
    (KeyCode::Home, NONE, "", "", free, TopAction::Move(-100_000)),
    (KeyCode::End, NONE, "", "", free, TopAction::Move(100_000)),
    (KeyCode::Enter, NONE, "Enter", "read", has_list_run, TopAction::Read),
    (KeyCode::Char('c'), NONE, "c", "cancel", can_cancel, TopAction::Ask(RunAction::Cancel)),
    (KeyCode::Char('r'), NONE, "r", "retry", can_retry, TopAction::Ask(RunAction::Retry)),
    (KeyCode::Tab, NONE, "Tab", "runs/actors", lists, TopAction::SwitchList),
    (KeyCode::Char(' '), NONE, "Space", "look now", lists, TopAction::Refresh),
    (KeyCode::F(1), NONE, "?", "help", free, TopAction::ToggleHelp),
    (KeyCode::Char('?'), NONE, "", "", free, TopAction::ToggleHelp),
    (KeyCode::Char('q'), NONE, "q", "quit", lists, TopAction::Quit),
    (KeyCode::Char('c'), CTRL, "", "", always, TopAction::Quit),
    (KeyCode::Char('z'), CTRL, "", "", always, TopAction::Suspend),
];

/// What a key does now.
pub(super) fn action(model: &TopModel, key: KeyEvent) -> Option<TopAction> {
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
pub(super) fn help(model: &TopModel) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
    let shown = |row: &&Row| !row.2.is_empty() && row.4(model);
    TABLE.iter().filter(shown).map(|row| (row.2, row.3))
}
