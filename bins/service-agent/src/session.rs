//! The commands, over one place that answers: opened at the first command that needs it, and kept
//! for those after it.

use config_core::Environment;
use search_core::answer::RoleList;
use service_agent::{
    ClientFailure, CommandResult, OpenTarget, SearchTarget, TargetArguments, bridge,
};

use crate::arguments::{Arguments, Command, ConfigCommand, RolesCommand};
use crate::output::{Output, write};
use crate::{commands, indexing, interactive};

/// Where is asked.
pub(crate) struct TargetSession {
    target: SearchTarget,
    opened: Option<OpenTarget>,
    /// Whether a private server has compared its sources with its index.
    is_settled: bool,
}

/// The commands that ask nobody; `None` for the others.
pub(crate) fn documentation(
    command: &Command,
    environment: &Environment,
    output: Output,
) -> Option<Result<CommandResult, ClientFailure>> {
    let other = |error: std::io::Error| ClientFailure::Other(error.to_string());
    let text = |bytes: Vec<u8>| write(&String::from_utf8_lossy(&bytes));
    let program = <Arguments as clap::CommandFactory>::command;
    match command {
        Command::Completions(options) => {
            Some(text(command_line::completions(program(), options.shell)))
        }
        Command::Man(options) => Some(match &options.out {
            Some(folder) => command_line::write_manuals(program(), folder)
                .map(|()| CommandResult::Found)
                .map_err(other),
            None => command_line::manual(program())
                .map_err(other)
                .and_then(text),
        }),
        Command::Config {
            command: ConfigCommand::Validate { file },
        } => Some(commands::validate(file, environment, output)),
        _ => None,
    }
}

impl TargetSession {
    /// Finds who is asked; nothing is opened.
    pub(crate) async fn find(
        target: &TargetArguments,
        environment: &Environment,
    ) -> Result<Self, ClientFailure> {
        Ok(Self {
            target: target.find(environment, "service-agent").await?,
            opened: None,
            is_settled: false,
        })
    }

    /// Makes sure that somebody answers.
    pub(crate) async fn open(&mut self) -> Result<&OpenTarget, ClientFailure> {
        if self.opened.is_none() {
            self.opened = Some(self.target.open().await?);
            self.is_settled = false;
        }
        let missing = || ClientFailure::Other("nobody answers".to_owned());
        self.opened.as_ref().ok_or_else(missing)
    }

    /// Ends a private server; the next command starts another.
    pub(crate) async fn close(&mut self) {
        if let Some(opened) = self.opened.take() {
            opened.close().await;
        }
    }

    /// The roles there are.
    pub(crate) async fn roles(&self) -> Result<RoleList, ClientFailure> {
        commands::role_list(&self.target).await
    }

    /// Whom a prompt names.
    pub(crate) fn prompt_name(&self) -> String {
        match &self.target {
            SearchTarget::Server(client) => client.url().to_string(),
            SearchTarget::Here(_) => "this process".to_owned(),
        }
    }

    /// Runs a command.
    pub(crate) async fn run(
        &mut self,
        command: &Command,
        environment: &Environment,
        output: Output,
    ) -> Result<CommandResult, ClientFailure> {
        if let Some(done) = documentation(command, environment, output) {
            return done;
        }
        match command {
            Command::Roles {
                command: RolesCommand::List,
            } => commands::roles(&self.target, output).await,
            Command::Config { command } => {
                let changes = matches!(command, ConfigCommand::Set { .. } | ConfigCommand::Edit);
                let done = commands::configure(&self.target, command, environment, output).await;
                if changes && matches!(self.target, SearchTarget::Here(_)) {
                    self.close().await;
                }
                done
            }
            command => self.serve(command, environment, output).await,
        }
    }

    /// The commands that need an index.
    async fn serve(
        &mut self,
        command: &Command,
        environment: &Environment,
        output: Output,
    ) -> Result<CommandResult, ClientFailure> {
        let is_settled = self.is_settled;
        let opened = self.open().await?;
        let client = &opened.client;
        // A private server begins with what was indexed last, and a command has no second try.
        let waits = !matches!(
            command,
            Command::Index { .. } | Command::Mcp | Command::Interactive
        );
        let must_settle = opened.is_private() && waits && !is_settled;
        if must_settle {
            indexing::settle(client, false).await?;
        }
        if opened.is_private() && matches!(command, Command::Graph { .. }) {
            client.concepts_read().await?;
        }
        let done = match command {
            Command::Search(search) => commands::search(client, search, output).await,
            Command::Index { role, source } => {
                indexing::index(opened, role.as_deref(), source.as_deref(), output).await
            }
            Command::Graph {
                concept,
                role,
                limit,
            } => {
                let (concept, role) = (concept.as_deref(), role.as_deref());
                commands::graph(client, concept, role, *limit, output).await
            }
            Command::Chat {
                message,
                role,
                conversation,
            } => {
                let conversation = conversation.as_deref();
                commands::chat(client, message, role.as_deref(), conversation, output).await
            }
            Command::Mcp => bridge::serve(opened).await.map(|()| CommandResult::Found),
            Command::Interactive => interactive::run(opened, environment).await,
            // Dealt with before.
            Command::Roles { .. }
            | Command::Config { .. }
            | Command::Repl
            | Command::Completions(_)
            | Command::Man(_) => Ok(CommandResult::Found),
        };
        self.is_settled |= must_settle;
        done
    }
}
