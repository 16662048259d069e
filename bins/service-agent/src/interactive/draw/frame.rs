//! The frames around parts of the screen.

use command_line::terminal::Palette;
use command_line::terminal::text::fit;
use ratatui::layout::Rect;
use ratatui::text::Span;
use ratatui::widgets::Block;

/// A frame with a title that fits it.
pub(super) fn framed<'a>(title: &str, area: Rect, has_focus: bool, palette: &Palette) -> Block<'a> {
    let style = if has_focus {
        palette.focused
    } else {
        palette.border
    };
    let title = fit(title, usize::from(area.width.saturating_sub(6)));
    let block = Block::bordered().border_style(style);
    if title.is_empty() {
        return block;
    }
    block.title(Span::styled(format!(" {title} "), palette.title))
}
