//! Draws the screen. Text of documents, sources and models is made visible on the way.

mod chat;
mod frame;
mod lists;

use command_line::terminal::Palette;
use command_line::terminal::text::{fit, number, one_line, width};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use self::frame::framed;
use super::keys;
use super::layout::{InteractiveLayout, areas, inside};
use super::line_editor::LineEditor;
use super::model::{InteractiveFocus, InteractiveModel, QueryState};
use super::pointer::{SUGGESTIONS_GAP, SUGGESTIONS_HEAD};
use super::update::ALL_SOURCES;

/// The smallest screen that can be worked on.
const SMALLEST: (u16, u16) = (20, 6);

/// Draws everything.
pub(crate) fn draw(frame: &mut Frame<'_>, model: &InteractiveModel, palette: &Palette) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        frame.render_widget(Paragraph::new("make it larger"), area);
        return;
    }
    let areas = areas(model);
    input(frame, model, palette, &areas);
    suggestions(frame, model, palette, areas.suggestions);
    if !areas.results.is_empty() {
        lists::results(frame, model, palette, &areas);
    }
    if !areas.document.is_empty() {
        document(frame, model, palette, areas.document);
    }
    if !areas.chat.is_empty() {
        chat::chat(frame, model, palette, areas.chat);
    }
    status(frame, model, palette, areas.status);
    help_line(frame, model, palette, areas.help);
    if model.picker.is_some() {
        lists::picker(frame, model, palette, areas.picker);
    }
    if model.is_help {
        help_page(frame, model, palette, area);
    }
}

/// The line that is typed into, with role and source to the right of it.
fn input(
    frame: &mut Frame<'_>,
    model: &InteractiveModel,
    palette: &Palette,
    areas: &InteractiveLayout,
) {
    let area = areas.input;
    let (prompt, line) = match model.focus {
        InteractiveFocus::Chat => ("Ask › ", &model.chat.input),
        _ => ("Search › ", &model.query),
    };
    let source = model.source.as_deref().unwrap_or(ALL_SOURCES);
    let filter = one_line(&format!("{} · {source}", model.role_name()));
    let total = usize::from(area.width);
    let room = total.saturating_sub(width(prompt) + 16);
    let filter = if room < 8 {
        String::new()
    } else {
        fit(&filter, room.min(total / 2))
    };
    let columns = total.saturating_sub(width(prompt) + width(&filter) + 1);
    let (shown, cursor) = line.view(columns);
    let gap = columns.saturating_sub(width(shown)) + 1;
    let spans = vec![
        Span::styled(prompt, palette.key),
        Span::raw(shown.to_owned()),
        Span::raw(" ".repeat(gap)),
        Span::styled(filter, palette.faint),
    ];
    frame.render_widget(Line::from(spans), area);
    let has_cursor =
        model.focus != InteractiveFocus::Document && model.picker.is_none() && !model.is_help;
    if has_cursor {
        place_cursor(frame, area, width(prompt) + cursor);
    }
    empty_hint(frame, area, prompt, line, palette, model);
}

fn place_cursor(frame: &mut Frame<'_>, area: Rect, column: usize) {
    let column = u16::try_from(column).unwrap_or(u16::MAX);
    let x = area
        .x
        .saturating_add(column)
        .min(area.right().saturating_sub(1));
    frame.set_cursor_position(Position::new(x, area.y));
}

/// What can be typed, while nothing is.
fn empty_hint(
    frame: &mut Frame<'_>,
    area: Rect,
    prompt: &str,
    line: &LineEditor,
    palette: &Palette,
    model: &InteractiveModel,
) {
    let hint = match model.focus {
        InteractiveFocus::Chat if !model.chat.is_streaming => "a question about your documents",
        InteractiveFocus::Search => "words, \"phrases\", NOT, title: tag:",
        _ => return,
    };
    let left = u16::try_from(width(prompt)).unwrap_or(0);
    let room = usize::from(area.width / 2).saturating_sub(usize::from(left));
    if line.is_empty() && width(hint) <= room {
        let at = Rect::new(area.x + left, area.y, area.width / 2, 1);
        frame.render_widget(Span::styled(hint, palette.faint), at);
    }
}

fn suggestions(frame: &mut Frame<'_>, model: &InteractiveModel, palette: &Palette, area: Rect) {
    if model.suggestions.is_empty() || model.focus != InteractiveFocus::Search {
        return;
    }
    let mut spans = vec![Span::styled(SUGGESTIONS_HEAD, palette.key)];
    for (at, suggestion) in model.suggestions.iter().enumerate() {
        if at > 0 {
            spans.push(Span::styled(SUGGESTIONS_GAP, palette.faint));
        }
        spans.push(Span::styled(one_line(suggestion), palette.faint));
    }
    frame.render_widget(Line::from(spans), area);
}

