//! The process as others of the machine see it: its environment, its signals.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::site::{ORCHESTRATOR, PLATFORM, Platform, Site};

const PLANTED: &str = "planted-in-a-variable-of-any-name";

#[test]
fn t4_no_secret_stands_in_the_environment_that_the_system_shows() {
    let site = Site::new();
    let mut platform = site.start_with(|command| {
        command
            .env("FORGE_TOKEN", PLANTED)
            .env("SOME_NAME", PLANTED);
    });
    let block = std::fs::read(format!("/proc/{}/environ", platform.pid()));
    // Nobody but root may look, which is what is wanted.
    let block = block.unwrap_or_default();
    let block = String::from_utf8_lossy(&block).into_owned();
    for planted in [PLANTED, "FORGE_TOKEN", "SOME_NAME"] {
        assert!(!block.contains(planted), "{planted} is in {block:?}");
    }
    assert_eq!(platform.end(Signal::TERM), Some(0));
}

#[test]
fn y1_sighup_does_not_end_a_platform_without_an_orchestrator() {
    let site = Site::new();
    site.write(
        "platform.toml",
        "data_dir = \"state\"\n[search]\nsettings = \"roles.json\"\nlisten = \"127.0.0.1:0\"\n",
    );
    let mut platform = site.start();
    platform.signal(Signal::HUP);
    platform.wait_for("server.hangup_ignored");
    assert_eq!(platform.get("search", "/livez").0, 200);
    assert_eq!(platform.end(Signal::TERM), Some(0));
}

/// What one file says of the runner's VM hosts, and another of the orchestrator's, is put in force
/// by a signal and by either admin way.
#[test]
fn i18_a_platform_reads_its_vm_hosts_again() {
    let site = Site::new();
    let (begun, agents) = (PLATFORM, ORCHESTRATOR);
    let east = "[runner.vm_hosts.east]\nurl = \"http://127.0.0.1:9\"\n";
    let west = "[vm_hosts.west]\nurl = \"http://127.0.0.1:9\"\n";
    let mut platform = site.start();
    let of_runner = |platform: &Platform| {
        let (_, hosts) = platform.get("runner", "/vm-hosts");
        names(&hosts)
    };
    assert_eq!(of_runner(&platform), ["default"]);
    let more = begun.replace("[runner]", "[runner]\nmax_jobs = 3");
    site.write("platform.toml", &format!("{more}{east}"));
    site.write("orchestrator/orchestrator.toml", &format!("{agents}{west}"));
    platform.signal(Signal::HUP);
    until(|| of_runner(&platform) == ["default", "east"]);
    platform.wait_for("config.needs_restart");
    let waiting = platform.printed("config.needs_restart", "key");
    assert_eq!(waiting, ["runner.max_jobs"]);
    let socket = site.path("orchestrator/admin.sock");
    let of_agents = || names(&operate(&socket, "GET /admin/vm-hosts").1);
    until(|| of_agents() == ["west"]);
    // With a mistake nothing changes, and it is said where.
    site.write("platform.toml", &format!("{begun}{east}lable = 1\n"));
    let refused = platform.ask("runner", "POST /admin/reload");
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert!(
        refused.body.contains("unknown key `lable`"),
        "{}",
        refused.body
    );
    assert_eq!(of_runner(&platform), ["default", "east"]);
    site.write("platform.toml", begun);
    let reloaded = platform.ask("runner", "POST /admin/reload");
    assert_eq!(reloaded.status, 200, "{}", reloaded.body);
    let report: Value = serde_json::from_str(&reloaded.body).expect("JSON");
    assert_eq!(report["vm_hosts"]["removed"], json!(["east"]));
    assert_eq!(report["at_restart"], json!([]));
    assert_eq!(of_runner(&platform), ["default"], "its own goes on");
    site.write("orchestrator/orchestrator.toml", agents);
    let reloaded = operate(&socket, "POST /admin/reload");
    assert_eq!(reloaded.0, 200, "{}", reloaded.1);
    assert!(of_agents().is_empty());
    assert_eq!(platform.end(Signal::TERM), Some(0));
}

fn until(mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// The status and the body of what the orchestrator's socket answers.
fn operate(socket: &Path, request: &str) -> (u16, String) {
    let mut stream = UnixStream::connect(socket).expect("the socket is there");
    let head = format!("{request} HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("it is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let status = answer.split(' ').nth(1).expect("a status");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    (status.parse().expect("a number"), body.to_owned())
}

/// The names of hosts in a list.
fn names(list: &str) -> Vec<String> {
    let hosts: Vec<Value> = serde_json::from_str(list).expect("a list");
    let name = |host: &Value| host["name"].as_str().expect("a name").to_owned();
    hosts.iter().map(name).collect()
}
