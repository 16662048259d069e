//! Draws `top`.

use command_line::terminal::Palette;
use command_line::terminal::text::{fit, one_line, width};
use jiff::Timestamp;
use orchestrator_core::admin::{RunView, StatusView};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::keys;
use super::layout::{TopLayout, areas, first_run, inside};
use super::model::{ActorLine, RunAction, TopFocus, TopModel};

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, model: &TopModel, palette: &Palette) {
    let area = frame.area();
    if area.width < 20 || area.height < 4 {
        frame.render_widget(Paragraph::new("make it larger"), area);
        return;
    }
    let areas = areas(model);
    head(frame, model, palette, areas.head);
    if !areas.runs.is_empty() {
        runs(frame, model, palette, &areas);
    }
    if !areas.actors.is_empty() {
        actors(frame, model, palette, &areas);
    }
    if model.detail.is_some() {
        detail(frame, model, palette);
    }
    if model.is_text {
        return;
    }
    notice(frame, model, palette, areas.notice);
    help_line(frame, model, palette, areas.help);
    if model.is_help {
        help_page(frame, model, palette);
    }
}

/// Two lines: how it is, and what is odd.
fn head(frame: &mut Frame<'_>, model: &TopModel, palette: &Palette, area: Rect) {
    let Some(snapshot) = &model.snapshot else {
        frame.render_widget(
            Line::styled(" asking the orchestrator…", palette.note),
            area,
        );
        return;
    };
    let status = &snapshot.status;
    let queue = &status.queue;
    let mut text = format!(
        " orchestrator {} · up {}",
        one_line(&status.version),
        format_since(&status.started_at, model.now)
    );
    text += &format!(
        " · queued {} · starting {} · running {}",
        queue.queued, queue.starting, queue.running
    );
    if queue.queued > 0 {
        text += &format!(" · oldest waits {}", duration(queue.oldest_secs));
    }
    if let Some(next) = &status.next_tick_at {
        text += &format!(" · next tick in {}", format_until(next, model.now));
    }
    let columns = usize::from(area.width);
    let odd = odd(status);
    let second = if odd.is_empty() {
        Line::styled(" nothing is odd", palette.good)
    } else {
        Line::styled(
            fit(&format!(" ! {}", odd.join(" · ")), columns),
            palette.note,
        )
    };
    let lines = vec![Line::styled(fit(&text, columns), palette.title), second];
    frame.render_widget(Paragraph::new(lines), area);
}

/// What somebody should know of.
fn odd(status: &StatusView) -> Vec<String> {
    let mut odd = Vec::new();
    let mut note = |condition: bool, text: String| {
        if condition {
            odd.push(one_line(&text));
        }
    };
    let paused: Vec<&str> = status
        .projects
        .iter()
        .filter(|project| project.paused)
        .map(|project| project.id.as_str())
        .collect();
    note(!paused.is_empty(), format!("paused: {}", paused.join(", ")));
    note(!status.mentions, "mentions are not configured".to_owned());
    note(
        status.outbox > 0,
        format!("{} posts to the forge wait", status.outbox),
    );
    note(
        status.parked > 0,
        format!("{} posts were given up", status.parked),
    );
    note(
        !status.breakers.is_empty(),
        format!("open circuits: {}", status.breakers.join(", ")),
    );
    note(
        !status.quarantined.is_empty(),
        format!("in quarantine: {}", status.quarantined.join(", ")),
    );
    note(
        !status.statuses.is_empty(),
        format!("{} statuses are owed", status.statuses.len()),
    );
    for warning in &status.warnings {
        note(true, warning.clone());
    }
    odd
}

fn framed<'a>(title: &str, has_focus: bool, palette: &Palette) -> Block<'a> {
    let style = if has_focus {
        palette.focused
    } else {
        palette.border
    };
    Block::bordered()
        .border_style(style)
        .title(Span::styled(format!(" {title} "), palette.title))
}

