//! The commands: where to ask, and what to print.

use std::io;

use config_core::Environment;
use search_core::role::{Os, ServerFlags, ServerSettings, parse_environment};
use serde::Serialize;
use url::Url;

use crate::arguments::{Arguments, Command, Format, RolesCommand};
use crate::failure::{Failure, Outcome};
use crate::remote::Remote;
use crate::{human, in_process};

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Outcome, Failure> {
    let settings = settings(arguments, environment)?;
    actix_rt::System::new().block_on(async {
        let place = place(arguments, &settings).await?;
        let colours = human::colours(environment.get("NO_COLOR").ok().flatten());
        match &arguments.command {
            Command::Search(search) => {
                let order = search.order();
                let answer = match place {
                    Some(remote) => remote.search(&order).await?,
                    None => {
                        let roles = in_process::roles(&settings, environment)?;
                        in_process::search(&settings, roles, order).await?
                    }
                };
                show(arguments.format, &answer, || {
                    human::answer(&answer, colours)
                })?;
                Ok(if answer.total == 0 {
                    Outcome::NothingFound
                } else {
                    Outcome::Found
                })
            }
            Command::Roles {
                command: RolesCommand::List,
            } => {
                let list = match place {
                    Some(remote) => remote.roles().await?,
                    None => in_process::role_list(&in_process::roles(&settings, environment)?),
                };
                show(arguments.format, &list, || human::roles(&list, colours))?;
                Ok(Outcome::Found)
            }
        }
    })
}

fn settings(arguments: &Arguments, environment: &Environment) -> Result<ServerSettings, Failure> {
    let flags = ServerFlags {
        config: arguments.place.config.clone(),
        data: arguments.place.data.clone(),
        server: arguments.place.server.clone(),
        ..ServerFlags::default()
    };
    let settings = parse_environment(&flags, environment, Os::current());
    settings.map_err(|diagnostics| Failure::Configuration(diagnostics.to_string()))
}

/// The server to ask; `None`: this process searches.
async fn place(
    arguments: &Arguments,
    settings: &ServerSettings,
) -> Result<Option<Remote>, Failure> {
    if arguments.place.in_process {
        return Ok(None);
    }
    if let Some(endpoint) = &settings.api_endpoint {
        return Ok(Some(Remote::new(
            endpoint.value.clone(),
            settings.api_token.clone(),
        )));
    }
    if arguments.place.config.is_some() || arguments.place.data.is_some() {
        return Ok(None);
    }
    let url = format!("http://{}/", settings.listen.value);
    let url =
        Url::parse(&url).map_err(|error| Failure::Configuration(format!("{url}: {error}")))?;
    let remote = Remote::new(url, settings.api_token.clone());
    Ok(remote.is_up().await.then_some(remote))
}

/// Prints an answer in the format asked for. A reader that has left (`| head`) is no failure.
fn show(
    format: Format,
    answer: &impl Serialize,
    human: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let text = match format {
        Format::Human => human(),
        Format::Json => serde_json::to_string_pretty(answer)
            .map_err(|error| Failure::Other(error.to_string()))?,
    };
    match human::print(&text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Other(error.to_string()))
        }
        _ => Ok(()),
    }
}
