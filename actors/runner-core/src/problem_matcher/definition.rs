//! What a file of problem matchers says, checked.

use std::sync::Arc;

use regex::Regex;
use serde::Deserialize;

use super::js_regex::{self, JsRegexError};
use super::{MAX_MATCHERS, MAX_PATTERNS};
use crate::command::Level;

/// Why a file's matchers are not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MatcherError {
    /// The file is right, and asks for what is not done here.
    #[error("{0}")]
    Unsupported(String),
    /// The file is wrong.
    #[error("{0}")]
    Wrong(String),
}

/// What makes annotations of lines: one expression for each line that belongs together.
#[derive(Debug)]
pub struct ProblemMatcher {
    pub(super) owner: String,
    /// Where no group says it.
    pub(super) severity: Level,
    /// What files are named from, where no group says it.
    pub(super) from_path: Option<String>,
    /// At least one.
    pub(super) patterns: Vec<LinePattern>,
}

/// One line of a problem.
#[derive(Debug)]
pub(super) struct LinePattern {
    pub(super) regex: Regex,
    pub(super) groups: Groups,
    /// The last line may come again.
    pub(super) repeats: bool,
}

/// Numbers of the groups that hold something.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Groups {
    pub(super) file: Option<usize>,
    pub(super) from_path: Option<usize>,
    pub(super) line: Option<usize>,
    pub(super) end_line: Option<usize>,
    pub(super) column: Option<usize>,
    pub(super) end_column: Option<usize>,
    pub(super) severity: Option<usize>,
    pub(super) code: Option<usize>,
    pub(super) message: Option<usize>,
}

