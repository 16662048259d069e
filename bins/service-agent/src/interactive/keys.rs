//! What each key does, in one table: the help line and the help page are made of it, so that they
//! show what works now and nothing else.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::line_editor::Edit;
use super::model::{InteractiveFocus, InteractiveModel};

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InteractiveAction {
    Quit,
    Suspend,
    ToggleHelp,
    PickRole,
    PickSource,
    OpenChat,
    /// To what was there before.
    Back,
    ClearQuery,
    Complete,
    /// Moves the choice by so many.
    Choose(isize),
    /// Opens the document, or takes what is chosen.
    Open,
    /// Scrolls by lines.
    Scroll(isize),
    /// Scrolls by screens.
    Page(isize),
    NextMatch,
    PreviousMatch,
    SendQuestion,
    StopAnswer,
    NewConversation,
    Edit(Edit),
}

/// A row of the table.
pub(crate) struct Binding {
    code: KeyCode,
    modifiers: KeyModifiers,
    /// As it is shown; nothing for what everybody tries anyway.
    pub(crate) key: &'static str,
    pub(crate) label: &'static str,
    works: fn(&InteractiveModel) -> bool,
    pub(crate) action: InteractiveAction,
}

const NONE: KeyModifiers = KeyModifiers::NONE;
const CTRL: KeyModifiers = KeyModifiers::CONTROL;
const ALT: KeyModifiers = KeyModifiers::ALT;

const fn row(
    code: KeyCode,
    modifiers: KeyModifiers,
    key: &'static str,
    label: &'static str,
    works: fn(&InteractiveModel) -> bool,
    action: InteractiveAction,
) -> Binding {
    Binding {
        code,
        modifiers,
        key,
        label,
        works,
        action,
    }
}

const fn c(letter: char) -> KeyCode {
    KeyCode::Char(letter)
}

fn always(_: &InteractiveModel) -> bool {
    true
}

fn picks(model: &InteractiveModel) -> bool {
    model.picker.is_some() && !model.is_help
}

fn free(model: &InteractiveModel) -> bool {
    model.picker.is_none() && !model.is_help
}

fn searches(model: &InteractiveModel) -> bool {
    free(model) && model.focus == InteractiveFocus::Search
}

fn searches_some(model: &InteractiveModel) -> bool {
    searches(model) && !model.query.is_empty()
}

fn has_results(model: &InteractiveModel) -> bool {
    searches(model) && !model.results().is_empty()
}

fn has_document(model: &InteractiveModel) -> bool {
    searches(model) && model.document.is_some()
}

fn suggests(model: &InteractiveModel) -> bool {
    searches(model) && !model.suggestions.is_empty()
}

fn reads(model: &InteractiveModel) -> bool {
    free(model) && model.focus == InteractiveFocus::Document
}

fn chats(model: &InteractiveModel) -> bool {
    free(model) && model.focus == InteractiveFocus::Chat
}

fn can_ask(model: &InteractiveModel) -> bool {
    chats(model) && !model.chat.is_streaming && !model.chat.input.text().trim().is_empty()
}

fn is_answered(model: &InteractiveModel) -> bool {
    chats(model) && model.chat.is_streaming
}

fn has_conversation(model: &InteractiveModel) -> bool {
    chats(model) && !model.chat.turns.is_empty() && !model.chat.is_streaming
}

fn types(model: &InteractiveModel) -> bool {
    free(model) && model.focus != InteractiveFocus::Document
}

fn leaves_search(model: &InteractiveModel) -> bool {
    free(model) && model.focus != InteractiveFocus::Chat
}

fn has_sources(model: &InteractiveModel) -> bool {
    leaves_search(model) && model.source_names().len() > 1
}

fn has_roles(model: &InteractiveModel) -> bool {
    free(model) && model.roles.roles.len() > 1
}

fn helps(model: &InteractiveModel) -> bool {
    model.is_help
}

