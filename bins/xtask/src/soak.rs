//! `cargo xtask soak`: kills all products at random under load, and checks that nothing was lost, doubled, left hanging or leaked.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use crate::project::Project;
use crate::{parts, shell};

/// How hard, and with which programs.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// SIGKILLs in all, over orchestrator, runner, VM manager and search server
    #[arg(long, default_value_t = 1000, value_name = "N")]
    kills: u32,
    /// Repeats a run that was given this seed
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Gives up on further kills after this many minutes
    #[arg(long, default_value_t = 60, value_name = "N")]
    minutes: u64,
    /// Build without optimisation: quicker to build
    #[arg(long)]
    debug: bool,
    /// Keep the folder of the run, with all logs; it is always kept when something was found
    #[arg(long)]
    keep: bool,
}

/// The programs that are killed, and the one that does it.
const PACKAGES: [&str; 5] = [
    "orchestrator",
    "workflow-runner",
    "vm-manager",
    "search-server",
    "soak",
];

/// Runs the command.
///
/// # Errors
/// When something is missing or does not build; what the run finds is a failing exit code.
pub(crate) fn run(project: &Project, options: &Options) -> Result<ExitCode> {
    parts::prepare_machines()?;
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
    let agent = parts::vm_guest(project)?;
    let done = shell::run(&mut soak(project, &programs, &agent, options));
    Ok(match done {
        Ok(()) => ExitCode::SUCCESS,
        // It has said what it found.
        Err(_) => ExitCode::FAILURE,
    })
}

/// As a step of `cargo xtask test`: few kills, with the programs that the tests were built with.
///
/// # Errors
/// When something was lost, doubled, left hanging or leaked.
pub(crate) fn short(project: &Project) -> Result<()> {
    let options = Options {
        kills: 40,
        seed: None,
        minutes: 10,
        debug: true,
        keep: false,
    };
    let programs = project.target()?.join("debug");
    let agent = parts::vm_guest(project)?;
    shell::run(&mut soak(project, &programs, &agent, &options))
}

fn soak(
    project: &Project,
    programs: &Path,
    agent: &Path,
    options: &Options,
) -> std::process::Command {
    let mut command = shell::command(&programs.join("soak").to_string_lossy(), &project.root);
    let (kills, minutes) = (options.kills.to_string(), options.minutes.to_string());
    command.args(["--kills", &kills, "--minutes", &minutes]);
    command.arg("--programs").arg(programs);
    command.arg("--agent").arg(agent);
    command.arg("--images").arg(project.cache.join("vm"));
    if let Some(seed) = options.seed {
        command.args(["--seed", &seed.to_string()]);
    }
    if options.keep {
        command.arg("--keep");
    }
    command
}
