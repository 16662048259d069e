//! From the command line to a command, and from its answer to what is printed.

use config_core::Environment;
use service_agent::{ClientFailure, CommandResult};

use crate::arguments::{Arguments, Command};
use crate::output::Output;
use crate::session::{TargetSession, documentation};
use crate::{human, interactive, repl};

/// Runs the command.
pub(crate) fn run(
    arguments: &Arguments,
    environment: &Environment,
) -> Result<CommandResult, ClientFailure> {
    let output = Output {
        format: arguments.format,
        colours: human::colours(environment.get("NO_COLOR").ok().flatten()),
    };
    if let Some(done) = documentation(&arguments.command, environment, output) {
        return done;
    }
    let find = TargetSession::find(&arguments.target, environment);
    match &arguments.command {
        // What reads the terminal itself decides what Ctrl-C means.
        Command::Repl => {
            service_agent::run_to_end(async { repl::run(find.await?, environment, output).await })
        }
        Command::Interactive => service_agent::run_to_end(async {
            let mut session = find.await?;
            let done = interactive::run(session.open().await?, environment).await;
            session.close().await;
            done
        }),
        command => service_agent::run(async {
            let mut session = find.await?;
            let done = session.run(command, environment, output).await;
            session.close().await;
            done
        }),
    }
}
