//! Annotations of a step's output: those that commands ask for, and what problem matchers find.

use std::time::{Duration, Instant};

use config_core::without_colours;
use runner_core::command::{Annotation, Level};
use runner_core::problem_matcher::{LineMatcher, ProblemMatchers};

use crate::log::LineKind;

/// Annotations that problem matchers make of one stream of one process.
const MAX_FOUND: usize = 1000;
/// Time that the expressions of problem matchers take for one stream of one process.
const MATCHING_TIME: Duration = Duration::from_secs(10);

/// How an annotation stands in the log.
pub(super) fn annotation_line(note: Annotation) -> (LineKind, String) {
    let kind = match note.level {
        Level::Notice => LineKind::Notice,
        Level::Warning => LineKind::Warning,
        Level::Error => LineKind::Error,
    };
    let location = match (&note.file, note.lines.0) {
        (Some(file), Some(line)) => format!("{file}:{line}: "),
        (Some(file), None) => format!("{file}: "),
        (None, _) => String::new(),
    };
    let title = note.title.map(|title| format!("{title}: "));
    let title = title.unwrap_or_default();
    (kind, format!("{location}{title}{}", note.message))
}

/// The problem matchers of one stream, and what they have cost.
#[derive(Debug, Default)]
pub(super) struct Problems {
    matcher: LineMatcher,
    found: usize,
    spent: Duration,
}

impl Problems {
    pub(super) fn set(&mut self, matchers: &ProblemMatchers) {
        if self.found < MAX_FOUND && self.spent < MATCHING_TIME {
            self.matcher.set(matchers);
        }
    }

    /// The annotation that a line comes to, or why there will be none any more.
    pub(super) fn line(&mut self, line: &str) -> Option<(LineKind, String)> {
        if self.matcher.is_idle() {
            return None;
        }
        let begun = Instant::now();
        let found = self.matcher.line(&without_colours(line));
        self.spent += begun.elapsed();
        self.found += usize::from(found.is_some());
        let stopped = if self.spent >= MATCHING_TIME {
            Some("problem matchers took too long for this output, and look at no more of it")
        } else if self.found > MAX_FOUND {
            Some("problem matchers found more problems than are shown")
        } else {
            None
        };
        if let Some(reason) = stopped {
            self.matcher.set(&ProblemMatchers::default());
            return Some((LineKind::Warning, reason.to_owned()));
        }
        found.map(annotation_line)
    }
}
