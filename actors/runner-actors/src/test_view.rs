//! What can be read of the tests of a project: those of a run, and how they ended in the runs that
//! are kept.

use std::collections::HashSet;

use runner_core::test_report::{
    ReadReport, TestCase, TestCounts, TestHistory, TestSummary, histories,
};
use serde::{Deserialize, Serialize};
use store::{Store, StoreError};
use utoipa::ToSchema;

use crate::records::RunRecord;
use crate::run_list::short_reference;
use crate::test_rows;

/// Runs that a history looks at, unless it is said.
pub const USUAL_RUNS: usize = 50;
/// Runs that a history looks at at most.
pub const MAX_RUNS: usize = 300;

/// The tests of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub struct RunTests {
    /// How many ended how, over all jobs.
    pub counts: TestCounts,
    /// The copies of jobs that have tests, in the order of the run.
    pub jobs: Vec<TestedJob>,
    /// The tests that were asked for: those that failed first.
    pub tests: Vec<RunTest>,
}

/// A copy of a job that has tests.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct TestedJob {
    /// Its name.
    pub name: String,
    /// How many of its tests ended how.
    pub counts: TestCounts,
    /// The files they come from.
    pub reports: Vec<ReadReport>,
    /// What is to be said of the files.
    pub notes: Vec<String>,
    /// Nothing of the files was cut short or left out.
    pub complete: bool,
}

/// A test of a run.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct RunTest {
    /// The job's name.
    pub job: String,
    /// It both passed and failed on the run's commit: in the reports of this run, or of another one
    /// of the same job.
    pub flaky_on_commit: bool,
    /// The test.
    #[serde(flatten)]
    pub test: TestCase,
}

/// Which tests of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunTestFilter {
    /// How they ended; any without one.
    pub kind: Option<TestKind>,
    /// Of jobs of this name.
    pub job: Option<String>,
    /// With this text in the name, in any case.
    pub text: Option<String>,
    /// Those that took longest first.
    pub slowest: bool,
}

/// What tests are called by how they ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestKind {
    /// They failed, in quarantine or not.
    Failed,
    /// They passed.
    Passed,
    /// They were skipped.
    Skipped,
    /// They both passed and failed on one commit.
    Flaky,
    /// They are in quarantine.
    Quarantined,
}

/// Which tests of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestFilter {
    /// `owner/repo`.
    pub repository: String,
    /// How they ended last, or that they are flaky or in quarantine.
    pub kind: Option<TestKind>,
    /// Of this workflow: its file, or the last part of it.
    pub workflow: Option<String>,
    /// Of jobs of this name.
    pub job: Option<String>,
    /// Of this branch or tag; `pull/7`.
    pub branch: Option<String>,
    /// With this text in the name, in any case.
    pub text: Option<String>,
    /// The suite and the name, exactly.
    pub test: Option<(String, String)>,
    /// Those that took longest first; else those that failed most.
    pub slowest: bool,
    /// How many of the newest runs are looked at.
    pub runs: usize,
}

/// The tests of a run that a filter shows.
pub(crate) async fn of_run(
    store: &Store,
    run: &RunRecord,
    filter: RunTestFilter,
) -> Result<RunTests, StoreError> {
    if run.jobs.iter().all(|job| job.tests.is_none()) {
        return Ok(RunTests::default());
    }
    let run = run.clone();
    let read = move |rows: &mut store::ReadTxn<'_>| {
        let flaky = flaky_on_commit(rows, &run)?;
        let mut found = RunTests::default();
        for job in run.jobs.iter().filter(|job| job.tests.is_some()) {
            let ran_in = job.kept_from.as_deref().unwrap_or(&run.id);
            let Some((head, cases)) = test_rows::of_job(rows, ran_in, job)? else {
                continue;
            };
            found.counts.add(&head.counts);
            let named = filter.job.as_ref().is_none_or(|wanted| *wanted == job.name);
            let cases = cases.into_iter().filter(|_| named);
            found.tests.extend(cases.map(|test| RunTest {
                flaky_on_commit: test.flaky
                    || flaky.contains(&(job.name.clone(), test.suite.clone(), test.name.clone())),
                job: job.name.clone(),
                test,
            }));
            found.jobs.push(TestedJob {
                name: job.name.clone(),
                counts: head.counts,
                reports: head.reports,
                notes: head.notes,
                complete: head.is_complete,
            });
        }
        found.tests.retain(|test| filter.shows(test));
        if filter.slowest {
            found
                .tests
                .sort_by_key(|one| std::cmp::Reverse(one.test.duration_ms));
        } else {
            found.tests.sort_by_key(rank);
        }
        Ok::<_, StoreError>(found)
    };
    store.read(read).await
}

