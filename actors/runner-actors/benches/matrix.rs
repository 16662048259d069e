//! How soon the next copy of a large matrix begins once a slot is free.
//!
//! `cargo bench -p runner-actors --bench matrix -- [--jobs N] [--slots N] [--rounds N]`
//!
//! The runner's own actors, store and log with a scripted VM manager, which answers at once: what
//! is measured is the runner. Each job has one step, which takes 40 to 120 ms, so that slots become
//! free at different times. A slot is free when the manager is asked to end the VM in it; its next
//! job has begun when the manager is asked for another VM, and again when that VM gets its first
//! command, with the commit's files before it.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

#[path = "../tests/actors/harness.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod harness;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use runner_core::state::RunState;
use scripted_peers::{Play, Recorded};

use harness::{Site, wait_until};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str, otherwise: usize| {
        let at = arguments.iter().position(|argument| argument == name);
        let text = at.and_then(|at| arguments.get(at + 1));
        text.map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (jobs, slots) = (option("--jobs", 100), option("--slots", 8));
    let rounds = option("--rounds", 5);
    println!("{rounds} runs of a matrix of {jobs} jobs over {slots} slots");
    let mut all = Waits::default();
    actix_rt::System::new().block_on(async {
        for _ in 0..rounds {
            all.add(measure(jobs, slots).await);
        }
    });
    line("from a free slot to the request for the next VM", all.asked);
    line(
        "from a free slot to the next job's first command",
        all.working,
    );
    line(
        "of which the VM's: from its request to its first command",
        all.own,
    );
}

/// Waits of the jobs that found all slots taken.
#[derive(Default)]
struct Waits {
    asked: Vec<Duration>,
    working: Vec<Duration>,
    own: Vec<Duration>,
}

impl Waits {
    fn add(&mut self, other: Self) {
        self.asked.extend(other.asked);
        self.working.extend(other.working);
        self.own.extend(other.own);
    }
}

async fn measure(jobs: usize, slots: usize) -> Waits {
    let count = AtomicU64::new(0);
    let site = Site::playing(move |_| {
        let n = count.fetch_add(1, Ordering::Relaxed);
        Play::exit(0).after(Duration::from_millis(40 + n * 37 % 80))
    });
    let runner = site.start_with(|settings| settings.max_jobs = slots).await;
    let numbers: Vec<String> = (0..jobs).map(|n| n.to_string()).collect();
    let workflow = format!(
        "name: CI\non: push\njobs:\n  a:\n    runs-on: x\n    strategy: {{matrix: {{n: [{}]}}}}\n    steps: [{{run: work}}]\n",
        numbers.join(", ")
    );
    let begun = Instant::now();
    let run = runner.run(&site, &workflow).await;
    let record = runner.ended(&run).await;
    println!("a run: {} ms", begun.elapsed().as_millis());
    assert_eq!(record.state, RunState::Succeeded, "{:?}", record.reason);
    assert_eq!(record.jobs.len(), jobs);
    wait_until("all VMs are back", || site.vmm.vms().is_empty()).await;
    let waits = waits(&site.vmm.requests(), slots);
    assert_eq!(waits.asked.len(), jobs - slots);
    runner.stop().await;
    waits
}

/// The n-th slot that becomes free is for the n-th job that found none.
fn waits(requests: &[Recorded], slots: usize) -> Waits {
    let (mut freed, mut asked, mut first) = (Vec::new(), Vec::new(), BTreeMap::new());
    for request in requests {
        let path: Vec<&str> = request.path.trim_matches('/').split('/').collect();
        match (request.method.as_str(), path.as_slice()) {
            ("DELETE", ["vms", _]) => freed.push(request.at),
            ("POST", ["vms"]) => asked.push(request.at),
            ("POST", ["vms", vm, "exec"]) => {
                first.entry(*vm).or_insert(request.at);
            }
            _ => {}
        }
    }
    let mut begun: Vec<Instant> = first.into_values().collect();
    begun.sort();
    let after = |times: &[Instant]| {
        let waited = times.iter().skip(slots).zip(&freed);
        let waited = waited.map(|(time, freed)| time.saturating_duration_since(*freed));
        waited.collect()
    };
    let own = begun.iter().zip(&asked).skip(slots);
    let own = own.map(|(begun, asked)| begun.saturating_duration_since(*asked));
    Waits {
        asked: after(&asked),
        working: after(&begun),
        own: own.collect(),
    }
}

fn line(what: &str, mut waits: Vec<Duration>) {
    waits.sort();
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a rank among a few hundred"
        )]
        let rank = (waits.len() as f64 * share).ceil() as usize;
        waits[rank.clamp(1, waits.len()) - 1].as_secs_f64() * 1000.0
    };
    println!(
        "{what}: median {:.1} ms, p90 {:.1} ms, p99 {:.1} ms, longest {:.1} ms ({} jobs)",
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0),
        waits.len()
    );
}
