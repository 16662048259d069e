//! The commands: what to ask, and what to print.

use clap::CommandFactory;
use config_core::Environment;
use forge_core::AgentName;
use orchestrator_core::admin::{
    AgentList, CancelReply, CheckView, ProjectView, PromptView, RetryReply, RunList, RunView,
    StatusView,
};
use orchestrator_core::run::AgentRunState;

use crate::arguments::{Arguments, Command, OutputFormat, RunName, RunsArguments};
use crate::bridge::OrchestratorClient;
use crate::failure::CommandFailure;
use crate::hook;
use crate::hosts;
use crate::human;
use crate::output::{show, write};
use crate::stream;
use crate::top;
use crate::trigger::trigger;

/// Length of a run's id, a UUID.
const FULL_ID_LEN: usize = 36;

/// Runs the command; the exit code.
pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<u8, CommandFailure> {
    let failed = |error: std::io::Error| CommandFailure::Refused(error.to_string());
    match &arguments.command {
        Command::Completions(options) => {
            let script = command_line::completions(Arguments::command(), options.shell);
            return write(&script).map(|()| 0);
        }
        Command::Man(options) => {
            if let Some(folder) = &options.out {
                let written = command_line::write_manuals(Arguments::command(), folder);
                return written.map(|()| 0).map_err(failed);
            }
            let page = command_line::manual(Arguments::command()).map_err(failed)?;
            return write(&page).map(|()| 0);
        }
        _ => {}
    }
    actix_rt::System::new().block_on(async {
        tokio::select! {
            // First, so that it listens before the command does anything.
            biased;
            _ = tokio::signal::ctrl_c() => Err(CommandFailure::Interrupted),
            done = command(arguments, environment) => done,
        }
    })
}

async fn command(arguments: &Arguments, environment: &Environment) -> Result<u8, CommandFailure> {
    let format = arguments.format;
    if let Command::Trigger(wanted) = &arguments.command {
        return trigger(arguments, wanted, environment).await;
    }
    if let Command::Hook { command } = &arguments.command {
        return hook::hook(arguments, command, environment).await;
    }
    let bridge = OrchestratorClient::open(&arguments.target, environment)?;
    if let Command::Top(options) = &arguments.command {
        return top::top(bridge, options, environment).await;
    }
    match &arguments.command {
        Command::Status => {
            let status: StatusView = bridge.get("admin/status").await?;
            show(format, &status, || human::status(&status))?;
        }
        Command::List { project } => {
            let query = project.as_ref().map(|id| format!("?project={id}"));
            let path = format!("admin/agents{}", query.unwrap_or_default());
            let list: AgentList = bridge.get(&path).await?;
            show(format, &list, || human::agents(&list))?;
            return Ok(if list.agents.is_empty() { 4 } else { 0 });
        }
        Command::Runs(wanted) => {
            let list = runs(&bridge, wanted).await?;
            show(format, &list, || human::runs(&list))?;
            return Ok(if list.runs.is_empty() { 4 } else { 0 });
        }
        Command::Show { .. }
        | Command::Logs { .. }
        | Command::Cancel { .. }
        | Command::Retry { .. } => {
            return of_run(&bridge, format, &arguments.command).await;
        }
        Command::Events {
            follow,
            after,
            limit,
        } => {
            stream::events(&bridge, format, *after, u64::from(*limit)).await?;
            if *follow {
                stream::follow(&bridge, format).await?;
            }
        }
        Command::Pause { project } => paused(&bridge, format, project.as_str(), "pause").await?,
        Command::Resume { project } => paused(&bridge, format, project.as_str(), "resume").await?,
        Command::Prompt { agent, project } => {
            let project = match project {
                Some(project) => project.to_string(),
                None => bridge.get::<StatusView>("admin/status").await?.main_project,
            };
            let view: PromptView = bridge
                .get(&format!("admin/agents/{project}/{agent}/prompt"))
                .await?;
            show(format, &view, || human::text(&view.prompt))?;
        }
        Command::Check => return checked(&bridge, format, "admin/check").await,
        // A wrong configuration is an answer, too: what is wrong with it.
        Command::Reload => return checked(&bridge, format, "admin/reload").await,
        Command::Drain { force } => {
            let path = match force {
                true => "admin/drain?force=true",
                false => "admin/drain",
            };
            let view: serde_json::Value = bridge.post(path).await?;
            show(format, &view, || "the leader hands over\n".to_owned())?;
        }
        Command::Hosts { command } => return hosts::hosts(&bridge, format, command).await,
        Command::Trigger(_)
        | Command::Top(_)
        | Command::Hook { .. }
        | Command::Completions(_)
        | Command::Man(_) => {}
    }
    Ok(0)
}

