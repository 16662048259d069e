//! `hook add`: the webhook of a project's repository, registered by the forge's API.
//!
//! The orchestrator is asked for the project's repository; the forge is called from this machine,
//! with the token in `FORGE_TOKEN`.

use std::time::Duration;

use config_core::{Environment, Secret};
use forge_core::{Forge, RepoName};
use http_clients::forge::{ForgeClient, ForgeError, ForgeRefusal, HookChange, HookEvent, HookSpec};
use http_clients::http::{HttpClient, HttpOptions};
use serde::Serialize;
use url::Url;

use crate::arguments::{Arguments, ForgeKind, HookAdd, HookCommand};
use crate::bridge::OrchestratorClient;
use crate::failure::CommandFailure;
use crate::output::show;
use crate::secret;
use crate::trigger::project;

/// The events that the orchestrator acts on.
const EVENTS: [HookEvent; 2] = [HookEvent::PullRequest, HookEvent::IssueComment];

/// What `--format json` prints.
#[derive(Serialize)]
struct HookReport {
    repository: String,
    hook: u64,
    /// `created` or `updated`.
    change: &'static str,
    url: String,
    events: Vec<&'static str>,
    /// A delivery was asked for.
    tested: bool,
}

/// Runs `hook …`; the exit code.
pub(crate) async fn hook(
    arguments: &Arguments,
    HookCommand::Add(wanted): &HookCommand,
    environment: &Environment,
) -> Result<u8, CommandFailure> {
    let client = client(wanted, environment)?;
    let (id, repository) = find_repository(arguments, wanted, environment).await?;
    let secret = secret::resolve(wanted.secret.as_ref(), &arguments.target, &id, environment)?;
    let hook = HookSpec {
        url: wanted.url.clone(),
        secret,
        events: EVENTS.to_vec(),
    };
    let refused = |error: ForgeError| refused(&client, &repository, &error);
    let (found, change) = client
        .ensure_hook(&repository, &hook)
        .await
        .map_err(refused)?;
    if wanted.test {
        client
            .test_hook(&repository, found.id)
            .await
            .map_err(refused)?;
    }
    let registered = HookReport {
        repository: repository.to_string(),
        hook: found.id,
        change: match change {
            HookChange::Created => "created",
            HookChange::Updated => "updated",
        },
        url: wanted.url.to_string(),
        events: EVENTS.iter().map(|event| event.as_str()).collect(),
        tested: wanted.test,
    };
    show(arguments.format, &registered, || human(&registered))?;
    Ok(0)
}

fn human(done: &HookReport) -> String {
    let tested = if done.tested {
        "\nthe forge was asked for a test delivery: see `orchctl events`, or the hook's page at the forge"
    } else {
        ""
    };
    format!(
        "hook {} of {} was {}: {} gets {}{tested}",
        done.hook,
        done.repository,
        done.change,
        done.url,
        done.events.join(", ")
    )
}

/// The project's id and its repository. The orchestrator is asked only for what was not said.
async fn find_repository(
    arguments: &Arguments,
    wanted: &HookAdd,
    environment: &Environment,
) -> Result<(String, RepoName), CommandFailure> {
    if let (Some(project), Some(repository)) = (&wanted.project, &wanted.repository) {
        return Ok((project.to_string(), repository.clone()));
    }
    let bridge = OrchestratorClient::open(&arguments.target, environment)?;
    let known = project(&bridge, wanted.project.as_ref()).await?;
    let repository = match &wanted.repository {
        Some(repository) => repository.clone(),
        None => known.repository.parse().map_err(|error| {
            CommandFailure::Refused(format!("the orchestrator names no repository: {error}"))
        })?,
    };
    Ok((known.id, repository))
}

fn client(wanted: &HookAdd, environment: &Environment) -> Result<ForgeClient, CommandFailure> {
    let kind = match wanted.forge {
        ForgeKind::Gitea => Forge::Gitea,
        ForgeKind::Forgejo => Forge::Forgejo,
        ForgeKind::Github => Forge::GitHub,
    };
    let base = match (&wanted.forge_url, kind) {
        (Some(url), _) => url.clone(),
        (None, Forge::GitHub) => Url::parse("https://api.github.com").expect("a constant address"),
        (None, _) => {
            let text = "--forge-url is missing: the address of the forge, for example https://gitea.example.org";
            return Err(CommandFailure::Usage(text.to_owned()));
        }
    };
    if !matches!(wanted.url.scheme(), "http" | "https") {
        let text = format!("--url {} is no http or https address", wanted.url);
        return Err(CommandFailure::Usage(text));
    }
    let token = environment.get("FORGE_TOKEN").ok().flatten();
    let Some(token) = token.filter(|token| !token.trim().is_empty()) else {
        let text = "FORGE_TOKEN is not set: a token of somebody who administers the repository";
        return Err(CommandFailure::NotAllowed(text.to_owned()));
    };
    let http = HttpClient::new(HttpOptions {
        deadline: Duration::from_secs(20),
        ..HttpOptions::default()
    });
    let token = Secret::new(token.trim().to_owned());
    Ok(ForgeClient::new(http, kind, base, Some(token)))
}

fn refused(client: &ForgeClient, repository: &RepoName, error: &ForgeError) -> CommandFailure {
    let rights = client.hook_rights();
    match error.refusal() {
        Some(ForgeRefusal::Unauthorised | ForgeRefusal::Forbidden) => {
            CommandFailure::NotAllowed(format!("{repository}: {error}; {rights}"))
        }
        Some(ForgeRefusal::NotFound) => CommandFailure::NotFound(format!(
            "{repository}: {error}; is the name right? A forge also says so to a token that may not see it: {rights}"
        )),
        Some(_) => CommandFailure::Refused(format!("{repository}: {error}")),
        None => CommandFailure::Unreachable(format!("{repository}: {error}")),
    }
}
