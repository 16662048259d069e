//! The commands: what is asked, and the document that is printed.

use std::path::Path;
use std::time::Duration;

use clap::CommandFactory;
use config_core::Environment;
use serde_json::{Value, json};
use service_agent::configuration::input;
use service_agent::{
    Client, ClientFailure, CommandResult, OpenTarget, SearchTarget, configuration,
};

use crate::arguments::{
    Arguments, CliConfigCommand, CliSearchArguments, Command, DocumentsCommand, RoleName,
    SkippedArguments,
};
use crate::output::CommandOutput;
use crate::words;

/// Runs the command.
pub(crate) fn run(
    arguments: &Arguments,
    environment: &Environment,
) -> Result<CommandOutput, ClientFailure> {
    match &arguments.command {
        Command::Completions(options) => {
            let script = command_line::completions(Arguments::command(), options.shell);
            Ok(plain(&script))
        }
        Command::Man(options) => {
            let failed = |error: std::io::Error| ClientFailure::Other(error.to_string());
            if let Some(folder) = &options.out {
                command_line::write_manuals(Arguments::command(), folder).map_err(failed)?;
                let document = json!({"status": "success", "folder": folder});
                return Ok(CommandOutput::document(&document, None));
            }
            let page = command_line::manual(Arguments::command()).map_err(failed)?;
            Ok(plain(&page))
        }
        Command::Config {
            command: CliConfigCommand::Validate { file },
        } => {
            let name = file.display().to_string();
            let warnings = configuration::validate(&name, &input(file)?, environment)?;
            let document = json!({"status": "valid", "warnings": warnings});
            Ok(CommandOutput::document(&document, None))
        }
        command => service_agent::run(run_with_target(arguments, command, environment)),
    }
}

/// What is no JSON document.
fn plain(bytes: &[u8]) -> CommandOutput {
    CommandOutput {
        text: String::from_utf8_lossy(bytes).into_owned(),
        outcome: CommandResult::Found,
    }
}

async fn run_with_target(
    arguments: &Arguments,
    command: &Command,
    environment: &Environment,
) -> Result<CommandOutput, ClientFailure> {
    let place = arguments.target.find(environment, "service-cli").await?;
    if let Command::Config { command } = command {
        return config(&place, command).await;
    }
    let opened = place.open().await?;
    if opened.is_private() {
        opened.client.settled().await?;
        if matches!(
            command,
            Command::Graph { .. } | Command::Autocomplete { .. }
        ) {
            opened.client.concepts_read().await?;
        }
    }
    let done = execute(&opened, command).await;
    opened.close().await;
    done
}

async fn config(
    place: &SearchTarget,
    command: &CliConfigCommand,
) -> Result<CommandOutput, ClientFailure> {
    let now = configuration::show(place).await?;
    let text = match command {
        CliConfigCommand::Set { file } => {
            let text = String::from_utf8(input(file)?).map_err(|_| {
                ClientFailure::Configuration(format!("{} is not UTF-8", file.display()))
            })?;
            configuration::replace(place, text, &now.tag).await?
        }
        CliConfigCommand::Get | CliConfigCommand::Validate { .. } => now.text,
    };
    let document: Value =
        serde_json::from_str(&text).map_err(|error| ClientFailure::Other(error.to_string()))?;
    Ok(CommandOutput::document(&document, None))
}

async fn execute(opened: &OpenTarget, command: &Command) -> Result<CommandOutput, ClientFailure> {
    let client = &opened.client;
    let get = async |path: &[&str], query: &[(&str, &str)]| client.get::<Value>(path, query).await;
    match command {
        Command::Search(arguments) => search(client, arguments).await,
        Command::Roles => Ok(CommandOutput::document(
            &get(&["api", "roles"], &[]).await?,
            None,
        )),
        Command::Health => Ok(CommandOutput::document(&get(&["health"], &[]).await?, None)),
        Command::Graph {
            concept,
            role,
            limit,
        } => {
            let limit = limit.to_string();
            let mut query = vec![("limit", limit.as_str())];
            query.extend(concept.as_deref().map(|concept| ("concept", concept)));
            query.extend(role.pair());
            let found = get(&["api", "graph"], &query).await?;
            Ok(CommandOutput::document(&found, Some("concepts")))
        }
        Command::Autocomplete { q, role, limit } => {
            let limit = limit.to_string();
            let mut query = vec![("q", q.as_str()), ("limit", limit.as_str())];
            query.extend(role.pair());
            let found = get(&["api", "autocomplete"], &query).await?;
            Ok(CommandOutput::document(&found, Some("suggestions")))
        }
        Command::Documents {
            command: DocumentsCommand::Get { id, role },
        } => {
            let mut path = vec!["api", "documents"];
            path.extend(id.split('/'));
            let query: Vec<_> = role.pair().into_iter().collect();
            Ok(CommandOutput::document(&get(&path, &query).await?, None))
        }
        Command::Reindex { role, source } => {
            let path = ["api", "sources", role, source, "reindex"];
            let accepted: Value = client.post(&path, &json!({})).await?;
            Ok(CommandOutput::document(&accepted, None))
        }
        Command::Skipped(wanted) => skipped(client, wanted).await,
        Command::Sources { role } => sources(client, role.as_deref()).await,
        Command::Thesaurus { role } => words::thesaurus(client, role).await,
        Command::Replace { role, writing, raw } => {
            words::replace(client, role, *writing, *raw, &standard_input()?).await
        }
        Command::Extract { role } => words::extract(client, role, &standard_input()?).await,
        Command::Summarize {
            document,
            role,
            max_length,
        } => summarize(client, document.as_deref(), role, *max_length).await,
        Command::Chat {
            message,
            role,
            conversation,
        } => chat(client, message, role, conversation.as_deref()).await,
        Command::Config { .. } | Command::Completions(_) | Command::Man(_) => {
            Err(ClientFailure::Other("it was answered before".to_owned()))
        }
    }
}

