//! Lines of JSON as `go test -json` writes them (`test2json`).

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::limits::{MAX_TESTS, ReportError};
use super::text::{MAX_DETAIL, MAX_MESSAGE, MAX_OUTPUT, head, name, of_seconds, push_tail, tail};
use super::types::{ReportFormat, TestCase, TestFailure, TestOutcome, TestReport};

/// Builds whose output is kept.
const MAX_BUILDS: usize = 1_000;

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "Action", borrow)]
    action: std::borrow::Cow<'a, str>,
    #[serde(rename = "Package", default, borrow)]
    package: Option<std::borrow::Cow<'a, str>>,
    /// Of a build, in place of the package.
    #[serde(rename = "ImportPath", default, borrow)]
    import_path: Option<std::borrow::Cow<'a, str>>,
    #[serde(rename = "Test", default, borrow)]
    test: Option<std::borrow::Cow<'a, str>>,
    #[serde(rename = "Elapsed", default)]
    elapsed: Option<f64>,
    #[serde(rename = "Output", default, borrow)]
    output: Option<std::borrow::Cow<'a, str>>,
    #[serde(rename = "FailedBuild", default, borrow)]
    failed_build: Option<std::borrow::Cow<'a, str>>,
}

/// A test, or a package where the name is empty.
#[derive(Default)]
struct RunningTest {
    output: String,
    ended: Option<usize>,
    /// It has subtests, of which so many are bad.
    subtests: usize,
    bad_subtests: usize,
}

#[derive(Default)]
struct Parser {
    running: HashMap<(String, String), RunningTest>,
    /// In the order they began.
    order: Vec<(String, String)>,
    builds: HashMap<String, String>,
    /// Packages with a bad test.
    bad_packages: HashSet<String>,
    cases: Vec<TestCase>,
    events: usize,
    others: usize,
    is_cut: bool,
}

/// Reads a file of JSON lines; lines that are none may stand between them.
pub(super) fn read(text: &str) -> Result<TestReport, ReportError> {
    let mut parser = Parser::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match serde_json::from_str::<Event<'_>>(line) {
            Ok(event) => parser.event(event),
            Err(_) => parser.others += 1,
        }
        // Something else, of which a line looks alike.
        if parser.events == 0 && parser.others > 100 {
            return Err(ReportError::NoReport);
        }
    }
    parser.finish()
}

impl Parser {
    fn event(&mut self, event: Event<'_>) {
        let action = event.action.as_ref();
        let known = [
            "start", "run", "pause", "cont", "pass", "bench", "fail", "output", "skip",
        ];
        if action == "build-output" || action == "build-fail" {
            self.events += 1;
            let path = event.import_path.unwrap_or_default().into_owned();
            if self.builds.len() >= MAX_BUILDS && !self.builds.contains_key(&path) {
                return;
            }
            let output = self.builds.entry(path).or_default();
            push_tail(output, &event.output.unwrap_or_default(), MAX_OUTPUT);
            return;
        }
        let (true, Some(package)) = (known.contains(&action), &event.package) else {
            self.others += 1;
            return;
        };
        self.events += 1;
        let test = event.test.as_deref().map(name).unwrap_or_default();
        let key = (name(package), test);
        if !self.running.contains_key(&key) {
            if self.order.len() >= 2 * MAX_TESTS {
                self.is_cut = true;
                return;
            }
            self.order.push(key.clone());
        }
        let running = self.running.entry(key.clone()).or_default();
        match action {
            "output" => {
                let output = event.output.unwrap_or_default();
                push_tail(&mut running.output, &output, MAX_DETAIL);
            }
            // It is run once more.
            "run" => running.output.clear(),
            "pass" | "fail" | "skip" => {
                let outcome = match action {
                    "pass" => TestOutcome::Passed,
                    "skip" => TestOutcome::Skipped,
                    _ => TestOutcome::Failed,
                };
                let build = event.failed_build.as_deref().map(str::to_owned);
                self.end(&key, outcome, event.elapsed, build.as_deref());
            }
            _ => {}
        }
    }

