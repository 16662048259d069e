//! What the steps are run with, and what they give.

use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Result, anyhow};

use super::counts::TestRunCounts;
use super::summary::TestStepResult;
use crate::prerequisites::{self, TestEnvironment};
use crate::project::ProjectCheckout;
use crate::shell;

/// What the steps are run with.
#[derive(Debug)]
pub(super) struct StepSettings<'a> {
    pub(super) project: &'a ProjectCheckout,
    /// Seconds for each fuzz target.
    pub(super) fuzz_seconds: u32,
    /// Run the browser tests whatever has changed.
    pub(super) browser: bool,
    tools: OnceLock<Result<TestEnvironment, String>>,
    programs: OnceLock<Result<(), String>>,
}

impl<'a> StepSettings<'a> {
    /// Nothing is installed or built yet.
    pub(super) fn new(project: &'a ProjectCheckout, fuzz_seconds: u32, browser: bool) -> Self {
        Self {
            project,
            fuzz_seconds,
            browser,
            tools: OnceLock::new(),
            programs: OnceLock::new(),
        }
    }

    /// What tests need of the machine, installed by the first step that asks.
    ///
    /// # Errors
    /// What is missing and cannot be installed.
    pub(super) fn tools(&self) -> Result<&TestEnvironment> {
        let tools = self.tools.get_or_init(|| {
            prerequisites::prepare(self.project).map_err(|error| format!("{error:#}"))
        });
        tools.as_ref().map_err(|reason| anyhow!(reason.clone()))
    }

    /// Builds the programs and the tests for the first step that asks: cargo would hold its folder
    /// while it finds that nothing is to be done. Both, for the same features: integration tests
    /// and later steps start the programs.
    ///
    /// # Errors
    /// When something does not build.
    pub(super) fn build(&self) -> Result<()> {
        let programs = self.programs.get_or_init(|| {
            let arguments = ["build", "--workspace", "--bins", "--tests"];
            shell::run(&mut shell::cargo(&self.project.root, &arguments))
                .map_err(|error| format!("{error:#}"))
        });
        programs.clone().map_err(|reason| anyhow!(reason))
    }
}

/// What a step gives: the tests it counted, and its verdict.
pub(super) type StepReport = Result<(TestRunCounts, TestStepResult)>;

/// It ended as it should, and counts no tests.
pub(super) fn passed() -> StepReport {
    Ok((TestRunCounts::default(), TestStepResult::Passed))
}

/// It had nothing to do, or could not be done here.
pub(super) fn skipped(reason: &str) -> StepReport {
    Ok((
        TestRunCounts::default(),
        TestStepResult::Skipped(reason.to_owned()),
    ))
}

/// Tests start real processes, machines and browsers, and wait for them; on a machine that is held
/// up one or two may miss a deadline. They are tried once more and counted; more of them are a
/// fault.
const MAX_FLAKY: u64 = 3;

/// Runs a test runner: its exit code decides, its closing line is counted.
pub(super) fn counted(
    command: &mut Command,
    read: fn(&str) -> Option<TestRunCounts>,
) -> StepReport {
    let finished = shell::tee(command)?;
    let counts = read(&finished.text());
    let outcome = match (finished.status.success(), counts) {
        (true, Some(counts)) if counts.flaky > MAX_FLAKY => {
            TestStepResult::Failed(format!("more than {MAX_FLAKY} tests needed a second try"))
        }
        (true, Some(_)) => TestStepResult::Passed,
        (true, None) => {
            TestStepResult::Failed("it ended well, but without its closing line".to_owned())
        }
        (false, _) => TestStepResult::Failed(format!(
            "`{}`: {}",
            shell::display(command),
            finished.status
        )),
    };
    Ok((counts.unwrap_or_default(), outcome))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::counts;
    use super::*;

    fn outcome_of(script: &str) -> (TestRunCounts, TestStepResult) {
        let mut sh = shell::command("sh", Path::new("/"));
        counted(sh.args(["-c", script]), counts::parse_node).expect("sh starts")
    }

    #[test]
    fn a_runner_passes_only_with_its_exit_code_and_its_closing_line() {
        let both = "echo '# pass 2'; echo '# fail 0'";
        assert_eq!(
            outcome_of(both),
            (
                TestRunCounts {
                    passed: 2,
                    ..TestRunCounts::default()
                },
                TestStepResult::Passed
            )
        );
        assert!(
            matches!(outcome_of("true").1, TestStepResult::Failed(_)),
            "no closing line"
        );
        let (counts, outcome) = outcome_of(&format!("{both}; exit 1"));
        assert!(matches!(outcome, TestStepResult::Failed(_)), "a bad exit");
        assert_eq!(counts.passed, 2);
    }
}
