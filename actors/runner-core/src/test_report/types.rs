//! What a report says.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How a test ended.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TestOutcome {
    /// It held.
    Passed,
    /// It was left out, or is not meant to hold yet.
    Skipped,
    /// What it checks does not hold.
    Failed,
    /// It could not be carried out: a crash, a time-out, a fault of its setup.
    Error,
}

impl TestOutcome {
    /// Whether it counts against its run.
    #[must_use]
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Failed | Self::Error)
    }
}

/// One test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TestCase {
    /// What it belongs to: a class, a package, a program, or suites with ` > ` between.
    pub suite: String,
    /// Its name in there.
    pub name: String,
    /// How it ended; of several attempts the last, of several tests of one name the worst.
    pub outcome: TestOutcome,
    /// How long it took, in milliseconds, where the report says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The job's reports say both of it: that it passed and that it failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flaky: bool,
    /// Why it is in quarantine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<String>,
    /// Why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The file, from the workspace, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// How it failed, also where a later attempt passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<TestFailure>,
}

impl TestCase {
    /// A test of which no more is known.
    pub(super) fn new(suite: &str, name: &str, outcome: TestOutcome) -> Self {
        Self {
            suite: suite.to_owned(),
            name: name.to_owned(),
            outcome,
            duration_ms: None,
            flaky: false,
            quarantine: None,
            reason: None,
            file: None,
            line: None,
            failure: None,
        }
    }

    /// Its name as pages show it and quarantine names it: `suite > name`.
    #[must_use]
    pub fn full_name(&self) -> String {
        full_name(&self.suite, &self.name)
    }
}

/// `suite > name`, or the name alone.
pub(super) fn full_name(suite: &str, name: &str) -> String {
    if suite.is_empty() {
        name.to_owned()
    } else {
        format!("{suite} > {name}")
    }
}

/// How a test failed; each text is cut to its bound.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TestFailure {
    /// One line, or a few.
    pub message: String,
    /// The trace, or what the test runner says beside the message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The end of what the test printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// What kind of file a report is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportFormat {
    /// XML as JUnit's Ant task writes it, in any dialect.
    Junit,
    /// The Test Anything Protocol, versions 12 to 14.
    Tap,
    /// Lines of JSON as `go test -json` writes them.
    Test2json,
}

/// What one file says.
#[derive(Debug, Clone, PartialEq)]
pub struct TestReport {
    /// What kind of file it is.
    pub format: ReportFormat,
    /// The tests, in the order of the file; one name may come again.
    pub cases: Vec<TestCase>,
    /// Tests of one name are attempts, of which the last one counts.
    pub repeats: bool,
    /// What is to be said of the file: it is cut short, or holds less than it says. Each of these
    /// means that a failure may be missing.
    pub notes: Vec<String>,
}

/// How many tests of a job ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TestCounts {
    /// All of them.
    pub total: u32,
    /// Those that passed.
    pub passed: u32,
    /// Those that failed, with an error too, in quarantine or not.
    pub failed: u32,
    /// Those that were skipped.
    pub skipped: u32,
    /// Those of which the job's reports say both, that they passed and that they failed.
    #[serde(default)]
    pub flaky: u32,
    /// How many of the failed are in quarantine.
    #[serde(default)]
    pub quarantined: u32,
    /// The sum of their times, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
}

impl TestCounts {
    /// Counts tests.
    pub fn count<'t>(cases: impl IntoIterator<Item = &'t TestCase>) -> Self {
        let mut counts = Self::default();
        for case in cases {
            counts.total += 1;
            match case.outcome {
                TestOutcome::Passed => counts.passed += 1,
                TestOutcome::Skipped => counts.skipped += 1,
                TestOutcome::Failed | TestOutcome::Error => counts.failed += 1,
            }
            counts.flaky += u32::from(case.flaky);
            counts.quarantined += u32::from(case.outcome.is_bad() && case.quarantine.is_some());
            counts.duration_ms = counts
                .duration_ms
                .saturating_add(case.duration_ms.unwrap_or_default());
        }
        counts
    }

    /// Adds those of another job.
    pub fn add(&mut self, other: &Self) {
        self.total += other.total;
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.flaky += other.flaky;
        self.quarantined += other.quarantined;
        self.duration_ms = self.duration_ms.saturating_add(other.duration_ms);
    }

    /// In one line: `3 of 120 tests failed, 1 of them in quarantine, 2 flaky`.
    #[must_use]
    pub fn line(&self) -> String {
        let tests = if self.total == 1 { "test" } else { "tests" };
        let mut line = match self.failed {
            0 => format!("{} {tests} passed", self.passed),
            failed => format!("{failed} of {} {tests} failed", self.total),
        };
        for (count, what) in [
            (self.quarantined, " of them in quarantine"),
            (self.skipped, " skipped"),
            (self.flaky, " flaky"),
        ] {
            if count > 0 {
                line.push_str(&format!(", {count}{what}"));
            }
        }
        line
    }
}
