//! How the screen changes: a pure function from what is shown and what happened to what is shown
//! next and what has to be done for it.

use std::time::Duration;

use crossterm::event::KeyEventKind;
use search_core::answer::{DocumentView, SearchAnswer};
use search_core::conversation::ChatAnswer;

use super::document::DocumentPane;
use super::event::{InteractiveEffect, InteractiveEvent};
use super::keys::{self, InteractiveAction};
use super::layout::{areas, inside};
use super::line_editor::Edit;
use super::model::{
    Chat, ChatExchange, InteractiveFocus, InteractiveModel, Picker, PickerKind, QueryState,
};
use super::pointer::{self, PointerAction};

/// How long nothing is typed before a search is sent.
const DEBOUNCE: Duration = Duration::from_millis(60);

/// How long a result is chosen before its document is read.
const READ_DEBOUNCE: Duration = Duration::from_millis(80);

/// Between two searches for the same while sources are being indexed.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// What the picker of sources offers first.
pub(crate) const ALL_SOURCES: &str = "all sources";

/// What has to be done first.
pub(crate) fn first_effects() -> Vec<InteractiveEffect> {
    vec![InteractiveEffect::LoadRoles]
}

/// Changes what is shown; gives what has to be done.
pub(crate) fn update(
    model: &mut InteractiveModel,
    event: InteractiveEvent,
) -> Vec<InteractiveEffect> {
    let effects = match event {
        InteractiveEvent::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
        InteractiveEvent::Key(key) => {
            model.notice = None;
            match (keys::action(model, key), keys::typed(model, key)) {
                (Some(action), _) => act(model, action),
                (None, Some(c)) => typed(model, c.encode_utf8(&mut [0; 4])),
                (None, None) => Vec::new(),
            }
        }
        InteractiveEvent::Pasted(text) => typed(model, &text),
        InteractiveEvent::Clicked(column, row) => {
            let pointed = pointer::clicked(model, column, row);
            point(model, pointed)
        }
        InteractiveEvent::Wheel(lines, column, row) => {
            let pointed = pointer::wheeled(model, lines, column, row);
            point(model, pointed)
        }
        InteractiveEvent::Resized(columns, rows) => {
            model.size = (columns, rows);
            Vec::new()
        }
        InteractiveEvent::Roles(Ok(roles)) => {
            model.roles = roles;
            Vec::new()
        }
        InteractiveEvent::Roles(Err(reason)) => {
            model.notice = Some(reason);
            Vec::new()
        }
        InteractiveEvent::Models(models) => {
            model.models = models;
            Vec::new()
        }
        InteractiveEvent::Suggested(generation, list) => {
            if generation == model.generation {
                model.suggestions = list;
            }
            Vec::new()
        }
        InteractiveEvent::Answered(generation, answer) if generation == model.generation => {
            handle_answer(model, answer)
        }
        InteractiveEvent::Answered(..) => Vec::new(),
        InteractiveEvent::Read(id, view) => {
            read(model, &id, view);
            Vec::new()
        }
        InteractiveEvent::ChatStarted(generation, conversation) => {
            if let Some((id, _)) = current_turn(model, generation) {
                *id = Some(conversation);
            }
            Vec::new()
        }
        InteractiveEvent::ChatText(generation, text) => {
            if let Some((_, turn)) = current_turn(model, generation) {
                turn.answer += &text;
            }
            Vec::new()
        }
        InteractiveEvent::ChatEnded(generation, answer) => {
            chat_ended(model, generation, answer);
            Vec::new()
        }
    };
    fit_document(model);
    effects
}

fn act(model: &mut InteractiveModel, action: InteractiveAction) -> Vec<InteractiveEffect> {
    match action {
        InteractiveAction::Quit => return vec![InteractiveEffect::Quit],
        InteractiveAction::Suspend => return vec![InteractiveEffect::Suspend],
        InteractiveAction::ToggleHelp => model.is_help = !model.is_help,
        InteractiveAction::PickRole => pick(model, PickerKind::Role),
        InteractiveAction::PickSource => pick(model, PickerKind::Source),
        InteractiveAction::OpenChat => {
            model.focus = InteractiveFocus::Chat;
            if model.chat.input.is_empty() && model.chat.turns.is_empty() {
                let question = model.query.text().to_owned();
                model.chat.input.set(&question);
            }
        }
        InteractiveAction::Back if model.picker.is_some() => model.picker = None,
        InteractiveAction::Back => model.focus = InteractiveFocus::Search,
        InteractiveAction::ClearQuery => {
            model.query.set("");
            return restart_search(model);
        }
        InteractiveAction::Complete => return complete(model, 0),
        InteractiveAction::Choose(by) => return choose(model, by),
        InteractiveAction::Open if model.picker.is_some() => return picked(model),
        InteractiveAction::Open => {
            model.focus = InteractiveFocus::Document;
            to_first_match(model);
        }
        InteractiveAction::Scroll(lines) => scroll(model, lines),
        InteractiveAction::Page(pages) => {
            let areas = areas(model);
            let area = if areas.chat.is_empty() {
                areas.document
            } else {
                areas.chat
            };
            let page = isize::try_from(inside(area).height).unwrap_or(1).max(2) - 1;
            scroll(model, pages * page);
        }
        InteractiveAction::NextMatch | InteractiveAction::PreviousMatch => {
            let height = document_height(model);
            if let Some(document) = &mut model.document
                && !document.show_match(action == InteractiveAction::NextMatch, height)
            {
                model.notice = Some("no further match in this direction".to_owned());
            }
        }
        InteractiveAction::SendQuestion => return start_chat(model),
        InteractiveAction::StopAnswer => {
            model.chat.generation += 1;
            model.chat.is_streaming = false;
            if let Some(turn) = model.chat.turns.last_mut() {
                turn.note = "stopped".to_owned();
            }
            return vec![InteractiveEffect::StopChat];
        }
        InteractiveAction::NewConversation => {
            let generation = model.chat.generation + 1;
            model.chat = Chat {
                generation,
                ..Chat::default()
            };
        }
        InteractiveAction::Edit(edit) => return edited(model, edit),
    }
    Vec::new()
}