/// What is looked at first: failed, failed in quarantine, flaky, passed, skipped.
fn rank(one: &RunTest) -> u8 {
    use runner_core::test_report::TestOutcome::{Error, Failed, Passed, Skipped};
    let is_held = one.test.quarantine.is_some();
    match one.test.outcome {
        Failed | Error if !is_held => 0,
        Failed | Error => 1,
        _ if one.flaky_on_commit => 2,
        Passed => 3,
        Skipped => 4,
    }
}

/// Job, suite and name of tests that ended both ways on the run's commit.
fn flaky_on_commit(
    rows: &mut store::ReadTxn<'_>,
    run: &RunRecord,
) -> Result<HashSet<(String, String, String)>, StoreError> {
    let workflow = run.workflow_file.clone().unwrap_or_default();
    let same = |head: &test_rows::TestJobHead| head.sha == run.sha && head.workflow == workflow;
    let entries = test_rows::newest(rows, &run.repository, MAX_RUNS, same, |_| true)?;
    let flaky = histories(entries).into_iter();
    let flaky = flaky.filter(|history| !history.flaky_on().is_empty());
    Ok(flaky
        .map(|history| (history.job, history.suite, history.name))
        .collect())
}

fn contains_text(text: Option<&String>, suite: &str, name: &str) -> bool {
    text.is_none_or(|text| {
        let full = format!("{suite} > {name}").to_lowercase();
        full.contains(&text.trim().to_lowercase())
    })
}

impl RunTestFilter {
    fn shows(&self, one: &RunTest) -> bool {
        use runner_core::test_report::TestOutcome::{Passed, Skipped};
        let test = &one.test;
        let is_kind = match self.kind {
            None => true,
            Some(TestKind::Failed) => test.outcome.is_bad(),
            Some(TestKind::Passed) => test.outcome == Passed,
            Some(TestKind::Skipped) => test.outcome == Skipped,
            Some(TestKind::Flaky) => one.flaky_on_commit,
            Some(TestKind::Quarantined) => test.quarantine.is_some(),
        };
        is_kind && contains_text(self.text.as_ref(), &test.suite, &test.name)
    }
}

/// The histories of tests of a repository that a filter shows, whatever they are sorted by.
pub(crate) async fn histories_of(
    store: &Store,
    filter: TestFilter,
) -> Result<Vec<TestHistory>, StoreError> {
    let read = move |rows: &mut store::ReadTxn<'_>| {
        let last_part = |file: &str| file.rsplit('/').next().unwrap_or_default().to_owned();
        let looks_at = |head: &test_rows::TestJobHead| {
            let workflow = filter.workflow.as_ref();
            let branch = short_reference(&head.reference);
            workflow.is_none_or(|wanted| {
                *wanted == head.workflow || *wanted == last_part(&head.workflow)
            }) && filter.job.as_ref().is_none_or(|wanted| *wanted == head.job)
                && filter.branch.as_ref().is_none_or(|wanted| wanted == branch)
        };
        let wanted = |case: &TestCase| {
            let exactly = filter.test.as_ref();
            exactly.is_none_or(|(suite, name)| *suite == case.suite && *name == case.name)
                && contains_text(filter.text.as_ref(), &case.suite, &case.name)
        };
        let runs = filter.runs.clamp(1, MAX_RUNS);
        let entries = test_rows::newest(rows, &filter.repository, runs, looks_at, wanted)?;
        Ok::<_, StoreError>(histories(entries))
    };
    store.read(read).await
}

/// The same in numbers: those that failed most, or took longest, first.
pub(crate) async fn summaries_of(
    store: &Store,
    filter: TestFilter,
) -> Result<Vec<TestSummary>, StoreError> {
    let (kind, slowest) = (filter.kind, filter.slowest);
    let histories = histories_of(store, filter).await?.into_iter();
    let summaries = histories.filter_map(|history| history.summary());
    let mut summaries: Vec<TestSummary> = summaries.filter(|it| is_kind(kind, it)).collect();
    if slowest {
        summaries.sort_by_key(|it| std::cmp::Reverse(it.mean_ms));
    } else {
        summaries.sort_by_key(|it| std::cmp::Reverse((it.flaky_on.len(), it.failed)));
    }
    Ok(summaries)
}

fn is_kind(kind: Option<TestKind>, summary: &TestSummary) -> bool {
    use runner_core::test_report::TestOutcome::{Passed, Skipped};
    match kind {
        None => true,
        Some(TestKind::Failed) => summary.last.outcome.is_bad(),
        Some(TestKind::Passed) => summary.last.outcome == Passed,
        Some(TestKind::Skipped) => summary.last.outcome == Skipped,
        Some(TestKind::Flaky) => !summary.flaky_on.is_empty(),
        Some(TestKind::Quarantined) => summary.quarantined,
    }
}