impl Groups {
    pub(super) fn named(&self) -> [(&'static str, Option<usize>); 9] {
        [
            ("file", self.file),
            ("fromPath", self.from_path),
            ("line", self.line),
            ("endLine", self.end_line),
            ("column", self.column),
            ("endColumn", self.end_column),
            ("severity", self.severity),
            ("code", self.code),
            ("message", self.message),
        ]
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileText {
    problem_matcher: Vec<MatcherText>,
}

#[derive(Deserialize)]
struct MatcherText {
    #[serde(default)]
    owner: String,
    #[serde(default)]
    severity: String,
    #[serde(rename = "fromPath")]
    from_path: Option<String>,
    #[serde(default)]
    pattern: Vec<PatternText>,
}

#[derive(Deserialize)]
struct PatternText {
    #[serde(default)]
    regexp: String,
    #[serde(rename = "loop", default)]
    repeats: bool,
    #[serde(flatten)]
    groups: Groups,
}

/// What severity a text names; nothing for all but the documented ones.
pub(super) fn severity(text: &str) -> Option<Level> {
    match text.to_ascii_lowercase().as_str() {
        "error" => Some(Level::Error),
        "warning" => Some(Level::Warning),
        "notice" => Some(Level::Notice),
        _ => None,
    }
}

/// Reads a file of matchers (JSON, `problemMatcher`). Keys that mean nothing are passed over.
///
/// # Errors
/// What is wrong in it, or not done here; then none of it is used.
pub fn parse_file(bytes: &[u8]) -> Result<Vec<ProblemMatcher>, MatcherError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let file: FileText =
        serde_json::from_slice(bytes).map_err(|error| MatcherError::Wrong(error.to_string()))?;
    if file.problem_matcher.len() > MAX_MATCHERS {
        let text = format!("it has more than {MAX_MATCHERS} matchers");
        return Err(MatcherError::Wrong(text));
    }
    let mut matchers: Vec<ProblemMatcher> = Vec::new();
    for text in file.problem_matcher {
        let known = |matcher: &ProblemMatcher| matcher.owner.eq_ignore_ascii_case(&text.owner);
        if matchers.iter().any(known) {
            let text = format!(
                "the owner {} stands twice",
                config_core::quoted(&text.owner)
            );
            return Err(MatcherError::Wrong(text));
        }
        matchers.push(matcher(text)?);
    }
    Ok(matchers)
}

fn matcher(text: MatcherText) -> Result<ProblemMatcher, MatcherError> {
    if text.owner.trim().is_empty() {
        return Err(MatcherError::Wrong("a matcher has no `owner`".to_owned()));
    }
    let owner = config_core::quoted(&text.owner);
    let wrong = |reason: String| MatcherError::Wrong(format!("the matcher {owner}: {reason}"));
    let severity = match text.severity.as_str() {
        "" => Level::Error,
        given => severity(given)
            .ok_or_else(|| wrong(format!("no such severity: {}", config_core::quoted(given))))?,
    };
    let count = text.pattern.len();
    if count == 0 || count > MAX_PATTERNS {
        return Err(wrong(format!("it needs 1 to {MAX_PATTERNS} patterns")));
    }
    let mut seen: Vec<&'static str> = Vec::new();
    let mut patterns = Vec::new();
    for (index, given) in text.pattern.into_iter().enumerate() {
        let number = index + 1;
        if given.repeats && (number < count || count == 1) {
            let reason = "`loop` is for the last of several patterns".to_owned();
            return Err(wrong(reason));
        }
        let regex = js_regex::compile(&given.regexp).map_err(|error| {
            let text = format!("the matcher {owner}: regexp of pattern {number}: {error}");
            match error {
                JsRegexError::Unsupported(_) => MatcherError::Unsupported(text),
                JsRegexError::Wrong(_) => MatcherError::Wrong(text),
            }
        })?;
        for (name, group) in given.groups.named() {
            let Some(group) = group else { continue };
            if group >= regex.captures_len() {
                return Err(wrong(format!(
                    "pattern {number} has no group {group} for `{name}`"
                )));
            }
            if seen.contains(&name) {
                return Err(wrong(format!("`{name}` is given by two patterns")));
            }
            seen.push(name);
        }
        patterns.push(LinePattern {
            regex,
            groups: given.groups,
            repeats: given.repeats,
        });
    }
    if patterns
        .iter()
        .all(|pattern| pattern.groups.message.is_none())
    {
        return Err(wrong("no pattern gives `message`".to_owned()));
    }
    Ok(ProblemMatcher {
        owner: text.owner,
        severity,
        from_path: text.from_path.filter(|path| !path.is_empty()),
        patterns,
    })
}

/// The matchers of a job, the newest first.
#[derive(Debug, Clone, Default)]
pub struct ProblemMatchers(Vec<Arc<ProblemMatcher>>);

impl ProblemMatchers {
    /// Adds matchers in place of those of the same owners.
    ///
    /// # Errors
    /// There would be too many.
    pub fn add(&mut self, new: Vec<ProblemMatcher>) -> Result<(), MatcherError> {
        let is_replaced = |known: &Arc<ProblemMatcher>| {
            new.iter()
                .any(|new| new.owner.eq_ignore_ascii_case(&known.owner))
        };
        let kept = self.0.iter().filter(|known| !is_replaced(known)).cloned();
        let kept: Vec<_> = kept.collect();
        if kept.len() + new.len() > MAX_MATCHERS {
            let text = format!("a job has at most {MAX_MATCHERS} problem matchers");
            return Err(MatcherError::Unsupported(text));
        }
        self.0 = new.into_iter().map(Arc::new).chain(kept).collect();
        Ok(())
    }

    /// Takes those of an owner away.
    pub fn remove(&mut self, owner: &str) {
        self.0
            .retain(|known| !known.owner.eq_ignore_ascii_case(owner));
    }

    /// Takes those away that have the owners of these.
    pub fn remove_like(&mut self, others: &[ProblemMatcher]) {
        others.iter().for_each(|other| self.remove(&other.owner));
    }

    /// Takes over what has been added and taken away between two states of other ones: those of a
    /// step that ran beside.
    ///
    /// # Errors
    /// There would be too many.
    pub fn take_over(&mut self, before: &Self, after: &Self) -> Result<(), MatcherError> {
        let has =
            |all: &Self, one: &Arc<ProblemMatcher>| all.0.iter().any(|it| Arc::ptr_eq(it, one));
        let gone = before.0.iter().filter(|one| !has(after, one));
        let added = after.0.iter().filter(|one| !has(before, one));
        let (gone, added): (Vec<_>, Vec<_>) = (gone.collect(), added.collect());
        for one in gone.iter().chain(&added) {
            self.remove(&one.owner);
        }
        if self.0.len() + added.len() > MAX_MATCHERS {
            let text = format!("a job has at most {MAX_MATCHERS} problem matchers");
            return Err(MatcherError::Unsupported(text));
        }
        self.0.splice(0..0, added.into_iter().cloned());
        Ok(())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<ProblemMatcher>> {
        self.0.iter()
    }
}
