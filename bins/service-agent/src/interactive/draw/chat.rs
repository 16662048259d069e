//! The conversation, the newest turn at the bottom.

use command_line::terminal::Palette;
use command_line::terminal::text::{one_line, visible};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::super::document::wrap;
use super::super::layout::inside;
use super::super::model::{ChatExchange, InteractiveModel};
use super::frame::framed;

/// The conversation.
pub(super) fn chat(frame: &mut Frame<'_>, model: &InteractiveModel, palette: &Palette, area: Rect) {
    let title = format!("Chat · {}", one_line(model.role_name()));
    frame.render_widget(framed(&title, area, true, palette), area);
    let inner = inside(area);
    let columns = usize::from(inner.width).max(1);
    let mut lines: Vec<Line<'_>> = Vec::new();
    let last = model.chat.turns.len().saturating_sub(1);
    for (at, turn) in model.chat.turns.iter().enumerate() {
        let is_streaming = at == last && model.chat.is_streaming;
        add_turn(&mut lines, turn, is_streaming, columns, palette);
    }
    if lines.is_empty() {
        let hint = "Ask a question: the answer is made of your documents, and says of which.";
        add(&mut lines, hint, columns, palette.faint);
    }
    let height = usize::from(inner.height);
    let most = lines.len().saturating_sub(height);
    let first = most - model.chat.scroll.min(most);
    let shown: Vec<Line<'_>> = lines.into_iter().skip(first).take(height).collect();
    frame.render_widget(Paragraph::new(shown), inner);
}

fn add_turn(
    lines: &mut Vec<Line<'_>>,
    turn: &ChatExchange,
    is_streaming: bool,
    columns: usize,
    palette: &Palette,
) {
    if !lines.is_empty() {
        lines.push(Line::default());
    }
    add(lines, &format!("› {}", turn.question), columns, palette.key);
    add(lines, turn.answer.trim_end(), columns, Style::new());
    if is_streaming {
        lines.push(Line::styled("…", palette.note));
    }
    for citation in &turn.citations {
        let text = format!(
            "[{}] {} · {}",
            citation.number, citation.title, citation.url
        );
        add(lines, &one_line(&text), columns, palette.faint);
    }
    let style = if turn.is_failed {
        palette.error
    } else {
        palette.faint
    };
    add(lines, &turn.note, columns, style);
}

/// Adds the lines of a text, everything in it visible.
fn add(lines: &mut Vec<Line<'_>>, text: &str, columns: usize, style: Style) {
    if text.is_empty() {
        return;
    }
    for line in visible(text).replace('\t', "    ").split('\n') {
        for wrapped in wrap(&[(line.to_owned(), false)], columns) {
            let text: String = wrapped.into_iter().map(|(piece, _)| piece).collect();
            lines.push(Line::styled(text, style));
        }
    }
}
