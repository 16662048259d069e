//! Lines of one stream against the matchers of a job.

use std::sync::Arc;

use regex::Captures;

use super::MAX_LINE_BYTES;
use super::definition::{Groups, ProblemMatcher, ProblemMatchers, severity};
use super::matched_file::in_workspace;
use crate::command::Annotation;

/// What the lines of a problem have said so far, by the names of the groups.
#[derive(Debug, Clone, Default)]
struct CapturedFields(Vec<(&'static str, String)>);

impl CapturedFields {
    fn with(&self, groups: &Groups, found: &Captures<'_>) -> Self {
        let mut all = self.clone();
        for (name, group) in groups.named() {
            let text = group.and_then(|group| found.get(group));
            if let Some(text) = text.map(|text| text.as_str().trim()) {
                all.0.push((name, text.to_owned()));
            }
        }
        all
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, text)| text.as_str())
            .filter(|text| !text.is_empty())
    }
}

/// A matcher, and what the line before came to for each of its patterns but the last.
#[derive(Debug)]
struct Progress {
    matcher: Arc<ProblemMatcher>,
    states: Vec<Option<CapturedFields>>,
}

/// Finds problems in the lines of one stream.
#[derive(Debug, Default)]
pub struct LineMatcher {
    progress: Vec<Progress>,
}

impl LineMatcher {
    /// Uses these from here on; what is known of a problem that has begun stays.
    pub fn set(&mut self, matchers: &ProblemMatchers) {
        let mut former = std::mem::take(&mut self.progress);
        let progress = matchers.iter().map(|matcher| {
            let known = |it: &Progress| Arc::ptr_eq(&it.matcher, matcher);
            match former.iter().position(known) {
                Some(at) => former.swap_remove(at),
                None => Progress::new(Arc::clone(matcher)),
            }
        });
        self.progress = progress.collect();
    }

    /// Whether any line can come to something.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.progress.is_empty()
    }

    /// What a line (without its end and colours) comes to, by the first matcher that it fits. A
    /// severity that is none, and an empty message, come to nothing.
    pub fn line(&mut self, line: &str) -> Option<Annotation> {
        if line.len() > MAX_LINE_BYTES {
            self.progress.iter_mut().for_each(Progress::reset);
            return None;
        }
        let mut found = None;
        for (index, progress) in self.progress.iter_mut().enumerate() {
            if let Some(captured) = progress.line(line) {
                found = Some((index, captured));
                break;
            }
        }
        let (index, captured) = found?;
        for (other, progress) in self.progress.iter_mut().enumerate() {
            if other != index {
                progress.reset();
            }
        }
        annotation(&self.progress[index].matcher, &captured)
    }
}

impl Progress {
    fn new(matcher: Arc<ProblemMatcher>) -> Self {
        let states = vec![None; matcher.patterns.len() - 1];
        Self { matcher, states }
    }

    fn reset(&mut self) {
        self.states.iter_mut().for_each(|state| *state = None);
    }

    /// All that is known, where the line ends a problem.
    fn line(&mut self, line: &str) -> Option<CapturedFields> {
        let empty = vec![None; self.states.len()];
        let before = std::mem::replace(&mut self.states, empty);
        let begun = Some(CapturedFields::default());
        // The last pattern first: a line that ends a problem does not begin another.
        for (index, pattern) in self.matcher.patterns.iter().enumerate().rev() {
            let before = index.checked_sub(1).map_or(&begun, |at| &before[at]);
            let Some(before) = before else { continue };
            let Some(found) = pattern.regex.captures(line) else {
                continue;
            };
            let captured = before.with(&pattern.groups, &found);
            match self.states.get_mut(index) {
                Some(state) => *state = Some(captured),
                None => {
                    if pattern.repeats {
                        self.states[index - 1] = Some(before.clone());
                    }
                    return Some(captured);
                }
            }
        }
        None
    }
}

fn annotation(matcher: &ProblemMatcher, captured: &CapturedFields) -> Option<Annotation> {
    let level = match captured.get("severity") {
        Some(text) => severity(text)?,
        None => matcher.severity,
    };
    let number = |name: &str| captured.get(name).and_then(|text| text.parse().ok());
    let file = captured.get("file");
    let from = captured.get("fromPath").or(matcher.from_path.as_deref());
    let file = file.and_then(|file| in_workspace(file, from));
    // A line of a file that is not the commit's says nothing.
    let of_file = |number: Option<u32>| number.filter(|_| file.is_some());
    Some(Annotation {
        level,
        message: captured.get("message")?.to_owned(),
        title: captured.get("code").map(str::to_owned),
        lines: (of_file(number("line")), of_file(number("endLine"))),
        columns: (of_file(number("column")), of_file(number("endColumn"))),
        file,
    })
}
