//! Where everything of `top` stands; drawing and the mouse use the same.

use ratatui::layout::Rect;

use super::model::{TopFocus, TopModel};

/// From here on runs and actors stand side by side.
const WIDE: u16 = 150;

/// Below that only the list with the focus is seen.
const TALL: u16 = 16;

/// Where everything stands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TopLayout {
    pub(super) head: Rect,
    pub(super) runs: Rect,
    pub(super) actors: Rect,
    pub(super) notice: Rect,
    pub(super) help: Rect,
    pub(super) is_text: bool,
}

impl TopLayout {
    /// Where the rows of runs stand.
    pub(super) fn run_rows(&self) -> Rect {
        below_head(inside(self.runs, self.is_text))
    }
}

/// Where everything stands on this screen.
pub(super) fn areas(model: &TopModel) -> TopLayout {
    let (width, height) = model.size;
    if model.is_text {
        let runs = u16::try_from(model.runs().len() + 1).unwrap_or(height);
        let runs = runs.min(height.saturating_sub(2));
        let actors = height.saturating_sub(2 + runs);
        return TopLayout {
            head: Rect::new(0, 0, width, 2.min(height)),
            runs: Rect::new(0, 2.min(height), width, runs),
            actors: Rect::new(0, height - actors, width, actors),
            is_text: true,
            ..TopLayout::default()
        };
    }
    let body = Rect::new(0, 2.min(height), width, height.saturating_sub(4));
    let (runs, actors) = if width >= WIDE {
        let left = width * 3 / 5;
        (
            Rect {
                width: left,
                ..body
            },
            Rect::new(left, body.y, width - left, body.height),
        )
    } else if height >= TALL {
        let upper = body.height * 3 / 5;
        (
            Rect {
                height: upper,
                ..body
            },
            Rect::new(0, body.y + upper, width, body.height - upper),
        )
    } else if model.focus == TopFocus::Runs {
        (body, Rect::default())
    } else {
        (Rect::default(), body)
    };
    let line = |row: u16| Rect::new(0, row, width, u16::from(row < height));
    TopLayout {
        head: Rect::new(0, 0, width, 2.min(height)),
        runs,
        actors,
        notice: line(height.saturating_sub(2)),
        help: line(height.saturating_sub(1)),
        is_text: false,
    }
}

/// What is inside a frame; a frame as text has none.
pub(super) fn inside(area: Rect, is_text: bool) -> Rect {
    if is_text {
        return area;
    }
    if area.width < 2 || area.height < 2 {
        return Rect::default();
    }
    Rect::new(area.x + 1, area.y + 1, area.width - 2, area.height - 2)
}

fn below_head(area: Rect) -> Rect {
    Rect::new(
        area.x,
        area.y.saturating_add(1),
        area.width,
        area.height.saturating_sub(1),
    )
}

/// The first run that is shown, so that the chosen one is.
pub(super) fn first_run(model: &TopModel, areas: &TopLayout) -> usize {
    let rows = usize::from(areas.run_rows().height).max(1);
    model.chosen_index() / rows * rows
}
