//! The tests of a run's page: what failed first, then what they are together.

use maud::{Markup, html};
use runner_actors::{RunTest, RunTests};
use runner_core::test_report::TestCase;

use super::text::{VisibleMarkup, badge, duration, word};

/// Tests of a kind that the page shows.
const MAX_SHOWN: usize = 50;
/// Slow tests that it shows.
const MAX_SLOW: usize = 10;

/// The tests of a run; nothing where it has none.
pub(super) fn tests(run: &str, tests: &RunTests) -> Markup {
    if tests.jobs.is_empty() {
        return Markup::default();
    }
    let bad = |one: &&RunTest| one.test.outcome.is_bad() && one.test.quarantine.is_none();
    let held = |one: &&RunTest| one.test.outcome.is_bad() && one.test.quarantine.is_some();
    let flaky = |one: &&RunTest| one.flaky_on_commit && !one.test.outcome.is_bad();
    let counts = &tests.counts;
    html! {
        h2 id="tests" { "Tests" }
        p { (counts.line()) ", " (duration(counts.duration_ms)) " in all. "
            a href={ "/runs/" (VisibleMarkup(run)) "/tests" } { "All of them" } " (JSON)" }
        @for job in tests.jobs.iter().filter(|job| !job.notes.is_empty()) {
            @for note in &job.notes {
                p class="reason" { (VisibleMarkup(&job.name)) ": " (VisibleMarkup(note)) }
            }
        }
        (list("Failed", tests.tests.iter().filter(bad), true))
        (list("Failed, in quarantine", tests.tests.iter().filter(held), false))
        (list("Passed and failed on this commit", tests.tests.iter().filter(flaky), false))
        (slow(tests))
    }
}

fn list<'t>(title: &str, tests: impl Iterator<Item = &'t RunTest>, open: bool) -> Markup {
    let tests: Vec<&RunTest> = tests.collect();
    html! {
        @if !tests.is_empty() {
            h3 { (title) " (" (tests.len()) ")" }
            @for one in tests.iter().take(MAX_SHOWN) { (details(one, open)) }
            @if tests.len() > MAX_SHOWN { p { (tests.len() - MAX_SHOWN) " more." } }
        }
    }
}

fn details(one: &RunTest, open: bool) -> Markup {
    let test = &one.test;
    html! {
        details class="step" open[open] {
            summary {
                (badge(if test.outcome.is_bad() { "failure" } else { "success" }))
                span class="title" {
                    (VisibleMarkup(&test.full_name()))
                    @if let Some(place) = place(test) { " " span class="why" { (VisibleMarkup(&place)) } }
                }
                span class="took" { (VisibleMarkup(&one.job)) @if let Some(ms) = test.duration_ms { ", " (duration(ms)) } }
            }
            @if let Some(why) = &test.quarantine { p class="reason" { "In quarantine: " (VisibleMarkup(why)) } }
            @if let Some(failure) = &test.failure {
                p class="reason" { (word(&test.outcome)) ": " (VisibleMarkup(&failure.message)) }
                @for part in [&failure.detail, &failure.output] {
                    @if !part.is_empty() { pre { (VisibleMarkup(part)) } }
                }
            }
        }
    }
}

/// `file:line`.
fn place(test: &TestCase) -> Option<String> {
    let file = test.file.as_ref()?;
    let line = test.line.map(|line| format!(":{line}"));
    Some(format!("{file}{}", line.unwrap_or_default()))
}

fn slow(tests: &RunTests) -> Markup {
    let mut slow: Vec<&RunTest> = tests.tests.iter().collect();
    slow.retain(|one| one.test.duration_ms.is_some_and(|ms| ms >= 1000));
    slow.sort_by_key(|one| std::cmp::Reverse(one.test.duration_ms));
    html! {
        @if !slow.is_empty() {
            h3 { "Slowest" }
            ul { @for one in slow.iter().take(MAX_SLOW) {
                li { (VisibleMarkup(&one.test.full_name())) " " (duration(one.test.duration_ms.unwrap_or_default())) }
            } }
        }
    }
}
