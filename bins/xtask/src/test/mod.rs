//! `cargo xtask test`: every check of the project, two beside each other where they bear it, with a
//! summary.

mod at_once;
mod busy;
mod checks;
mod counts;
mod plan;
mod requested;
mod schedule;
mod setting;
mod slowest;
mod steps;
mod summary;
mod web;
mod work;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::Args;

use self::busy::Ticks;
use self::counts::TestRunCounts;
use self::setting::StepSettings;
use self::steps::{STEPS, TestStep};
use crate::project::ProjectCheckout;
use crate::terminal;

/// Which checks to run, and how.
#[derive(Debug, Args)]
pub(crate) struct TestOptions {
    /// Run only these steps; `hostile` (the attacks against optimised
    /// builds), `containers` (those of workflows) and `install` (packages on a Debian machine) are
    /// run in no other way
    #[arg(long, value_delimiter = ',', value_name = "STEP[,STEP]")]
    only: Vec<String>,
    /// Leave these steps out
    #[arg(long, value_delimiter = ',', value_name = "STEP[,STEP]")]
    skip: Vec<String>,
    /// List the steps and stop
    #[arg(long)]
    list: bool,
    /// Run the browser tests even when nothing under web/ has changed
    #[arg(long)]
    browser: bool,
    /// Seconds for each fuzz target
    #[arg(long, default_value_t = 5, value_name = "N")]
    fuzz_seconds: u32,
}

/// Runs the command.
///
/// # Errors
/// When a step is unknown; failed steps are a failing exit code.
pub(crate) fn run(project: &ProjectCheckout, options: &TestOptions) -> Result<ExitCode> {
    if options.list {
        STEPS
            .iter()
            .for_each(|step| terminal::line(&format!("{:9} {}", step.name, step.about)));
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = choose(&options.only, &options.skip)?;
    slowest::remove_report(project)?;
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    let setting = StepSettings::new(project, options.fuzz_seconds, options.browser || is_ci);
    let (start, ticks) = (Instant::now(), Ticks::now());
    let rows = schedule::run(&chosen, &setting);
    terminal::heading("summary");
    let seconds = start.elapsed().as_secs_f64();
    let busy = Ticks::busy_since(ticks);
    terminal::line(summary::table(&rows, seconds, busy).trim_end());
    let failed: Vec<&str> = rows
        .iter()
        .filter(|row| row.failed())
        .map(|row| row.name)
        .collect();
    if !failed.is_empty() {
        terminal::line(&format!(
            "\nfailed: {}; again: cargo xtask test --only {}",
            failed.join(", "),
            failed.join(",")
        ));
    }
    slowest::report(project)?;
    let total: TestRunCounts = rows.iter().map(|row| row.counts).sum();
    // The last line, plain and alone: machines that run this count by it.
    terminal::line(&format!("\n{total}"));
    Ok(if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn choose(only: &[String], skip: &[String]) -> Result<Vec<&'static TestStep>> {
    let known = |name: &String| STEPS.iter().any(|step| step.name == name);
    if let Some(unknown) = only.iter().chain(skip).find(|name| !known(name)) {
        let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        bail!(
            "there is no step `{unknown}`; there are: {}",
            names.join(", ")
        );
    }
    let names = |list: &[String], step: &TestStep| list.iter().any(|name| name == step.name);
    let usual = |step: &TestStep| only.is_empty() && !step.on_request;
    let wanted = |step: &&TestStep| (usual(step) || names(only, step)) && !names(skip, step);
    Ok(STEPS.iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(only: &[&str], skip: &[&str]) -> Result<Vec<&'static str>> {
        let owned = |list: &[&str]| {
            list.iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        Ok(choose(&owned(only), &owned(skip))?
            .into_iter()
            .map(|step| step.name)
            .collect())
    }

    #[test]
    fn steps_are_chosen_by_name_and_keep_their_order() {
        assert_eq!(
            names(&["tidy", "fmt"], &[]).expect("both exist"),
            ["fmt", "tidy"]
        );
        let usual = names(&[], &[]).expect("all");
        assert_eq!(usual.len(), STEPS.len() - 3);
        for name in ["hostile", "containers", "install"] {
            assert!(!usual.contains(&name), "{name}: only when it is asked for");
        }
        assert_eq!(names(&["hostile"], &[]).expect("it exists"), ["hostile"]);
        assert!(!names(&[], &["fuzz"]).expect("it exists").contains(&"fuzz"));
        let error = names(&["fmtt"], &[])
            .expect_err("there is no such step")
            .to_string();
        assert!(
            error.starts_with("there is no step `fmtt`; there are: tools, clippy, "),
            "{error}"
        );
    }
}
