//! The manager from its start to its end: service, listener, shutdown.

use config_core::Environment;
use daemon::{first_screen, lifecycle};
use vm_web::boot::{self, DataDirectory};
use vm_web::config::ManagerConfig;
use vm_web::{ManagerServerOptions, VmServer};

use crate::agent;
use crate::arguments::Common;

/// Runs until SIGINT or SIGTERM; ends all VMs then.
pub(crate) fn run(
    common: &Common,
    config: &ManagerConfig,
    directory: &DataDirectory,
    environment: &Environment,
) -> anyhow::Result<()> {
    let log_output = daemon::log::output(common.log_format, environment)?;
    let serve = daemon::limits::serve_options(environment)?;
    let (data, level) = (&config.data.value, config.log_level.value);
    first_screen::start_log("vm-manager", data, level, log_output, environment);
    daemon::limits::warn_of_few_files();
    daemon::data::tighten(&config.data.value);
    let agent = agent::find(common, config)?;
    let key = directory.token_key()?;
    // Before anything is begun that would have to be taken back.
    let listener = edge_web::bind(config.listen.value, "VM_MANAGER_LISTEN or --listen")?;
    let service = boot::service(config, directory, &agent)?;
    let bound = listener.local_addr()?;
    let options = ManagerServerOptions {
        key,
        hosts: config.hosts.clone(),
        serve,
    };
    let store = service.store.clone();
    let rows = [
        ("API", format!("http://{bound}/")),
        ("driver", config.driver.to_string()),
        ("data", first_screen::path(data)),
    ];
    lifecycle::run(async move {
        let server = VmServer::prepare(service, options).start();
        let stopped = lifecycle::listening("VM manager", bound, &server.actors())?;
        first_screen::show("vm-manager", env!("CARGO_PKG_VERSION"), &rows);
        first_screen::line(
            "ready",
            "`vm-manager token` gives a token. Ctrl-C ends all VMs and the manager.",
        );
        server.serve(listener, stopped).await?;
        store.close();
        Ok(())
    })
}