fn edited(model: &mut InteractiveModel, edit: Edit) -> Vec<InteractiveEffect> {
    if model.focus == InteractiveFocus::Chat {
        model.chat.input.apply(edit);
    } else if model.query.apply(edit) {
        return restart_search(model);
    }
    Vec::new()
}

fn typed(model: &mut InteractiveModel, text: &str) -> Vec<InteractiveEffect> {
    if model.picker.is_some() || model.is_help {
        return Vec::new();
    }
    if model.focus == InteractiveFocus::Chat {
        model.chat.input.insert(text);
        return Vec::new();
    }
    model.focus = InteractiveFocus::Search;
    model.query.insert(text);
    restart_search(model)
}

/// There is another query, role or source: what was found for the former one goes at once.
fn restart_search(model: &mut InteractiveModel) -> Vec<InteractiveEffect> {
    model.generation += 1;
    model.selected = 0;
    model.document = None;
    model.suggestions.clear();
    if model.query.text().trim().is_empty() {
        model.search = QueryState::Idle;
        return vec![InteractiveEffect::StopSearch];
    }
    model.search = QueryState::Pending;
    vec![
        InteractiveEffect::Suggest {
            generation: model.generation,
            text: model.query.text().to_owned(),
            role: model.role.clone(),
        },
        InteractiveEffect::Search {
            generation: model.generation,
            body: model.search_body(),
            after: DEBOUNCE,
        },
    ]
}

fn handle_answer(
    model: &mut InteractiveModel,
    answer: Result<Box<SearchAnswer>, String>,
) -> Vec<InteractiveEffect> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(reason) => {
            model.search = QueryState::Failed(reason);
            model.document = None;
            return Vec::new();
        }
    };
    // The same query again: the choice stays with its document.
    let chosen = model.chosen().map(|result| result.id.clone());
    let at = chosen.and_then(|id| answer.results.iter().position(|result| result.id == id));
    model.selected = at.unwrap_or(0);
    let is_indexing = answer.indexing;
    model.search = QueryState::Found(answer);
    let mut effects = Vec::new();
    if at.is_none() || model.document.is_none() {
        effects.extend(show_chosen(model));
    }
    if is_indexing {
        effects.push(InteractiveEffect::Search {
            generation: model.generation,
            body: model.search_body(),
            after: REFRESH_INTERVAL,
        });
    }
    effects
}

/// Shows the chosen result's excerpt, and has its document read.
fn show_chosen(model: &mut InteractiveModel) -> Option<InteractiveEffect> {
    let result = model.chosen();
    let document = result.map(DocumentPane::excerpt);
    let id = document.as_ref().map(|document| document.id.clone());
    model.document = document;
    Some(InteractiveEffect::Read {
        id: id?,
        role: model.role.clone(),
        query: marked_words(model),
        after: READ_DEBOUNCE,
    })
}

/// The words to mark: those that were searched for in the place of mistyped ones, too.
fn marked_words(model: &InteractiveModel) -> String {
    let mut words = model.query.text().to_owned();
    if let QueryState::Found(answer) = &model.search {
        for correction in &answer.corrections {
            words.push(' ');
            words.push_str(&correction.corrected);
        }
    }
    words
}

fn read(model: &mut InteractiveModel, id: &str, view: Result<Box<DocumentView>, String>) {
    if model.document.as_ref().is_none_or(|shown| shown.id != id) {
        return;
    }
    match view {
        Ok(view) => {
            model.document = Some(DocumentPane::from_view(&view));
            fit_document(model);
            to_first_match(model);
        }
        Err(reason) => model.notice = Some(reason),
    }
}

fn choose(model: &mut InteractiveModel, by: isize) -> Vec<InteractiveEffect> {
    if let Some(picker) = &mut model.picker {
        picker.selected = moved(picker.selected, by, picker.items.len());
        return Vec::new();
    }
    let to = moved(model.selected, by, model.results().len());
    choose_result(model, to)
}

fn choose_result(model: &mut InteractiveModel, to: usize) -> Vec<InteractiveEffect> {
    if to == model.selected && model.document.is_some() {
        return Vec::new();
    }
    model.selected = to;
    show_chosen(model).into_iter().collect()
}

