//! One pattern of a `glob` parameter: where it ends, what it may hold, what it means.

use std::ops::Range;

use globset::{ErrorKind, Glob, GlobBuilder};

use super::filter_error::FilterError;

/// Bounds that keep compiling a filter in the order of milliseconds, whatever it holds.
pub(super) const MAX_TEXT: usize = 4096;
pub(super) const MAX_PATTERNS: usize = 256;
const MAX_BRACES: usize = 64;
const MAX_BRACE_DEPTH: usize = 4;
/// Each `**` and each alternative multiplies what the matcher must keep apart.
const MAX_WILDCARDS: usize = 64;

/// A pattern with its place in the text.
#[derive(Debug)]
pub(super) struct FilterPattern<'t> {
    /// Without the `!`, without blanks around it.
    pub(super) text: &'t str,
    /// Where `text` stands.
    pub(super) range: Range<usize>,
    /// Whether `!` stood in front.
    pub(super) excludes: bool,
}

/// Splits at commas outside of braces and brackets; bounds and brace balance are checked here.
pub(super) fn split(text: &str) -> Result<Vec<FilterPattern<'_>>, FilterError> {
    if text.len() > MAX_TEXT {
        let message = format!(
            "the patterns have {} bytes, more than {MAX_TEXT}",
            text.len()
        );
        return Err(FilterError::new(0..text.len(), message));
    }
    let mut patterns = Vec::new();
    let mut scan = Scan::default();
    let mut start = 0;
    for (index, character) in text.char_indices() {
        if scan.ends_pattern(index, character)? {
            patterns.push(pattern(text, start..index)?);
            start = index + 1;
        }
    }
    patterns.push(pattern(text, start..text.len())?);
    if patterns.len() > MAX_PATTERNS {
        let message = format!("{} patterns are more than {MAX_PATTERNS}", patterns.len());
        return Err(FilterError::new(0..text.len(), message));
    }
    Ok(patterns)
}

/// What is open at a place of the text.
#[derive(Default)]
struct Scan {
    escaped: bool,
    in_class: bool,
    depth: usize,
    braces: usize,
    wildcards: usize,
}

impl Scan {
    /// Whether a pattern ends in front of `character`.
    fn ends_pattern(&mut self, index: usize, character: char) -> Result<bool, FilterError> {
        let wrong = |message: String| Err(FilterError::new(index..index + 1, message));
        if std::mem::take(&mut self.escaped) {
            return Ok(false);
        }
        match character {
            '\\' => self.escaped = true,
            ']' => self.in_class = false,
            _ if self.in_class && !character.is_ascii() => {
                return Err(FilterError::new(
                    index..index + character.len_utf8(),
                    "brackets can hold ASCII characters only".to_owned(),
                )
                .help("write alternatives, for example `{é,è}`"));
            }
            _ if self.in_class => {}
            '[' => self.in_class = true,
            '{' => {
                self.depth += 1;
                self.braces += 1;
            }
            '}' => self.depth = self.depth.saturating_sub(1),
            '*' | '?' => self.wildcards += 1,
            ',' if self.depth == 0 => return Ok(true),
            ';' => {
                let error = FilterError::new(
                    index..index + 1,
                    "patterns are separated by `,`, not by `;`".to_owned(),
                );
                return Err(error.help("write `*.md,*.txt`; `\\;` is a semicolon in a file's name"));
            }
            _ => {}
        }
        if self.braces > MAX_BRACES {
            return wrong(format!("more than {MAX_BRACES} braces"));
        }
        if self.depth > MAX_BRACE_DEPTH {
            return wrong(format!(
                "more than {MAX_BRACE_DEPTH} braces inside each other"
            ));
        }
        if self.wildcards > MAX_PATTERNS + MAX_WILDCARDS {
            return wrong(format!(
                "more than {} wildcards",
                MAX_PATTERNS + MAX_WILDCARDS
            ));
        }
        Ok(false)
    }
}

fn pattern(text: &str, whole: Range<usize>) -> Result<FilterPattern<'_>, FilterError> {
    let part = &text[whole.clone()];
    let start = whole.start + (part.len() - part.trim_start().len());
    let trimmed = part.trim();
    let excludes = trimmed.starts_with('!');
    let rest = trimmed.strip_prefix('!').unwrap_or(trimmed);
    let inner = rest.trim_start();
    let begin = start + (trimmed.len() - inner.len());
    let range = begin..begin + inner.len();
    if inner.is_empty() {
        let error = FilterError::new(whole, "a pattern is empty".to_owned());
        return Err(error.help("remove the comma, or write a pattern such as `*.md`"));
    }
    let pattern = FilterPattern {
        text: inner,
        range,
        excludes,
    };
    pattern.check_path()?;
    Ok(pattern)
}

impl FilterPattern<'_> {
    /// A pattern stays inside the haystack's folder.
    fn check_path(&self) -> Result<(), FilterError> {
        let wrong = |message: &str, help: &str| {
            Err(FilterError::new(self.range.clone(), message.to_owned()).help(help))
        };
        // `{/etc,a}` begins with any of its alternatives.
        let group = self
            .text
            .strip_prefix('{')
            .map(|rest| rest.split('}').next().unwrap_or(rest));
        let absolute =
            group.is_some_and(|group| group.split(',').any(|part| part.starts_with('/')));
        let drive = self.text.as_bytes().get(1) == Some(&b':');
        if absolute || self.text.starts_with('/') || self.text.starts_with('~') || drive {
            return wrong(
                "a pattern must be relative",
                "it is matched against paths inside the haystack's location",
            );
        }
        if self.text.contains("//") {
            return wrong(
                "a pattern must not hold `//`",
                "no path has an empty name in it: write one `/`",
            );
        }
        if self
            .text
            .split(['/', '{', '}', ',', '\\'])
            .any(|part| part == "..")
        {
            return wrong(
                "a pattern must not hold `..`",
                "it cannot leave the haystack's location",
            );
        }
        Ok(())
    }

    /// The pattern as the matcher needs it: without `/` it is meant for the base name in any
    /// folder, with a `/` at its end for everything below such folders.
    pub(super) fn full(&self) -> String {
        let text = self.text.strip_prefix("./").unwrap_or(self.text);
        let (text, below) = match text.strip_suffix('/') {
            Some(folder) => (folder, "/**"),
            None => (text, ""),
        };
        let anywhere = if text.contains('/') { "" } else { "**/" };
        format!("{anywhere}{text}{below}")
    }

    /// Compiles what `full` gave.
    pub(super) fn compile(&self, full: &str) -> Result<Glob, FilterError> {
        let built = GlobBuilder::new(full)
            .literal_separator(true)
            .backslash_escape(true)
            .build();
        built.map_err(|error| FilterError::new(self.range.clone(), explained(error.kind())))
    }
}

fn explained(kind: &ErrorKind) -> String {
    match kind {
        ErrorKind::UnclosedClass => "`[` is not closed".to_owned(),
        ErrorKind::InvalidRange(from, to) => {
            format!("the range `{from}-{to}` is the wrong way round")
        }
        ErrorKind::UnopenedAlternates => "`}` has no `{`".to_owned(),
        ErrorKind::UnclosedAlternates => "`{` is not closed".to_owned(),
        ErrorKind::DanglingEscape => "`\\` has nothing to escape".to_owned(),
        _ => "the pattern is too complex".to_owned(),
    }
}