/// The table; the first row that fits counts.
#[rustfmt::skip] // a table: a row a line
pub(crate) const BINDINGS: &[Binding] = &[
    row(KeyCode::Esc, NONE, "Esc", "close", helps, InteractiveAction::ToggleHelp),
    row(KeyCode::Enter, NONE, "", "", helps, InteractiveAction::ToggleHelp),
    row(c('q'), NONE, "", "", helps, InteractiveAction::ToggleHelp),
    row(KeyCode::Up, NONE, "↑↓", "choose", picks, InteractiveAction::Choose(-1)),
    row(KeyCode::Down, NONE, "", "", picks, InteractiveAction::Choose(1)),
    row(KeyCode::Enter, NONE, "Enter", "take", picks, InteractiveAction::Open),
    row(KeyCode::Esc, NONE, "Esc", "leave", picks, InteractiveAction::Back),
    // The query and its results.
    row(KeyCode::Tab, NONE, "Tab", "complete", suggests, InteractiveAction::Complete),
    row(KeyCode::Up, NONE, "↑↓", "choose", has_results, InteractiveAction::Choose(-1)),
    row(KeyCode::Down, NONE, "", "", has_results, InteractiveAction::Choose(1)),
    row(KeyCode::Enter, NONE, "Enter", "read", has_results, InteractiveAction::Open),
    row(KeyCode::PageUp, NONE, "PgUp PgDn", "text", has_document, InteractiveAction::Page(-1)),
    row(KeyCode::PageDown, NONE, "", "", has_document, InteractiveAction::Page(1)),
    row(KeyCode::Esc, NONE, "Esc", "clear", searches_some, InteractiveAction::ClearQuery),
    // The document.
    row(KeyCode::Up, NONE, "↑↓", "scroll", reads, InteractiveAction::Scroll(-1)),
    row(KeyCode::Down, NONE, "", "", reads, InteractiveAction::Scroll(1)),
    row(c('k'), NONE, "", "", reads, InteractiveAction::Scroll(-1)),
    row(c('j'), NONE, "", "", reads, InteractiveAction::Scroll(1)),
    row(KeyCode::PageUp, NONE, "PgUp PgDn", "page", reads, InteractiveAction::Page(-1)),
    row(KeyCode::PageDown, NONE, "", "", reads, InteractiveAction::Page(1)),
    row(c(' '), NONE, "", "", reads, InteractiveAction::Page(1)),
    row(KeyCode::Home, NONE, "", "", reads, InteractiveAction::Scroll(isize::MIN)),
    row(KeyCode::End, NONE, "", "", reads, InteractiveAction::Scroll(isize::MAX)),
    row(c('g'), NONE, "", "", reads, InteractiveAction::Scroll(isize::MIN)),
    row(c('G'), NONE, "", "", reads, InteractiveAction::Scroll(isize::MAX)),
    row(c('n'), NONE, "n N", "next match", reads, InteractiveAction::NextMatch),
    row(c('N'), NONE, "", "", reads, InteractiveAction::PreviousMatch),
    row(KeyCode::Left, NONE, "←→", "other results", reads, InteractiveAction::Choose(-1)),
    row(KeyCode::Right, NONE, "", "", reads, InteractiveAction::Choose(1)),
    row(KeyCode::Esc, NONE, "Esc", "back", reads, InteractiveAction::Back),
    row(c('q'), NONE, "", "", reads, InteractiveAction::Back),
    row(c('/'), NONE, "", "", reads, InteractiveAction::Back),
    // The chat.
    row(KeyCode::Enter, NONE, "Enter", "ask", can_ask, InteractiveAction::SendQuestion),
    row(KeyCode::Esc, NONE, "Esc", "stop", is_answered, InteractiveAction::StopAnswer),
    row(KeyCode::Esc, NONE, "Esc", "back", chats, InteractiveAction::Back),
    row(KeyCode::Up, NONE, "↑↓", "scroll", has_conversation, InteractiveAction::Scroll(-1)),
    row(KeyCode::Up, NONE, "", "", chats, InteractiveAction::Scroll(-1)),
    row(KeyCode::Down, NONE, "", "", chats, InteractiveAction::Scroll(1)),
    row(KeyCode::PageUp, NONE, "", "", chats, InteractiveAction::Page(-1)),
    row(KeyCode::PageDown, NONE, "", "", chats, InteractiveAction::Page(1)),
    row(c('n'), CTRL, "^N", "new chat", has_conversation, InteractiveAction::NewConversation),
    row(c('t'), CTRL, "", "", chats, InteractiveAction::Back),
    // Everywhere.
    row(c('r'), CTRL, "^R", "role", has_roles, InteractiveAction::PickRole),
    row(c('s'), CTRL, "^S", "source", has_sources, InteractiveAction::PickSource),
    row(c('t'), CTRL, "^T", "chat", leaves_search, InteractiveAction::OpenChat),
    row(KeyCode::F(1), NONE, "F1", "help", always, InteractiveAction::ToggleHelp),
    row(c('?'), NONE, "", "", reads, InteractiveAction::ToggleHelp),
    row(c('c'), CTRL, "^C", "quit", always, InteractiveAction::Quit),
    row(c('q'), CTRL, "", "", always, InteractiveAction::Quit),
    row(c('z'), CTRL, "", "", always, InteractiveAction::Suspend),
    // Typing.
    row(KeyCode::Left, NONE, "", "", types, InteractiveAction::Edit(Edit::Left)),
    row(KeyCode::Right, NONE, "", "", types, InteractiveAction::Edit(Edit::Right)),
    row(KeyCode::Left, CTRL, "", "", types, InteractiveAction::Edit(Edit::WordLeft)),
    row(KeyCode::Right, CTRL, "", "", types, InteractiveAction::Edit(Edit::WordRight)),
    row(c('b'), ALT, "", "", types, InteractiveAction::Edit(Edit::WordLeft)),
    row(c('f'), ALT, "", "", types, InteractiveAction::Edit(Edit::WordRight)),
    row(KeyCode::Home, NONE, "", "", types, InteractiveAction::Edit(Edit::Home)),
    row(KeyCode::End, NONE, "", "", types, InteractiveAction::Edit(Edit::End)),
    row(c('a'), CTRL, "", "", types, InteractiveAction::Edit(Edit::Home)),
    row(c('e'), CTRL, "", "", types, InteractiveAction::Edit(Edit::End)),
    row(KeyCode::Backspace, NONE, "", "", types, InteractiveAction::Edit(Edit::Backspace)),
    row(c('h'), CTRL, "", "", types, InteractiveAction::Edit(Edit::Backspace)),
    row(KeyCode::Delete, NONE, "", "", types, InteractiveAction::Edit(Edit::Delete)),
    row(c('w'), CTRL, "", "", types, InteractiveAction::Edit(Edit::DeleteWord)),
    row(KeyCode::Backspace, ALT, "", "", types, InteractiveAction::Edit(Edit::DeleteWord)),
    row(c('u'), CTRL, "", "", types, InteractiveAction::Edit(Edit::DeleteToStart)),
    row(c('k'), CTRL, "", "", types, InteractiveAction::Edit(Edit::DeleteToEnd)),
];

/// What a key does now.
pub(crate) fn action(model: &InteractiveModel, key: KeyEvent) -> Option<InteractiveAction> {
    // Capitals come with and without the modifier.
    let modifiers = match key.code {
        KeyCode::Char(_) => key.modifiers - KeyModifiers::SHIFT,
        _ => key.modifiers,
    };
    let fits =
        |row: &&Binding| row.code == key.code && row.modifiers == modifiers && (row.works)(model);
    BINDINGS.iter().find(fits).map(|row| row.action)
}

/// The character that a key types into the input with the focus.
pub(crate) fn typed(model: &InteractiveModel, key: KeyEvent) -> Option<char> {
    let KeyCode::Char(c) = key.code else {
        return None;
    };
    let is_plain = !key.modifiers.intersects(CTRL | ALT);
    (is_plain && types(model)).then_some(c)
}

/// The keys that work now, and what they do.
pub(crate) fn help(
    model: &InteractiveModel,
) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
    let shown = |row: &&Binding| !row.key.is_empty() && (row.works)(model);
    BINDINGS
        .iter()
        .filter(shown)
        .map(|row| (row.key, row.label))
}
