//! The slowest tests of a run, from the report that cargo-nextest writes.

use std::path::PathBuf;

use anyhow::Result;

use crate::project::ProjectCheckout;
use crate::terminal;

/// How many are named.
const NAMED: usize = 20;

/// One test of the report.
#[derive(Debug, PartialEq)]
struct TestTiming<'a> {
    seconds: f64,
    /// The test binary, as `package::binary`.
    binary: &'a str,
    name: &'a str,
}

/// Removes the report of an earlier run.
///
/// # Errors
/// When cargo's metadata cannot be read.
pub(super) fn remove_report(project: &ProjectCheckout) -> Result<()> {
    // There is none before the first run.
    let _ = std::fs::remove_file(file(project)?);
    Ok(())
}

/// Names the slowest tests of this run; nothing where nextest has not run.
///
/// # Errors
/// When cargo's metadata cannot be read.
pub(super) fn report(project: &ProjectCheckout) -> Result<()> {
    let Ok(report) = std::fs::read_to_string(file(project)?) else {
        return Ok(());
    };
    terminal::heading("slowest tests");
    lines(&report).iter().for_each(|line| terminal::line(line));
    Ok(())
}

/// Where the report of a run is.
///
/// # Errors
/// When cargo's metadata cannot be read.
pub(super) fn file(project: &ProjectCheckout) -> Result<PathBuf> {
    Ok(project.target()?.join("xtask-junit.xml"))
}

/// The slowest tests as lines, the slowest first.
fn lines(report: &str) -> Vec<String> {
    let mut tests: Vec<TestTiming<'_>> = report
        .split("<testcase ")
        .skip(1)
        .filter_map(timed)
        .collect();
    tests.sort_by(|a, b| {
        b.seconds
            .total_cmp(&a.seconds)
            .then_with(|| a.name.cmp(b.name))
    });
    let line =
        |test: &TestTiming<'_>| format!("{:>7.1} s  {} {}", test.seconds, test.binary, test.name);
    tests.iter().take(NAMED).map(line).collect()
}

fn timed(test: &str) -> Option<TestTiming<'_>> {
    let head = test.split('>').next()?;
    let attribute = |name: &str| {
        let (_, value) = head.split_once(&format!("{name}=\""))?;
        value.split('"').next()
    };
    Some(TestTiming {
        seconds: attribute(" time")?.parse().ok()?,
        binary: attribute("classname")?,
        // `classname` has the same ending; the name stands first.
        name: head.strip_prefix("name=\"")?.split('"').next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_come_first_and_no_more_than_twenty() {
        let case = |name: &str, time: &str| {
            format!(
                "<testcase name=\"{name}\" classname=\"store::all\" timestamp=\"2026\" time=\"{time}\"><system-out>x time=\"99\"</system-out></testcase>\n"
            )
        };
        let mut report = String::from(
            "<?xml version=\"1.0\"?><testsuites time=\"500.0\"><testsuite name=\"s\" time=\"1\">\n",
        );
        report.push_str(&case("quick", "0.004"));
        report.push_str(&case("a::slow", "12.345"));
        report.push_str(&case("b::slow", "12.345"));
        for number in 0..30 {
            report.push_str(&case(&format!("n{number}"), "1.000"));
        }
        let lines = lines(&report);
        assert_eq!(lines.len(), NAMED);
        assert_eq!(lines[0], "   12.3 s  store::all a::slow");
        assert_eq!(lines[1], "   12.3 s  store::all b::slow");
        assert!(lines.iter().all(|line| !line.contains("quick")));
    }
}
