//! `hosts`: the hosts of VMs, over the API of a runner that serves.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use config_core::{Environment, format_duration};
use http_clients::http::{Method, Request};
use runner_actors::VmHostView;
use serde_json::Value;

use crate::arguments::print_note;
use crate::runner_api::{RunnerApi, path_part, print_result};
use crate::vm_host_options::{HostDrainOptions, HostOptions, ListOptions, VmHostsCommand};

/// Time between two looks at a host that is drained.
const INTERVAL: Duration = Duration::from_secs(2);

/// Does what was asked for.
pub(crate) fn run(command: &VmHostsCommand, environment: &Environment) -> ExitCode {
    print_result(match command {
        VmHostsCommand::List(options) => list(options, environment),
        VmHostsCommand::Cordon(host) => change(host, environment, Method::Post, "is cordoned"),
        VmHostsCommand::Uncordon(host) => change(host, environment, Method::Delete, "takes jobs"),
        VmHostsCommand::Drain(options) => drain(options, environment),
    })
}

fn list(options: &ListOptions, environment: &Environment) -> anyhow::Result<String> {
    let api = RunnerApi::from_options(&options.runner, environment)?;
    let hosts = api.ask(Request::get(api.url("vm-hosts")?))?;
    if options.json {
        return Ok(format!("{hosts:#}\n"));
    }
    let hosts: Vec<VmHostView> = serde_json::from_value(hosts)?;
    Ok(hosts.iter().map(|host| format!("{host}\n")).collect())
}

fn change(
    host: &HostOptions,
    environment: &Environment,
    method: Method,
    now: &str,
) -> anyhow::Result<String> {
    let api = RunnerApi::from_options(&host.runner, environment)?;
    ask(&api, environment, method, &host.name, "cordon")?;
    Ok(format!("{} {now}\n", host.name))
}

fn ask(
    api: &RunnerApi,
    environment: &Environment,
    method: Method,
    name: &str,
    what: &str,
) -> anyhow::Result<Value> {
    let mut url = api.url(&format!("vm-hosts/{}/{what}", path_part(name)?))?;
    if let Some(by) = environment.text("USER").filter(|by| !by.is_empty()) {
        url.query_pairs_mut().append_pair("by", by);
    }
    api.ask(Request::new(method, url))
}

fn drain(options: &HostDrainOptions, environment: &Environment) -> anyhow::Result<String> {
    let api = RunnerApi::from_options(&options.runner, environment)?;
    let begun = Instant::now();
    let mut last = String::new();
    loop {
        let host = ask(&api, environment, Method::Post, &options.name, "drain")?;
        let (jobs, shells) = (&host["jobs"], &host["shells"]);
        if jobs == 0 && shells == 0 {
            return Ok(format!("{} is drained: nothing runs there\n", options.name));
        }
        let left = format!("{}: {jobs} jobs, {shells} shells", options.name);
        if begun.elapsed() >= options.timeout {
            let waited = format_duration(options.timeout);
            bail!("{left} after {waited}; it takes no new jobs");
        }
        if left != last {
            print_note(&left);
            last = left;
        }
        std::thread::park_timeout(INTERVAL);
    }
}
