//! The step `install` of the tests: Debian packages on a Debian machine with systemd as its first
//! process, from the first search over an upgrade to their removal.
//!
//! The machine is a VM of this project's own VM manager, from a recipe of its own; what is done on
//! it is `scenario.py`, and the forge is the scripted one of the integration tests. Without KVM it
//! is emulated, and takes some ten times as long as a real one.

mod manager;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, ensure};

use self::manager::Manager;
use crate::dist::{self, debian};
use crate::project::ProjectCheckout;
use crate::{prerequisites, shell, terminal};

/// What is done on the machine.
const SCENARIO: &str = include_str!("scenario.py");
/// What the machine is made of.
const RECIPE: &str = include_str!("debian-systemd.toml");
/// Where it lies on the machine.
const PLACE: &str = "/opt/packages";

/// Seconds that the first search and the first step may take, from an empty machine with the
/// packages.
const GOALS: [(&str, f64); 2] = [
    ("from the packages to the first search", 120.0),
    ("from the packages to the first step of a workflow", 300.0),
];

/// What the scenario said.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Report {
    /// Steps that were done.
    pub(crate) passed: u64,
    /// Steps that were not.
    pub(crate) failed: u64,
    /// Seconds by name.
    pub(crate) figures: Vec<(String, f64)>,
}

impl Report {
    fn read(&mut self, line: &str) {
        if line.starts_with("ok ") {
            self.passed += 1;
        } else if line.starts_with("FAILED ") {
            self.failed += 1;
        } else if let Some((name, seconds)) = line
            .strip_prefix("figure ")
            .and_then(|rest| rest.rsplit_once(' '))
            && let Ok(seconds) = seconds.parse()
        {
            self.figures.push((name.to_owned(), seconds));
        }
    }

    /// The goals that were missed, or not measured.
    pub(crate) fn missed(&self) -> Vec<String> {
        let measured = |name: &str| self.figures.iter().find(|(own, _)| own == name);
        GOALS
            .iter()
            .filter_map(|(name, goal)| match measured(name) {
                None => Some(format!("{name}: not measured")),
                Some((_, seconds)) if seconds > goal => {
                    Some(format!("{name}: {seconds} s, the goal is {goal} s"))
                }
                Some(_) => None,
            })
            .collect()
    }
}

/// Builds, packs, boots, and runs the scenario.
///
/// # Errors
/// When something of it cannot be done; a failed step is in the report.
pub(crate) fn run(project: &ProjectCheckout) -> Result<Report> {
    prerequisites::prepare_machines()?;
    let guest = prerequisites::vm_guest(project)?;
    let work = project.target()?.join("install-test");
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    let load = work.join("load");
    fs::create_dir_all(&load)?;
    let programs = programs(project, &work)?;
    let version = dist::version(project)?;
    // Debian takes the second for the newer one; the programs are the same.
    for (folder, version) in [("first", version.clone()), ("second", version + "+next")] {
        debian::make(
            project,
            &debian::PackagingOptions {
                programs: &programs,
                guest: &guest,
                version: &version,
                out: &load.join(folder),
                small: false,
            },
        )?;
    }
    fs::copy(programs.join("scripted-forge"), load.join("scripted-forge"))?;
    fs::write(load.join("scenario.py"), SCENARIO)?;

    let recipe = work.join("debian-systemd.toml");
    fs::write(&recipe, RECIPE)?;
    let own = programs.join("vm-manager");
    let data = project.cache.join("install-vm");
    Manager::prepare(&own, &guest, &data, &recipe)?;
    let manager = Manager::start(&own, &guest, &data, &work)?;
    scenario(&manager, &load)
}

fn scenario(manager: &Manager, load: &Path) -> Result<Report> {
    let begun = Instant::now();
    let vm = manager.order()?;
    let booted = begun.elapsed().as_secs_f64();
    manager.upload(&vm, load, PLACE)?;
    terminal::line(&format!(
        "the machine is there after {booted:.1} s, the packages are on it after {:.1} s",
        begun.elapsed().as_secs_f64()
    ));
    let mut report = Report::default();
    let argv = ["python3", &format!("{PLACE}/scenario.py")];
    let code = manager.exec(&vm, &argv, &mut |line| {
        report.read(line);
        if !line.is_empty() {
            terminal::line(&format!("  {line}"));
        }
    })?;
    ensure!(
        code == Some(0) || report.failed > 0,
        "the scenario ended with {code:?} and names no step"
    );
    Ok(report)
}

/// Builds all programs and the scripted forge, and strips copies of them: what is not looked at
/// need not be brought to the machine.
fn programs(project: &ProjectCheckout, work: &Path) -> Result<PathBuf> {
    let mut arguments = vec!["build", "--bin", "scripted-forge"];
    for program in dist::programs::PROGRAMS {
        arguments.extend(["--bin", program]);
    }
    shell::run(&mut shell::cargo(&project.root, &arguments))?;
    let built = project.target()?.join("debug");
    let stripped = work.join("programs");
    fs::create_dir_all(&stripped)?;
    for program in dist::programs::PROGRAMS.iter().chain(&["scripted-forge"]) {
        let mut strip = shell::command("strip", &built);
        let done = shell::quiet(strip.arg("-o").arg(stripped.join(program)).arg(program))?;
        ensure!(done.status.success(), "strip {program}: {}", done.err);
    }
    Ok(stripped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_counts_steps_and_holds_figures_against_their_goals() {
        let mut report = Report::default();
        for line in [
            "ok install the packages 12.3",
            "figure from the packages to the first search 30.5",
            "figure from the packages to the first step of a workflow 301.0",
            "anything else",
            "FAILED remove",
        ] {
            report.read(line);
        }
        assert_eq!((report.passed, report.failed), (1, 1));
        assert_eq!(
            report.missed(),
            ["from the packages to the first step of a workflow: 301 s, the goal is 300 s"]
        );
        assert_eq!(Report::default().missed().len(), GOALS.len());
    }
}
