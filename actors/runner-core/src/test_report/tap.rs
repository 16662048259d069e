//! The Test Anything Protocol: plans, test points, directives, YAML diagnostics, subtests
//! (versions 12 to 14, as node, Perl, bats and tape write them).

use super::limits::{MAX_DEPTH, MAX_NOTES, MAX_TESTS, ReportError};
use super::text::{MAX_DETAIL, MAX_MESSAGE, first_line, head, milliseconds, name, push_head, tail};
use super::types::{ReportFormat, TestCase, TestFailure, TestOutcome, TestReport, full_name};

/// Reads a file that is no XML.
pub(super) fn read(text: &str) -> Result<TestReport, ReportError> {
    let mut parser = Parser::default();
    for line in text.lines() {
        parser.line(line.trim_end());
    }
    parser.finish()
}

/// A stream of test points: the file's own, or a subtest's.
#[derive(Default)]
struct Level {
    /// The name of the subtest; empty for the file itself.
    name: String,
    planned: Option<u64>,
    seen: u64,
    bad: u64,
}

#[derive(Default)]
struct Parser {
    /// From the outside to the inside; the first is the file itself.
    levels: Vec<Level>,
    /// What a comment calls the subtest that begins.
    announced: Option<String>,
    cases: Vec<TestCase>,
    /// The test point whose diagnostics may follow, and whether it sums up a subtest.
    last: Option<usize>,
    /// A block of diagnostics: its indentation and text.
    yaml: Option<(usize, String)>,
    notes: Vec<String>,
    is_tap: bool,
    /// A subtest that has ended, by what its level said: its test point comes now.
    ended: Option<Level>,
}

impl Parser {
    fn line(&mut self, line: &str) {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let rest = &line[indent..];
        if let Some((from, _)) = self.yaml {
            if indent == from && rest == "..." {
                self.end_yaml();
                return;
            }
            if indent >= from || rest.is_empty() {
                if let Some((_, text)) = &mut self.yaml {
                    push_head(text, line.get(from..).unwrap_or_default(), MAX_DETAIL);
                    push_head(text, "\n", MAX_DETAIL);
                }
                return;
            }
            // It was not closed.
            self.end_yaml();
        }
        if rest == "---" && self.last.is_some() {
            self.yaml = Some((indent, String::new()));
            return;
        }
        let depth = (indent / 4).min(MAX_DEPTH);
        if let Some(comment) = rest.strip_prefix('#') {
            let comment = comment.trim();
            if let Some(subtest) = comment.strip_prefix("Subtest:") {
                self.announce(depth, name(subtest));
            } else {
                self.diagnostic(comment);
            }
        } else if rest.starts_with("TAP version ") {
            self.is_tap = true;
        } else if let Some(why) = rest.strip_prefix("Bail out!") {
            self.bail_out(why);
        } else if let Some(plan) = rest.strip_prefix("1..") {
            self.plan(depth, plan);
        } else if let Some((ok, rest)) = point(rest) {
            self.point(depth, ok, rest);
        }
    }

    /// A subtest begins: its comment stands at its parent's level (node, TAP 14) or at its own
    /// (Perl).
    fn announce(&mut self, depth: usize, subtest: String) {
        let is_own = self.levels.len().max(1) == depth && depth > 0 && self.announced.is_none();
        if is_own {
            self.announced = Some(subtest);
            self.set_depth(depth);
        } else {
            self.set_depth(depth);
            self.announced = Some(subtest);
        }
    }

    /// Goes to a level; deeper ones have ended.
    fn set_depth(&mut self, depth: usize) {
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        while self.levels.len() > depth + 1 {
            if let Some(level) = self.levels.pop() {
                self.check_plan(&level);
                self.ended = Some(level);
            }
        }
        while self.levels.len() < depth + 1 {
            self.levels.push(Level {
                name: self.announced.take().unwrap_or_default(),
                ..Level::default()
            });
            self.ended = None;
        }
        self.announced = None;
    }

    fn check_plan(&mut self, level: &Level) {
        let planned = level.planned.filter(|planned| *planned > level.seen);
        if let Some(planned) = planned.filter(|_| self.notes.len() < MAX_NOTES) {
            let whose = if level.name.is_empty() {
                String::new()
            } else {
                format!("the subtest {}: ", config_core::quoted(&level.name))
            };
            self.notes.push(format!(
                "{whose}{planned} tests were planned, and {} are in the file",
                level.seen
            ));
        }
    }

