//! The manager from its start to its end: service, listener, shutdown.

use config_core::Environment;
use daemon::lifecycle;
use vm_web::boot::{self, DataDirectory};
use vm_web::config::ManagerConfig;
use vm_web::{ServerOptions, VmServer};

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
    daemon::log::init(config.log_level.value, log_output, environment);
    daemon::limits::warn_of_few_files();
    daemon::data::tighten(&config.data.value);
    let agent = agent::find(common, config)?;
    let key = directory.token_key()?;
    // Before anything is begun that would have to be taken back.
    let listener = edge_web::bind(config.listen.value, "VM_MANAGER_LISTEN or --listen")?;
    let service = boot::service(config, directory, &agent)?;
    let bound = listener.local_addr()?;
    let options = ServerOptions {
        key,
        hosts: config.hosts.clone(),
        serve,
    };
    let store = service.store.clone();
    lifecycle::run(async move {
        let server = VmServer::start(service, options);
        let stopped = lifecycle::listening("VM manager", bound, &server.actors())?;
        server.serve(listener, stopped).await?;
        store.close();
        Ok(())
    })
}
