//! The workflow runner's part: a signed push runs the commit's own workflow in VMs, followed live.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::environment::SampleEnvironment;
use super::forge::{DemoForge, PERSON, REPOSITORY};
use super::server::Server;
use super::stop_signal::{DemoStopSignal, POLL_INTERVAL};
use super::{http, terminal};

/// Time without any progress after which the preparation of VMs counts as stuck: building an image
/// is mostly one step.
const STALL_TIMEOUT: Duration = Duration::from_secs(900);

/// How long statuses may take to reach the forge.
const STATUS_TIMEOUT: Duration = Duration::from_secs(60);

/// Waits until VMs can be had: the first start makes an image. False when it was interrupted
/// before.
pub(super) fn wait_for_machines(
    address: SocketAddr,
    server: &mut Server,
    stop: &DemoStopSignal,
) -> Result<bool> {
    let (mut last, mut changed) = (String::new(), Instant::now());
    let start = Instant::now();
    loop {
        server.check_alive()?;
        let answer = http::get(address, "/readyz").context("the VM manager's GET /readyz")?;
        if answer.status == 200 {
            break;
        }
        let missing = missing(&answer.body);
        if missing != last {
            terminal::progress(&format!("preparing VMs: {missing}"));
            (last, changed) = (missing, Instant::now());
        }
        // A failure is tried again after a minute; here it is the end.
        if answer.body.contains("cannot") || changed.elapsed() > STALL_TIMEOUT {
            terminal::progress_done();
            bail!(
                "no VM can be had: {last}; its log: {}; `--search-only` starts without workflows and agents",
                server.log().display()
            );
        }
        if stop.wait_for(POLL_INTERVAL) {
            terminal::progress_done();
            return Ok(false);
        }
    }
    if !last.is_empty() {
        terminal::progress_done();
    }
    let health = http::json(&http::get(address, "/health")?, "the VM manager")?;
    terminal::line(&format!(
        "VMs can be had after {:.1} s: {} by {}; KVM: {}",
        start.elapsed().as_secs_f64(),
        words(&health["isolation"]),
        words(&health["driver"]),
        words(&health["kvm"]["reason"])
            .lines()
            .next()
            .unwrap_or_default()
    ));
    Ok(true)
}

/// What `/readyz` says is missing.
fn missing(body: &str) -> String {
    let report: Value = serde_json::from_str(body).unwrap_or_default();
    let checks = report["checks"].as_array().cloned().unwrap_or_default();
    let wrong = checks.iter().filter(|check| check["ok"] == false);
    let texts: Vec<String> = wrong
        .map(|check| words(&check["detail"]))
        .map(|text| text.trim_start_matches("being prepared: ").to_owned())
        .collect();
    texts.join("; ")
}

