//! `interactive`: the full-screen client.
//!
//! ```text
//! keys, mouse, size ─▶ InteractiveEvent ─▶ update(InteractiveModel) ─▶ draw
//!        answers ────────▲                     └─▶ InteractiveEffect ─▶ Work ─HTTP─▶ the server
//! ```
//! `update` and everything below it is pure; requests run beside it, so that typing never waits.

mod document;
mod draw;
mod event;
mod keys;
mod layout;
mod line_editor;
mod model;
mod pointer;
mod update;
mod work;

#[cfg(test)]
mod tests;

use command_line::terminal::{ColourDepth, InputReader, Palette, Screen, TerminationSignals};
use config_core::Environment;
use crossterm::event::{Event as TerminalEvent, MouseButton, MouseEventKind};
use service_agent::{ClientFailure, CommandResult, OpenTarget};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use event::{InteractiveEffect, InteractiveEvent};
use model::InteractiveModel;
use update::{first_effects, update};
use work::InteractiveRequests;

/// Lines that a notch of the wheel moves.
const WHEEL_LINES: isize = 3;

/// Runs the screen until the person leaves it, or a signal ends it.
///
/// # Errors
/// When this is no terminal, it is gone, or a signal came.
pub(crate) async fn run(
    opened: &OpenTarget,
    environment: &Environment,
) -> Result<CommandResult, ClientFailure> {
    let failed = |error: std::io::Error| {
        ClientFailure::Other(format!(
            "interactive needs a terminal ({error}); `search` and `repl` do not"
        ))
    };
    let mut signals = TerminationSignals::listen().map_err(failed)?;
    // The keys first: a standard input that is no terminal leaves the screen alone.
    let mut input = InputReader::start().map_err(failed)?;
    let palette = Palette::new(ColourDepth::from_environment(environment));
    let size = crossterm::terminal::size().map_err(failed)?;
    let server = if opened.is_private() {
        "your sources in this process".to_owned()
    } else {
        opened.client.url().to_string()
    };
    let mut model = InteractiveModel::new(size, &server);
    #[expect(clippy::disallowed_methods, reason = "answers to what was asked here")]
    let (sender, mut answers) = unbounded_channel();
    let mut work = InteractiveRequests::new(opened.client.clone(), sender);
    let mut screen = Screen::open().map_err(failed)?;
    for effect in first_effects() {
        work.start(effect);
    }
    loop {
        let gone = |error| ClientFailure::Other(format!("the terminal is gone: {error}"));
        let (columns, rows) = screen.measure().map_err(gone)?;
        update(&mut model, InteractiveEvent::Resized(columns, rows));
        screen
            .draw(|frame| draw::draw(frame, &model, &palette))
            .map_err(gone)?;
        let first = tokio::select! {
            ended = signals.next() => return Err(ClientFailure::Signalled(ended)),
            event = input.next() => match event {
                Some(event) => translated(&event),
                None => return Err(ClientFailure::Other("the terminal is gone".to_owned())),
            },
            Some(event) = answers.recv() => Some(event),
        };
        // Everything that has come already is one frame.
        let more = waiting(&mut input, &mut answers);
        for event in first.into_iter().chain(more) {
            if matches!(event, InteractiveEvent::Resized(..)) {
                screen.repaint().map_err(failed)?;
            }
            for effect in update(&mut model, event) {
                match effect {
                    InteractiveEffect::Quit => return Ok(CommandResult::Found),
                    InteractiveEffect::Suspend => screen.suspend().map_err(failed)?,
                    effect => work.start(effect),
                }
            }
        }
    }
}

/// Most events that one frame takes.
const BATCH: usize = 512;

fn waiting(
    input: &mut InputReader,
    answers: &mut UnboundedReceiver<InteractiveEvent>,
) -> Vec<InteractiveEvent> {
    let mut events = Vec::new();
    while events.len() < BATCH
        && let Some(event) = input.waiting()
    {
        events.extend(translated(&event));
    }
    while events.len() < BATCH
        && let Ok(event) = answers.try_recv()
    {
        events.push(event);
    }
    events
}

/// What the terminal says, as far as it means something here.
fn translated(event: &TerminalEvent) -> Option<InteractiveEvent> {
    match event {
        TerminalEvent::Key(key) => Some(InteractiveEvent::Key(*key)),
        TerminalEvent::Paste(text) => Some(InteractiveEvent::Pasted(text.clone())),
        TerminalEvent::Resize(columns, rows) => Some(InteractiveEvent::Resized(*columns, *rows)),
        TerminalEvent::Mouse(mouse) => {
            let (column, row) = (mouse.column, mouse.row);
            match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => {
                    Some(InteractiveEvent::Clicked(column, row))
                }
                MouseEventKind::ScrollUp => {
                    Some(InteractiveEvent::Wheel(-WHEEL_LINES, column, row))
                }
                MouseEventKind::ScrollDown => {
                    Some(InteractiveEvent::Wheel(WHEEL_LINES, column, row))
                }
                _ => None,
            }
        }
        _ => None,
    }
}
