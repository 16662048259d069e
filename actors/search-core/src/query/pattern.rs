//! Text that is looked for letter for letter: regular expressions, and exact text.

use regex_automata::meta::BuildError;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;

use super::inner_word;
use super::needs::Needs;
use super::pattern_finder::PatternFinder;
use super::reach;

/// Longest regular expression or exact text, in bytes.
pub const MAX_PATTERN_BYTES: usize = 1024;

/// Most regular expressions and exact texts of one query.
pub const MAX_PATTERNS: usize = 8;

/// Most memory that a compiled expression may take, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// Most steps of the piece of an expression that is looked for before the whole: texts are looked
/// through for it in one go.
const MAX_WORD_STEPS: usize = 32;

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
    fn without_offset(message: impl Into<String>) -> Self {
        Self {
            at: 0,
            message: message.into(),
        }
    }
}

impl TextPattern {
    /// A regular expression in the syntax of the `regex` crate; `^` and `$` match at lines, those
    /// of Windows too.
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
            return Err(PatternFault::without_offset(format!(
                "this is longer than {MAX_PATTERN_BYTES} bytes; shorten it"
            )));
        }
        let parsed = parsed(&expression, ignores_case)?;
        if parsed
            .properties()
            .minimum_len()
            .is_none_or(|least| least == 0)
        {
            return Err(PatternFault::without_offset(
                "this matches the empty text, so every document; require a letter",
            ));
        }
        if let Some(refusal) = reach::refusal(&parsed) {
            return Err(PatternFault::without_offset(refusal));
        }
        PatternFinder::new(&parsed, MAX_COMPILED_BYTES)
            .map_err(|error| PatternFault::without_offset(refused(&error)))?;
        Ok(Self {
            needs: Needs::from_expression(&parsed),
            is_one_word: inner_word::is_all(&parsed),
            inner_word: inner_word::inner_word(&parsed),
            words: Vec::new(),
            is_shown: true,
            expression,
            ignores_case,
            typed,
        })
    }

    /// What finds it in texts.
    #[must_use]
    pub fn finder(&self) -> Option<PatternFinder> {
        let parsed = parsed(&self.expression, self.ignores_case).ok()?;
        PatternFinder::new(&parsed, MAX_COMPILED_BYTES).ok()
    }

    /// What finds the longest piece of it that stands inside one word and is letters, digits and
    /// underscores of ASCII: whatever matches holds that. None where there is no such piece, or one
    /// that is as costly to find as the whole.
    #[must_use]
    pub fn word_finder(&self) -> Option<PatternFinder> {
        let piece = parsed(self.inner_word.as_deref()?, false).ok()?;
        if reach::steps(&piece) > MAX_WORD_STEPS {
            return None;
        }
        PatternFinder::new(&piece, MAX_COMPILED_BYTES).ok()
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
        .crlf(true)
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
        other => PatternFault::without_offset(other.to_string()),
    })
}

fn refused(error: &BuildError) -> String {
    match error.size_limit() {
        Some(limit) => format!(
            "the regular expression takes more than {limit} bytes once compiled; \
             shorten its repetitions"
        ),
        None => error.to_string(),
    }
}
