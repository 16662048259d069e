//! Where everything stands, by the size of the screen and what is looked at. Drawing and the mouse
//! use the same.

use ratatui::layout::Rect;

use super::model::{InteractiveFocus, InteractiveModel};

/// From here on results and text stand side by side.
const WIDE: u16 = 100;

/// From here on they stand one above the other; below that only one of them is seen.
const TALL: u16 = 20;

/// Where everything stands. A part that is not seen is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct InteractiveLayout {
    pub(crate) input: Rect,
    pub(crate) suggestions: Rect,
    pub(crate) results: Rect,
    pub(crate) document: Rect,
    pub(crate) chat: Rect,
    pub(crate) status: Rect,
    pub(crate) help: Rect,
    /// The list to choose from, over the rest.
    pub(crate) picker: Rect,
}

/// Where everything stands on this screen.
pub(crate) fn areas(model: &InteractiveModel) -> InteractiveLayout {
    let (width, height) = model.size;
    let line = |row: u16| Rect::new(0, row, width, u16::from(row < height));
    let mut areas = InteractiveLayout {
        input: line(0),
        suggestions: line(1),
        status: line(height.saturating_sub(2)),
        help: line(height.saturating_sub(1)),
        ..InteractiveLayout::default()
    };
    let body = Rect::new(0, 2, width, height.saturating_sub(4));
    if model.focus == InteractiveFocus::Chat {
        areas.chat = body;
    } else if width >= WIDE {
        let left = width * 2 / 5;
        areas.results = Rect::new(0, 2, left, body.height);
        areas.document = Rect::new(left, 2, width - left, body.height);
    } else if height >= TALL {
        let upper = body.height / 2;
        areas.results = Rect::new(0, 2, width, upper);
        areas.document = Rect::new(0, 2 + upper, width, body.height - upper);
    } else if model.focus == InteractiveFocus::Document {
        areas.document = body;
    } else {
        areas.results = body;
    }
    if let Some(picker) = &model.picker {
        let rows = u16::try_from(picker.items.len()).unwrap_or(u16::MAX);
        let height = rows.saturating_add(2).min(body.height);
        let width = width.min(44);
        let x = (model.size.0 - width) / 2;
        areas.picker = Rect::new(x, 2, width, height);
    }
    areas
}

/// What is inside a frame.
pub(crate) fn inside(area: Rect) -> Rect {
    if area.width < 2 || area.height < 2 {
        return Rect::default();
    }
    Rect::new(area.x + 1, area.y + 1, area.width - 2, area.height - 2)
}

/// Rows of one result: with its excerpt where the text is not beside it.
pub(crate) fn rows_of_result(areas: &InteractiveLayout) -> usize {
    if areas.document.is_empty() { 3 } else { 2 }
}

/// The first result that is shown, so that the chosen one is.
pub(crate) fn first_result(model: &InteractiveModel, areas: &InteractiveLayout) -> usize {
    first_shown(model.selected, results_shown(areas))
}

/// Results that fit.
pub(crate) fn results_shown(areas: &InteractiveLayout) -> usize {
    (usize::from(inside(areas.results).height) / rows_of_result(areas)).max(1)
}

/// The first row of a list of which `shown` fit, so that `selected` is seen.
pub(crate) fn first_shown(selected: usize, shown: usize) -> usize {
    (selected / shown.max(1)) * shown.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_overlaps_or_leaves_the_screen_at_any_size() {
        for focus in [
            InteractiveFocus::Search,
            InteractiveFocus::Document,
            InteractiveFocus::Chat,
        ] {
            for width in [0, 1, 2, 10, 40, 80, 100, 120, 300] {
                for height in [0, 1, 2, 3, 5, 12, 20, 24, 40, 100] {
                    let mut model = InteractiveModel::new((width, height), "");
                    model.focus = focus;
                    let areas = areas(&model);
                    let screen = Rect::new(0, 0, width, height);
                    let parts = [areas.results, areas.document, areas.chat];
                    for (at, part) in parts.iter().enumerate() {
                        assert_eq!(part.intersection(screen).area(), part.area());
                        for other in &parts[at + 1..] {
                            assert!(!part.intersects(*other) || part.is_empty());
                        }
                    }
                }
            }
        }
    }
}
