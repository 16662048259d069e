//! `cargo xtask soak`: kills all products at random under load, and checks that nothing was lost,
//! doubled, left hanging or leaked.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::project::ProjectCheckout;
use crate::{prerequisites, shell, terminal};

/// How hard, and with which programs.
#[derive(Debug, Args)]
pub(crate) struct SoakOptions {
    /// Several runners and orchestrators on one PostgreSQL: kills, pauses, partitions, restarts and
    /// a fail-over of the database
    #[arg(long)]
    cluster: bool,
    /// SIGKILLs in all, over orchestrator, runner, VM manager and search server; of a cluster,
    /// faults of every kind
    #[arg(long, default_value_t = 1000, value_name = "N")]
    kills: u32,
    /// Repeats a run that was given this seed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Gives up on further kills after this many minutes; 15 of a cluster, unless said
    #[arg(
        long,
        default_value = "60",
        default_value_if("cluster", "true", "15"),
        value_name = "N"
    )]
    minutes: u64,
    /// Build without optimisation: quicker to build
    #[arg(long)]
    debug: bool,
    /// Keep the folder of the run, with all logs; it is always kept when something was found
    #[arg(long)]
    keep: bool,
    /// Looks for the fewest kills with which this seed fails: the shortest run to read
    #[arg(long, requires = "seed")]
    shrink: bool,
}

/// The programs that are killed, and the one that does it.
const PACKAGES: [&str; 5] = [
    "orchestrator",
    "workflow-runner",
    "vm-manager",
    "search-server",
    "integration-tests",
];

/// Runs the command.
///
/// # Errors
/// When something is missing or does not build; what the run finds is a failing exit code.
pub(crate) fn run(project: &ProjectCheckout, options: &SoakOptions) -> Result<ExitCode> {
    prerequisites::prepare_machines()?;
    if options.cluster {
        prerequisites::prepare_cluster(project)?;
    }
    let mut build = shell::cargo(&project.root, &["build"]);
    for package in PACKAGES {
        build.args(["--package", package]);
    }
    if !options.debug {
        build.arg("--release");
    }
    shell::run(&mut build)?;
    let profile = if options.debug { "debug" } else { "release" };
    let programs = project.target()?.join(profile);
    let agent = prerequisites::vm_guest(project)?;
    let fails = |kills| {
        let options = SoakOptions { kills, ..*options };
        // Its report is above.
        shell::run(&mut soak(project, &programs, &agent, &options)).is_err()
    };
    if !fails(options.kills) {
        return Ok(ExitCode::SUCCESS);
    }
    if options.shrink {
        let fewest = fewest_failing(options.kills, fails);
        terminal::line(&format!(
            "soak: the shortest run that failed has {fewest} kills"
        ));
    }
    Ok(ExitCode::FAILURE)
}

/// Halves the distance to the longest run that passed, until it is an eighth: a run is not exactly
/// repeatable, so the last kills are not worth its time.
fn fewest_failing(kills: u32, mut fails: impl FnMut(u32) -> bool) -> u32 {
    let (mut passed, mut failed) = (0, kills);
    while failed - passed > failed / 8 + 1 {
        let middle = passed.midpoint(failed);
        if fails(middle) {
            failed = middle;
        } else {
            passed = middle;
        }
    }
    failed
}

/// As a step of `cargo xtask test`: few kills, with the programs that the tests were built with.
///
/// # Errors
/// When something was lost, doubled, left hanging or leaked.
pub(crate) fn short(project: &ProjectCheckout) -> Result<()> {
    let options = SoakOptions {
        cluster: false,
        kills: 40,
        seed: None,
        minutes: 10,
        debug: true,
        keep: false,
        shrink: false,
    };
    let programs = project.target()?.join("debug");
    let agent = prerequisites::vm_guest(project)?;
    shell::run(&mut soak(project, &programs, &agent, &options))?;
    prerequisites::prepare_cluster(project)?;
    let cluster = SoakOptions {
        cluster: true,
        kills: 20,
        minutes: 2,
        ..options
    };
    shell::run(&mut soak(project, &programs, &agent, &cluster))
}

fn soak(
    project: &ProjectCheckout,
    programs: &Path,
    agent: &Path,
    options: &SoakOptions,
) -> std::process::Command {
    let mut command = shell::command(&programs.join("soak").to_string_lossy(), &project.root);
    let (kills, minutes) = (options.kills.to_string(), options.minutes.to_string());
    command.args(["--kills", &kills, "--minutes", &minutes]);
    command.arg("--programs").arg(programs);
    command.arg("--agent").arg(agent);
    command.arg("--images").arg(project.cache.join("vm"));
    // Where the tools of tests are.
    command.env("ORRERY_CACHE", &project.cache);
    if let Some(seed) = options.seed {
        command.args(["--seed", &seed.to_string()]);
    }
    if options.cluster {
        command.arg("--cluster");
    }
    if options.keep {
        command.arg("--keep");
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_run_is_shrunk_in_few_tries() {
        for (from, expected) in [
            (1, 1..=1),
            (40, 40..=45),
            (700, 700..=790),
            (1000, 1000..=1000),
        ] {
            let mut tries = 0;
            let fewest = fewest_failing(1000, |kills| {
                tries += 1;
                kills >= from
            });
            assert!(expected.contains(&fewest), "{from}: {fewest}");
            assert!(tries <= 10, "{from}: {tries} tries");
        }
    }
}
