//! From the command line to a command, and from its answer to what is printed.

use clap::CommandFactory;
use config_core::Environment;
use service_agent::{CommandResult, Failure, Target, bridge};

use crate::arguments::{Arguments, Command, ConfigCommand, RolesCommand};
use crate::output::{Output, write};
use crate::{commands, human, indexing};

/// Runs the command.
pub(crate) fn run(
    arguments: &Arguments,
    environment: &Environment,
) -> Result<CommandResult, Failure> {
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
        _ => service_agent::run(run_with_target(arguments, environment, output)),
    }
}

/// The commands that ask somebody.
async fn run_with_target(
    arguments: &Arguments,
    environment: &Environment,
    output: Output,
) -> Result<CommandResult, Failure> {
    let place = arguments.target.find(environment, "service-agent").await?;
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
async fn serving(
    place: Target,
    command: &Command,
    output: Output,
) -> Result<CommandResult, Failure> {
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
        Command::Mcp => bridge::serve(&opened).await.map(|()| CommandResult::Found),
        Command::Roles { .. }
        | Command::Config { .. }
        | Command::Completions { .. }
        | Command::Man => Ok(CommandResult::Found),
    };
    opened.close().await;
    done
}
