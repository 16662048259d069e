//! What arrives while programs are killed: each sender repeats until there is an answer, as a
//! forge's redelivery would, and writes what was accepted into the ledger.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use scripted_peers::Pull;
use serde_json::{Value, json};

use crate::daemon::pause;
use crate::random::Random;
use crate::wire::ask;
use crate::world::{MAIN, SECRET, World, git};

/// Pauses between two of a kind, in milliseconds: at most so long, drawn evenly.
const PUSH_MS: u64 = 12_000;
const MENTION_MS: u64 = 700;
const PULL_MS: u64 = 4_000;
const FILE_MS: u64 = 250;
/// Issues that mentions stand in.
const ISSUES: u64 = 40;
/// Files of the searched folder.
const FILES: u64 = 60;
/// A delivery is sent again after this long without an answer.
const REDELIVERY: Duration = Duration::from_millis(150);

/// One step of a load.
type Step = fn(&World, u64, &mut Random);

/// Starts all loads; they end with `World::stop_load`.
pub(crate) fn spawn(world: &Arc<World>, seed: u64) -> Vec<JoinHandle<()>> {
    for issue in 1..=ISSUES {
        world.forge.add_issue(MAIN, issue, "Something is wrong");
    }
    let steps: [(Step, u64); 4] = [
        (push, PUSH_MS),
        (mention, MENTION_MS),
        (pull_request, PULL_MS),
        (change_file, FILE_MS),
    ];
    let mut threads = Vec::new();
    for (lane, (step, longest)) in steps.into_iter().enumerate() {
        let world = Arc::clone(world);
        let mut random = Random::new(seed, 200 + lane as u64);
        threads.push(std::thread::spawn(move || {
            let mut number = 0;
            while !world.stop_load.load(Ordering::Relaxed) {
                number += 1;
                step(&world, number, &mut random);
                pause(Duration::from_millis(random.below(longest)));
            }
        }));
    }
    threads
}

fn push(world: &World, number: u64, _: &mut Random) {
    let (branch, sha) = world.commit_workflow(number).expect("git works");
    world.ledger().pushes.insert(sha.clone());
    let body = world.push_event(&branch, &sha);
    deliver(world, world.runner.address, "push", &sha, &body);
}

fn mention(world: &World, number: u64, random: &mut Random) {
    let issue = 1 + random.below(ISSUES);
    // As a forge does: the comment is there first, then its webhook.
    let text = format!("@orch:writer request {number}");
    let id = world.forge.add_comment(MAIN, issue, "alice", &text);
    let body = json!({
        "action": "created",
        "comment": {"id": id, "body": text, "user": {"login": "alice"}, "created_at": "2026-11-21T10:00:00Z"},
        "issue": {"number": issue, "title": "Something is wrong", "state": "open"},
        "repository": {"full_name": MAIN},
    });
    let delivery = format!("mention-{number}");
    let address = world.orchestrator.address;
    let answer = deliver(
        world,
        address,
        "issue_comment",
        &delivery,
        &body.to_string(),
    );
    let mut ledger = world.ledger();
    for run in runs_of(&answer) {
        ledger.mentions.insert(run, issue);
    }
}

fn pull_request(world: &World, number: u64, _: &mut Random) {
    let work = world.folder().join("main");
    let commit = || {
        let tree = git(&work, &["rev-parse", "HEAD^{tree}"])?;
        let message = format!("pull request {number}");
        git(&work, &["commit-tree", "-m", &message, "-p", "HEAD", &tree])
    };
    let sha = commit().expect("git works");
    let base = git(&work, &["rev-parse", "HEAD"]).expect("git works");
    world
        .forge
        .add_pull(MAIN, Pull::new(number + 1000, "alice", &sha, &base));
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
    let delivery = format!("pull-{number}");
    let address = world.orchestrator.address;
    let answer = deliver(world, address, "pull_request", &delivery, &body.to_string());
    let mut ledger = world.ledger();
    ledger.pulls.insert(sha);
    ledger.fanned.extend(runs_of(&answer));
}

fn change_file(world: &World, number: u64, random: &mut Random) {
    let name = format!("note-{}.md", random.below(FILES));
    let path = world.folder().join("documents").join(&name);
    let mut ledger = world.ledger();
    ledger.file_changes += 1;
    let removed = random.below(4) == 0;
    if removed {
        let _ = std::fs::remove_file(&path);
    } else {
        // A word that occurs nowhere else; letters only, so that it is one word in every analysis.
        let word = format!("zoe{}", letters(number));
        let text = format!("# Note\n\nThis note holds {word} and nothing else.\n");
        // By rename, as editors do: no reader sees half a file.
        let beside = path.with_extension("tmp");
        std::fs::write(&beside, text).expect("the folder can be written");
        std::fs::rename(&beside, &path).expect("the folder can be written");
        if let Some(former) = ledger.files.insert(name, word) {
            ledger.gone.insert(former);
        }
        return;
    }
    if let Some(former) = ledger.files.remove(&name) {
        ledger.gone.insert(former);
    }
}

/// A number in letters, so that neighbours share no stem.
fn letters(mut number: u64) -> String {
    let mut word = String::new();
    for _ in 0..6 {
        word.push(char::from(b'a' + u8::try_from(number % 26).unwrap_or(0)));
        number = number / 26 + 7 * (number % 26);
    }
    word.push('q');
    word
}

/// Sends a delivery until it is answered with 2xx; gives the answer. A refusal other than 503 is
/// written down.
fn deliver(world: &World, address: SocketAddr, event: &str, id: &str, body: &str) -> Value {
    let signature = forge_core::sign(SECRET, body.as_bytes());
    let signature = signature.expect("the secret is not empty").hub();
    let headers = [
        ("Content-Type", "application/json"),
        ("X-GitHub-Event", event),
        ("X-GitHub-Delivery", id),
        ("X-Hub-Signature-256", &signature),
    ];
    loop {
        let answer = ask(address, "POST", "/webhook", &headers, body.as_bytes());
        match answer {
            Some(answer) if answer.status < 300 => return answer.json(),
            Some(answer) if answer.status != 503 && answer.status != 504 => {
                let line = format!("{event} {id}: {} {}", answer.status, answer.body);
                world.ledger().refused.push(line);
                return Value::Null;
            }
            _ => pause(REDELIVERY),
        }
    }
}

/// The runs that an answer of the orchestrator names.
fn runs_of(answer: &Value) -> Vec<String> {
    let dispatches = answer["dispatches"].as_array();
    let runs = dispatches.into_iter().flatten();
    runs.filter_map(|one| Some(one["run"].as_str()?.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::letters;

    #[test]
    fn words_of_different_changes_differ() {
        let words: BTreeSet<String> = (0..20_000).map(letters).collect();
        assert_eq!(words.len(), 20_000);
    }
}
