//! Text that is looked for letter for letter: regular expressions, and exact text.

use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;

use super::inner_word;
use super::needs::Needs;

/// Longest regular expression or exact text, in bytes.
pub const MAX_PATTERN_BYTES: usize = 1024;

/// Most regular expressions and exact texts of one query.
pub const MAX_PATTERNS: usize = 8;

/// Most memory that a compiled expression may take, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// Most groups inside one another.
const MAX_NESTING: u32 = 64;

/// A regular expression or an exact text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TextPattern {
    expression: String,
    ignores_case: bool,
    needs: Needs,
    /// The piece of it that says most of one word.
    inner_word: Option<String>,
    /// Whether that piece is all of it.
    is_one_word: bool,
    /// Words that stand whole in whatever matches: indices of the query's words.
    pub(super) words: Vec<usize>,
    /// Whether it is looked for, not excluded.
    pub(super) is_shown: bool,
    /// As it was typed, for people.
    typed: String,
}

/// Why an expression is refused, and the byte of it that is at fault, where there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PatternFault {
    pub(super) at: usize,
    pub(super) message: String,
}

impl PatternFault {
    fn whole(message: impl Into<String>) -> Self {
        Self {
            at: 0,
            message: message.into(),
        }
    }
}

impl TextPattern {
    /// A regular expression in the syntax of the `regex` crate; `^` and `$` match at lines.
    pub(super) fn expression(expression: &str, ignores_case: bool) -> Result<Self, PatternFault> {
        let typed = format!("re:/{expression}/");
        Self::new(expression.to_owned(), typed, ignores_case)
    }

    /// A text, each sign of which means itself.
    pub(super) fn exact(text: &str, ignores_case: bool) -> Result<Self, PatternFault> {
        let typed = format!("\"{text}\"");
        Self::new(regex::escape(text), typed, ignores_case)
    }

    fn new(expression: String, typed: String, ignores_case: bool) -> Result<Self, PatternFault> {
        if expression.len() > MAX_PATTERN_BYTES {
            return Err(PatternFault::whole(format!(
                "this is longer than {MAX_PATTERN_BYTES} bytes; shorten it"
            )));
        }
        let parsed = parsed(&expression, ignores_case)?;
        if parsed
            .properties()
            .minimum_len()
            .is_none_or(|least| least == 0)
        {
            return Err(PatternFault::whole(
                "this matches the empty text, so every document; require a letter",
            ));
        }
        let mut pattern = Self {
            needs: Needs::Nothing,
            is_one_word: inner_word::is_all(&parsed),
            inner_word: inner_word::of(&parsed),
            words: Vec::new(),
            is_shown: true,
            expression,
            ignores_case,
            typed,
        };
        pattern
            .compiled()
            .map_err(|error| PatternFault::whole(refused(&error)))?;
        pattern.needs = Needs::of(&parsed);
        Ok(pattern)
    }

    /// What finds it in texts.
    #[must_use]
    pub fn finder(&self) -> Option<PatternFinder> {
        self.compiled().ok().map(PatternFinder)
    }

    fn compiled(&self) -> Result<Regex, regex::Error> {
        RegexBuilder::new(&self.expression)
            .case_insensitive(self.ignores_case)
            .multi_line(true)
            .size_limit(MAX_COMPILED_BYTES)
            .dfa_size_limit(2 * MAX_COMPILED_BYTES)
            .nest_limit(MAX_NESTING)
            .build()
    }

    /// What finds the longest piece of it that stands inside one word and is letters, digits and
    /// underscores of ASCII: whatever matches holds that. None where there is no such piece.
    #[must_use]
    pub fn word_finder(&self) -> Option<PatternFinder> {
        let piece = RegexBuilder::new(self.inner_word.as_deref()?)
            .size_limit(MAX_COMPILED_BYTES)
            .dfa_size_limit(2 * MAX_COMPILED_BYTES)
            .build();
        piece.ok().map(PatternFinder)
    }

    /// Whether all of it is that piece.
    #[must_use]
    pub fn is_one_word(&self) -> bool {
        self.is_one_word
    }

    /// What a document has to hold to match, as far as words tell.
    #[must_use]
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// As it was typed, for people.
    #[must_use]
    pub fn typed(&self) -> &str {
        &self.typed
    }
}

fn parsed(expression: &str, ignores_case: bool) -> Result<Hir, PatternFault> {
    let mut parser = ParserBuilder::new()
        .case_insensitive(ignores_case)
        .multi_line(true)
        .nest_limit(MAX_NESTING)
        .build();
    parser.parse(expression).map_err(|error| match &error {
        regex_syntax::Error::Parse(error) => PatternFault {
            at: error.span().start.offset,
            message: format!("the regular expression is wrong here: {}", error.kind()),
        },
        regex_syntax::Error::Translate(error) => PatternFault {
            at: error.span().start.offset,
            message: format!("the regular expression is wrong here: {}", error.kind()),
        },
        other => PatternFault::whole(other.to_string()),
    })
}

fn refused(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => format!(
            "the regular expression takes more than {limit} bytes once compiled; \
             shorten its repetitions"
        ),
        other => other.to_string(),
    }
}

/// Finds one pattern in texts.
#[derive(Debug, Clone)]
pub struct PatternFinder(Regex);

impl PatternFinder {
    /// Whether it stands in `text`.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// The places where it stands, in bytes, ascending.
    pub fn places<'t>(
        &'t self,
        text: &'t str,
    ) -> impl Iterator<Item = std::ops::Range<usize>> + 't {
        self.0.find_iter(text).map(|found| found.range())
    }
}
