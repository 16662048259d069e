//! How keys, the mouse and answers change what `top` shows. Pure.

use crossterm::event::{KeyEventKind, MouseButton, MouseEvent, MouseEventKind};

use super::keys::{self, TopAction};
use super::layout;
use super::model::{RunDetail, TopEffect, TopEvent, TopFocus, TopModel};
use crate::human;

/// Changes what is shown; gives what has to be done.
pub(super) fn update(model: &mut TopModel, event: TopEvent) -> Vec<TopEffect> {
    match event {
        TopEvent::Key(key) if key.kind == KeyEventKind::Release => {}
        TopEvent::Key(key) => {
            let action = keys::action(model, key);
            model.notice = None;
            if let Some(action) = action {
                return act(model, action);
            }
            // Anything but yes is no.
            model.question = None;
        }
        TopEvent::Mouse(mouse) => return pointed(model, mouse),
        TopEvent::Resized(columns, rows) => model.size = (columns, rows),
        TopEvent::Tick(now) => {
            model.now = now;
            // One look at a time: a slow line is not asked twice.
            if !model.is_fetching {
                model.is_fetching = true;
                return vec![TopEffect::Fetch];
            }
        }
        TopEvent::Fetched(Ok(snapshot)) => {
            model.is_fetching = false;
            model.fetched_at = Some(model.now);
            model.snapshot = Some(*snapshot);
            if let Some((_, true)) = model.notice {
                model.notice = None;
            }
            model.actor = model.actor.min(model.actors().len().saturating_sub(1));
        }
        TopEvent::Fetched(Err(reason)) => {
            model.is_fetching = false;
            model.notice = Some((reason, true));
        }
        TopEvent::Read(id, text) => {
            let text = text.unwrap_or_else(|reason| reason);
            if let Some(detail) = model.detail.as_mut().filter(|detail| detail.id == id) {
                detail.lines = human::text(&text).lines().map(str::to_owned).collect();
            }
        }
        TopEvent::Done(action, id, Ok(what)) => {
            model.notice = Some((format!("{} {id}: {what}", action.verb()), false));
            return vec![TopEffect::Fetch];
        }
        TopEvent::Done(action, id, Err(reason)) => {
            model.notice = Some((format!("{} {id}: {reason}", action.verb()), true));
        }
    }
    Vec::new()
}

fn act(model: &mut TopModel, action: TopAction) -> Vec<TopEffect> {
    match action {
        TopAction::Quit => return vec![TopEffect::Quit],
        TopAction::Suspend => return vec![TopEffect::Suspend],
        TopAction::ToggleHelp => model.is_help = !model.is_help,
        TopAction::Back => model.detail = None,
        TopAction::SwitchList => {
            model.focus = match model.focus {
                TopFocus::Runs => TopFocus::Actors,
                TopFocus::Actors => TopFocus::Runs,
            };
        }
        TopAction::Move(by) => moved(model, by),
        TopAction::Read => {
            if let Some(run) = model.chosen() {
                let detail = RunDetail {
                    id: run.id.clone(),
                    lines: human::run(run).lines().map(str::to_owned).collect(),
                    scroll: 0,
                };
                let effect = TopEffect::Read(detail.id.clone());
                model.detail = Some(detail);
                return vec![effect];
            }
        }
        TopAction::Ask(what) => {
            let id = model.chosen().map(|run| run.id.clone());
            model.question = id.map(|id| (what, id));
        }
        TopAction::Confirm => {
            if let Some((what, id)) = model.question.take() {
                return vec![TopEffect::Do(what, id)];
            }
        }
        TopAction::Refresh => {
            model.is_fetching = true;
            return vec![TopEffect::Fetch];
        }
    }
    Vec::new()
}

fn moved(model: &mut TopModel, by: isize) {
    let to = |from: usize, of: usize| from.saturating_add_signed(by).min(of.saturating_sub(1));
    if let Some(detail) = &mut model.detail {
        detail.scroll = to(detail.scroll, detail.lines.len());
        return;
    }
    match model.focus {
        TopFocus::Runs => {
            let at = to(model.chosen_index(), model.runs().len());
            model.run = model.runs().get(at).map(|run| run.id.clone());
        }
        TopFocus::Actors => model.actor = to(model.actor, model.actors().len()),
    }
}

fn pointed(model: &mut TopModel, mouse: MouseEvent) -> Vec<TopEffect> {
    let areas = layout::areas(model);
    let at = (mouse.column, mouse.row).into();
    let over_actors = areas.actors.contains(at);
    match mouse.kind {
        MouseEventKind::ScrollUp | MouseEventKind::ScrollDown => {
            let by = if mouse.kind == MouseEventKind::ScrollUp {
                -1
            } else {
                1
            };
            if model.detail.is_none() {
                model.focus = if over_actors {
                    TopFocus::Actors
                } else {
                    TopFocus::Runs
                };
            }
            moved(model, by);
        }
        MouseEventKind::Down(MouseButton::Left) if model.detail.is_none() => {
            if over_actors {
                model.focus = TopFocus::Actors;
                return Vec::new();
            }
            let list = areas.run_rows();
            if !list.contains(at) {
                return Vec::new();
            }
            model.focus = TopFocus::Runs;
            let first = layout::first_run(model, &areas);
            let clicked = first + usize::from(mouse.row - list.y);
            let id = model.runs().get(clicked).map(|run| run.id.clone());
            if id.is_some() && id == model.run {
                return act(model, TopAction::Read);
            }
            model.run = id.or_else(|| model.run.take());
        }
        _ => {}
    }
    Vec::new()
}
