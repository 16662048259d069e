//! What arrives while programs are killed: each sender repeats until there is an answer, as a
//! forge's redelivery would, and writes what was accepted into the ledger.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use crate::daemon::pause;
use crate::events::{self, Step};
use crate::random::Random;
use crate::world::SoakSite;

/// Pauses between two of a kind, in milliseconds: at most so long, drawn evenly.
const PUSH_MS: u64 = 12_000;
const MENTION_MS: u64 = 700;
const PULL_MS: u64 = 4_000;
const FILE_MS: u64 = 250;
/// Files of the searched folder.
const FILES: u64 = 60;
/// A delivery is sent again after this long without an answer.
const REDELIVERY_DELAY: Duration = Duration::from_millis(150);

/// Starts all loads; they end with `SoakSite::stop_load`.
pub(crate) fn spawn(world: &Arc<SoakSite>, seed: u64) -> Vec<JoinHandle<()>> {
    events::add_issues(&world.forge);
    let steps: [(Step<SoakSite>, u64); 4] = [
        (push, PUSH_MS),
        (mention, MENTION_MS),
        (pull_request, PULL_MS),
        (change_file, FILE_MS),
    ];
    events::repeat(world, |world| &world.stop_load, &steps, (seed, 200))
}

fn push(world: &SoakSite, number: u64, _: &mut Random) {
    let pushed = events::push(world.folder(), &world.forge, &world.clone_url, number);
    let (sha, body) = pushed.expect("git works");
    world.ledger().pushes.insert(sha.clone());
    deliver(world, world.runner.address, "push", &sha, &body);
}

fn mention(world: &SoakSite, number: u64, random: &mut Random) {
    let (issue, body) = events::mention(&world.forge, number, random);
    let (address, id) = (world.orchestrator.address, format!("mention-{number}"));
    let answer = deliver(world, address, "issue_comment", &id, &body);
    let mut ledger = world.ledger();
    for run in runs_of(&answer) {
        ledger.mentions.insert(run, issue);
    }
}

fn pull_request(world: &SoakSite, number: u64, _: &mut Random) {
    let pull = events::pull_request(world.folder(), &world.forge, number);
    let (sha, body) = pull.expect("git works");
    let (address, id) = (world.orchestrator.address, format!("pull-{number}"));
    let answer = deliver(world, address, "pull_request", &id, &body);
    let mut ledger = world.ledger();
    ledger.pulls.insert(sha);
    ledger.fanned.extend(runs_of(&answer));
}

fn change_file(world: &SoakSite, number: u64, random: &mut Random) {
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
fn deliver(world: &SoakSite, address: SocketAddr, event: &str, id: &str, body: &str) -> Value {
    loop {
        match events::deliver(address, event, id, body) {
            Some(answer) if answer.status < 300 => return answer.json(),
            Some(answer) if answer.status != 503 && answer.status != 504 => {
                let line = format!("{event} {id}: {} {}", answer.status, answer.body);
                world.ledger().refused.push(line);
                return Value::Null;
            }
            _ => pause(REDELIVERY_DELAY),
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
