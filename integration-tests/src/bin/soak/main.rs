//! Kills orchestrator, runner, VM manager and search server at random points while webhooks, pull
//! requests and file changes arrive and the forge errs, delays and freezes; then lets everything
//! settle and counts what was lost, doubled, left hanging or leaked. `cargo xtask soak` builds the
//! programs and runs it.
//!
//! ```text
//! load (pushes, mentions, pull requests, files) ──▶ four real programs ◀── killers (SIGKILL, restart)
//!                                                        │
//!                              scripted forge ◀──────────┘   faults
//!                                     └──────▶ checkers, once all is quiet
//! ```

#![allow(clippy::print_stdout, reason = "its report is what it is run for")]

mod check;
mod cluster;
mod daemon;
mod events;
mod findings;
mod forge;
mod killer;
mod ledger;
mod load;
mod lost_jobs;
mod options;
mod random;
mod wire;
mod world;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;

use crate::findings::Findings;
use crate::options::Options;
use crate::world::SoakSite;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("soak: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<bool> {
    let seed = options.seed.unwrap_or_else(random::seed_of_the_clock);
    if options.cluster {
        return cluster::run(options, seed);
    }
    println!("soak: {} kills, seed {seed}", options.kills);
    let world = Arc::new(SoakSite::new(options, forge::start())?);
    println!("soak: logs in {}", world.folder().display());
    let started = Instant::now();
    let deadline = started + Duration::from_secs(options.minutes * 60);
    let ready = world.start_all(|| check::machines_are_ready(&world));
    if let Err(error) = ready {
        world.keep();
        return Err(error);
    }
    let faults = forge::spawn_faults(Arc::clone(&world), seed);
    let loads = load::spawn(&world, seed);
    let killers = killer::spawn(&world, options.kills, seed, deadline);
    let mut findings = Findings::default();
    let mut kills = 0;
    for killer in killers {
        let done = killer.join().expect("a killer does not panic");
        println!(
            "soak: {:12} {} kills, {} failed starts",
            done.name,
            done.kills,
            done.failed_starts.len()
        );
        kills += done.kills;
        findings.failed_starts.extend(done.failed_starts);
    }
    world.stop_load.store(true, Ordering::Relaxed);
    for thread in loads.into_iter().chain([faults]) {
        thread.join().expect("a load does not panic");
    }
    world.forge.plan_nothing();
    println!(
        "soak: {kills} kills in {} s; waiting for quiet",
        started.elapsed().as_secs()
    );
    check::all(&world, &mut findings);
    world.stop_all();
    check::leaks(&world, &mut findings);
    let complete = kills >= options.kills;
    if !complete {
        println!(
            "soak: only {kills} of {} kills within {} minutes",
            options.kills, options.minutes
        );
    }
    findings.print(&world.ledger());
    let good = complete && findings.is_empty();
    if !good || options.keep {
        world.keep();
    }
    println!(
        "soak: {}; again: cargo xtask soak --kills {} --seed {seed}",
        if good { "passed" } else { "FAILED" },
        options.kills
    );
    Ok(good)
}
