//! `hosts`: the hosts of VMs, over the API of a runner that serves.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::{Args, Subcommand};
use config_core::{Environment, format_duration};
use http_clients::http::{Method, Request};
use serde_json::Value;

use crate::arguments::say;
use crate::runner_api::{RunnerApi, done, path_part};
use crate::runner_options::RunnerOptions;

/// Time between two looks at a host that is drained.
const INTERVAL: Duration = Duration::from_secs(2);

/// What to do with the hosts of VMs.
#[derive(Debug, Subcommand)]
pub(crate) enum HostsCommand {
    /// Print the hosts, how they are, and what is free there
    List(ListOptions),
    /// Give a host no new jobs; those that run there go on
    Cordon(HostOptions),
    /// Give a host new jobs again
    Uncordon(HostOptions),
    /// Give a host no new jobs, and wait until none runs there
    Drain(DrainOptions),
}

/// How to print the hosts.
#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// As the API gives them
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) runner: RunnerOptions,
}

/// Which host.
#[derive(Debug, Args)]
pub(crate) struct HostOptions {
    /// The host's name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) runner: RunnerOptions,
}

/// Which host, and how long.
#[derive(Debug, Args)]
pub(crate) struct DrainOptions {
    /// The host's name
    pub(crate) name: String,
    /// The longest that it waits, as `30m`; 0s: it does not wait
    #[arg(long, value_name = "TIME", default_value = "6h", value_parser = time)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) runner: RunnerOptions,
}

fn time(text: &str) -> Result<Duration, String> {
    config_core::parse_duration(text).map_err(|error| error.to_string())
}

/// Does what was asked for.
pub(crate) fn run(command: &HostsCommand, environment: &Environment) -> ExitCode {
    done(match command {
        HostsCommand::List(options) => list(options, environment),
        HostsCommand::Cordon(host) => change(host, environment, Method::Post, "is cordoned"),
        HostsCommand::Uncordon(host) => change(host, environment, Method::Delete, "takes jobs"),
        HostsCommand::Drain(options) => drain(options, environment),
    })
}

fn list(options: &ListOptions, environment: &Environment) -> anyhow::Result<String> {
    let api = RunnerApi::of(&options.runner, environment)?;
    let hosts = api.ask(Request::get(api.at("vm-hosts")?))?;
    if options.json {
        return Ok(format!("{hosts:#}\n"));
    }
    let mut text = String::new();
    for host in hosts.as_array().into_iter().flatten() {
        let _ = writeln!(text, "{}", line(host));
    }
    Ok(text)
}

/// `east  ready  2 jobs  6144 of 8192 MiB free  emulated-vm  gpu  http://…`
fn line(host: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let state = match (&host["cordon"], &host["trouble"], &host["said"]) {
        (Value::Object(cordon), ..) => format!("cordoned by {}", text(&cordon["by"])),
        (_, Value::String(trouble), _) => format!("gives no VMs: {trouble}"),
        (.., Value::Null) => "not asked yet".to_owned(),
        _ => "ready".to_owned(),
    };
    let said = &host["said"];
    let room = match (&said["free_mem_mib"], &said["mem_mib"]) {
        (Value::Number(free), Value::Number(all)) => format!("{free} of {all} MiB free"),
        _ => "room unknown".to_owned(),
    };
    let labels = host["labels"].as_array().into_iter().flatten().map(text);
    let labels: Vec<String> = labels.collect();
    let parts = [
        text(&host["name"]),
        state,
        format!("{} jobs", host["jobs"]),
        room,
        text(&said["isolation"]),
        labels.join(","),
        text(&host["url"]),
    ];
    let shown: Vec<String> = parts.into_iter().filter(|it| !it.is_empty()).collect();
    shown.join("  ")
}

fn change(
    host: &HostOptions,
    environment: &Environment,
    method: Method,
    now: &str,
) -> anyhow::Result<String> {
    let api = RunnerApi::of(&host.runner, environment)?;
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
    let mut url = api.at(&format!("vm-hosts/{}/{what}", path_part(name)?))?;
    if let Some(by) = environment.text("USER").filter(|by| !by.is_empty()) {
        url.query_pairs_mut().append_pair("by", by);
    }
    api.ask(Request::new(method, url))
}

fn drain(options: &DrainOptions, environment: &Environment) -> anyhow::Result<String> {
    let api = RunnerApi::of(&options.runner, environment)?;
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
            say(&left);
            last = left;
        }
        std::thread::sleep(INTERVAL);
    }
}
