//! What each key does, in one table: the help line and the help page are made of it, so that they
//! show what works now and nothing else.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::line_editor::Edit;
use super::model::{Focus, Model};

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
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
    works: fn(&Model) -> bool,
    pub(crate) action: Action,
}

const NONE: KeyModifiers = KeyModifiers::NONE;
const CTRL: KeyModifiers = KeyModifiers::CONTROL;
const ALT: KeyModifiers = KeyModifiers::ALT;

const fn row(
    code: KeyCode,
    modifiers: KeyModifiers,
    key: &'static str,
    label: &'static str,
    works: fn(&Model) -> bool,
    action: Action,
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

fn always(_: &Model) -> bool {
    true
}

fn picks(model: &Model) -> bool {
    model.picker.is_some() && !model.is_help
}

fn free(model: &Model) -> bool {
    model.picker.is_none() && !model.is_help
}

fn searches(model: &Model) -> bool {
    free(model) && model.focus == Focus::Search
}

fn searches_some(model: &Model) -> bool {
    searches(model) && !model.query.is_empty()
}

fn has_results(model: &Model) -> bool {
    searches(model) && !model.results().is_empty()
}

fn has_document(model: &Model) -> bool {
    searches(model) && model.document.is_some()
}

fn suggests(model: &Model) -> bool {
    searches(model) && !model.suggestions.is_empty()
}

fn reads(model: &Model) -> bool {
    free(model) && model.focus == Focus::Document
}

fn chats(model: &Model) -> bool {
    free(model) && model.focus == Focus::Chat
}

fn can_ask(model: &Model) -> bool {
    chats(model) && !model.chat.is_streaming && !model.chat.input.text().trim().is_empty()
}

fn is_answered(model: &Model) -> bool {
    chats(model) && model.chat.is_streaming
}

fn has_conversation(model: &Model) -> bool {
    chats(model) && !model.chat.turns.is_empty() && !model.chat.is_streaming
}

fn types(model: &Model) -> bool {
    free(model) && model.focus != Focus::Document
}

fn leaves_search(model: &Model) -> bool {
    free(model) && model.focus != Focus::Chat
}

fn has_sources(model: &Model) -> bool {
    leaves_search(model) && model.source_names().len() > 1
}

fn has_roles(model: &Model) -> bool {
    free(model) && model.roles.roles.len() > 1
}

fn helps(model: &Model) -> bool {
    model.is_help
}

/// The table; the first row that fits counts.
#[rustfmt::skip] // a table: a row a line
pub(crate) const BINDINGS: &[Binding] = &[
    row(KeyCode::Esc, NONE, "Esc", "close", helps, Action::ToggleHelp),
    row(KeyCode::Enter, NONE, "", "", helps, Action::ToggleHelp),
    row(c('q'), NONE, "", "", helps, Action::ToggleHelp),
    row(KeyCode::Up, NONE, "↑↓", "choose", picks, Action::Choose(-1)),
    row(KeyCode::Down, NONE, "", "", picks, Action::Choose(1)),
    row(KeyCode::Enter, NONE, "Enter", "take", picks, Action::Open),
    row(KeyCode::Esc, NONE, "Esc", "leave", picks, Action::Back),
    // The query and its results.
    row(KeyCode::Tab, NONE, "Tab", "complete", suggests, Action::Complete),
    row(KeyCode::Up, NONE, "↑↓", "choose", has_results, Action::Choose(-1)),
    row(KeyCode::Down, NONE, "", "", has_results, Action::Choose(1)),
    row(KeyCode::Enter, NONE, "Enter", "read", has_results, Action::Open),
    row(KeyCode::PageUp, NONE, "PgUp PgDn", "text", has_document, Action::Page(-1)),
    row(KeyCode::PageDown, NONE, "", "", has_document, Action::Page(1)),
    row(KeyCode::Esc, NONE, "Esc", "clear", searches_some, Action::ClearQuery),
    // The document.
    row(KeyCode::Up, NONE, "↑↓", "scroll", reads, Action::Scroll(-1)),
    row(KeyCode::Down, NONE, "", "", reads, Action::Scroll(1)),
    row(c('k'), NONE, "", "", reads, Action::Scroll(-1)),
    row(c('j'), NONE, "", "", reads, Action::Scroll(1)),
    row(KeyCode::PageUp, NONE, "PgUp PgDn", "page", reads, Action::Page(-1)),
    row(KeyCode::PageDown, NONE, "", "", reads, Action::Page(1)),
    row(c(' '), NONE, "", "", reads, Action::Page(1)),
    row(KeyCode::Home, NONE, "", "", reads, Action::Scroll(isize::MIN)),
    row(KeyCode::End, NONE, "", "", reads, Action::Scroll(isize::MAX)),
    row(c('g'), NONE, "", "", reads, Action::Scroll(isize::MIN)),
    row(c('G'), NONE, "", "", reads, Action::Scroll(isize::MAX)),
    row(c('n'), NONE, "n N", "next match", reads, Action::NextMatch),
    row(c('N'), NONE, "", "", reads, Action::PreviousMatch),
    row(KeyCode::Left, NONE, "←→", "other results", reads, Action::Choose(-1)),
    row(KeyCode::Right, NONE, "", "", reads, Action::Choose(1)),
    row(KeyCode::Esc, NONE, "Esc", "back", reads, Action::Back),
    row(c('q'), NONE, "", "", reads, Action::Back),
    row(c('/'), NONE, "", "", reads, Action::Back),
    // The chat.
    row(KeyCode::Enter, NONE, "Enter", "ask", can_ask, Action::SendQuestion),
    row(KeyCode::Esc, NONE, "Esc", "stop", is_answered, Action::StopAnswer),
    row(KeyCode::Esc, NONE, "Esc", "back", chats, Action::Back),
    row(KeyCode::Up, NONE, "↑↓", "scroll", has_conversation, Action::Scroll(-1)),
    row(KeyCode::Up, NONE, "", "", chats, Action::Scroll(-1)),
    row(KeyCode::Down, NONE, "", "", chats, Action::Scroll(1)),
    row(KeyCode::PageUp, NONE, "", "", chats, Action::Page(-1)),
    row(KeyCode::PageDown, NONE, "", "", chats, Action::Page(1)),
    row(c('n'), CTRL, "^N", "new chat", has_conversation, Action::NewConversation),
    row(c('t'), CTRL, "", "", chats, Action::Back),
    // Everywhere.
    row(c('r'), CTRL, "^R", "role", has_roles, Action::PickRole),
    row(c('s'), CTRL, "^S", "source", has_sources, Action::PickSource),
    row(c('t'), CTRL, "^T", "chat", leaves_search, Action::OpenChat),
    row(KeyCode::F(1), NONE, "F1", "help", always, Action::ToggleHelp),
    row(c('?'), NONE, "", "", reads, Action::ToggleHelp),
    row(c('c'), CTRL, "^C", "quit", always, Action::Quit),
    row(c('q'), CTRL, "", "", always, Action::Quit),
    row(c('z'), CTRL, "", "", always, Action::Suspend),
    // Typing.
    row(KeyCode::Left, NONE, "", "", types, Action::Edit(Edit::Left)),
    row(KeyCode::Right, NONE, "", "", types, Action::Edit(Edit::Right)),
    row(KeyCode::Left, CTRL, "", "", types, Action::Edit(Edit::WordLeft)),
    row(KeyCode::Right, CTRL, "", "", types, Action::Edit(Edit::WordRight)),
    row(c('b'), ALT, "", "", types, Action::Edit(Edit::WordLeft)),
    row(c('f'), ALT, "", "", types, Action::Edit(Edit::WordRight)),
    row(KeyCode::Home, NONE, "", "", types, Action::Edit(Edit::Home)),
    row(KeyCode::End, NONE, "", "", types, Action::Edit(Edit::End)),
    row(c('a'), CTRL, "", "", types, Action::Edit(Edit::Home)),
    row(c('e'), CTRL, "", "", types, Action::Edit(Edit::End)),
    row(KeyCode::Backspace, NONE, "", "", types, Action::Edit(Edit::Backspace)),
    row(c('h'), CTRL, "", "", types, Action::Edit(Edit::Backspace)),
    row(KeyCode::Delete, NONE, "", "", types, Action::Edit(Edit::Delete)),
    row(c('w'), CTRL, "", "", types, Action::Edit(Edit::DeleteWord)),
    row(KeyCode::Backspace, ALT, "", "", types, Action::Edit(Edit::DeleteWord)),
    row(c('u'), CTRL, "", "", types, Action::Edit(Edit::DeleteToStart)),
    row(c('k'), CTRL, "", "", types, Action::Edit(Edit::DeleteToEnd)),
];

/// What a key does now.
pub(crate) fn action(model: &Model, key: KeyEvent) -> Option<Action> {
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
pub(crate) fn typed(model: &Model, key: KeyEvent) -> Option<char> {
    let KeyCode::Char(c) = key.code else {
        return None;
    };
    let is_plain = !key.modifiers.intersects(CTRL | ALT);
    (is_plain && types(model)).then_some(c)
}

/// The keys that work now, and what they do.
pub(crate) fn help(model: &Model) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
    let shown = |row: &&Binding| !row.key.is_empty() && (row.works)(model);
    BINDINGS
        .iter()
        .filter(shown)
        .map(|row| (row.key, row.label))
}
