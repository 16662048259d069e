//! How tests ended over runs: outcomes by run and commit, and which are flaky.
//!
//! **Flaky** is a test that both passed and failed on one commit in one job: in another attempt, in
//! another run of the workflow, or in the reports of one run. Another copy of a matrix is another
//! job.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::types::TestOutcome;

/// A test in one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TestRun {
    /// The run's id.
    pub run: String,
    /// The commit.
    pub sha: String,
    /// The full reference.
    pub reference: String,
    /// When the job ended, in milliseconds since the Unix epoch.
    pub at: u64,
    /// How the test ended.
    pub outcome: TestOutcome,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The run's own reports say both of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaky: bool,
    /// It was in quarantine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quarantined: bool,
}

/// A test of a job in the runs that are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TestHistory {
    /// What it belongs to.
    pub suite: String,
    /// Its name.
    pub name: String,
    /// The workflow's file.
    pub workflow: String,
    /// The job's name.
    pub job: String,
    /// The newest first.
    pub runs: Vec<TestRun>,
}

/// The same in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TestSummary {
    /// What it belongs to.
    pub suite: String,
    /// Its name.
    pub name: String,
    /// The workflow's file.
    pub workflow: String,
    /// The job's name.
    pub job: String,
    /// In how many runs it was.
    pub runs: u32,
    /// In how many it passed.
    pub passed: u32,
    /// In how many it failed.
    pub failed: u32,
    /// In how many it was skipped.
    pub skipped: u32,
    /// Commits on which it both passed and failed, the newest first.
    pub flaky_on: Vec<String>,
    /// Whether it is in quarantine in the newest run.
    pub quarantined: bool,
    /// Its time in the runs that say so, in milliseconds: the mean and the longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ms: Option<u64>,
    /// The longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_ms: Option<u64>,
    /// The newest run.
    pub last: TestRun,
    /// The newest run in which it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<TestRun>,
}

impl TestHistory {
    /// Commits on which it both passed and failed, the newest first.
    #[must_use]
    pub fn flaky_on(&self) -> Vec<String> {
        let mut order: Vec<&str> = Vec::new();
        let mut seen: HashMap<&str, (bool, bool)> = HashMap::new();
        for run in &self.runs {
            let (passed, failed) = seen.entry(&run.sha).or_insert_with(|| {
                order.push(&run.sha);
                (false, false)
            });
            *passed |= run.flaky || run.outcome == TestOutcome::Passed;
            *failed |= run.flaky || run.outcome.is_bad();
        }
        let both = order.into_iter().filter(|sha| seen[sha] == (true, true));
        both.map(str::to_owned).collect()
    }

    /// In numbers; `None` without a run.
    #[must_use]
    pub fn summary(&self) -> Option<TestSummary> {
        let last = self.runs.first()?.clone();
        let count = |wanted: &dyn Fn(&TestRun) -> bool| {
            let found = self.runs.iter().filter(|run| wanted(run)).count();
            u32::try_from(found).unwrap_or(u32::MAX)
        };
        let times: Vec<u64> = self.runs.iter().filter_map(|run| run.duration_ms).collect();
        let sum = times.iter().copied().fold(0_u64, u64::saturating_add);
        Some(TestSummary {
            suite: self.suite.clone(),
            name: self.name.clone(),
            workflow: self.workflow.clone(),
            job: self.job.clone(),
            runs: count(&|_| true),
            passed: count(&|run| run.outcome == TestOutcome::Passed),
            failed: count(&|run| run.outcome.is_bad()),
            skipped: count(&|run| run.outcome == TestOutcome::Skipped),
            flaky_on: self.flaky_on(),
            quarantined: last.quarantined,
            mean_ms: sum.checked_div(times.len() as u64),
            longest_ms: times.into_iter().max(),
            last_failure: self.runs.iter().find(|run| run.outcome.is_bad()).cloned(),
            last,
        })
    }
}

/// The histories of tests: of runs, the newest first, each with its workflow, job, suite and name.
#[must_use]
pub fn histories(
    runs: impl IntoIterator<Item = ((String, String), (String, String), TestRun)>,
) -> Vec<TestHistory> {
    let mut all: Vec<TestHistory> = Vec::new();
    let mut known = HashMap::new();
    for (of_job, of_test, run) in runs {
        let at = *known.entry((of_job, of_test)).or_insert_with_key(|key| {
            let ((workflow, job), (suite, name)) = key.clone();
            all.push(TestHistory {
                suite,
                name,
                workflow,
                job,
                runs: Vec::new(),
            });
            all.len() - 1
        });
        all[at].runs.push(run);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: u64, sha: &str, outcome: TestOutcome) -> TestRun {
        TestRun {
            run: format!("run-{number}"),
            sha: sha.to_owned(),
            reference: "refs/heads/main".to_owned(),
            at: number,
            outcome,
            duration_ms: Some(number * 10),
            flaky: false,
            quarantined: false,
        }
    }

    fn test_run(job: &str, run: TestRun) -> ((String, String), (String, String), TestRun) {
        let text = |text: &str| text.to_owned();
        ((text("ci.yml"), text(job)), (text("s"), text("t")), run)
    }

    #[test]
    fn i17_flaky_is_both_on_one_commit_in_one_job() {
        use TestOutcome::{Error, Failed, Passed, Skipped};
        let runs = [
            test_run("a", run(6, "c", Failed)),
            test_run("b", run(6, "c", Passed)),
            test_run("a", run(5, "b", Passed)),
            test_run("a", run(4, "b", Error)),
            test_run("a", run(3, "a", Skipped)),
            test_run("a", run(2, "a", Failed)),
        ];
        let all = histories(runs);
        assert_eq!(all.len(), 2, "another job is another test");
        let summary = all[0].summary().unwrap();
        assert_eq!(
            summary.flaky_on,
            ["b"],
            "neither a change nor a skip is flaky"
        );
        assert_eq!(
            (
                summary.runs,
                summary.passed,
                summary.failed,
                summary.skipped
            ),
            (5, 1, 3, 1)
        );
        assert_eq!((summary.mean_ms, summary.longest_ms), (Some(40), Some(60)));
        assert_eq!(summary.last_failure.unwrap().run, "run-6");
        assert!(all[1].flaky_on().is_empty());
        let mut both = run(1, "x", Passed);
        both.flaky = true;
        assert_eq!(histories([test_run("a", both)])[0].flaky_on(), ["x"]);
    }
}
