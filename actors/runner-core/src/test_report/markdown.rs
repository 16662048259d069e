//! The tests of a job as Markdown, for its summary.

use std::fmt::Write as _;

use super::job_tests::JobTests;
use super::types::TestCase;

/// How many tests of a kind are listed.
const MAX_LISTED: usize = 20;

/// The summary: counts, what failed, what is in quarantine, what is flaky, notes.
#[must_use]
pub fn summary(tests: &JobTests) -> String {
    let counts = tests.counts;
    let mut text = format!("### Tests: {}\n", counts.line());
    if counts.total > 0 {
        let seconds = counts.duration_ms / 1000;
        let _ = write!(
            text,
            "\n| failed | in quarantine | passed | skipped | flaky | time |\n|---|---|---|---|---|---|\n| {} | {} | {} | {} | {} | {seconds} s |\n",
            counts.failed, counts.quarantined, counts.passed, counts.skipped, counts.flaky
        );
    }
    let bad = |case: &&TestCase| case.outcome.is_bad() && case.quarantine.is_none();
    list(&mut text, "Failed", tests.cases.iter().filter(bad));
    let held = |case: &&TestCase| case.outcome.is_bad() && case.quarantine.is_some();
    list(
        &mut text,
        "Failed, in quarantine",
        tests.cases.iter().filter(held),
    );
    let flaky = |case: &&TestCase| case.flaky;
    list(
        &mut text,
        "Passed and failed",
        tests.cases.iter().filter(flaky),
    );
    if !tests.notes.is_empty() {
        text.push_str("\n**Notes**\n\n");
        for note in &tests.notes {
            let _ = writeln!(text, "- {}", plain(note));
        }
    }
    text
}

fn list<'t>(text: &mut String, title: &str, cases: impl Iterator<Item = &'t TestCase>) {
    let cases: Vec<&TestCase> = cases.collect();
    if cases.is_empty() {
        return;
    }
    let _ = write!(text, "\n**{title}**\n\n");
    for case in cases.iter().take(MAX_LISTED) {
        let _ = write!(text, "- {}", plain(&case.full_name()));
        if let Some(file) = &case.file {
            let line = case.line.map(|line| format!(":{line}"));
            let _ = write!(text, " ({}{})", plain(file), line.unwrap_or_default());
        }
        if let Some(failure) = &case.failure {
            let first = failure.message.lines().next().unwrap_or_default();
            let _ = write!(text, ": {}", plain(first));
        }
        if let Some(why) = &case.quarantine {
            let _ = write!(text, " — in quarantine: {}", plain(why));
        }
        text.push('\n');
    }
    if cases.len() > MAX_LISTED {
        let _ = writeln!(text, "- and {} more", cases.len() - MAX_LISTED);
    }
}

/// Text in which nothing is markup.
fn plain(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars().take(300) {
        if character.is_ascii_punctuation() && !".,:;-/()=".contains(character) {
            escaped.push('\\');
        }
        escaped.push(if character.is_control() {
            ' '
        } else {
            character
        });
    }
    escaped
}