fn runs(frame: &mut Frame<'_>, model: &TopModel, palette: &Palette, areas: &TopLayout) {
    let inner = inside(areas.runs, areas.is_text);
    if !areas.is_text {
        let title = format!("Runs {}", model.runs().len());
        frame.render_widget(
            framed(&title, model.focus == TopFocus::Runs, palette),
            areas.runs,
        );
    }
    let columns = usize::from(inner.width);
    let widths = run_widths(columns);
    let head = row(&["RUN", "AGENT", "STATE", "SINCE", "ABOUT"], &widths);
    let mut lines = vec![Line::styled(fit(&head, columns), palette.faint)];
    if model.runs().is_empty() && model.snapshot.is_some() {
        let text = "no runs yet: `orchctl trigger AGENT` starts one";
        lines.push(Line::styled(text, palette.faint));
    }
    let first = first_run(model, areas);
    let shown = usize::from(inner.height).saturating_sub(1);
    for (at, run) in model.runs().iter().enumerate().skip(first).take(shown) {
        let text = run_row(run, model.now, &widths);
        let style = run_style(run, palette);
        let is_chosen =
            !areas.is_text && at == model.chosen_index() && model.focus == TopFocus::Runs;
        let pad = " ".repeat(columns.saturating_sub(width(&text)));
        let style = if is_chosen {
            style.patch(palette.selected)
        } else {
            style
        };
        lines.push(Line::styled(fit(&(text + &pad), columns), style));
    }
    frame.render_widget(Paragraph::new(lines), inner);
}

fn run_widths(columns: usize) -> [usize; 5] {
    let left = columns.saturating_sub(13 + 9 + 7 + 8);
    let agent = (left / 2).clamp(8, 24);
    [13, agent, 9, 7, left.saturating_sub(agent)]
}

fn row(cells: &[&str; 5], widths: &[usize; 5]) -> String {
    let cells = cells.iter().zip(widths).map(|(cell, columns)| {
        let cell = fit(&one_line(cell), *columns);
        let pad = " ".repeat(columns.saturating_sub(width(&cell)));
        cell + &pad
    });
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

fn run_row(run: &RunView, now: Timestamp, widths: &[usize; 5]) -> String {
    let why = run.exit.as_ref().map(|exit| exit.class.clone());
    let why = why
        .or_else(|| run.reason.clone())
        .or_else(|| run.hold.clone());
    let about = match why {
        Some(why) => format!("{why} · {}", run.subject),
        None => run.subject.clone(),
    };
    let at = run.ended_at.as_deref().or(run.started_at.as_deref());
    row(
        &[
            short(&run.id),
            &format!("{}/{}", run.project, run.agent),
            &run.state,
            &format_since(at.unwrap_or(&run.queued_at), now),
            &about,
        ],
        widths,
    )
}

/// The beginning of an id, as `orchctl show` takes it: the time in a UUID, to the millisecond.
fn short(id: &str) -> &str {
    id.get(..13).unwrap_or(id)
}

fn run_style(run: &RunView, palette: &Palette) -> Style {
    let class = run.exit.as_ref().map(|exit| exit.class.as_str());
    match (run.ended, class) {
        (false, _) if run.started_at.is_some() => palette.good,
        (false, _) => palette.note,
        (true, Some("success" | "empty_success")) => Style::new(),
        (true, _) => palette.error,
    }
}

fn actors(frame: &mut Frame<'_>, model: &TopModel, palette: &Palette, areas: &TopLayout) {
    let inner = inside(areas.actors, areas.is_text);
    if !areas.is_text {
        let title = format!("Actors {}", model.actors().len());
        let has_focus = model.focus == TopFocus::Actors;
        frame.render_widget(framed(&title, has_focus, palette), areas.actors);
    }
    let columns = usize::from(inner.width);
    let name = columns.saturating_sub(12 + 9 + 10 + 6).clamp(10, 48);
    let cells = |name_cell: &str, state: &str, restarts: &str, mailbox: &str| {
        let pad = " ".repeat(name.saturating_sub(width(name_cell)));
        format!("{name_cell}{pad}  {state:<12}  {restarts:>8}  {mailbox:>9}")
    };
    let head = cells("ACTOR", "STATE", "RESTARTS", "MAILBOX");
    let mut lines = vec![Line::styled(fit(&head, columns), palette.faint)];
    let shown = usize::from(inner.height).saturating_sub(1);
    for actor in model.actors().iter().skip(model.actor).take(shown) {
        let indented = format!("{}{}", "  ".repeat(actor.depth), one_line(&actor.name));
        let mut text = cells(
            &fit(&indented, name),
            &one_line(&actor.state),
            &actor.restarts.to_string(),
            &format!("{}/{}", actor.mailbox, actor.capacity),
        );
        if let Some(exit) = actor.last_exit.as_ref().filter(|_| actor.restarts > 0) {
            text += &format!("  {}", one_line(exit));
        }
        lines.push(Line::styled(
            fit(&text, columns),
            actor_style(actor, palette),
        ));
    }
    frame.render_widget(Paragraph::new(lines), inner);
}

fn actor_style(actor: &ActorLine, palette: &Palette) -> Style {
    match actor.state.as_str() {
        "parked" => palette.error,
        "backing_off" | "stopping" | "starting" => palette.note,
        _ if actor.restarts > 0 => palette.note,
        _ => Style::new(),
    }
}

/// A run that is read, over both lists.
fn detail(frame: &mut Frame<'_>, model: &TopModel, palette: &Palette) {
    let Some(detail) = &model.detail else { return };
    let area = Rect::new(0, 2, model.size.0, model.size.1.saturating_sub(4));
    frame.render_widget(Clear, area);
    frame.render_widget(
        framed(&format!("Run {}", one_line(&detail.id)), true, palette),
        area,
    );
    let inner = inside(area, false);
    let height = usize::from(inner.height);
    let columns = usize::from(inner.width);
    let first = detail.scroll.min(detail.lines.len().saturating_sub(height));
    let lines = detail.lines.iter().skip(first).take(height);
    let lines = lines.map(|line| Line::raw(fit(&line.replace('\t', "    "), columns)));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), inner);
}

