//! What the mouse does: the same actions as the keys, by where it points.

use super::keys::InteractiveAction;
use super::layout::{self, areas, inside};
use super::model::{InteractiveFocus, InteractiveModel};

/// What stands before the suggestions, and between two of them.
pub(crate) const SUGGESTIONS_HEAD: &str = "  Tab ";
/// See [`SUGGESTIONS_HEAD`].
pub(crate) const SUGGESTIONS_GAP: &str = " · ";

/// What a click or the wheel means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PointerAction {
    Nothing,
    /// As a key does.
    Act(InteractiveAction),
    /// Takes this item of the list to choose from.
    Pick(usize),
    /// Leaves that list.
    LeavePicker,
    /// Chooses this result.
    Choose(usize),
    /// Gives the keys to a part.
    Focus(InteractiveFocus),
    /// Takes this suggestion.
    Complete(usize),
}

/// What a click means.
pub(crate) fn clicked(model: &InteractiveModel, column: u16, row: u16) -> PointerAction {
    if model.is_help {
        return PointerAction::Act(InteractiveAction::ToggleHelp);
    }
    let areas = areas(model);
    let at = (column, row).into();
    if let Some(picker) = &model.picker {
        let list = inside(areas.picker);
        if !list.contains(at) {
            return PointerAction::LeavePicker;
        }
        let first = layout::first_shown(picker.selected, usize::from(list.height));
        let to = first + usize::from(row - list.y);
        return PointerAction::Pick(to.min(picker.items.len().saturating_sub(1)));
    }
    let list = inside(areas.results);
    if list.contains(at) {
        let below = usize::from(row - list.y) / layout::rows_of_result(&areas);
        let to = layout::first_result(model, &areas) + below;
        return match to {
            to if to >= model.results().len() => PointerAction::Nothing,
            // A click on what is chosen opens it.
            to if to == model.selected => PointerAction::Act(InteractiveAction::Open),
            to => PointerAction::Choose(to),
        };
    }
    if areas.document.contains(at) && model.document.is_some() {
        return PointerAction::Focus(InteractiveFocus::Document);
    }
    if areas.input.contains(at) && model.focus == InteractiveFocus::Document {
        return PointerAction::Focus(InteractiveFocus::Search);
    }
    if areas.suggestions.contains(at) {
        let which = suggestion_at(model, usize::from(column));
        return which.map_or(PointerAction::Nothing, PointerAction::Complete);
    }
    PointerAction::Nothing
}

/// What the wheel means, by lines.
pub(crate) fn wheeled(
    model: &InteractiveModel,
    lines: isize,
    column: u16,
    row: u16,
) -> PointerAction {
    let over_results = areas(model).results.contains((column, row).into());
    if model.picker.is_some() || over_results {
        return PointerAction::Act(InteractiveAction::Choose(lines.signum()));
    }
    PointerAction::Act(InteractiveAction::Scroll(lines))
}

/// The suggestion that stands at a column.
fn suggestion_at(model: &InteractiveModel, column: usize) -> Option<usize> {
    let mut end = SUGGESTIONS_HEAD.len();
    model.suggestions.iter().position(|suggestion| {
        let start = end;
        let shown = command_line::terminal::text::one_line(suggestion);
        end = start + command_line::terminal::text::width(&shown) + 3;
        (start..end).contains(&column)
    })
}