/// The commands about one run.
async fn of_run(
    bridge: &OrchestratorClient,
    format: OutputFormat,
    command: &Command,
) -> Result<u8, CommandFailure> {
    match command {
        Command::Show { run } => {
            let run = resolve(bridge, run).await?;
            let view: RunView = bridge.get(&format!("admin/runs/{run}")).await?;
            show(format, &view, || human::run(&view))?;
        }
        Command::Logs { run, follow, tail } => {
            let run = resolve(bridge, run).await?;
            stream::logs(bridge, format, (&run, *follow, *tail)).await?;
        }
        Command::Cancel { run } => {
            let run = match open_run_of_agent(bridge, run).await? {
                Some(run) => run,
                None => resolve(bridge, run).await?,
            };
            let reply: CancelReply = bridge.post(&format!("admin/runs/{run}/cancel")).await?;
            show(format, &reply, || human::cancelled(&reply))?;
            return Ok(u8::from(!reply.cancelled));
        }
        Command::Retry { run } => {
            let run = resolve(bridge, run).await?;
            let reply: RetryReply = bridge.post(&format!("admin/runs/{run}/retry")).await?;
            show(format, &reply, || {
                format!("run {} does what {} did", reply.run, reply.of)
            })?;
        }
        _ => {}
    }
    Ok(0)
}

/// The open run of the agent of this name; `None` where no agent is named so and has one.
async fn open_run_of_agent(
    bridge: &OrchestratorClient,
    name: &RunName,
) -> Result<Option<String>, CommandFailure> {
    let RunName::Id(name) = name else {
        return Ok(None);
    };
    let name = name.to_string();
    if name.parse::<AgentName>().is_err() || name.len() >= FULL_ID_LEN {
        return Ok(None);
    }
    let mut open = Vec::new();
    for state in AgentRunState::ALL
        .iter()
        .filter(|state| !state.is_terminal())
    {
        let path = format!("admin/runs?limit=10&agent={name}&state={state}");
        let list: RunList = bridge.get(&path).await?;
        let fits = |run: &RunView| run.agent == name && run.state == state.as_str();
        open.extend(list.runs.into_iter().filter(fits));
    }
    match &open[..] {
        [] => Ok(None),
        [one] => Ok(Some(one.id.clone())),
        several => {
            let runs = several
                .iter()
                .map(|run| format!("{} ({})", run.id, run.project));
            let runs = runs.collect::<Vec<_>>().join(", ");
            let text = format!("{name} has more than one open run; name one of them: {runs}");
            Err(CommandFailure::NotFound(text))
        }
    }
}

/// The id of a run that is named by it, by its beginning, or as the last.
async fn resolve(bridge: &OrchestratorClient, name: &RunName) -> Result<String, CommandFailure> {
    let of = |query: String| async move {
        let list: RunList = bridge.get(&format!("admin/runs?{query}")).await?;
        Ok::<_, CommandFailure>(list.runs.into_iter().map(|run| run.id))
    };
    let id = match name {
        RunName::Last => {
            let newest = of("limit=1".to_owned()).await?.next();
            return newest
                .ok_or_else(|| CommandFailure::NotFound("there is no run yet".to_owned()));
        }
        RunName::Id(id) => id.to_string(),
    };
    // A whole id (a UUID) needs no look.
    if id.len() >= FULL_ID_LEN {
        return Ok(id);
    }
    // Runs are listed by falling id, and no id goes on with a `~` or beyond: the two before that
    // are those that may fit.
    let found = of(format!("limit=2&before={id}~")).await?;
    let found: Vec<String> = found.filter(|found| found.starts_with(&id)).collect();
    match &found[..] {
        [one] => Ok(one.clone()),
        [first, ..] if *first == id => Ok(id),
        [first, second, ..] => Err(CommandFailure::NotFound(format!(
            "more than one run begins with {id}, for example {first} and {second}; write more of it"
        ))),
        // The orchestrator has the last word, and says so.
        [] => Ok(id),
    }
}

/// As many as are wanted, page by page.
async fn runs(
    bridge: &OrchestratorClient,
    wanted: &RunsArguments,
) -> Result<RunList, CommandFailure> {
    let limit = usize::from(wanted.limit);
    let mut list = RunList::default();
    let mut before = None;
    loop {
        let query = query(wanted, limit - list.runs.len(), before.as_deref());
        let page: RunList = bridge.get(&format!("admin/runs?{query}")).await?;
        list.runs.extend(page.runs);
        list.next = page.next;
        before.clone_from(&list.next);
        if list.runs.len() >= limit || before.is_none() {
            return Ok(list);
        }
    }
}

/// What is asked for; the orchestrator gives 500 at a time at most.
fn query(wanted: &RunsArguments, limit: usize, before: Option<&str>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("limit", &limit.min(500).to_string());
    let project = wanted.project.as_ref().map(|project| project.as_str());
    let agent = wanted.agent.as_ref().map(|agent| agent.as_str());
    for (name, value) in [
        ("project", project),
        ("agent", agent),
        ("state", wanted.state.as_deref()),
        ("before", before),
    ] {
        value.map(|value| query.append_pair(name, value));
    }
    query.finish()
}

async fn paused(
    bridge: &OrchestratorClient,
    format: OutputFormat,
    project: &str,
    verb: &str,
) -> Result<(), CommandFailure> {
    let view: ProjectView = bridge
        .post(&format!("admin/projects/{project}/{verb}"))
        .await?;
    show(format, &view, || {
        let state = if view.paused {
            "is paused: its runs wait"
        } else {
            "goes on"
        };
        format!("{} {state}", view.id)
    })
}

async fn checked(
    bridge: &OrchestratorClient,
    format: OutputFormat,
    path: &str,
) -> Result<u8, CommandFailure> {
    let view: CheckView = bridge.post_checked(path).await?;
    show(format, &view, || human::check(&view))?;
    Ok(u8::from(!view.valid))
}