fn words(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Sends the push, follows its run, shows what came of it. False when it was interrupted before.
pub(super) fn show(samples: &SampleEnvironment, stop: &DemoStopSignal) -> Result<bool> {
    terminal::heading("workflows: a signed push runs the commit's own workflow in VMs");
    let sha = samples.sample.head()?;
    samples.forge.add_commit(&sha);
    let body = push("main", &sha, &samples.clone_url());
    let accepted = samples.deliver(samples.ports.runner, "push", &body)?;
    let run = accepted["run"].as_str();
    let run = run.with_context(|| format!("the push started no run: {accepted}"))?;
    terminal::line(&format!("pushed {}; run {run}", &sha[..12]));
    if !follow(samples.ports.runner, run, stop)? {
        return Ok(false);
    }
    let record = http::get(samples.ports.runner, &format!("/runs/{run}"))?;
    let record = http::json(&record, "the run")?;
    terminal::line(&format!(
        "the run {} ({})",
        words(&record["state"]),
        summary(&record).join(", ")
    ));
    if record["state"] != "succeeded" {
        bail!("the sample's run did not succeed: {record:#}");
    }
    statuses(&samples.forge, &sha, 2, stop)
}

/// The event of a push to a branch.
pub(super) fn push(branch: &str, sha: &str, clone_url: &str) -> String {
    let person = json!({"login": PERSON});
    json!({
        "ref": format!("refs/heads/{branch}"), "before": "0".repeat(40), "after": sha, "created": true, "deleted": false, "commits": [],
        "head_commit": {"id": sha, "message": "A sample", "added": [], "modified": [], "removed": []},
        "pusher": person, "sender": person,
        "repository": {"full_name": REPOSITORY, "clone_url": clone_url, "html_url": clone_url, "default_branch": "main"},
    })
    .to_string()
}

/// Prints the log of a run while it grows.
fn follow(address: SocketAddr, run: &str, stop: &DemoStopSignal) -> Result<bool> {
    let path = format!("/runs/{run}/log?follow=1");
    let mut stopped = || stop.wait_for(Duration::ZERO);
    http::follow(address, &path, &mut stopped, &mut |event, data| {
        if event == "end" {
            return false;
        }
        if let Some(line) = line(data) {
            terminal::line(&line);
        }
        true
    })
}

/// A line of a run's log as text.
fn line(data: &str) -> Option<String> {
    let line: Value = serde_json::from_str(data).ok()?;
    let text = line["text"].as_str()?;
    let job = line["job"].as_str().unwrap_or_default();
    let mark = match line["kind"].as_str()? {
        "out" | "err" => "│ ",
        "group" => "┌ ",
        "endgroup" => return None,
        _ => "",
    };
    let job = if job.is_empty() { "run" } else { job };
    Some(format!("  {job:>8}  {mark}{text}"))
}

/// Each job with its conclusion and how it was kept apart.
fn summary(record: &Value) -> Vec<String> {
    let jobs = record["jobs"].as_array().cloned().unwrap_or_default();
    let of = |job: &Value| {
        format!(
            "{}: {}, {}",
            words(&job["name"]),
            words(&job["conclusion"]),
            words(&job["isolation"])
        )
    };
    jobs.iter().map(of).collect()
}

/// Waits until `count` statuses of a commit have ended, and shows them. False when it was
/// interrupted before.
pub(super) fn statuses(
    forge: &DemoForge,
    sha: &str,
    count: usize,
    stop: &DemoStopSignal,
) -> Result<bool> {
    let begun = Instant::now();
    loop {
        let now = forge.statuses(sha);
        let ended = now.iter().filter(|[_, state, _]| state != "pending");
        if ended.count() >= count {
            terminal::line(&format!("the forge was told of {}:", &sha[..12]));
            for [context, state, description] in now {
                terminal::line(&format!("  {state:<8} {context:<24} {description}"));
            }
            return Ok(true);
        }
        if begun.elapsed() > STATUS_TIMEOUT {
            bail!(
                "after {} s the forge knows {now:?} only",
                STATUS_TIMEOUT.as_secs()
            );
        }
        if stop.wait_for(POLL_INTERVAL) {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_read_from_the_report() {
        let body = r#"{"ready":false,"checks":[{"name":"desk","ok":true},{"name":"machines","ok":false,"detail":"being prepared: x"}]}"#;
        assert_eq!(missing(body), "x");
        assert_eq!(missing("<html>"), "");
    }

    #[test]
    fn lines_of_a_log_are_shown_with_their_job() {
        let out = line(r#"{"at":1,"job":"test","step":2,"kind":"out","text":"Hello"}"#);
        assert_eq!(out.as_deref(), Some("      test  │ Hello"));
        let info = line(r#"{"at":1,"kind":"info","text":"allocated VM x"}"#);
        assert_eq!(info.as_deref(), Some("       run  allocated VM x"));
        assert_eq!(line(r#"{"at":1,"kind":"endgroup","text":""}"#), None);
        assert_eq!(line("no JSON"), None);
    }

    #[test]
    fn a_run_is_summed_up_by_its_jobs() {
        let record = json!({"jobs": [{"name": "test", "conclusion": "success", "isolation": "emulated-vm"}]});
        assert_eq!(summary(&record), ["test: success, emulated-vm"]);
    }
}
