//! Pushes, mentions and pull requests to any process of a product, sent again to another one until
//! one acknowledges them.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use scripted_peers::Reply;

use super::ledger::Delivery;
use super::world::{Cluster, Product};
use crate::daemon::pause;
use crate::events::{self, Step};
use crate::random::Random;

/// Pauses between two of a kind, in milliseconds: at most so long, drawn evenly.
const PUSH_MS: u64 = 3_000;
const MENTION_MS: u64 = 900;
const PULL_MS: u64 = 4_000;
/// What is no refusal: nobody can take it now, or (408) the process was paused while it read the
/// request.
const NOT_NOW: [u16; 3] = [408, 503, 504];
/// A delivery is sent again after this long without an answer.
const REDELIVERY_DELAY: Duration = Duration::from_millis(100);

/// Starts all loads; they end with `Cluster::stop_load`.
pub(crate) fn spawn(cluster: &Arc<Cluster>, seed: u64) -> Vec<JoinHandle<()>> {
    events::add_issues(&cluster.forge);
    let steps: [(Step<Cluster>, u64); 3] =
        [(push, PUSH_MS), (mention, MENTION_MS), (pull, PULL_MS)];
    events::repeat(cluster, |cluster| &cluster.stop_load, &steps, (seed, 300))
}

fn push(cluster: &Cluster, number: u64, random: &mut Random) {
    let pushed = events::push(&cluster.path, &cluster.forge, &cluster.clone_url, number);
    let (sha, body) = pushed.expect("git works");
    let delivery = Delivery {
        event: "push",
        id: format!("push-{number}"),
        body,
    };
    if deliver(cluster, &cluster.runners, &delivery, random) {
        let mut acknowledged = cluster.acknowledged();
        acknowledged.pushed.insert(sha, number);
        acknowledged.pushes.push(delivery);
    }
}

fn mention(cluster: &Cluster, number: u64, random: &mut Random) {
    let (_, body) = events::mention(&cluster.forge, number, random);
    let delivery = Delivery {
        event: "issue_comment",
        id: format!("mention-{number}"),
        body,
    };
    if deliver(cluster, &cluster.orchestrators, &delivery, random) {
        cluster.acknowledged().events.push(delivery);
    }
}

fn pull(cluster: &Cluster, number: u64, random: &mut Random) {
    let pull = events::pull_request(&cluster.path, &cluster.forge, number);
    let (sha, body) = pull.expect("git works");
    let delivery = Delivery {
        event: "pull_request",
        id: format!("pull-{number}"),
        body,
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
            _ => pause(REDELIVERY_DELAY),
        }
    }
}

/// Sends a delivery to one process.
pub(crate) fn send(product: &Product, at: usize, delivery: &Delivery) -> Option<Reply> {
    let Delivery { event, id, body } = delivery;
    events::deliver(product.replicas[at].daemon.address, event, id, body)
}
