//! What the cluster is for: the leader of a product is killed while webhooks come, and what became
//! of each is counted.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::super::environment::SampleEnvironment;
use super::super::stop_signal::DemoStopSignal;
use super::super::{agents, http, terminal, workflow};
use super::deliveries::{DemoDelivery, Sender, Tally, json_unless_busy, settled};
use super::member::{ClusterMember, leader, until_led, until_standby};

/// Webhooks for each product, and how many of them come before its leader is killed.
const DELIVERIES: usize = 12;
const BEFORE: usize = 4;
/// How long all runs may take to end.
const TIMEOUT: Duration = Duration::from_secs(180);

/// Pushes to the runners. False when it was interrupted before.
///
/// # Errors
/// When something was lost, doubled, or has not ended.
pub(super) fn of_runners(
    samples: &SampleEnvironment,
    runners: &mut [ClusterMember],
    stop: &DemoStopSignal,
) -> Result<bool> {
    let deliveries = pushes(samples)?;
    let sender = Sender {
        secrets: samples.secrets.clone(),
        to: samples.ports.runner,
    };
    if !through_a_kill(runners, &sender, &deliveries, stop)? {
        return Ok(false);
    }
    let count = || {
        let answer = http::get(samples.ports.runner, "/runs?limit=1000")?;
        let Some(runs) = json_unless_busy(&answer, "the runs")? else {
            return Ok(None);
        };
        let runs = runs.as_array().cloned().unwrap_or_default();
        let runs: Vec<_> = runs.iter().map(|run| end_of(samples, run)).collect();
        Ok(Some(Tally::of_keys(&deliveries, &runs)))
    };
    report(&sender, &deliveries, settled(TIMEOUT, stop, count)?)
}

/// A run's commit and how it ended: not before the last of its statuses has.
fn end_of(samples: &SampleEnvironment, run: &Value) -> (String, Option<String>) {
    let sha = run["sha"].as_str().unwrap_or_default().to_owned();
    let statuses = samples.forge.statuses(&sha);
    let told = !statuses.is_empty() && statuses.iter().all(|[_, state, _]| state != "pending");
    let ended = told && run.get("ended_at").is_some_and(Value::is_u64);
    let end = ended.then(|| run["state"].as_str().unwrap_or_default().to_owned());
    (sha, end)
}

/// Mentions to the orchestrators. False when it was interrupted before.
///
/// # Errors
/// As [`of_runners`].
pub(super) fn of_orchestrators(
    samples: &SampleEnvironment,
    orchestrators: &mut [ClusterMember],
    stop: &DemoStopSignal,
) -> Result<bool> {
    let deliveries = mentions(samples);
    let sender = Sender {
        secrets: samples.secrets.clone(),
        to: samples.ports.webhook,
    };
    if !through_a_kill(orchestrators, &sender, &deliveries, stop)? {
        return Ok(false);
    }
    let count = || {
        let answer = agents::ask(samples, "/admin/runs?limit=500")?;
        let Some(runs) = json_unless_busy(&answer, "the runs of agents")? else {
            return Ok(None);
        };
        let runs = runs["runs"].as_array().cloned().unwrap_or_default();
        let runs = runs.iter().map(|run| {
            let text = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
            let class = text(&run["exit"]["class"]);
            (
                text(&run["subject"]),
                (run["ended"] == true).then_some(class),
            )
        });
        let runs: Vec<_> = runs.collect();
        Ok(Some(Tally::of_keys(&deliveries, &runs)))
    };
    report(&sender, &deliveries, settled(TIMEOUT, stop, count)?)
}

/// Sends some, kills the leader, and sends the rest while another one takes over; then the killed
/// one is started again, and stands by. False when it was interrupted before.
fn through_a_kill(
    members: &mut [ClusterMember],
    sender: &Sender,
    deliveries: &[DemoDelivery],
    stop: &DemoStopSignal,
) -> Result<bool> {
    let (first, rest) = deliveries.split_at(BEFORE.min(deliveries.len()));
    sender.send(first)?;
    terminal::line(&format!("{} webhooks were accepted", first.len()));
    let (at, epoch) = leader(members, 0).context("nobody leads")?;
    let process = members[at].kill().context("the leader does not run")?;
    let killed = Instant::now();
    terminal::line(&format!(
        "killed the leader, {} (process {process}, SIGKILL), while {} more come",
        members[at].name,
        rest.len()
    ));
    let followed = std::thread::scope(|scope| {
        let sending = scope.spawn(|| sender.send(rest));
        let followed = until_led(members, epoch, stop)
            .map(|next| next.map(|(next, epoch)| (next, epoch, killed.elapsed())));
        let sent = sending.join();
        sent.unwrap_or_else(|_| bail!("the sender of webhooks panicked"))?;
        followed
    })?;
    let Some((next, epoch, took)) = followed else {
        return Ok(false);
    };
    terminal::line(&format!(
        "{} leads after {:.1} s, epoch {epoch}; all {} webhooks were accepted",
        members[next].name,
        took.as_secs_f64(),
        deliveries.len()
    ));
    if !members[at].start(stop)? || !until_standby(members, next, stop)? {
        return Ok(false);
    }
    terminal::line(&format!(
        "{} was started again, and stands by",
        members[at].name
    ));
    Ok(true)
}

/// Sends all again, and says what became of them.
fn report(sender: &Sender, deliveries: &[DemoDelivery], tally: Option<Tally>) -> Result<bool> {
    let Some(mut tally) = tally else {
        return Ok(false);
    };
    tally.known = sender.count_known(deliveries)?;
    terminal::line(&tally.line());
    if !tally.is_whole() {
        bail!("what was accepted is not what has been done: {tally:?}");
    }
    Ok(true)
}

/// A push to a branch of its own each.
fn pushes(samples: &SampleEnvironment) -> Result<Vec<DemoDelivery>> {
    (1..=DELIVERIES)
        .map(|number| {
            let branch = format!("topic-{number}");
            let sha = samples.sample.branch(&branch)?;
            samples.forge.add_commit(&sha);
            Ok(DemoDelivery {
                event: "push",
                id: format!("demo-push-{number}"),
                body: workflow::push(&branch, &sha, &samples.clone_url()),
                key: sha,
            })
        })
        .collect()
}

/// A mention in an issue of its own each.
fn mentions(samples: &SampleEnvironment) -> Vec<DemoDelivery> {
    let text = "@orch:greeter please";
    (1..=DELIVERIES as u64)
        .map(|number| {
            let issue = 100 + number;
            samples.forge.add_issue(issue);
            let id = samples.forge.comment(issue, text);
            DemoDelivery {
                event: "issue_comment",
                id: format!("demo-mention-{number}"),
                body: agents::comment(issue, id, text).to_string(),
                key: format!("issue {issue}"),
            }
        })
        .collect()
}
