//! How many tests passed and failed, read from the runners' own closing lines.

use std::fmt;
use std::iter::Sum;

/// Tests of one or several runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TestRunCounts {
    /// Tests that passed.
    pub(super) passed: u64,
    /// Tests that did not.
    pub(super) failed: u64,
    /// Of those that passed, how many needed a second try.
    pub(super) flaky: u64,
}

impl Sum for TestRunCounts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, next| Self {
            passed: sum.passed + next.passed,
            failed: sum.failed + next.failed,
            flaky: sum.flaky + next.flaky,
        })
    }
}

impl fmt::Display for TestRunCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        match self.flaky {
            0 => Ok(()),
            flaky => write!(f, ", {flaky} at the second try"),
        }
    }
}

/// Reads `Summary [ 1.2s] 9/10 tests run: 8 passed (1 slow), 1 failed, 2 skipped` of cargo-nextest.
///
/// A test that was started and did not pass has failed, whatever word stands for it.
pub(super) fn parse_nextest(output: &str) -> Option<TestRunCounts> {
    let line = output
        .lines()
        .rev()
        .find(|line| line.trim_start().starts_with("Summary ["))?;
    let (run, results) = line.split_once(']')?.1.split_once(':')?;
    let run = number(run.trim().split(['/', ' ']).next()?)?;
    let passed = number_before(results, "passed").unwrap_or(0);
    Some(TestRunCounts {
        passed,
        failed: run.checked_sub(passed)?,
        flaky: number_before(&results.replace(['(', ')'], " "), "flaky").unwrap_or(0),
    })
}

/// Adds up `test result: ok. 3 passed; 1 failed; …` of cargo's own runner.
pub(super) fn parse_cargo_test(output: &str) -> Option<TestRunCounts> {
    let results = output
        .lines()
        .filter(|line| line.starts_with("test result:"));
    let counts: Vec<TestRunCounts> = results.map(parse_result).collect::<Option<_>>()?;
    (!counts.is_empty()).then(|| counts.into_iter().sum())
}

fn parse_result(line: &str) -> Option<TestRunCounts> {
    let line = line.replace(';', ",");
    Some(TestRunCounts {
        passed: number_before(&line, "passed")?,
        failed: number_before(&line, "failed")?,
        flaky: 0,
    })
}

/// Reads `# pass 3` and `# fail 1` (TAP), or the same after `ℹ`, of node's test runner.
pub(super) fn parse_node(output: &str) -> Option<TestRunCounts> {
    let after = |word: &str| {
        let lines = output
            .lines()
            .rev()
            .filter_map(|line| line.strip_prefix("# ").or(line.strip_prefix("ℹ ")));
        lines
            .filter_map(|line| line.strip_prefix(word))
            .find_map(|rest| number(rest.trim()))
    };
    Some(TestRunCounts {
        passed: after("pass ")?,
        failed: after("fail ")? + after("cancelled ").unwrap_or(0),
        flaky: 0,
    })
}

/// The number in front of `word`, in a list such as ` 8 passed (1 slow), 1 failed`.
fn number_before(list: &str, word: &str) -> Option<u64> {
    let words: Vec<&str> = list
        .split([' ', ','])
        .filter(|word| !word.is_empty())
        .collect();
    words
        .windows(2)
        .find(|pair| pair[1] == word)
        .and_then(|pair| number(pair[0]))
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn counts(passed: u64, failed: u64) -> Option<TestRunCounts> {
        Some(TestRunCounts {
            passed,
            failed,
            flaky: 0,
        })
    }

    #[test]
    fn nextest_closing_lines_are_read() {
        for (line, expected) in [
            (
                "     Summary [   0.005s] 3 tests run: 3 passed, 0 skipped",
                counts(3, 0),
            ),
            (
                "     Summary [   1.005s] 1 test run: 0 passed, 1 failed, 7 skipped",
                counts(0, 1),
            ),
            (
                "     Summary [  61.0s] 10 tests run: 8 passed (2 slow, 1 flaky), 1 failed, 1 timed out, 3 skipped",
                Some(TestRunCounts {
                    passed: 8,
                    failed: 2,
                    flaky: 1,
                }),
            ),
            (
                "     Summary [   1.005s] 4/9 tests run: 3 passed, 1 failed, 0 skipped",
                counts(3, 1),
            ),
            (
                "     Summary [   0.000s] 0 tests run: 0 passed, 0 skipped",
                counts(0, 0),
            ),
            ("error: could not compile", None),
        ] {
            assert_eq!(
                parse_nextest(&format!("PASS a\n{line}\nFAIL b\n")),
                expected,
                "{line}"
            );
        }
    }

    #[test]
    fn cargo_test_results_are_added_up() {
        let one = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s";
        let other =
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(
            parse_cargo_test(&format!("{one}\nx\n{other}\n")),
            counts(4, 2)
        );
        assert_eq!(parse_cargo_test("error: could not compile"), None);
    }

    #[test]
    fn node_closing_lines_are_read() {
        assert_eq!(
            parse_node("ok 1\n# tests 4\n# pass 3\n# fail 1\n# cancelled 0\n"),
            counts(3, 1)
        );
        assert_eq!(
            parse_node("ℹ tests 4\nℹ pass 2\nℹ fail 1\nℹ cancelled 1\n"),
            counts(2, 2)
        );
        assert_eq!(parse_node("Error: Cannot find module"), None);
    }

    #[test]
    fn the_closing_line_is_plain() {
        let mut counts = TestRunCounts {
            passed: 12,
            ..TestRunCounts::default()
        };
        assert_eq!(counts.to_string(), "12 passed, 0 failed");
        counts.flaky = 1;
        assert_eq!(
            counts.to_string(),
            "12 passed, 0 failed, 1 at the second try"
        );
    }
}
