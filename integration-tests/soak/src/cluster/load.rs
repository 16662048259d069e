//! Pushes, mentions and pull requests to any process of a product, sent again to another one until
//! one acknowledges them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use scripted_peers::Pull;
use serde_json::json;

use super::ledger::Delivery;
use super::world::{Cluster, Product};
use crate::daemon::pause;
use crate::random::Random;
use crate::wire::{Answer, ask};
use crate::world::{MAIN, ROCKET, SECRET, git};

/// Pauses between two of a kind, in milliseconds: at most so long, drawn evenly.
const PUSH_MS: u64 = 3_000;
const MENTION_MS: u64 = 900;
const PULL_MS: u64 = 4_000;
const ISSUES: u64 = 40;
/// What is no refusal: nobody can take it now, or (408) the process was paused while it read the
/// request.
const NOT_NOW: [u16; 3] = [408, 503, 504];
/// A delivery is sent again after this long without an answer.
const REDELIVERY: Duration = Duration::from_millis(100);

type Step = fn(&Cluster, u64, &mut Random);

/// Starts all loads; they end with `Cluster::stop_load`.
pub(crate) fn spawn(cluster: &Arc<Cluster>, seed: u64) -> Vec<JoinHandle<()>> {
    for issue in 1..=ISSUES {
        cluster.forge.add_issue(MAIN, issue, "Something is wrong");
    }
    let steps: [(Step, u64); 3] = [(push, PUSH_MS), (mention, MENTION_MS), (pull, PULL_MS)];
    let mut threads = Vec::new();
    for (lane, (step, longest)) in steps.into_iter().enumerate() {
        let cluster = Arc::clone(cluster);
        let mut random = Random::new(seed, 300 + lane as u64);
        threads.push(std::thread::spawn(move || {
            let mut number = 0;
            while !cluster.stop_load.load(Ordering::Relaxed) {
                number += 1;
                step(&cluster, number, &mut random);
                pause(Duration::from_millis(random.below(longest)));
            }
        }));
    }
    threads
}

fn push(cluster: &Cluster, number: u64, random: &mut Random) {
    let commit = || -> anyhow::Result<(String, String)> {
        let work = cluster.path.join("rocket");
        std::fs::write(work.join("marker.txt"), format!("marker-{number}\n"))?;
        let message = format!("change {number}");
        git(&work, &["commit", "--quiet", "--all", "-m", &message])?;
        let branch = format!("topic-{number}");
        let target = format!("HEAD:refs/heads/{branch}");
        git(&work, &["push", "--quiet", "../rocket.git", &target])?;
        git(
            &cluster.path,
            &["--git-dir=rocket.git", "update-server-info"],
        )?;
        Ok((branch, git(&work, &["rev-parse", "HEAD"])?))
    };
    let (branch, sha) = commit().expect("git works");
    cluster.forge.add_commit(ROCKET, &sha);
    let body = json!({"ref": format!("refs/heads/{branch}"), "before": "0".repeat(40), "after": sha, "created": true, "deleted": false,
        "commits": [], "head_commit": {"id": sha, "message": "a change", "added": [], "modified": [], "removed": []},
        "pusher": {"login": "alice"}, "sender": {"login": "alice"},
        "repository": {"full_name": ROCKET, "clone_url": cluster.clone_url, "html_url": "http://forge.example/acme/rocket", "default_branch": "main"}});
    let delivery = Delivery {
        event: "push",
        id: format!("push-{number}"),
        body: body.to_string(),
    };
    if deliver(cluster, &cluster.runners, &delivery, random) {
        let mut acknowledged = cluster.acknowledged();
        acknowledged.pushed.insert(sha, number);
        acknowledged.pushes.push(delivery);
    }
}

fn mention(cluster: &Cluster, number: u64, random: &mut Random) {
    let issue = 1 + random.below(ISSUES);
    let text = format!("@orch:writer request {number}");
    let id = cluster.forge.add_comment(MAIN, issue, "alice", &text);
    let body = json!({
        "action": "created",
        "comment": {"id": id, "body": text, "user": {"login": "alice"}, "created_at": "2026-11-21T10:00:00Z"},
        "issue": {"number": issue, "title": "Something is wrong", "state": "open"},
        "repository": {"full_name": MAIN},
    });
    let delivery = Delivery {
        event: "issue_comment",
        id: format!("mention-{number}"),
        body: body.to_string(),
    };
    if deliver(cluster, &cluster.orchestrators, &delivery, random) {
        cluster.acknowledged().events.push(delivery);
    }
}

fn pull(cluster: &Cluster, number: u64, random: &mut Random) {
    let work = cluster.path.join("main");
    let commit = || {
        let tree = git(&work, &["rev-parse", "HEAD^{tree}"])?;
        let message = format!("pull request {number}");
        git(&work, &["commit-tree", "-m", &message, "-p", "HEAD", &tree])
    };
    let sha = commit().expect("git works");
    let base = git(&work, &["rev-parse", "HEAD"]).expect("git works");
    let pull = Pull::new(number + 1000, "alice", &sha, &base);
    cluster.forge.add_pull(MAIN, pull);
    let body = json!({
        "action": "opened", "number": number + 1000,
        "pull_request": {
            "title": "A change", "html_url": "http://forge.example/pulls/1", "number": number + 1000, "state": "open",
            "user": {"login": "alice"},
            "head": {"ref": format!("change-{}", number + 1000), "sha": sha, "repo": {"full_name": MAIN}},
            "base": {"ref": "main"},
        },
        "repository": {"full_name": MAIN, "clone_url": "http://forge.example/acme/main.git"},
    });
    let delivery = Delivery {
        event: "pull_request",
        id: format!("pull-{number}"),
        body: body.to_string(),
    };
    if deliver(cluster, &cluster.orchestrators, &delivery, random) {
        let mut acknowledged = cluster.acknowledged();
        acknowledged.pulled.insert(sha);
        acknowledged.events.push(delivery);
    }
}

/// Sends a delivery to this and that process until one acknowledges it: whether one did.
fn deliver(cluster: &Cluster, product: &Product, delivery: &Delivery, random: &mut Random) -> bool {
    loop {
        let count = product.replicas.len() as u64;
        let at = usize::try_from(random.below(count)).unwrap_or_default();
        match send(product, at, delivery) {
            Some(answer) if answer.status < 300 => return true,
            Some(answer) if !NOT_NOW.contains(&answer.status) => {
                let (event, id) = (delivery.event, &delivery.id);
                let line = format!("{event} {id}: {} {}", answer.status, answer.body);
                cluster.acknowledged().refused.push(line);
                return false;
            }
            _ => pause(REDELIVERY),
        }
    }
}

/// Sends a delivery to one process.
pub(crate) fn send(product: &Product, at: usize, delivery: &Delivery) -> Option<Answer> {
    let signature = forge_core::sign(SECRET, delivery.body.as_bytes());
    let signature = signature.expect("the secret is not empty").hub();
    let headers = [
        ("Content-Type", "application/json"),
        ("X-GitHub-Event", delivery.event),
        ("X-GitHub-Delivery", &delivery.id),
        ("X-Hub-Signature-256", &signature),
    ];
    let address = product.replicas[at].daemon.address;
    ask(
        address,
        "POST",
        "/webhook",
        &headers,
        delivery.body.as_bytes(),
    )
}