/// The text of the chosen result, matches marked.
fn document(frame: &mut Frame<'_>, model: &InteractiveModel, palette: &Palette, area: Rect) {
    let title = model
        .document
        .as_ref()
        .map_or_else(String::new, |document| {
            let more = match (document.is_whole, document.is_truncated) {
                (false, _) => " · reading…",
                (true, true) => " · the beginning",
                (true, false) => "",
            };
            format!("{}{more}", one_line(&document.title))
        });
    let has_focus = model.focus == InteractiveFocus::Document;
    let block = framed(&title, area, has_focus, palette);
    let inner = inside(area);
    frame.render_widget(block, area);
    let Some(document) = &model.document else {
        return;
    };
    let shown = document.wrapped.iter().skip(document.scroll);
    let lines: Vec<Line<'_>> = shown
        .take(usize::from(inner.height))
        .map(|line| {
            let piece = |(text, is_match): &(String, bool)| {
                let style = if *is_match {
                    palette.matched
                } else {
                    Style::new()
                };
                Span::styled(text.clone(), style)
            };
            Line::from(line.iter().map(piece).collect::<Vec<_>>())
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), inner);
    let total = document.wrapped.len();
    if total > usize::from(inner.height) && area.width > 20 {
        let last = (document.scroll + usize::from(inner.height)).min(total);
        let note = format!(" {}–{} of {} ", document.scroll + 1, last, total);
        let columns = u16::try_from(width(&note)).unwrap_or(0);
        let x = area.right().saturating_sub(columns + 1);
        let at = Rect::new(x, area.bottom() - 1, columns, 1);
        frame.render_widget(Span::styled(note, palette.faint), at);
    }
}

/// How the search went, what is missing, and what went wrong.
fn status(frame: &mut Frame<'_>, model: &InteractiveModel, palette: &Palette, area: Rect) {
    let (text, style) = status_text(model, palette);
    let text = fit(&format!(" {}", one_line(&text)), usize::from(area.width));
    frame.render_widget(Span::styled(text, style), area);
}

fn status_text(model: &InteractiveModel, palette: &Palette) -> (String, Style) {
    if let Some(notice) = &model.notice {
        return (format!("! {notice}"), palette.error);
    }
    if model.focus == InteractiveFocus::Chat {
        let who = model.language_model().map_or_else(
            || "no language model: answers are passages of your documents".to_owned(),
            |name| format!("answered by {name}"),
        );
        return (who, palette.faint);
    }
    match &model.search {
        QueryState::Idle => (format!("asking {}", model.server), palette.faint),
        QueryState::Pending => ("searching…".to_owned(), palette.note),
        QueryState::Failed(reason) => (format!("! {reason}"), palette.error),
        QueryState::Found(answer) => {
            let indexing = match model.indexing() {
                Some((_, 0)) => "still indexing · ".to_owned(),
                Some((done, total)) => {
                    format!("still indexing, {} of {} · ", number(done), number(total))
                }
                None => String::new(),
            };
            let failed = answer.sources.iter().find_map(|source| {
                let error = source.error.as_ref()?;
                Some(format!(" · ! {}: {error}", source.name))
            });
            let style = match (&failed, indexing.is_empty()) {
                (Some(_), _) => palette.error,
                (None, false) => palette.note,
                (None, true) => palette.faint,
            };
            let notes: String = answer
                .notes
                .iter()
                .map(|note| format!(" · {note}"))
                .collect();
            let total = number(answer.total as u64);
            let text = format!(
                "{indexing}{total} found · {} · {:.1} ms{}{notes}",
                answer.relevance_function,
                answer.took_ms,
                failed.unwrap_or_default()
            );
            (text, style)
        }
    }
}

/// The keys that work now, as many as fit, and always the one that shows all of them.
fn help_line(frame: &mut Frame<'_>, model: &InteractiveModel, palette: &Palette, area: Rect) {
    let mut spans = vec![Span::raw(" ")];
    let needed = |(key, label): &(&str, &str)| width(key) + width(label) + 3;
    let all: Vec<_> = keys::help(model).collect();
    let help = all.iter().find(|(key, _)| *key == "F1");
    // What ends the line needs no space behind it.
    let mut left = usize::from(area.width) + 1;
    left = left.saturating_sub(help.map_or(0, needed));
    for row in &all {
        let is_help = Some(row) == help;
        if !is_help && needed(row) > left {
            continue;
        }
        if !is_help {
            left -= needed(row);
        }
        spans.push(Span::styled(row.0, palette.key));
        spans.push(Span::raw(format!(" {}  ", row.1)));
    }
    frame.render_widget(Line::from(spans), area);
}

/// Every key of the place where one is.
fn help_page(frame: &mut Frame<'_>, model: &InteractiveModel, palette: &Palette, area: Rect) {
    let mut before = model.clone();
    before.is_help = false;
    let keys: Vec<_> = keys::help(&before).collect();
    let mut lines: Vec<Line<'_>> = keys
        .iter()
        .map(|(key, label)| {
            Line::from(vec![
                Span::styled(format!(" {key:<10}"), palette.key),
                Span::raw((*label).to_owned()),
            ])
        })
        .collect();
    let mouse = " Click a result to choose it, again to read it; the wheel scrolls.";
    lines.extend([Line::default(), Line::styled(mouse, palette.faint)]);
    for line in QUERY_HELP {
        lines.push(Line::styled(line, palette.faint));
    }
    let rows = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let (columns, rows) = (area.width.min(76), rows.min(area.height));
    let x = (area.width - columns) / 2;
    let page = Rect::new(x, (area.height - rows) / 2, columns, rows);
    frame.render_widget(Clear, page);
    let block = framed("Keys that work here", page, true, palette);
    frame.render_widget(Paragraph::new(lines).block(block), page);
}

const QUERY_HELP: [&str; 2] = [
    " A query: words, \"a phrase\", AND, OR, NOT or -, (groups), begin*,",
    " title: path: tag: source: kind: is: after: before:, re:/expression/",
];