    fn plan(&mut self, depth: usize, plan: &str) {
        let (number, directive) = plan.split_once('#').unwrap_or((plan, ""));
        let Ok(number) = number.trim().parse::<u64>() else {
            return;
        };
        self.is_tap = true;
        self.set_depth(depth);
        if let Some(level) = self.levels.last_mut() {
            level.planned = Some(number);
        }
        if number == 0 && depth == 0 && directive.trim().to_lowercase().starts_with("skip") {
            let why = directive.trim().get(4..).unwrap_or_default();
            let mut case = TestCase::new("", "(all)", TestOutcome::Skipped);
            case.reason = Some(head(why, MAX_MESSAGE)).filter(|why| !why.is_empty());
            self.push(case);
        }
    }

    fn bail_out(&mut self, why: &str) {
        self.is_tap = true;
        let mut case = TestCase::new("", "Bail out!", TestOutcome::Error);
        case.failure = Some(TestFailure {
            message: head(why, MAX_MESSAGE),
            ..TestFailure::default()
        });
        self.push(case);
        // Nothing follows, whatever was planned.
        self.levels
            .iter_mut()
            .for_each(|level| level.planned = None);
    }

    fn push(&mut self, case: TestCase) {
        if self.cases.len() < MAX_TESTS {
            self.last = Some(self.cases.len());
            self.cases.push(case);
        } else {
            self.last = None;
            if self.cases.len() == MAX_TESTS && self.notes.len() < 100 {
                let text = format!("it has more than {MAX_TESTS} tests: the others are left out");
                if !self.notes.contains(&text) {
                    self.notes.push(text);
                }
            }
        }
    }

    fn point(&mut self, depth: usize, ok: bool, rest: &str) {
        self.is_tap = true;
        self.set_depth(depth);
        let subtest = self.ended.take();
        let (description, directive) = split_directive(rest);
        let number_end = description.find(|c: char| !c.is_ascii_digit());
        let (number, text) = description.split_at(number_end.unwrap_or(description.len()));
        let text = text.trim().trim_start_matches("- ").trim_start_matches('-');
        let test = match (text.is_empty(), number.is_empty()) {
            (false, _) => name(text),
            (true, false) => format!("test {number}"),
            (true, true) => format!("test {}", self.levels.last().map_or(0, |it| it.seen) + 1),
        };
        let (outcome, reason) = outcome(ok, directive.as_deref());
        if let Some(level) = self.levels.last_mut() {
            level.seen += 1;
            level.bad += u64::from(outcome.is_bad());
        }
        if let Some(subtest) = subtest.filter(|subtest| subtest.seen > 0) {
            // It sums its subtests up; it counts only when none of them says what is wrong.
            self.last = None;
            if !outcome.is_bad() || subtest.bad > 0 {
                return;
            }
        }
        let names = self.levels.iter().map(|level| level.name.as_str());
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        let mut case = TestCase::new(&name(&names.join(" > ")), &test, outcome);
        case.reason = reason;
        case.duration_ms = directive.as_deref().and_then(time_of);
        if outcome.is_bad() {
            case.failure = Some(TestFailure {
                message: "not ok".to_owned(),
                ..TestFailure::default()
            });
        }
        self.push(case);
    }

    /// A comment behind a failed test, as Perl and bats write them.
    fn diagnostic(&mut self, comment: &str) {
        let last = self.last.and_then(|last| self.cases.get_mut(last));
        if let Some(failure) = last.and_then(|case| case.failure.as_mut()) {
            push_head(&mut failure.detail, comment, MAX_DETAIL);
            push_head(&mut failure.detail, "\n", MAX_DETAIL);
        }
    }

