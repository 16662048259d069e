//! `top`: a live screen of queue, runs and actors; one frame as text with `--once`.
//!
//! ```text
//! keys, size, clock ─▶ TopEvent ─▶ update(TopModel) ─▶ draw
//!       answers ─────────▲              └─▶ TopEffect ─▶ the admin bridge (local, or over SSH)
//! ```

mod draw;
mod keys;
mod layout;
mod model;
mod update;
mod work;

#[cfg(test)]
mod tests;

use std::io::IsTerminal;
use std::rc::Rc;
use std::time::Duration;

use command_line::terminal::{ColourDepth, InputReader, Palette, Screen, TerminationSignals};
use config_core::Environment;
use crossterm::event::Event as TerminalEvent;
use jiff::Timestamp;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tokio::sync::mpsc::unbounded_channel;

use crate::arguments::TopOptions;
use crate::bridge::OrchestratorClient;
use crate::failure::CommandFailure;
use crate::output::write;
use model::{TopEffect, TopEvent, TopModel};
use update::update;
use work::TopRequests;

/// Columns of a frame that no terminal has a say in, unless COLUMNS does.
const COLUMNS: u16 = 100;

/// Rows of such a frame at most.
const MOST_ROWS: u16 = 200;

/// Runs `top`; the exit code.
pub(crate) async fn top(
    bridge: OrchestratorClient,
    options: &TopOptions,
    environment: &Environment,
) -> Result<u8, CommandFailure> {
    if options.once || !std::io::stdout().is_terminal() {
        let snapshot = work::fetch(&bridge).await?;
        let columns = environment
            .text("COLUMNS")
            .and_then(|text| text.parse().ok());
        let columns = columns.filter(|columns| (40..=500).contains(columns));
        let frame = frame(snapshot, columns.unwrap_or(COLUMNS), Timestamp::now());
        return write(frame.as_bytes()).map(|()| 0);
    }
    live(Rc::new(bridge), options, environment).await
}

/// One frame as text, as high as it needs.
fn frame(snapshot: model::StatusSnapshot, columns: u16, now: Timestamp) -> String {
    let rows = 4 + snapshot.runs.len() + snapshot.actors.len();
    let rows = u16::try_from(rows).unwrap_or(MOST_ROWS).min(MOST_ROWS);
    let mut model = TopModel::new((columns, rows), now);
    model.is_text = true;
    update(&mut model, TopEvent::Fetched(Ok(Box::new(snapshot))));
    let palette = Palette::new(ColourDepth::None);
    // In memory: nothing can fail.
    let backend = TestBackend::new(columns, rows);
    let Ok(mut terminal) = Terminal::new(backend);
    let _ = terminal.draw(|frame| draw::draw(frame, &model, &palette));
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for row in 0..rows {
        let mut skip = 0;
        let mut line = String::new();
        for column in 0..columns {
            let symbol = buffer[(column, row)].symbol();
            // The cell behind a wide character holds nothing of its own.
            if skip == 0 {
                line.push_str(symbol);
                skip = command_line::terminal::text::width(symbol).saturating_sub(1);
            } else {
                skip -= 1;
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

async fn live(
    bridge: Rc<OrchestratorClient>,
    options: &TopOptions,
    environment: &Environment,
) -> Result<u8, CommandFailure> {
    let failed = |error: std::io::Error| {
        CommandFailure::Usage(format!(
            "top needs a terminal ({error}); --once prints one frame"
        ))
    };
    let mut signals = TerminationSignals::listen().map_err(failed)?;
    let mut input = InputReader::start().map_err(failed)?;
    let size = crossterm::terminal::size().map_err(failed)?;
    let palette = Palette::new(ColourDepth::from_environment(environment));
    let mut model = TopModel::new(size, Timestamp::now());
    #[expect(clippy::disallowed_methods, reason = "answers to what was asked here")]
    let (sender, mut answers) = unbounded_channel();
    let mut work = TopRequests::new(bridge, sender);
    let mut ticks = tokio::time::interval(Duration::from_secs(options.interval.into()));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut screen = Screen::open().map_err(failed)?;
    loop {
        let gone = |error| CommandFailure::Unreachable(format!("the terminal is gone: {error}"));
        model.size = screen.measure().map_err(gone)?;
        screen
            .draw(|frame| draw::draw(frame, &model, &palette))
            .map_err(gone)?;
        let event = tokio::select! {
            ended = signals.next() => return Err(CommandFailure::Signalled(ended)),
            event = input.next() => match event {
                Some(TerminalEvent::Key(key)) => TopEvent::Key(key),
                Some(TerminalEvent::Mouse(mouse)) => TopEvent::Mouse(mouse),
                Some(TerminalEvent::Resize(columns, rows)) => {
                    screen.repaint().map_err(failed)?;
                    TopEvent::Resized(columns, rows)
                }
                Some(_) => continue,
                None => return Err(CommandFailure::Unreachable("the terminal is gone".to_owned())),
            },
            Some(event) = answers.recv() => event,
            _ = ticks.tick() => TopEvent::Tick(Timestamp::now()),
        };
        for effect in update(&mut model, event) {
            match effect {
                TopEffect::Quit => return Ok(0),
                TopEffect::Suspend => screen.suspend().map_err(failed)?,
                effect => work.start(effect),
            }
        }
    }
}
