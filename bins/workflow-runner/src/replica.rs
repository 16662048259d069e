//! A runner beside others on one store in PostgreSQL: it stands by, or leads.

use std::rc::Rc;

use daemon::lifecycle::{self, ShutdownSignal};
use daemon::{first_screen, notify, replica};
use edge_web::{BodyLimits, ServeOptions};
use runner_actors::RunnerService;
use runner_web::config::RunnerConfig;
use runner_web::{RunnerServer, ServerOptions, StandbyRunner, boot};
use store::{DirectoryLock, Options, PostgresUrl, Store};

/// Serves until SIGINT or SIGTERM, in whichever role.
pub(crate) fn serve(
    config: RunnerConfig,
    url: &PostgresUrl,
    options: &Options,
    serve: ServeOptions,
) -> anyhow::Result<()> {
    // The folder holds logs and artifacts: it is this process's in either role.
    let _folder = DirectoryLock::take(&config.runner.data, &options.program)?;
    let listener = edge_web::bind(config.listen, "PORT and HOST, or --listen")?;
    let bound = listener.local_addr()?;
    boot::warn(&config);
    let token = boot::token(&config, bound, || uuid::Uuid::new_v4().to_string());
    let advertise = config.replica.advertise.as_deref();
    let options = options.clone().installation(config.installation());
    let options = options.compared(config.compared());
    let (shared, control) = replica::open(url, &options, advertise, bound)?;
    let (objects, hosts) = (&config.runner.objects, &config.runner.vm_hosts);
    replica::probe_as_standby(&control, objects.clone(), hosts.clone())?;
    let services = config.services_listen;
    let services = services.map(|address| edge_web::bind(address, "services_listen"));
    let services = services.transpose()?;
    let rows = [
        ("page", format!("http://{bound}/")),
        ("webhook", format!("http://{bound}/webhook")),
        ("store", shared.place().to_owned()),
        ("data", first_screen::path(&config.runner.data)),
    ];
    let options = ServerOptions {
        secrets: config.secrets.clone(),
        body: BodyLimits::default(),
        hosts: config.hosts.clone(),
        token,
        serve,
    };
    let listener = Rc::new(listener);
    lifecycle::run(async move {
        let stop = listening(bound)?;
        first_screen::show("workflow-runner", env!("CARGO_PKG_VERSION"), &rows);
        first_screen::line("ready", "it leads, or stands by. Ctrl-C ends it.");
        let stand_by = |taken, stop: ShutdownSignal| {
            let standby = StandbyRunner::start(&shared, &control, taken, options.clone());
            let listener = Rc::clone(&listener);
            async move { Ok(standby.serve(listener.try_clone()?, stop).await?) }
        };
        let lead = |store: Store| {
            let service = RunnerService::new(config.runner.clone(), store)?;
            let services = services.as_ref().map(std::net::TcpListener::try_clone);
            let services = services.transpose()?;
            let leading = (&shared, &control);
            let server = RunnerServer::start_leading(service, options.clone(), leading);
            let server = server.services_on(services);
            let listener = listener.try_clone()?;
            Ok(move |stop: ShutdownSignal| async move { Ok(server.serve(listener, stop).await?) })
        };
        replica::run((&shared, &control), stop, stand_by, lead).await
    })
}

/// Tells the log and the service manager, and gives what resolves when the process is to stop. A
/// process that changes its role has another tree of actors each time: the watchdog is told that
/// the event loop turns.
fn listening(bound: std::net::SocketAddr) -> std::io::Result<ShutdownSignal> {
    let signal = edge_web::shutdown_signal()?;
    lifecycle::ignore_hangup(
        "there is nothing to read again: settings take effect with a restart",
    )?;
    tracing::info!(event = "server.listening", url = %format!("http://{bound}/"), "the workflow runner listens");
    notify::ready();
    notify::keep_alive(|_| async { Ok(()) });
    Ok(Box::pin(async move {
        let name = signal.await;
        notify::stopping();
        first_screen::line("stopping", name);
        tracing::info!(event = "server.stopping", signal = name);
    }))
}
