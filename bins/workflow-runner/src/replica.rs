//! A runner beside others on one store in PostgreSQL: it stands by, or leads.

use std::rc::Rc;

use daemon::lifecycle::{self, ShutdownSignal};
use daemon::{first_screen, replica};
use edge_web::ServeOptions;
use runner_actors::RunnerService;
use runner_web::config::RunnerConfig;
use runner_web::{RunnerServer, StandbyRunner};
use store::{DirectoryLock, Options, PostgresUrl, Store};

use crate::listening::Listening;

/// Why SIGHUP has nothing read again.
const RESTART: &str = "there is nothing to read again: settings take effect with a restart";

/// Serves until SIGINT or SIGTERM, in whichever role.
pub(crate) fn serve(
    config: RunnerConfig,
    url: &PostgresUrl,
    options: &Options,
    serve: ServeOptions,
) -> anyhow::Result<()> {
    // The folder holds logs and artifacts: it is this process's in either role.
    let _folder = DirectoryLock::take(&config.runner.data, &options.program)?;
    let Listening {
        listener,
        services,
        bound,
        options: server,
    } = Listening::open(&config, serve)?;
    let advertise = config.replica.advertise.as_deref();
    let options = options.clone().installation(config.installation());
    let options = options.compared(config.compared());
    let (shared, control) = replica::open(url, &options, advertise, bound)?;
    let (objects, hosts) = (&config.runner.objects, &config.runner.vm_hosts);
    replica::probe_as_standby(&control, objects.clone(), hosts.clone())?;
    let rows = [
        ("page", format!("http://{bound}/")),
        ("webhook", format!("http://{bound}/webhook")),
        ("store", shared.place().to_owned()),
        ("data", first_screen::path(&config.runner.data)),
    ];
    let listener = Rc::new(listener);
    lifecycle::run(async move {
        // A process that changes its role has another tree of actors each time: the watchdog is
        // told that the event loop turns.
        let beats = |_| async { Ok(()) };
        let stop = lifecycle::announce("workflow runner", bound, RESTART, beats)?;
        first_screen::show("workflow-runner", env!("CARGO_PKG_VERSION"), &rows);
        first_screen::line("ready", "it leads, or stands by. Ctrl-C ends it.");
        let stand_by = |taken, stop: ShutdownSignal| {
            let standby = StandbyRunner::start(&shared, &control, taken, server.clone());
            let listener = Rc::clone(&listener);
            async move { Ok(standby.serve(listener.try_clone()?, stop).await?) }
        };
        let lead = |store: Store| {
            let service = RunnerService::new(config.runner.clone(), store)?;
            let services = services.as_ref().map(std::net::TcpListener::try_clone);
            let services = services.transpose()?;
            let leading = (&shared, &control);
            let server = RunnerServer::start_leading(service, server.clone(), leading);
            let server = server.services_on(services);
            let listener = listener.try_clone()?;
            Ok(move |stop: ShutdownSignal| async move { Ok(server.serve(listener, stop).await?) })
        };
        replica::run((&shared, &control), stop, stand_by, lead).await
    })
}
