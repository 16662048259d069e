//! What happens at a forge: pushes, mentions, pull requests, and their webhooks.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Result;
use scripted_peers::{Pull, Reply, ScriptedForge, deliver_within};
use serde_json::json;

use crate::daemon::pause;
use crate::random::Random;
use crate::wire::REPLY_TIMEOUT;
use crate::world::{MAIN, ROCKET, SECRET, git};

/// Issues that mentions stand in.
const ISSUES: u64 = 40;

/// One step of a load, which is told how many there were.
pub(crate) type Step<W> = fn(&W, u64, &mut Random);

/// Makes the issues of a forge.
pub(crate) fn add_issues(forge: &ScriptedForge) {
    for issue in 1..=ISSUES {
        forge.add_issue(MAIN, issue, "Something is wrong");
    }
}

/// Repeats each step on a thread of its own until it is to stop, with pauses of at most so many
/// milliseconds, drawn evenly.
pub(crate) fn repeat<W: Send + Sync + 'static>(
    world: &Arc<W>,
    stop: fn(&W) -> &AtomicBool,
    steps: &[(Step<W>, u64)],
    (seed, first_lane): (u64, u64),
) -> Vec<JoinHandle<()>> {
    let mut threads = Vec::new();
    for (lane, (step, longest)) in (first_lane..).zip(steps.iter().copied()) {
        let world = Arc::clone(world);
        let mut random = Random::new(seed, lane);
        threads.push(std::thread::spawn(move || {
            let mut number = 0;
            while !stop(&world).load(Ordering::Relaxed) {
                number += 1;
                step(&world, number, &mut random);
                pause(Duration::from_millis(random.below(longest)));
            }
        }));
    }
    threads
}

/// Pushes a commit on a branch of its own to the repository of workflows, visible to who clones:
/// the commit, and its webhook.
pub(crate) fn push(
    folder: &Path,
    forge: &ScriptedForge,
    clone_url: &str,
    number: u64,
) -> Result<(String, String)> {
    let work = folder.join("rocket");
    std::fs::write(work.join("marker.txt"), format!("marker-{number}\n"))?;
    let message = format!("change {number}");
    git(&work, &["commit", "--quiet", "--all", "-m", &message])?;
    let target = format!("HEAD:refs/heads/topic-{number}");
    git(&work, &["push", "--quiet", "../rocket.git", &target])?;
    git(folder, &["--git-dir=rocket.git", "update-server-info"])?;
    let sha = git(&work, &["rev-parse", "HEAD"])?;
    forge.add_commit(ROCKET, &sha);
    let mut body = scripted_peers::push_event(clone_url, &sha);
    body["ref"] = json!(format!("refs/heads/topic-{number}"));
    Ok((sha, body.to_string()))
}

/// Mentions an agent in an issue: the issue, and the webhook. As a forge does: the comment is there
/// first.
pub(crate) fn mention(forge: &ScriptedForge, number: u64, random: &mut Random) -> (u64, String) {
    let issue = 1 + random.below(ISSUES);
    let text = format!("@orch:writer request {number}");
    let id = forge.add_comment(MAIN, issue, "alice", &text);
    let body = json!({
        "action": "created",
        "comment": {"id": id, "body": text, "user": {"login": "alice"}, "created_at": "2026-11-21T10:00:00Z"},
        "issue": {"number": issue, "title": "Something is wrong", "state": "open"},
        "repository": {"full_name": MAIN},
    });
    (issue, body.to_string())
}

/// Opens a pull request: its commit, and its webhook.
pub(crate) fn pull_request(
    folder: &Path,
    forge: &ScriptedForge,
    number: u64,
) -> Result<(String, String)> {
    let work = folder.join("main");
    let tree = git(&work, &["rev-parse", "HEAD^{tree}"])?;
    let message = format!("pull request {number}");
    let sha = git(&work, &["commit-tree", "-m", &message, "-p", "HEAD", &tree])?;
    let base = git(&work, &["rev-parse", "HEAD"])?;
    let number = number + 1000;
    forge.add_pull(MAIN, Pull::new(number, "alice", &sha, &base));
    let body = json!({
        "action": "opened", "number": number,
        "pull_request": {
            "title": "A change", "html_url": "http://forge.example/pulls/1", "number": number, "state": "open",
            "user": {"login": "alice"},
            "head": {"ref": format!("change-{number}"), "sha": sha, "repo": {"full_name": MAIN}},
            "base": {"ref": "main"},
        },
        "repository": {"full_name": MAIN, "clone_url": "http://forge.example/acme/main.git"},
    });
    Ok((sha, body.to_string()))
}

/// Sends a webhook.
pub(crate) fn deliver(address: SocketAddr, event: &str, id: &str, body: &str) -> Option<Reply> {
    let address = address.to_string();
    deliver_within(REPLY_TIMEOUT, &address, SECRET, (event, id), body)
}
