//! The orchestrator's part: a mention starts an agent, a pull request starts six.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use scripted_peers::Reply;
use serde_json::{Value, json};

use super::environment::SampleEnvironment;
use super::forge::{ISSUE, PERSON, PULL, REPOSITORY};
use super::stop_signal::{DemoStopSignal, POLL_INTERVAL};
use super::{http, terminal, workflow};

/// How long an agent of the sample may take.
const AGENT_TIMEOUT: Duration = Duration::from_secs(120);

/// The sample's statuses of a pull request.
const CHECKS: usize = 6;

/// False when it was interrupted before.
pub(super) fn show(samples: &SampleEnvironment, stop: &DemoStopSignal) -> Result<bool> {
    terminal::heading("agents: a signed mention starts an agent");
    Ok(mention(samples, stop)? && pull_request(samples, stop)?)
}

fn mention(samples: &SampleEnvironment, stop: &DemoStopSignal) -> Result<bool> {
    let text = "@orch:greeter please";
    let id = samples.forge.comment(ISSUE, text);
    terminal::line(&format!("{PERSON} comments on issue {ISSUE}: {text}"));
    let body = comment(ISSUE, id, text).to_string();
    let reply = samples.deliver(samples.ports.webhook, "issue_comment", &body)?;
    let runs = dispatched(&reply)?;
    let Some((agent, run)) = runs.first() else {
        bail!("the mention started nothing: {reply}");
    };
    terminal::line(&format!("queued: {agent}, run {run}"));
    let Some(record) = ended_run(samples, run, stop)? else {
        return Ok(false);
    };
    let class = record["exit"]["class"].as_str().unwrap_or("unknown");
    terminal::line(&format!("ended: {class}"));
    let log = ask(samples, &format!("/admin/runs/{run}/log"))?.body;
    for line in log.lines() {
        terminal::line(&format!("  │ {line}"));
    }
    let begun = Instant::now();
    while samples.forge.answers(ISSUE).is_empty() {
        if begun.elapsed() > AGENT_TIMEOUT {
            bail!("the agent's answer never reached the forge");
        }
        if stop.wait_for(POLL_INTERVAL) {
            return Ok(false);
        }
    }
    terminal::line("its output is a comment of the issue now");
    Ok(true)
}

fn pull_request(samples: &SampleEnvironment, stop: &DemoStopSignal) -> Result<bool> {
    terminal::heading("agents: a pull request is looked at by six agents");
    let base = samples.sample.head()?;
    let head = samples.sample.branch("change")?;
    samples.forge.open_pull(&head, &base);
    let body = pull(&head, &samples.clone_url()).to_string();
    let reply = samples.deliver(samples.ports.webhook, "pull_request", &body)?;
    let runs = dispatched(&reply)?;
    let agents: Vec<&str> = runs.iter().map(|(agent, _)| agent.as_str()).collect();
    terminal::line(&format!("queued: {}", agents.join(", ")));
    if runs.len() != CHECKS {
        bail!("{CHECKS} agents should look at it: {reply}");
    }
    for (_, run) in &runs {
        if ended_run(samples, run, stop)?.is_none() {
            return Ok(false);
        }
    }
    workflow::statuses(&samples.forge, &head, CHECKS, stop)
}

/// The event of a comment.
pub(super) fn comment(issue: u64, id: u64, text: &str) -> Value {
    json!({
        "action": "created",
        "comment": {"id": id, "body": text, "user": {"login": PERSON}, "created_at": "2026-01-01T00:00:00Z"},
        "issue": {"number": issue, "title": "Say hello", "state": "open"},
        "repository": {"full_name": REPOSITORY},
    })
}

fn pull(head: &str, clone_url: &str) -> Value {
    json!({
        "action": "opened", "number": PULL,
        "pull_request": {
            "title": "Say good morning", "html_url": clone_url, "number": PULL, "state": "open",
            "user": {"login": PERSON},
            "head": {"ref": "change", "sha": head, "repo": {"full_name": REPOSITORY}},
            "base": {"ref": "main"},
        },
        "repository": {"full_name": REPOSITORY, "clone_url": clone_url},
    })
}

/// Agent and run of everything that a reply says was queued.
fn dispatched(reply: &Value) -> Result<Vec<(String, String)>> {
    let list = reply["dispatches"].as_array();
    let list = list.with_context(|| format!("nothing was queued: {reply}"))?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let pairs = list
        .iter()
        .map(|one| Some((text(&one["agent"])?, text(&one["run"])?)));
    let pairs: Option<Vec<_>> = pairs.collect();
    pairs.with_context(|| format!("a reply without names: {reply}"))
}

/// The run's record once it has ended; `None` when it was interrupted before.
fn ended_run(
    samples: &SampleEnvironment,
    run: &str,
    stop: &DemoStopSignal,
) -> Result<Option<Value>> {
    let begun = Instant::now();
    loop {
        let record = http::json(&ask(samples, &format!("/admin/runs/{run}"))?, "the run")?;
        if record["ended"] == true {
            return Ok(Some(record));
        }
        if begun.elapsed() > AGENT_TIMEOUT {
            bail!("the agent does not end: {record:#}");
        }
        if stop.wait_for(POLL_INTERVAL) {
            return Ok(None);
        }
    }
}

/// Asks the operators' side.
pub(super) fn ask(samples: &SampleEnvironment, path: &str) -> Result<Reply> {
    let bearer = format!("Bearer {}", samples.secrets.admin);
    let headers = [
        ("Accept", "application/json"),
        ("Authorization", bearer.as_str()),
    ];
    http::send(
        samples.ports.operations,
        &format!("GET {path}"),
        &headers,
        "",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_queued_is_read_from_the_reply() {
        let reply =
            json!({"outcome": "accepted", "dispatches": [{"agent": "greeter", "run": "r-1"}]});
        let queued = dispatched(&reply).expect("a reply");
        assert_eq!(queued, [("greeter".to_owned(), "r-1".to_owned())]);
        assert!(dispatched(&json!({"dispatches": [{"agent": 1}]})).is_err());
        assert!(dispatched(&json!({"outcome": "ignored"})).is_err());
    }
}
