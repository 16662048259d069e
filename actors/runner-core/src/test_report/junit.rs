//! JUnit's XML in its dialects: Ant, Surefire, Gradle, pytest, gotestsum, nextest, jest-junit,
//! PHPUnit, GoogleTest.
//!
//! `testsuites` and `testsuite` in any nesting, `testcase` with `failure`, `error`, `skipped`,
//! `rerunFailure`, `rerunError`, `flakyFailure`, `flakyError`, `system-out`, `system-err`.

use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::limits::{MAX_DEPTH, MAX_NOTES, MAX_TESTS, ReportError};
use super::text::{
    MAX_DETAIL, MAX_MESSAGE, MAX_OUTPUT, first_line, head, milliseconds, name, push_head,
    push_tail, tail,
};
use super::types::{ReportFormat, TestCase, TestFailure, TestOutcome, TestReport};

/// Reads a file that begins like XML.
pub(super) fn read(text: &str) -> Result<TestReport, ReportError> {
    let mut reader = Reader::from_str(text);
    let mut parser = Parser::default();
    loop {
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => {
                let at = reader.error_position();
                return parser.broken(&format!("it is no XML from byte {at} on: {error}"));
            }
        };
        let step = match &event {
            Event::Start(start) => parser.open(start),
            Event::Empty(start) => parser.open(start).inspect(|()| parser.close()),
            Event::End(_) => {
                parser.close();
                Ok(())
            }
            Event::Text(text) => {
                parser.text(text);
                Ok(())
            }
            Event::CData(text) => {
                parser.text(text);
                Ok(())
            }
            Event::GeneralRef(entity) => {
                let character = entity.resolve_char_ref().ok().flatten();
                match character {
                    Some(character) => parser.text(character.encode_utf8(&mut [0; 4])),
                    // Others would be defined by a document type: they stay undefined.
                    None => parser.text(resolve_xml_entity(entity).unwrap_or("?")),
                }
                Ok(())
            }
            Event::Eof if parser.stack.is_empty() => return parser.finish(),
            Event::Eof => return parser.broken("it is cut short"),
            Event::Decl(_) | Event::DocType(_) | Event::PI(_) | Event::Comment(_) => Ok(()),
        };
        if let Err(stopped) = step {
            return match stopped {
                Stop::NoReport => Err(ReportError::NoReport),
                Stop::Bound(why) => parser.broken(&why),
            };
        }
    }
}

/// Why reading ends early.
enum Stop {
    NoReport,
    Bound(String),
}

/// What an element means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    Suites,
    Suite,
    Case,
    Failure,
    Error,
    Skipped,
    /// Of a test that failed in each attempt.
    Rerun,
    /// Of a test that passed at last.
    Flaky,
    Output,
    Trace,
    Other,
}

impl Element {
    fn from_name(name: &str) -> Self {
        match name {
            "testsuites" => Self::Suites,
            "testsuite" => Self::Suite,
            "testcase" => Self::Case,
            "failure" => Self::Failure,
            "error" => Self::Error,
            "skipped" | "ignored" | "disabled" => Self::Skipped,
            "rerunFailure" | "rerunError" => Self::Rerun,
            "flakyFailure" | "flakyError" => Self::Flaky,
            "system-out" | "system-err" => Self::Output,
            "stackTrace" => Self::Trace,
            _ => Self::Other,
        }
    }

    fn is_bad(self) -> bool {
        matches!(
            self,
            Self::Failure | Self::Error | Self::Rerun | Self::Flaky
        )
    }
}

#[derive(Default)]
struct Suite {
    name: String,
    file: Option<String>,
    /// Failures and errors that it says it has.
    declared: u64,
    /// Bad tests before it.
    bad_before: u64,
}

/// A test, or the fault of a suite, while it is read.
struct OpenCase {
    case: TestCase,
    /// How many elements are open around its children.
    depth: usize,
    output: String,
    /// The first failure, and a failure of an attempt.
    failure: Option<OpenFailure>,
    /// Of a suite itself: it ends with the element that says what is wrong.
    of_suite: bool,
    /// An attribute says why it is skipped: text need not.
    has_reason: bool,
}

#[derive(Default)]
struct OpenFailure {
    message: String,
    detail: String,
    output: String,
    /// An element is open: text belongs to it.
    is_open: bool,
}

#[derive(Default)]
struct Parser {
    stack: Vec<Element>,
    suites: Vec<Suite>,
    open: Option<OpenCase>,
    cases: Vec<TestCase>,
    bad: u64,
    notes: Vec<String>,
    seen_root: bool,
    /// gotestsum runs what failed again, into the same file.
    repeats: bool,
}

