//! From the command line to a command, and from its answer to what is printed.

use std::io;

use clap::CommandFactory;
use config_core::Environment;
use serde::Serialize;
use service_agent::{Failure, Outcome, Place, bridge};

use crate::arguments::{Arguments, Command, ConfigCommand, Format, RolesCommand};
use crate::{commands, human, indexing};

/// How answers are printed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) format: Format,
    pub(crate) colours: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Outcome, Failure> {
    let output = Output {
        format: arguments.format,
        colours: human::colours(environment.get("NO_COLOR").ok().flatten()),
    };
    match &arguments.command {
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(
                *shell,
                &mut Arguments::command(),
                "service-agent",
                &mut script,
            );
            write(&String::from_utf8_lossy(&script))
        }
        Command::Man => {
            let mut page = Vec::new();
            let written = clap_mangen::Man::new(Arguments::command()).render(&mut page);
            written.map_err(|error| Failure::Other(error.to_string()))?;
            write(&String::from_utf8_lossy(&page))
        }
        Command::Config {
            command: ConfigCommand::Validate { file },
        } => commands::validate(file, environment, output),
        _ => service_agent::run(asking(arguments, environment, output)),
    }
}

/// The commands that ask somebody.
async fn asking(
    arguments: &Arguments,
    environment: &Environment,
    output: Output,
) -> Result<Outcome, Failure> {
    let place = arguments.asking.find(environment, "service-agent").await?;
    match &arguments.command {
        Command::Roles {
            command: RolesCommand::List,
        } => commands::roles(&place, output).await,
        Command::Config { command } => {
            commands::configure(&place, command, environment, output).await
        }
        command => serving(place, command, output).await,
    }
}

/// The commands that need an index.
async fn serving(place: Place, command: &Command, output: Output) -> Result<Outcome, Failure> {
    let opened = place.open().await?;
    let client = &opened.client;
    // A private server begins with what was indexed last, and a command has no second try.
    if opened.is_private() && !matches!(command, Command::Index { .. } | Command::Mcp) {
        indexing::settle(client, false).await?;
        if matches!(command, Command::Graph { .. }) {
            client.concepts_read().await?;
        }
    }
    let done = match command {
        Command::Search(search) => commands::search(client, search, output).await,
        Command::Index { role, source } => {
            indexing::index(&opened, role.as_deref(), source.as_deref(), output).await
        }
        Command::Graph {
            concept,
            role,
            limit,
        } => commands::graph(client, concept.as_deref(), role.as_deref(), *limit, output).await,
        Command::Chat {
            message,
            role,
            conversation,
        } => {
            let conversation = conversation.as_deref();
            commands::chat(client, message, role.as_deref(), conversation, output).await
        }
        Command::Mcp => bridge::serve(&opened).await.map(|()| Outcome::Found),
        Command::Roles { .. }
        | Command::Config { .. }
        | Command::Completions { .. }
        | Command::Man => Ok(Outcome::Found),
    };
    opened.close().await;
    done
}

/// Prints an answer in the format asked for.
pub(crate) fn show(
    output: Output,
    answer: &impl Serialize,
    human: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let text = match output.format {
        Format::Human => human(),
        Format::Json => serde_json::to_string_pretty(answer)
            .map_err(|error| Failure::Other(error.to_string()))?,
    };
    write(&text).map(drop)
}

/// Prints. A reader that has left (`| head`) is no failure.
pub(crate) fn write(text: &str) -> Result<Outcome, Failure> {
    match human::print(text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Other(error.to_string()))
        }
        _ => Ok(Outcome::Found),
    }
}