fn notice(frame: &mut Frame<'_>, model: &TopModel, palette: &Palette, area: Rect) {
    let columns = usize::from(area.width);
    let (text, style) = match (&model.question, &model.notice) {
        (Some((action, id)), _) => {
            let does = match action {
                RunAction::Cancel => "ends its process, or takes it from the queue",
                RunAction::Retry => "queues the same again",
            };
            (format!("{} {id}? It {does}.", action.verb()), palette.note)
        }
        (None, Some((text, true))) => {
            let age = model.fetched_at.map(|at| {
                let seconds = (model.now.as_second() - at.as_second()).max(0);
                format!(
                    " · shown is what was {} ago",
                    duration(seconds.unsigned_abs())
                )
            });
            (
                format!("! {text}{}", age.unwrap_or_default()),
                palette.error,
            )
        }
        (None, Some((text, false))) => (text.clone(), palette.good),
        (None, None) => return,
    };
    let text = fit(&format!(" {}", one_line(&text)), columns);
    frame.render_widget(Line::styled(text, style), area);
}

fn help_line(frame: &mut Frame<'_>, model: &TopModel, palette: &Palette, area: Rect) {
    let mut spans = vec![Span::raw(" ")];
    let mut left = usize::from(area.width).saturating_sub(1);
    for (key, label) in keys::help(model) {
        let needed = width(key) + width(label) + 3;
        if needed > left + 2 {
            continue;
        }
        left = left.saturating_sub(needed);
        spans.push(Span::styled(key, palette.key));
        spans.push(Span::raw(format!(" {label}  ")));
    }
    frame.render_widget(Line::from(spans), area);
}

fn help_page(frame: &mut Frame<'_>, model: &TopModel, palette: &Palette) {
    let mut before = model.clone();
    before.is_help = false;
    let mut lines: Vec<Line<'_>> = keys::help(&before)
        .map(|(key, label)| {
            Line::from(vec![
                Span::styled(format!(" {key:<8}"), palette.key),
                Span::raw(label),
            ])
        })
        .collect();
    lines.push(Line::styled(
        " A click chooses a run, a second one reads it.",
        palette.faint,
    ));
    let rows = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let (width, height) = model.size;
    let (columns, rows) = (width.min(60), rows.min(height));
    let page = Rect::new((width - columns) / 2, (height - rows) / 2, columns, rows);
    frame.render_widget(Clear, page);
    let block = framed("Keys that work here", true, palette);
    frame.render_widget(Paragraph::new(lines).block(block), page);
}

/// How long ago, as people say it.
fn format_since(at: &str, now: Timestamp) -> String {
    let Ok(at) = at.parse::<Timestamp>() else {
        return "-".to_owned();
    };
    duration((now.as_second() - at.as_second()).max(0).unsigned_abs())
}

fn format_until(at: &str, now: Timestamp) -> String {
    let Ok(at) = at.parse::<Timestamp>() else {
        return "-".to_owned();
    };
    duration((at.as_second() - now.as_second()).max(0).unsigned_abs())
}

/// `40 s`, `3 min`, `5 h`, `12 d`.
fn duration(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}