/// The value of an attribute; entities that are not XML's own stay as they are.
fn attribute(start: &BytesStart<'_>, wanted: &str) -> Option<String> {
    let mut attributes = start.attributes();
    let found = attributes.with_checks(false).flatten();
    let mut found = found.filter(|attribute| attribute.key.local_name().as_ref() == wanted);
    let value = found.next()?;
    let unescaped = value.normalized_value(XmlVersion::Implicit1_0);
    Some(unescaped.map_or_else(|_| value.value.to_string(), std::borrow::Cow::into_owned))
}

impl Parser {
    fn open(&mut self, start: &BytesStart<'_>) -> Result<(), Stop> {
        let element = Element::from_name(start.local_name().as_ref());
        if !self.seen_root {
            if !matches!(element, Element::Suites | Element::Suite | Element::Case) {
                return Err(Stop::NoReport);
            }
            self.seen_root = true;
        }
        if self.stack.len() >= MAX_DEPTH {
            return Err(Stop::Bound(format!(
                "more than {MAX_DEPTH} elements stand in each other"
            )));
        }
        self.stack.push(element);
        match element {
            Element::Suite => self.open_suite(start),
            Element::Case if self.open.is_none() => {
                if self.cases.len() >= MAX_TESTS {
                    return Err(Stop::Bound(format!(
                        "it has more than {MAX_TESTS} tests: the others are left out"
                    )));
                }
                self.open_case(start);
            }
            Element::Skipped => self.skipped(start),
            _ if element.is_bad() => self.open_failure(element, start),
            Element::Other if start.local_name().as_ref() == "property" => {
                let is_go = attribute(start, "name").is_some_and(|name| name == "go.version");
                self.repeats |= is_go;
            }
            _ => {}
        }
        Ok(())
    }

    fn open_suite(&mut self, start: &BytesStart<'_>) {
        let number = |name: &str| attribute(start, name).and_then(|text| text.trim().parse().ok());
        let declared = ["failures", "errors"].map(|name| number(name).unwrap_or(0_u64));
        self.suites.push(Suite {
            name: attribute(start, "name")
                .map(|text| name(&text))
                .unwrap_or_default(),
            file: attribute(start, "file").or_else(|| attribute(start, "filepath")),
            declared: declared.into_iter().fold(0, u64::saturating_add),
            bad_before: self.bad,
        });
    }

    fn suite_path(&self) -> String {
        let names = self.suites.iter().map(|suite| suite.name.as_str());
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        name(&names.join(" > "))
    }

    fn open_case(&mut self, start: &BytesStart<'_>) {
        let given = |wanted: &str| attribute(start, wanted).filter(|text| !text.trim().is_empty());
        let class = given("classname").or_else(|| given("class"));
        // Node says so of every test.
        let class = class.filter(|class| class != "test");
        let suite = class.map_or_else(|| self.suite_path(), |class| name(&class));
        let test = given("name").map_or_else(|| "(no name)".to_owned(), |test| name(&test));
        // GoogleTest says so of what it leaves out.
        let left_out = given("status").is_some_and(|status| status == "notrun")
            || given("result").is_some_and(|result| result == "suppressed");
        let outcome = if left_out {
            TestOutcome::Skipped
        } else {
            TestOutcome::Passed
        };
        let mut case = TestCase::new(&suite, &test, outcome);
        case.duration_ms = given("time").and_then(|time| milliseconds(&time));
        let of_suite = || self.suites.last().and_then(|suite| suite.file.clone());
        case.file = given("file").or_else(of_suite).map(|file| name(&file));
        case.line = given("line").and_then(|line| line.trim().parse().ok());
        self.start_case(case, false);
    }

    fn start_case(&mut self, case: TestCase, of_suite: bool) {
        self.open = Some(OpenCase {
            case,
            depth: self.stack.len(),
            output: String::new(),
            failure: None,
            of_suite,
            has_reason: false,
        });
    }

    fn skipped(&mut self, start: &BytesStart<'_>) {
        let Some(open) = &mut self.open else { return };
        if !open.case.outcome.is_bad() {
            open.case.outcome = TestOutcome::Skipped;
        }
        let message = attribute(start, "message").unwrap_or_default();
        open.has_reason = !message.trim().is_empty();
        open.case.reason = open.has_reason.then(|| head(&message, MAX_MESSAGE));
    }

