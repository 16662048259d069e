//! The manager's life: service, listener, end.

use config_core::Environment;
use program::life;
use vm_web::boot::{self, Folders};
use vm_web::config::ManagerConfig;
use vm_web::{ServerOptions, VmServer};

use crate::agent;
use crate::arguments::Common;

/// Runs until SIGINT or SIGTERM; ends all VMs then.
pub(crate) fn run(
    common: &Common,
    config: &ManagerConfig,
    folders: &Folders,
    environment: &Environment,
) -> anyhow::Result<()> {
    let look = program::log::look(common.log_format, environment)?;
    let serve = program::limits::serve_options(environment)?;
    program::log::init(config.log_level.value, look, environment);
    program::limits::warn_of_few_files();
    program::data::tighten(&config.data.value);
    let agent = agent::find(common, config)?;
    let key = folders.token_key()?;
    // Before anything is begun that would have to be taken back.
    let listener = edge_web::bind(config.listen.value, "VM_MANAGER_LISTEN or --listen")?;
    let service = boot::service(config, folders, &agent)?;
    let bound = listener.local_addr()?;
    let options = ServerOptions {
        key,
        hosts: config.hosts.clone(),
        serve,
    };
    let store = service.shared.store.clone();
    life::run(async move {
        let server = VmServer::start(service, options);
        let stopped = life::listening("VM manager", bound, &server.actors())?;
        server.serve(listener, stopped).await?;
        store.close();
        Ok(())
    })
}
