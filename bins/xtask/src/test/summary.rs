//! The table at the end of a test run.

use std::fmt::Write as _;

use super::counts::TestRunCounts;

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TestStepResult {
    /// As it should.
    Passed,
    /// As it should, but for a part that could not be done here, and why.
    Partly(String),
    /// Not, and why.
    Failed(String),
    /// It had nothing to do, or could not be done here, and why.
    Skipped(String),
}

/// One step of the run.
#[derive(Debug)]
pub(super) struct StepRow {
    /// The step.
    pub(super) name: &'static str,
    /// Its tests, where it has any.
    pub(super) counts: TestRunCounts,
    /// How it ended.
    pub(super) outcome: TestStepResult,
    /// How long it took.
    pub(super) seconds: f64,
    /// The per cent of that time that the processors were busy, also with what stood beside it.
    pub(super) busy: Option<u64>,
}

impl StepRow {
    /// Whether the whole run fails because of it.
    pub(super) fn failed(&self) -> bool {
        matches!(self.outcome, TestStepResult::Failed(_))
    }

    /// One line: step, verdict, time, tests, reason.
    pub(super) fn verdict(&self) -> String {
        let (word, reason) = match &self.outcome {
            TestStepResult::Passed => ("ok", ""),
            TestStepResult::Failed(reason) => ("FAILED", reason.lines().next().unwrap_or_default()),
            TestStepResult::Partly(reason) => ("ok", reason.as_str()),
            TestStepResult::Skipped(reason) => ("skipped", reason.as_str()),
        };
        let tests = if self.counts == TestRunCounts::default() {
            String::new()
        } else {
            self.counts.to_string()
        };
        let line = format!(
            "{:9} {word:8} {:>7.1} s {}  {tests:24} {reason}",
            self.name,
            self.seconds,
            per_cent(self.busy)
        );
        line.trim_end().to_owned()
    }
}

fn per_cent(busy: Option<u64>) -> String {
    busy.map_or_else(|| " ".repeat(5), |busy| format!("{busy:>4}%"))
}

/// All rows, then the seconds of the run: fewer than those of its steps, as some stand beside
/// others. The per cent are those of the processors.
pub(super) fn table(rows: &[StepRow], seconds: f64, busy: Option<u64>) -> String {
    let mut text = String::new();
    for row in rows {
        let _ = writeln!(text, "{}", row.verdict());
    }
    let busy = per_cent(busy);
    let _ = writeln!(text, "{:9} {:8} {seconds:>7.1} s {busy}", "all", "");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_shows_every_step_with_its_reason() {
        let row = |name, outcome, passed| StepRow {
            name,
            counts: TestRunCounts {
                passed,
                ..TestRunCounts::default()
            },
            outcome,
            seconds: 1.25,
            busy: (passed == 0).then_some(7),
        };
        let rows = [
            row("fmt", TestStepResult::Passed, 0),
            row("deny", TestStepResult::Partly("but for one".to_owned()), 0),
            row(
                "test",
                TestStepResult::Failed("2 tests\nand more".to_owned()),
                40,
            ),
            row("fuzz", TestStepResult::Skipped("no targets".to_owned()), 0),
        ];
        let expected = "fmt       ok           1.2 s    7%
\
                        deny      ok           1.2 s    7%                           but for one
\
                        test      FAILED       1.2 s        40 passed, 0 failed      2 tests
\
                        fuzz      skipped      1.2 s    7%                           no targets
\
                        all                    3.0 s   83%
";
        assert_eq!(table(&rows, 3.0, Some(83)), expected);
        assert_eq!(
            rows.iter().map(StepRow::failed).collect::<Vec<_>>(),
            [false, false, true, false]
        );
    }
}
