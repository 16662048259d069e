//! Lists: the results, and what is chosen from.

use command_line::terminal::Palette;
use command_line::terminal::text::{fit, number, one_line, width};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};
use search_core::answer::SearchResult;

use super::super::document::{DocumentPane, wrap};
use super::super::layout::{self, InteractiveLayout, inside};
use super::super::model::{InteractiveFocus, InteractiveModel, PickerKind, QueryState};
use super::frame::framed;

/// The results, or why there are none and what can be done.
pub(super) fn results(
    frame: &mut Frame<'_>,
    model: &InteractiveModel,
    palette: &Palette,
    areas: &InteractiveLayout,
) {
    let area = areas.results;
    let total = model.results().len();
    let title = match total {
        0 => "Results".to_owned(),
        _ => format!("Results {} of {}", model.selected + 1, number(total as u64)),
    };
    frame.render_widget(
        framed(
            &title,
            area,
            model.focus == InteractiveFocus::Search,
            palette,
        ),
        area,
    );
    let inner = inside(area);
    if total == 0 {
        let lines: Vec<Line<'_>> = empty(model)
            .iter()
            .flat_map(|line| wrap(&[(line.clone(), false)], usize::from(inner.width)))
            .map(|line| {
                Line::styled(
                    line.into_iter().map(|(text, _)| text).collect::<String>(),
                    palette.faint,
                )
            })
            .collect();
        frame.render_widget(Paragraph::new(lines), inner);
        return;
    }
    let first = layout::first_result(model, areas);
    let rows = layout::rows_of_result(areas);
    let shown = model.results().iter().enumerate().skip(first);
    let columns = usize::from(inner.width);
    let lines: Vec<Line<'_>> = shown
        .take(layout::results_shown(areas))
        .flat_map(|(at, result)| lines(result, at == model.selected, columns, rows, palette))
        .collect();
    frame.render_widget(Paragraph::new(lines), inner);
}

fn lines(
    result: &SearchResult,
    is_chosen: bool,
    columns: usize,
    rows: usize,
    palette: &Palette,
) -> Vec<Line<'static>> {
    let head = format!("{:>2} {}", result.rank, one_line(&result.title));
    let head = fit(&head, columns);
    let pad = " ".repeat(columns.saturating_sub(width(&head)));
    let style = if is_chosen {
        palette.title.patch(palette.selected)
    } else {
        palette.title
    };
    let place = result.path.as_deref().unwrap_or(&result.url);
    let line = result
        .line
        .map(|line| format!(":{line}"))
        .unwrap_or_default();
    let source = format!(" · {}", one_line(&result.source));
    // The end of a path says more than its beginning.
    let room = columns.saturating_sub(3 + width(&line) + width(&source));
    let place = format!("   {}{line}{source}", tail(&one_line(place), room));
    let mut lines = vec![
        Line::styled(head + &pad, style),
        Line::styled(fit(&place, columns), palette.faint),
    ];
    if rows > 2 {
        let mut excerpt = DocumentPane::excerpt(result);
        excerpt.wrap(columns.saturating_sub(3).max(1));
        let mut spans = vec![Span::raw("   ")];
        let first = excerpt.wrapped.into_iter().next().unwrap_or_default();
        spans.extend(first.into_iter().map(|(text, is_match)| {
            let style = if is_match {
                palette.matched
            } else {
                Style::new()
            };
            Span::styled(text, style)
        }));
        lines.push(Line::from(spans));
    }
    lines
}

/// The end of a text that takes at most `columns`.
fn tail(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut start = text.len();
    let mut taken = 1;
    for (at, c) in text.char_indices().rev() {
        taken += width(c.encode_utf8(&mut [0; 4]));
        if taken > columns {
            break;
        }
        start = at;
    }
    format!("…{}", &text[start..])
}

/// What an empty list says: why, and what to do next.
fn empty(model: &InteractiveModel) -> Vec<String> {
    let lines: Vec<String> = match &model.search {
        QueryState::Idle => vec![
            "Type to search. Results come while you type.".to_owned(),
            "^T asks a question, ^R changes the role, F1 shows all keys.".to_owned(),
        ],
        QueryState::Pending => vec![],
        QueryState::Failed(reason) => vec![one_line(reason)],
        QueryState::Found(answer) if answer.indexing => {
            let (done, total) = model.indexing().unwrap_or_default();
            vec![
                "Nothing found yet.".to_owned(),
                format!(
                    "Still indexing, {} of {}: the query is asked again by itself.",
                    number(done),
                    number(total)
                ),
            ]
        }
        QueryState::Found(_) => {
            let filter = model.source.as_ref().map(|source| {
                format!(
                    "Only {} was searched: ^S searches all sources.",
                    one_line(source)
                )
            });
            let mut lines = vec!["Nothing found.".to_owned()];
            lines.extend(filter);
            lines.push("Fewer words, OR between them, or another role find more.".to_owned());
            lines
        }
    };
    lines
}

/// The list to choose from.
pub(super) fn picker(
    frame: &mut Frame<'_>,
    model: &InteractiveModel,
    palette: &Palette,
    area: Rect,
) {
    let Some(picker) = &model.picker else { return };
    let title = match picker.kind {
        PickerKind::Role => "Search as",
        PickerKind::Source => "Results from",
    };
    frame.render_widget(Clear, area);
    frame.render_widget(framed(title, area, true, palette), area);
    let inner = inside(area);
    let shown = usize::from(inner.height);
    let first = layout::first_shown(picker.selected, shown);
    let columns = usize::from(inner.width);
    let items = picker.items.iter().enumerate().skip(first).take(shown);
    let lines: Vec<Line<'_>> = items
        .map(|(at, item)| {
            let text = fit(&format!(" {}", one_line(item)), columns);
            let pad = " ".repeat(columns.saturating_sub(width(&text)));
            let style = if at == picker.selected {
                palette.selected
            } else {
                Style::new()
            };
            Line::styled(text + &pad, style)
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), inner);
}