    fn open_failure(&mut self, element: Element, start: &BytesStart<'_>) {
        if self.open.is_none() {
            // The fault of a suite, of its setup for instance.
            let suite = self.suite_path();
            self.start_case(TestCase::new(&suite, "(suite)", TestOutcome::Passed), true);
        }
        let Some(open) = &mut self.open else { return };
        match element {
            Element::Flaky => open.case.flaky = true,
            Element::Error => open.case.outcome = TestOutcome::Error,
            _ if open.case.outcome != TestOutcome::Error => {
                open.case.outcome = TestOutcome::Failed;
            }
            _ => {}
        }
        if open.failure.is_some() {
            return;
        }
        let kind = attribute(start, "type").unwrap_or_default();
        let message = attribute(start, "message").filter(|text| !text.trim().is_empty());
        let message = message.unwrap_or(kind);
        open.failure = Some(OpenFailure {
            message: head(&message, MAX_MESSAGE),
            is_open: true,
            ..OpenFailure::default()
        });
    }

    fn text(&mut self, text: &str) {
        let Some(open) = &mut self.open else { return };
        let inside = self.stack.get(open.depth..).unwrap_or_default();
        let in_failure = open.failure.as_mut().filter(|failure| failure.is_open);
        let is_output = inside.last() == Some(&Element::Output);
        match (in_failure, is_output) {
            (Some(failure), true) => push_tail(&mut failure.output, text, MAX_OUTPUT),
            (Some(failure), false) => push_head(&mut failure.detail, text, 2 * MAX_DETAIL),
            // What another attempt printed is not this one's.
            (None, true) if !inside.iter().any(|element| element.is_bad()) => {
                push_tail(&mut open.output, text, MAX_OUTPUT);
            }
            (None, false) if inside.last() == Some(&Element::Skipped) && !open.has_reason => {
                let reason = open.case.reason.get_or_insert_default();
                push_head(reason, text, MAX_MESSAGE);
            }
            (None, _) => {}
        }
    }

    fn close(&mut self) {
        let Some(element) = self.stack.pop() else {
            return;
        };
        let depth = self.stack.len();
        match element {
            Element::Suite => self.close_suite(),
            _ if element.is_bad() => {
                if let Some(open) = &mut self.open {
                    if let Some(failure) = &mut open.failure {
                        failure.is_open = false;
                    }
                    if open.of_suite {
                        self.end_case();
                    }
                }
            }
            Element::Case if self.open.as_ref().is_some_and(|open| open.depth > depth) => {
                self.end_case();
            }
            _ => {}
        }
    }

    fn close_suite(&mut self) {
        let Some(suite) = self.suites.pop() else {
            return;
        };
        let found = self.bad - suite.bad_before;
        if suite.declared > found && self.notes.len() < MAX_NOTES {
            self.notes.push(format!(
                "the suite {} says that {} tests failed, and holds {found}",
                config_core::quoted(&suite.name),
                suite.declared
            ));
        }
    }

    fn end_case(&mut self) {
        let Some(open) = self.open.take() else { return };
        let OpenCase {
            mut case,
            output,
            failure,
            ..
        } = open;
        case.reason = case.reason.map(|text| head(&text, MAX_MESSAGE));
        case.reason = case.reason.filter(|text| !text.is_empty());
        self.bad += u64::from(case.outcome.is_bad());
        case.failure = failure.map(|failure| {
            let message = if failure.message.is_empty() {
                head(first_line(&failure.detail), MAX_MESSAGE)
            } else {
                failure.message
            };
            let own = if failure.output.trim().is_empty() {
                output
            } else {
                failure.output
            };
            TestFailure {
                message,
                detail: head(&failure.detail, MAX_DETAIL),
                output: tail(&own, MAX_OUTPUT),
            }
        });
        self.cases.push(case);
    }

    /// What was read before it broke counts, if there is any.
    fn broken(mut self, why: &str) -> Result<TestReport, ReportError> {
        if !self.seen_root {
            return Err(ReportError::NoReport);
        }
        if self.cases.is_empty() {
            return Err(ReportError::Broken(why.to_owned()));
        }
        self.notes
            .push(format!("{why}; what stands before it counts"));
        self.finish()
    }

    fn finish(self) -> Result<TestReport, ReportError> {
        if !self.seen_root {
            return Err(ReportError::NoReport);
        }
        Ok(TestReport {
            format: ReportFormat::Junit,
            cases: self.cases,
            repeats: self.repeats,
            notes: self.notes,
        })
    }
}
