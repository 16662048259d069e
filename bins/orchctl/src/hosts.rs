//! `hosts`: the hosts of VMs.

use std::time::{Duration, Instant};

use http_clients::http::Method;
use vmm_api_core::VmHostView;

use crate::arguments::{HostsCommand, OutputFormat};
use crate::bridge::OrchestratorClient;
use crate::failure::CommandFailure;
use crate::output::show;

/// Time between two looks at a host that is drained.
const INTERVAL: Duration = Duration::from_secs(2);

/// Does what was asked for; 4 where there are no hosts.
pub(crate) async fn hosts(
    bridge: &OrchestratorClient,
    format: OutputFormat,
    command: &HostsCommand,
) -> Result<u8, CommandFailure> {
    let (method, name) = match command {
        HostsCommand::List => {
            let hosts: Vec<VmHostView> = bridge.get("admin/vm-hosts").await?;
            show(format, &hosts, || {
                hosts.iter().map(|host| format!("{host}\n")).collect()
            })?;
            return Ok(if hosts.is_empty() { 4 } else { 0 });
        }
        HostsCommand::Cordon { name } => (Method::Post, name),
        HostsCommand::Drain { name, timeout } => {
            return drain(bridge, format, (name, *timeout)).await;
        }
        HostsCommand::Uncordon { name } => (Method::Delete, name),
    };
    let host: VmHostView = bridge.ask(method, &cordon_of(name)).await?;
    show(format, &host, || format!("{host}\n"))?;
    Ok(0)
}

/// The path of a host's cordon.
fn cordon_of(name: &str) -> String {
    // A part of a path, whatever is in it.
    let part: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
    format!("admin/vm-hosts/{part}/cordon")
}

/// Cordons a host, and waits until no run has a VM there.
async fn drain(
    bridge: &OrchestratorClient,
    format: OutputFormat,
    (name, timeout): (&str, Duration),
) -> Result<u8, CommandFailure> {
    let until = Instant::now() + timeout;
    let mut host: VmHostView = bridge.ask(Method::Post, &cordon_of(name)).await?;
    while host.jobs > 0 {
        if Instant::now() >= until {
            let (jobs, waited) = (host.jobs, config_core::format_duration(timeout));
            return Err(CommandFailure::TimedOut(format!(
                "{name}: {jobs} runs have a VM there after {waited}; it takes no new ones"
            )));
        }
        tokio::time::sleep(INTERVAL.min(until.saturating_duration_since(Instant::now()))).await;
        let hosts: Vec<VmHostView> = bridge.get("admin/vm-hosts").await?;
        let found = hosts.into_iter().find(|host| host.name == *name);
        host = found
            .ok_or_else(|| CommandFailure::NotFound(format!("there is no host {name} any more")))?;
    }
    show(format, &host, || {
        format!("{name} is drained: no run has a VM there\n")
    })?;
    Ok(0)
}
