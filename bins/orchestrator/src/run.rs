//! The daemon: store, actors, listeners, shutdown.

use std::net::TcpListener;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use config_core::Environment;
use daemon::objects::{self, ConfiguredFiles};
use daemon::store::ConfigPathOption;
use daemon::{first_screen, lifecycle, notify};
use orchestrator_actors::messages::GetJournal;
use orchestrator_actors::{OperatorApi, OrchestratorService, file_migration};
use orchestrator_core::config::CheckedConfig;
use orchestrator_web::{OrchestratorListeners, OrchestratorServer, boot, reload_on_hangup};
use supervision::ChildRef;

use crate::arguments::{Arguments, ObjectsCommand, StoreCommand, print, print_note};
use crate::{check, replica};

/// Runs until SIGINT or SIGTERM.
pub(crate) fn run(
    arguments: &Arguments,
    checked: CheckedConfig,
    environment: Environment,
) -> anyhow::Result<()> {
    let log_output = daemon::log::output(arguments.log_format, &environment)?;
    let connections = daemon::limits::serve_options(&environment)?;
    let data = checked.config.directories.data.clone();
    let level = &arguments.log_level;
    first_screen::start_log("orchestrator", &data, level, log_output, &environment);
    daemon::limits::warn_of_few_files();
    daemon::data::tighten(&data);
    let agents = checked.config.agents.len();
    if checked.config.store.url.is_some() && checked.config.store.standby {
        return replica::serve(arguments, checked, environment, connections);
    }
    let path = arguments.config.as_deref().unwrap_or(Path::new(""));
    let (service, mut listening) = boot::open(checked, path, environment, "orchestrator")?;
    listening.serve = connections;
    let store = service.store.clone();
    let ended = actix_rt::System::new().block_on(serve(service, listening, &data, agents));
    let closed = daemon::store::close(&store);
    ended.and(closed)
}

/// Checks, moves, saves or restores the store.
pub(crate) fn store_command(command: &StoreCommand, environment: &Environment) -> ExitCode {
    let configured = |of: &ConfigPathOption| {
        let config = read_file(of, environment)?.config;
        boot::store_place(&config).map_err(|error| error.to_string())
    };
    let options = boot::store_options("orchestrator");
    daemon::store::run(command.task(), &options, configured, (print, print_note))
}

/// Brings logs in object storage elsewhere.
pub(crate) fn objects_command(command: &ObjectsCommand, environment: &Environment) -> ExitCode {
    let configured = |of: &ConfigPathOption, leave_damaged: bool| {
        let config = read_file(of, environment)?.config;
        Ok(ConfiguredFiles {
            store: boot::store_place(&config).map_err(|error| error.to_string())?,
            options: boot::store_options("orchestrator"),
            migration: file_migration(&config, leave_damaged),
        })
    };
    objects::run(command.task(), environment, configured, (print, print_note))
}

fn read_file(of: &ConfigPathOption, environment: &Environment) -> Result<CheckedConfig, String> {
    let path = of.config.as_deref();
    let path = path.ok_or("name the configuration with --config orchestrator.toml")?;
    check::read_file(path, environment)
}

async fn serve(
    service: OrchestratorService,
    listening: OrchestratorListeners,
    data: &Path,
    agents: usize,
) -> anyhow::Result<()> {
    let receiver = listening.receiver.local_addr()?;
    let admin = listening
        .admin
        .as_ref()
        .map(TcpListener::local_addr)
        .transpose()?;
    let store = service.store.clone();
    let server = OrchestratorServer::prepare(service).start();
    server.ready().await;
    let signal = edge_web::shutdown_signal()?;
    reload_on_hangup(server.operator_api().clone(), || {
        notify::status("the configuration was read again");
    })?;
    notify::keep_alive(answers(server.operator_api().clone()));
    tracing::info!(
        event = "orchestrator.listening",
        url = %format!("http://{receiver}/"),
        admin = admin.map(|admin| format!("http://{admin}/")),
        "the orchestrator listens"
    );
    let mut rows = vec![("webhook", format!("http://{receiver}/webhook"))];
    rows.extend(admin.map(|admin| ("page", format!("http://{admin}/"))));
    rows.push(("agents", agents.to_string()));
    rows.push(("data", first_screen::path(data)));
    first_screen::show("orchestrator", env!("CARGO_PKG_VERSION"), &rows);
    first_screen::line(
        "ready",
        "`orchctl top` shows what it does. Ctrl-C ends agents and orchestrator.",
    );
    notify::ready();
    let stopped = lifecycle::stopping(signal, |signal| {
        tracing::info!(event = "orchestrator.stopping", signal, "agents are ended");
    });
    let stopped = daemon::store::stop_or_taken_over(stopped, &store);
    server.serve(listening, stopped).await?;
    tracing::info!(event = "orchestrator.stopped", "everything has ended");
    Ok(())
}

/// Whether the operator API answers and the store can be read: the check of the watchdog.
fn answers(api: ChildRef<OperatorApi>) -> impl Fn(Duration) -> BoxedCheck {
    move |within| {
        let api = api.clone();
        Box::pin(async move {
            let newest = GetJournal {
                after: u64::MAX - 1,
                limit: 1,
            };
            match api.ask_within(newest, within).await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(error.to_string()),
                Err(error) => Err(error.to_string()),
            }
        })
    }
}

type BoxedCheck = std::pin::Pin<Box<dyn Future<Output = Result<(), String>>>>;