    fn end(
        &mut self,
        key: &(String, String),
        outcome: TestOutcome,
        elapsed: Option<f64>,
        build: Option<&str>,
    ) {
        let (package, test) = key;
        let Some(running) = self.running.get_mut(key) else {
            return;
        };
        let mut output = std::mem::take(&mut running.output);
        let (subtests, bad_subtests) = (running.subtests, running.bad_subtests);
        (running.subtests, running.bad_subtests) = (0, 0);
        running.ended = Some(self.cases.len());
        if let Some((parent, _)) = test.rsplit_once('/')
            && let Some(parent) = self.running.get_mut(&(package.clone(), parent.to_owned()))
        {
            parent.subtests += 1;
            parent.bad_subtests += usize::from(outcome.is_bad() || bad_subtests > 0);
        }
        // What has subtests counts only when it is bad by itself.
        if subtests > 0 && !(outcome.is_bad() && bad_subtests == 0) {
            return;
        }
        let is_package = test.is_empty();
        if is_package {
            let explained = self.bad_packages.contains(package);
            if !outcome.is_bad() || explained {
                return;
            }
            if let Some(build) = build.and_then(|build| self.builds.get(build)) {
                output = format!("{build}\n{output}");
            }
        }
        let shown = if is_package { "(package)" } else { test };
        let outcome = match outcome {
            TestOutcome::Failed if is_package => TestOutcome::Error,
            outcome => outcome,
        };
        let mut case = TestCase::new(package, shown, outcome);
        case.duration_ms = elapsed.and_then(of_seconds);
        describe(&mut case, &output);
        self.push(case);
    }

    fn push(&mut self, case: TestCase) {
        if case.outcome.is_bad() {
            self.bad_packages.insert(case.suite.clone());
        }
        if self.cases.len() < MAX_TESTS {
            self.cases.push(case);
        } else {
            self.is_cut = true;
        }
    }

    fn finish(mut self) -> Result<TestReport, ReportError> {
        if self.events == 0 || self.others > self.events {
            return Err(ReportError::NoReport);
        }
        let mut notes = Vec::new();
        for key in std::mem::take(&mut self.order) {
            let (package, test) = &key;
            let Some(running) = self.running.get_mut(&key) else {
                continue;
            };
            if running.ended.is_some() || test.is_empty() {
                continue;
            }
            let output = std::mem::take(&mut running.output);
            let mut case = TestCase::new(package, test, TestOutcome::Error);
            describe(&mut case, &output);
            if let Some(failure) = &mut case.failure {
                failure.message = "it began and has no end in the file".to_owned();
            }
            self.push(case);
        }
        if self.is_cut {
            notes.push(format!(
                "it has more than {MAX_TESTS} tests: the others are left out"
            ));
        }
        Ok(TestReport {
            format: ReportFormat::Test2json,
            cases: self.cases,
            repeats: true,
            notes,
        })
    }
}

/// The message, the place and the output of a test that did not pass.
fn describe(case: &mut TestCase, output: &str) {
    if case.outcome == TestOutcome::Passed {
        return;
    }
    let is_own = |line: &&str| {
        let line = line.trim_start();
        let marks = ["=== ", "--- ", "FAIL", "PASS", "exit status", "ok  \t"];
        !line.is_empty() && !marks.iter().any(|mark| line.starts_with(mark))
    };
    let lines: Vec<&str> = output.lines().filter(is_own).collect();
    let placed = lines.iter().find_map(|line| place(line));
    let first = lines.first().map(|line| line.trim()).unwrap_or_default();
    let message = placed.as_ref().map_or(first, |(_, _, message)| message);
    if case.outcome == TestOutcome::Skipped {
        case.reason = Some(head(message, MAX_MESSAGE)).filter(|text| !text.is_empty());
        return;
    }
    if let Some((file, line, _)) = placed {
        (case.file, case.line) = (Some(file.to_owned()), Some(line));
    }
    let message = if message.is_empty() {
        "failed"
    } else {
        message
    };
    case.failure = Some(TestFailure {
        message: head(message, MAX_MESSAGE),
        detail: tail(&lines.join("\n"), MAX_DETAIL),
        output: String::new(),
    });
}

/// `    add_test.go:12: message`.
fn place(line: &str) -> Option<(&str, u32, &str)> {
    let line = line.trim_start();
    let end = line.find(".go:")? + ".go".len();
    let (number, message) = line[end + 1..].split_once(':')?;
    let file = &line[..end];
    let number = number.parse().ok();
    let number = number.filter(|_| !file.contains(char::is_whitespace))?;
    // A compiler says the column too.
    let column = message
        .split_once(':')
        .filter(|(column, _)| column.parse::<u32>().is_ok());
    let message = column.map_or(message, |(_, message)| message);
    Some((file, number, message.trim()))
}
