//! The steps that take so long that only `--only` runs them.

use anyhow::bail;

use super::counts::{self, TestRunCounts};
use super::setting::{StepReport, StepSettings, counted};
use super::summary::TestStepResult;
use crate::{install_test, shell, terminal};

/// The packages that meet hostile guests, agents and pull requests. Others need not be built once
/// more.
const ATTACKED: [&str; 22] = [
    "config-core",
    "redaction-core",
    "search-core",
    "orchestrator-core",
    "vm-core",
    "git-engine",
    "orchestrator-engine",
    "vm-engine",
    "search-actors",
    "runner-actors",
    "vm-actors",
    "edge-web",
    "search-web",
    "runner-web",
    "orchestrator-web",
    "daemon",
    "search-server",
    "service-agent",
    "workflow-runner",
    "vm-manager",
    "orchestrator",
    "platform",
];

/// Their tests, by the ids of the attacks.
const ATTACKS: &str = "test(/(^|::)t(1|2|3|4|5|6|9|11)_/)";

/// The attacks of hostile guests, agents and pull requests, against optimised builds.
pub(super) fn hostile(setting: &StepSettings<'_>) -> StepReport {
    let packages = ATTACKED.iter().flat_map(|package| ["-p", *package]);
    let arguments = ["--release", "--retries", "1", "-E", ATTACKS];
    chosen_tests(setting, arguments.into_iter().chain(packages))
}

/// The containers of workflows, in VMs.
pub(super) fn containers(setting: &StepSettings<'_>) -> StepReport {
    setting.build()?;
    let arguments = ["-p", "workflow-runner", "--test", "containers"];
    chosen_tests(
        setting,
        arguments.into_iter().chain(["--run-ignored", "all"]),
    )
}

/// Runs some tests by cargo-nextest, with all that they need of the machine.
fn chosen_tests<'a>(
    setting: &StepSettings<'_>,
    arguments: impl Iterator<Item = &'a str>,
) -> StepReport {
    if shell::which("cargo-nextest").is_none() {
        bail!(
            "it needs cargo-nextest: only that builds tests with a profile and chooses them by their ids"
        );
    }
    let tools = setting.tools()?;
    let run = ["nextest", "run", "--no-fail-fast"];
    let mut runner = shell::cargo(&setting.project.root, &run);
    runner.args(arguments);
    tools.apply(&mut runner);
    counted(&mut runner, counts::parse_nextest)
}

/// The Debian packages, on a machine with systemd.
pub(super) fn packages(setting: &StepSettings<'_>) -> StepReport {
    let report = install_test::run(setting.project)?;
    for (name, seconds) in &report.figures {
        terminal::line(&format!("{name}: {seconds} s"));
    }
    let counts = TestRunCounts {
        passed: report.passed,
        failed: report.failed,
        ..TestRunCounts::default()
    };
    let missed = report.missed();
    let outcome = if report.failed > 0 {
        TestStepResult::Failed("a step on the machine failed".to_owned())
    } else if missed.is_empty() {
        TestStepResult::Passed
    } else {
        TestStepResult::Failed(missed.join("; "))
    };
    Ok((counts, outcome))
}
