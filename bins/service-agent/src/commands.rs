//! The commands, but for indexing.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use config_core::Environment;
use search_core::answer::{RoleList, SearchAnswer};
use search_core::concepts::GraphAnswer;
use serde_json::{Value, json};
use service_agent::configuration::input;
use service_agent::{
    ChatStreamItem, Client, ClientFailure, CommandResult, SearchTarget, configuration,
};

use crate::arguments::{ConfigCommand, OutputFormat, SearchArguments};
use crate::human;
use crate::output::{Output, show, write};
use crate::views;

pub(crate) async fn search(
    client: &Client,
    search: &SearchArguments,
    output: Output,
) -> Result<CommandResult, ClientFailure> {
    let body = search.body();
    let answer: SearchAnswer = client
        .search(&body, search.wait())
        .await
        .map_err(|failure| failure.showing(&search.query))?;
    show(output, &answer, || {
        human::answer(&answer, search.budget_tokens as usize, output.colours)
    })?;
    Ok(if answer.total == 0 {
        CommandResult::NothingFound
    } else {
        CommandResult::Found
    })
}

/// The roles there are.
pub(crate) async fn role_list(place: &SearchTarget) -> Result<RoleList, ClientFailure> {
    match place {
        SearchTarget::Server(client) => client.get(&["api", "roles"], &[]).await,
        SearchTarget::Here(here) => Ok(views::role_list(&here.roles()?)),
    }
}

pub(crate) async fn roles(
    place: &SearchTarget,
    output: Output,
) -> Result<CommandResult, ClientFailure> {
    let list = role_list(place).await?;
    show(output, &list, || human::roles(&list, output.colours))?;
    Ok(CommandResult::Found)
}

pub(crate) async fn graph(
    client: &Client,
    concept: Option<&str>,
    role: Option<&str>,
    limit: u16,
    output: Output,
) -> Result<CommandResult, ClientFailure> {
    let limit = limit.to_string();
    let mut query = vec![("limit", limit.as_str())];
    query.extend(concept.map(|concept| ("concept", concept)));
    query.extend(role.map(|role| ("role", role)));
    let answer: GraphAnswer = client.get(&["api", "graph"], &query).await?;
    show(output, &answer, || views::graph(&answer, concept.is_some()))?;
    Ok(if answer.concepts.is_empty() {
        CommandResult::NothingFound
    } else {
        CommandResult::Found
    })
}

/// For people each piece is printed as it comes, the sources below; for programs the whole answer.
pub(crate) async fn chat(
    client: &Client,
    message: &str,
    role: Option<&str>,
    conversation: Option<&str>,
    output: Output,
) -> Result<CommandResult, ClientFailure> {
    let message = if message == "-" {
        String::from_utf8_lossy(&input(Path::new("-"))?).into_owned()
    } else {
        message.to_owned()
    };
    let mut body = json!({"message": message, "stream": true});
    if let Some(role) = role {
        body["role"] = role.into();
    }
    if let Some(conversation) = conversation {
        body["conversation_id"] = conversation.into();
    }
    let human = output.format == OutputFormat::Human;
    let answer = client.chat(&body, |piece| {
        if let (ChatStreamItem::Text(text), true) = (piece, human) {
            human::print_chunk(&text);
        }
    });
    let answer = answer.await?;
    show(output, &answer, || views::chat_footer(&answer))?;
    Ok(CommandResult::Found)
}

pub(crate) fn validate(
    file: &Path,
    environment: &Environment,
    output: Output,
) -> Result<CommandResult, ClientFailure> {
    let name = if file == Path::new("-") {
        "standard input".to_owned()
    } else {
        file.display().to_string()
    };
    let warnings = configuration::validate(&name, &input(file)?, environment)?;
    show(
        output,
        &json!({"status": "valid", "warnings": warnings}),
        || {
            let warnings: Vec<String> = warnings.iter().map(|one| format!("! {one}")).collect();
            format!("{name} is valid\n{}", warnings.join("\n"))
        },
    )?;
    Ok(CommandResult::Found)
}

pub(crate) async fn configure(
    place: &SearchTarget,
    command: &ConfigCommand,
    environment: &Environment,
    output: Output,
) -> Result<CommandResult, ClientFailure> {
    let now = configuration::show(place).await?;
    match command {
        ConfigCommand::Get { pointer: None } => write(&now.text),
        ConfigCommand::Get {
            pointer: Some(pointer),
        } => part(&now.text, pointer),
        ConfigCommand::Set { file } => {
            let text = String::from_utf8(input(file)?).map_err(|_| {
                ClientFailure::Configuration(format!("{} is not UTF-8", file.display()))
            })?;
            let text = configuration::replace(place, text, &now.tag).await?;
            report(output, &text)
        }
        ConfigCommand::Edit => edit(place, &now.text, &now.tag, environment, output).await,
        ConfigCommand::Validate { file } => validate(file, environment, output),
    }
}

fn part(text: &str, pointer: &str) -> Result<CommandResult, ClientFailure> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| ClientFailure::Other(error.to_string()))?;
    let Some(part) = value.pointer(pointer) else {
        return Err(ClientFailure::NotFound(format!(
            "there is nothing at {pointer:?}; a pointer looks like /roles/0/name"
        )));
    };
    write(&format!("{part:#}"))
}

fn report(output: Output, text: &str) -> Result<CommandResult, ClientFailure> {
    match output.format {
        OutputFormat::Human => human::print_note("the configuration is in force"),
        OutputFormat::Json => drop(write(text)?),
    }
    Ok(CommandResult::Found)
}

/// What was typed is kept in a file when it cannot be used.
async fn edit(
    place: &SearchTarget,
    text: &str,
    tag: &str,
    environment: &Environment,
    output: Output,
) -> Result<CommandResult, ClientFailure> {
    let failed =
        |error: &dyn std::fmt::Display| ClientFailure::Other(format!("cannot edit: {error}"));
    let named = ["VISUAL", "EDITOR"].into_iter();
    let editor = named
        .filter_map(|name| environment.get(name).ok().flatten())
        .find(|editor| !editor.trim().is_empty());
    let editor = editor.ok_or_else(|| {
        ClientFailure::Configuration("set VISUAL or EDITOR to the editor to use".to_owned())
    })?;
    let mut file = tempfile::Builder::new()
        .prefix("roles-")
        .suffix(".json")
        .tempfile()
        .map_err(|error| failed(&error))?;
    file.write_all(text.as_bytes())
        .map_err(|error| failed(&error))?;
    let mut words = editor.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or(editor));
    let status = command.args(words).arg(file.path()).status();
    let status = status.map_err(|error| failed(&format!("{editor}: {error}")))?;
    if !status.success() {
        return Err(failed(&format!("{editor} ended with {status}")));
    }
    // Editors often put another file in the place of the first.
    let changed = std::fs::read_to_string(file.path()).map_err(|error| failed(&error))?;
    if changed == text {
        human::print_note("nothing was changed");
        return Ok(CommandResult::Found);
    }
    match configuration::replace(place, changed, tag).await {
        Ok(text) => report(output, &text),
        Err(failure) => {
            let (_, path) = file.keep().map_err(|error| failed(&error))?;
            human::print_note(&format!("what you wrote is kept in {}", path.display()));
            Err(failure)
        }
    }
}