fn moved(from: usize, by: isize, of: usize) -> usize {
    from.saturating_add_signed(by).min(of.saturating_sub(1))
}

fn complete(model: &mut InteractiveModel, which: usize) -> Vec<InteractiveEffect> {
    let Some(suggestion) = model.suggestions.get(which).cloned() else {
        return Vec::new();
    };
    model.query.set(&suggestion);
    restart_search(model)
}

fn pick(model: &mut InteractiveModel, kind: PickerKind) {
    let (items, now) = match kind {
        PickerKind::Role => {
            let names = model.roles.roles.iter().map(|role| role.name.clone());
            (names.collect::<Vec<_>>(), model.role_name().to_owned())
        }
        PickerKind::Source => {
            let mut names = vec![ALL_SOURCES.to_owned()];
            names.extend(model.source_names());
            let now = model.source.clone();
            (names, now.unwrap_or_else(|| ALL_SOURCES.to_owned()))
        }
    };
    let selected = items.iter().position(|item| *item == now).unwrap_or(0);
    model.picker = Some(Picker {
        kind,
        items,
        selected,
    });
}

fn picked(model: &mut InteractiveModel) -> Vec<InteractiveEffect> {
    let Some(picker) = model.picker.take() else {
        return Vec::new();
    };
    let Some(item) = picker.items.get(picker.selected).cloned() else {
        return Vec::new();
    };
    match picker.kind {
        PickerKind::Role => {
            model.role = Some(item);
            // Another role has other sources, and another conversation.
            model.source = None;
        }
        PickerKind::Source => model.source = (picker.selected > 0).then_some(item),
    }
    if model.focus == InteractiveFocus::Document {
        model.focus = InteractiveFocus::Search;
    }
    restart_search(model)
}

fn scroll(model: &mut InteractiveModel, lines: isize) {
    if model.focus == InteractiveFocus::Chat {
        let columns = usize::from(inside(areas(model).chat).width).max(1);
        let most = model.chat.max_rows(columns);
        let up = lines.saturating_neg();
        model.chat.scroll = model.chat.scroll.saturating_add_signed(up).min(most);
        return;
    }
    let height = document_height(model);
    if let Some(document) = &mut model.document {
        document.scroll_by(lines, height);
    }
}

fn start_chat(model: &mut InteractiveModel) -> Vec<InteractiveEffect> {
    let question = model.chat.input.text().trim().to_owned();
    let body = model.chat_body(&question);
    let chat = &mut model.chat;
    chat.input.set("");
    chat.generation += 1;
    chat.is_streaming = true;
    chat.scroll = 0;
    chat.turns.push(ChatExchange {
        question,
        ..ChatExchange::default()
    });
    vec![InteractiveEffect::Ask {
        generation: chat.generation,
        body,
    }]
}

/// The turn that is being answered, if the piece belongs to it.
fn current_turn(
    model: &mut InteractiveModel,
    generation: u64,
) -> Option<(&mut ConversationId, &mut ChatExchange)> {
    let chat = &mut model.chat;
    if chat.generation != generation || !chat.is_streaming {
        return None;
    }
    chat.turns
        .last_mut()
        .map(|turn| (&mut chat.conversation, turn))
}

fn chat_ended(
    model: &mut InteractiveModel,
    generation: u64,
    answer: Result<Box<ChatAnswer>, String>,
) {
    let Some((conversation, turn)) = current_turn(model, generation) else {
        return;
    };
    match answer {
        Ok(answer) => {
            turn.finish(&answer);
            *conversation = Some(answer.conversation_id);
        }
        Err(reason) => turn.fail(&reason),
    }
    model.chat.is_streaming = false;
}

type ConversationId = Option<String>;

fn point(model: &mut InteractiveModel, pointed: PointerAction) -> Vec<InteractiveEffect> {
    match pointed {
        PointerAction::Nothing => {}
        PointerAction::Act(action) => return act(model, action),
        PointerAction::Pick(which) => {
            if let Some(picker) = &mut model.picker {
                picker.selected = which;
            }
            return picked(model);
        }
        PointerAction::LeavePicker => model.picker = None,
        PointerAction::Choose(which) => {
            model.focus = InteractiveFocus::Search;
            return choose_result(model, which);
        }
        PointerAction::Focus(focus) => model.focus = focus,
        PointerAction::Complete(which) => return complete(model, which),
    }
    Vec::new()
}

fn document_height(model: &InteractiveModel) -> usize {
    usize::from(inside(areas(model).document).height)
}

fn to_first_match(model: &mut InteractiveModel) {
    fit_document(model);
    let height = document_height(model);
    if let Some(document) = &mut model.document {
        document.show_first_match(height);
    }
}

/// Wraps the document to where it stands now.
fn fit_document(model: &mut InteractiveModel) {
    let area = inside(areas(model).document);
    if let Some(document) = model.document.as_mut().filter(|_| area.width > 0) {
        document.wrap(usize::from(area.width));
        document.scroll_by(0, usize::from(area.height));
    }
}