async fn skipped(
    client: &Client,
    wanted: &SkippedArguments,
) -> Result<CommandOutput, ClientFailure> {
    let limit = wanted.limit.to_string();
    let mut query = vec![("limit", limit.as_str())];
    query.extend(wanted.reason.as_deref().map(|reason| ("reason", reason)));
    query.extend(wanted.after.as_deref().map(|after| ("after", after)));
    let path = ["api", "sources", &wanted.role, &wanted.source, "skipped"];
    let found = client.get::<Value>(&path, &query).await?;
    Ok(CommandOutput::document(&found, Some("skipped")))
}

async fn search(
    client: &Client,
    arguments: &CliSearchArguments,
) -> Result<CommandOutput, ClientFailure> {
    let terms = arguments.terms.iter().map(|term| term.trim());
    let terms: Vec<&str> = terms.filter(|term| !term.is_empty()).collect();
    let mut body = json!({"search_term": arguments.query, "limit": arguments.limit,
        "skip": arguments.skip, "terms": terms, "sources": arguments.sources,
        "explain": arguments.explain, "include_body": arguments.body});
    if let Some(operator) = &arguments.operator {
        body["operator"] = operator.as_str().into();
    }
    arguments.role.write_into(&mut body);
    let found: Value = client
        .search(&body, Duration::from_secs(arguments.wait.into()))
        .await
        .map_err(|failure| failure.showing(&arguments.query))?;
    let outcome = if found["total"] == 0 {
        CommandResult::NothingFound
    } else {
        CommandResult::Found
    };
    Ok(CommandOutput {
        outcome,
        ..CommandOutput::document(&found, None)
    })
}

async fn sources(client: &Client, role: Option<&str>) -> Result<CommandOutput, ClientFailure> {
    let mut health: Value = client.get(&["health"], &[]).await?;
    let mut sources = health["sources"].take();
    if let (Some(list), Some(role)) = (sources.as_array_mut(), role) {
        list.retain(|source| source["role"] == role);
    }
    let document = json!({"status": health["status"], "sources": sources});
    Ok(CommandOutput::document(&document, Some("sources")))
}

async fn summarize(
    client: &Client,
    document: Option<&str>,
    role: &RoleName,
    max_length: Option<u32>,
) -> Result<CommandOutput, ClientFailure> {
    let mut body = match document {
        Some(id) => json!({"document_id": id}),
        None => json!({"content": standard_input()?}),
    };
    if let Some(length) = max_length {
        body["max_length"] = length.into();
    }
    role.write_into(&mut body);
    let summary: Value = client
        .post(&["api", "documents", "summarize"], &body)
        .await?;
    Ok(CommandOutput::document(&summary, None))
}

async fn chat(
    client: &Client,
    message: &str,
    role: &RoleName,
    conversation: Option<&str>,
) -> Result<CommandOutput, ClientFailure> {
    let message = if message == "-" {
        standard_input()?
    } else {
        message.to_owned()
    };
    let mut body = json!({"message": message, "stream": true});
    if let Some(conversation) = conversation {
        body["conversation_id"] = conversation.into();
    }
    role.write_into(&mut body);
    let answer = client.chat(&body, drop).await?;
    let answer =
        serde_json::to_value(answer).map_err(|error| ClientFailure::Other(error.to_string()))?;
    Ok(CommandOutput::document(&answer, None))
}

impl RoleName {
    fn pair(&self) -> Option<(&str, &str)> {
        self.name.as_deref().map(|role| ("role", role))
    }

    fn write_into(&self, body: &mut Value) {
        if let Some(role) = &self.name {
            body["role"] = role.as_str().into();
        }
    }
}

fn standard_input() -> Result<String, ClientFailure> {
    let bytes = input(Path::new("-"))?;
    String::from_utf8(bytes)
        .map_err(|_| ClientFailure::Configuration("standard input is not UTF-8".to_owned()))
}
