//! Several processes of each kind on one database: 3 runners and 3 VM managers that all of them
//! use, 2 orchestrators, PostgreSQL with a synchronous replica, an S3-compatible server for logs, a
//! proxy before each process and before each VM manager.
//!
//! ```text
//! load ──▶ any runner, any orchestrator ──proxy──▶ PostgreSQL ──▶ replica
//!                 ▲        │                            ▲
//!                 │        ├─proxy─▶ any VM manager     restarts, one fail-over
//!                 │        └──▶ S3 (restarts)
//!   SIGKILL, SIGSTOP, partitions
//! ```

mod check;
mod faults;
mod ledger;
mod load;
mod pace;
mod proxy;
mod servers;
mod starvation;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;

use self::faults::LaneReport;
use self::pace::{Pace, Shares};
use self::world::Cluster;
use crate::findings::Findings;
use crate::forge;
use crate::options::Options;
use crate::random::Random;

/// Runs it: whether nothing was found.
pub(crate) fn run(options: &Options, seed: u64) -> Result<bool> {
    println!("soak: cluster, {} faults, seed {seed}", options.kills);
    let cluster = Arc::new(Cluster::new(options, forge::start())?);
    println!("soak: logs in {}", cluster.path.display());
    if let Err(error) = cluster.start_all() {
        cluster.keep();
        return Err(error);
    }
    let started = Instant::now();
    let deadline = started + Duration::from_secs(options.minutes * 60);
    let loads = load::spawn(&cluster, seed);
    let lanes = spawn_faults(&cluster, options.kills, seed, deadline);
    let mut findings = Findings::default();
    let mut faults = 0;
    for lane in lanes {
        let done = lane.join().expect("a lane of faults does not panic");
        faults += done.faults;
        findings.failed_starts.extend(done.failed);
    }
    cluster.stop_load.store(true, Ordering::Relaxed);
    for load in loads {
        load.join().expect("a load does not panic");
    }
    println!(
        "soak: {faults} faults in {} s; waiting for quiet",
        started.elapsed().as_secs()
    );
    check::all(&cluster, &mut findings);
    report(&cluster);
    for daemon in cluster.daemons() {
        daemon.stop();
    }
    check::leaks(&cluster, &mut findings);
    findings.print_kinds();
    let complete = faults >= options.kills;
    if !complete {
        println!(
            "soak: only {faults} of {} faults within {} minutes",
            options.kills, options.minutes
        );
    }
    let good = complete && findings.is_empty();
    if !good || options.keep {
        cluster.keep();
    }
    println!(
        "soak: {}; again: cargo xtask soak --cluster --kills {} --seed {seed}",
        if good { "passed" } else { "FAILED" },
        options.kills
    );
    Ok(good)
}

/// Starts the lanes of faults: one for each product, one for the managers, one for database and
/// storage.
fn spawn_faults(
    cluster: &Arc<Cluster>,
    faults: u32,
    seed: u64,
    deadline: Instant,
) -> Vec<JoinHandle<LaneReport>> {
    let shares = Shares::for_faults(faults);
    let pace = Arc::new(Pace::new(shares.of_processes(), deadline));
    let mut lanes = faults::spawn(cluster, shares, seed, &pace);
    let (cluster, random) = (Arc::clone(cluster), Random::new(seed, 3));
    lanes.push(std::thread::spawn(move || {
        servers::of_servers(&cluster, shares.servers, random, &pace)
    }));
    lanes
}

/// Prints what was done, and how long take-overs took.
fn report(cluster: &Cluster) {
    let acknowledged = cluster.acknowledged();
    println!(
        "soak: acknowledged: {} pushes, {} mentions and pull requests",
        acknowledged.pushes.len(),
        acknowledged.events.len()
    );
    let kinds = acknowledged.faults.iter();
    let kinds: Vec<String> = kinds
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    println!("soak: faults: {}", kinds.join(", "));
    let late = acknowledged.takeovers.iter();
    let late = late
        .filter(|(_, took)| *took > starvation::TAKEOVER_TIMEOUT)
        .count();
    println!(
        "soak: take-overs: {}, of which {late} took longer than {:?}",
        acknowledged.takeovers.len(),
        starvation::TAKEOVER_TIMEOUT
    );
    let mut by_cause = BTreeMap::<&str, Vec<Duration>>::new();
    for (cause, took) in &acknowledged.takeovers {
        by_cause.entry(cause).or_default().push(*took);
    }
    for (cause, mut took) in by_cause {
        took.sort_unstable();
        let (count, middle) = (took.len(), took[took.len() / 2]);
        let longest = took.last().copied().unwrap_or_default();
        println!(
            "soak: take-overs after {cause:12} {count:4}, median {:.1} s, longest {:.1} s",
            middle.as_secs_f64(),
            longest.as_secs_f64()
        );
    }
}