    fn end_yaml(&mut self) {
        let Some((_, text)) = self.yaml.take() else {
            return;
        };
        let last = self.last.take();
        let Some(case) = last.and_then(|last| self.cases.get_mut(last)) else {
            return;
        };
        let value = |wanted: &str| yaml_value(&text, wanted);
        if let Some(time) = value("duration_ms").and_then(|time| time.parse::<f64>().ok()) {
            case.duration_ms = super::text::of_seconds(time / 1000.0);
        }
        case.file = value("file").or(case.file.take()).map(|file| name(&file));
        case.line = value("line")
            .and_then(|line| line.parse().ok())
            .or(case.line);
        // node: 'file:line:column'.
        let place = value("location").or_else(|| value("at"));
        if let Some(place) = place.filter(|_| case.line.is_none()) {
            let mut parts = place.rsplitn(3, ':');
            let numbers = (parts.next(), parts.next());
            if let ((Some(_), Some(line)), Some(file)) = (numbers, parts.next())
                && let Ok(line) = line.parse()
            {
                (case.file, case.line) = (Some(name(file)), Some(line));
            }
        }
        if let Some(failure) = &mut case.failure {
            let message = value("message").or_else(|| value("error"));
            let message = message.filter(|message| !message.is_empty());
            if let Some(message) = message {
                failure.message = head(&message, MAX_MESSAGE);
            }
            push_head(&mut failure.detail, &text, MAX_DETAIL);
        }
    }

    fn finish(mut self) -> Result<TestReport, ReportError> {
        if self.yaml.is_some() {
            self.end_yaml();
        }
        if !self.is_tap || (self.cases.is_empty() && self.levels.is_empty()) {
            return Err(ReportError::NoReport);
        }
        while let Some(level) = self.levels.pop() {
            self.check_plan(&level);
        }
        for case in &mut self.cases {
            if let Some(failure) = &mut case.failure {
                failure.detail = tail(&failure.detail, MAX_DETAIL);
                if failure.message == "not ok" && !failure.detail.is_empty() {
                    failure.message = head(first_line(&failure.detail), MAX_MESSAGE);
                }
            }
        }
        Ok(TestReport {
            format: ReportFormat::Tap,
            cases: self.cases,
            repeats: false,
            notes: self.notes,
        })
    }
}

/// Whether a line is a test point, and what stands behind `ok`.
fn point(line: &str) -> Option<(bool, &str)> {
    let (ok, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    // TAP 14 allows a block of subtests behind it.
    let rest = rest.strip_suffix('{').unwrap_or(rest);
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| (ok, rest.trim()))
}

/// The description and the directive, apart at the first `#` that is not escaped.
fn split_directive(rest: &str) -> (String, Option<String>) {
    let mut description = String::new();
    let mut characters = rest.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => description.extend(characters.next().map(|(_, next)| next)),
            '#' => return (description, Some(rest[at + 1..].trim().to_owned())),
            _ => description.push(character),
        }
    }
    (description, None)
}

fn outcome(ok: bool, directive: Option<&str>) -> (TestOutcome, Option<String>) {
    let directive = directive.unwrap_or_default();
    let word = directive.split_whitespace().next().unwrap_or_default();
    let why = directive.get(word.len()..).unwrap_or_default().trim();
    let word = word.trim_end_matches(':').to_lowercase();
    let said = |kind: &str| Some(head(&full_name(kind, why), MAX_MESSAGE).replace(" > ", ": "));
    match word.as_str() {
        "skip" | "skipped" => {
            let why = (!why.is_empty()).then(|| head(why, MAX_MESSAGE));
            (TestOutcome::Skipped, why)
        }
        // It is not meant to hold yet.
        "todo" if !ok => (TestOutcome::Skipped, said("todo")),
        _ if ok => (TestOutcome::Passed, None),
        _ => (TestOutcome::Failed, None),
    }
}

/// `time=12.5ms`.
fn time_of(directive: &str) -> Option<u64> {
    let time = directive
        .split_whitespace()
        .find_map(|word| word.strip_prefix("time="))?;
    match time.strip_suffix("ms") {
        Some(time) => super::text::of_seconds(time.parse::<f64>().ok()? / 1000.0),
        None => milliseconds(time.strip_suffix('s').unwrap_or(time)),
    }
}

/// The value of a key of the outermost map: on its line, or the block below it.
fn yaml_value(text: &str, wanted: &str) -> Option<String> {
    let mut lines = text.lines();
    let value = lines.by_ref().find_map(|line| {
        let rest = line.strip_prefix(wanted)?.trim_start();
        rest.strip_prefix(':').map(str::trim)
    })?;
    if !matches!(value, "|" | "|-" | ">" | ">-" | "|+") {
        let quotes = ['"', '\''];
        return Some(value.trim_matches(quotes).to_owned());
    }
    let block = lines.take_while(|line| line.starts_with(' ') || line.is_empty());
    let block: Vec<&str> = block.map(str::trim).collect();
    Some(block.join("\n").trim().to_owned())
}
