//! `repl`: the commands of the client, line by line.
//!
//! ```text
//! terminal: Reedline on its own thread ─┐
//! pipe: lines of standard input ────────┴─▶ Line ─▶ command ─▶ Session ─▶ what is printed
//! ```
//! The thread waits for a command to end before it reads on; a private server goes on meanwhile.

mod completion;
mod editor;
mod line;
mod read_line;
mod source;

use std::io::IsTerminal;

use command_line::terminal::TerminationSignals;
use config_core::Environment;
use service_agent::{ClientFailure, CommandResult};

use crate::arguments::Command;
use crate::human;
use crate::output::{Output, write};
use crate::session::TargetSession;
use completion::{Names, SharedNames};
use line::{ParsedLine, ReplCommand};
use read_line::ReadLine;
use source::LineSource;

/// Reads and runs commands until the input ends, `quit`, or a signal.
///
/// # Errors
/// How the last command failed that did, in a pipe; in a terminal only what ends the loop itself.
pub(crate) async fn run(
    mut session: TargetSession,
    environment: &Environment,
    output: Output,
) -> Result<CommandResult, ClientFailure> {
    let in_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let names = SharedNames::default();
    // Who cannot be asked now says so at the first command.
    if let Ok(roles) = session.roles().await
        && let Ok(mut names) = names.write()
    {
        *names = Names::from_roles(&roles);
    }
    let mut source = if in_terminal {
        human::print_note(&format!(
            "asking {}; `help` lists the commands, Tab completes, `quit` leaves",
            session.prompt_name()
        ));
        LineSource::editor(environment, &names, output.colours)?
    } else {
        LineSource::pipe()?
    };
    let mut signals =
        TerminationSignals::listen().map_err(|error| ClientFailure::Other(error.to_string()))?;
    let mut state = ReplState {
        role: None,
        output,
        last: Ok(CommandResult::Found),
    };
    let ended = loop {
        let read = tokio::select! {
            ended = signals.next() => {
                source.stop().await;
                break Err(ClientFailure::Signalled(ended));
            }
            read = source.next(state.role.as_deref()) => read?,
        };
        let text = match read {
            ReadLine::Text(text) => text,
            ReadLine::Cancelled => continue,
            ReadLine::End => break Ok(()),
        };
        match state
            .run(&mut session, environment, &text, &mut signals)
            .await
        {
            Flow::Continue => {}
            Flow::Leave => break Ok(()),
        }
    };
    session.close().await;
    ended?;
    if in_terminal {
        return Ok(CommandResult::Found);
    }
    state.last
}

/// Whether there is a next line.
enum Flow {
    Continue,
    Leave,
}

/// What lasts from line to line.
struct ReplState {
    /// The role of commands that name none.
    role: Option<String>,
    output: Output,
    /// How the last command ended that was not just fine.
    last: Result<CommandResult, ClientFailure>,
}

impl ReplState {
    async fn run(
        &mut self,
        session: &mut TargetSession,
        environment: &Environment,
        text: &str,
        signals: &mut TerminationSignals,
    ) -> Flow {
        let parsed = match line::parse(text) {
            Ok(Some(parsed)) => parsed,
            Ok(None) => return Flow::Continue,
            Err(line::LineRefusal::Shown(text)) => {
                let _ = write(&text);
                return Flow::Continue;
            }
            Err(line::LineRefusal::Wrong(text)) => {
                self.record_result(Err(ClientFailure::Refused(text)));
                return Flow::Continue;
            }
        };
        let ParsedLine { command, format } = parsed;
        let output = Output {
            format: format.unwrap_or(self.output.format),
            ..self.output
        };
        let mut command = match command {
            ReplCommand::Quit => return Flow::Leave,
            ReplCommand::Use { role } => {
                let done = self.use_role(session, role).await;
                self.record_result(done);
                return Flow::Continue;
            }
            ReplCommand::Client(command) => command,
        };
        if let Err(failure) = line::check(&command) {
            self.record_result(Err(failure));
            return Flow::Continue;
        }
        if let Some(role) = &self.role {
            line::set_role(&mut command, role);
        }
        let done = tokio::select! {
            biased;
            // Ctrl-C ends the command, other signals end all.
            signal = signals.next() => match signal {
                command_line::terminal::signals::Termination::Interrupt => Err(ClientFailure::Interrupted),
                other => {
                    self.last = Err(ClientFailure::Signalled(other));
                    return Flow::Leave;
                }
            },
            done = session.run(&command, environment, output) => done,
        };
        let leaves =
            matches!(&done, Err(ClientFailure::Signalled(_))) && command_holds_screen(&command);
        self.record_result(done);
        if leaves { Flow::Leave } else { Flow::Continue }
    }

    async fn use_role(
        &mut self,
        session: &TargetSession,
        role: Option<String>,
    ) -> Result<CommandResult, ClientFailure> {
        let Some(role) = role else {
            self.role = None;
            return Ok(CommandResult::Found);
        };
        let roles = session.roles().await?;
        if roles.roles.iter().all(|one| one.name != role) {
            let names: Vec<&str> = roles.roles.iter().map(|one| one.name.as_str()).collect();
            return Err(ClientFailure::NotFound(format!(
                "there is no role {role:?}; there are: {}",
                names.join(", ")
            )));
        }
        self.role = Some(role);
        Ok(CommandResult::Found)
    }

    /// Says how a command failed, and remembers it.
    fn record_result(&mut self, done: Result<CommandResult, ClientFailure>) {
        match &done {
            Ok(CommandResult::Found) => return,
            Ok(CommandResult::NothingFound) => {}
            Err(failure) => human::print_note(&human::clean_lines(&failure.to_string())),
        }
        self.last = done;
    }
}

/// Whether a signal that ends it was meant for the program.
fn command_holds_screen(command: &Command) -> bool {
    matches!(command, Command::Interactive)
}
