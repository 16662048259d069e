//! `hosts`: the hosts of VMs.

use http_clients::http::Method;
use vmm_api_core::VmHostView;

use crate::arguments::{Format, HostsCommand};
use crate::bridge::Bridge;
use crate::failure::Failure;
use crate::output::show;

/// Does what was asked for; 4 where there are no hosts.
pub(crate) async fn hosts(
    bridge: &Bridge,
    format: Format,
    command: &HostsCommand,
) -> Result<u8, Failure> {
    let (method, name) = match command {
        HostsCommand::List => {
            let hosts: Vec<VmHostView> = bridge.get("admin/vm-hosts").await?;
            show(format, &hosts, || {
                hosts.iter().map(|host| format!("{host}\n")).collect()
            })?;
            return Ok(if hosts.is_empty() { 4 } else { 0 });
        }
        HostsCommand::Cordon { name } => (Method::Post, name),
        HostsCommand::Uncordon { name } => (Method::Delete, name),
    };
    // A part of a path, whatever is in it.
    let part: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
    let path = format!("admin/vm-hosts/{part}/cordon");
    let host: VmHostView = bridge.ask(method, &path).await?;
    show(format, &host, || format!("{host}\n"))?;
    Ok(0)
}
