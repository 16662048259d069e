//! The daemon's life: store, actors, listeners, end.

use std::net::TcpListener;
use std::time::Duration;

use config_core::Environment;
use orchestrator_actors::messages::GetJournal;
use orchestrator_actors::{Desk, Shared};
use orchestrator_core::config::Checked;
use orchestrator_web::{Listening, OrchestratorServer, boot, reload_on_hangup};
use program::notify;
use supervision::ChildRef;

use crate::arguments::Arguments;

/// Runs until SIGINT or SIGTERM.
pub(crate) fn run(
    arguments: &Arguments,
    checked: Checked,
    environment: Environment,
) -> anyhow::Result<()> {
    let look = program::log::look(arguments.log_format, &environment)?;
    let connections = program::limits::serve_options(&environment)?;
    program::log::init(&arguments.log_level, look, &environment);
    program::limits::warn_of_few_files();
    program::data::tighten(&checked.config.directories.data);
    let (shared, mut listening) =
        boot::shared(checked, &arguments.config, environment, "orchestrator")?;
    listening.serve = connections;
    let store = shared.store().clone();
    let ended = actix_rt::System::new().block_on(serve(shared, listening));
    store.close();
    ended
}

async fn serve(shared: Shared, listening: Listening) -> anyhow::Result<()> {
    let receiver = listening.receiver.local_addr()?;
    let admin = listening
        .admin
        .as_ref()
        .map(TcpListener::local_addr)
        .transpose()?;
    let server = OrchestratorServer::start(shared);
    server.ready().await;
    let signal = edge_web::shutdown_signal()?;
    reload_on_hangup(server.desk().clone(), || {
        notify::status("the configuration was read again");
    })?;
    notify::keep_alive(answers(server.desk().clone()));
    tracing::info!(
        event = "orchestrator.listening",
        url = %format!("http://{receiver}/"),
        admin = admin.map(|admin| format!("http://{admin}/")),
        "the orchestrator listens"
    );
    notify::ready();
    let stopped = async move {
        let name = signal.await;
        notify::stopping();
        tracing::info!(
            event = "orchestrator.stopping",
            signal = name,
            "agents are ended"
        );
    };
    server.serve(listening, stopped).await?;
    tracing::info!(event = "orchestrator.stopped", "everything has ended");
    Ok(())
}

/// Whether the desk answers and the store can be read: what the watchdog is told.
fn answers(desk: ChildRef<Desk>) -> impl Fn(Duration) -> BoxedCheck {
    move |within| {
        let desk = desk.clone();
        Box::pin(async move {
            let newest = GetJournal {
                after: u64::MAX - 1,
                limit: 1,
            };
            match desk.ask_within(newest, within).await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(error.to_string()),
                Err(error) => Err(error.to_string()),
            }
        })
    }
}

type BoxedCheck = std::pin::Pin<Box<dyn Future<Output = Result<(), String>>>>;
