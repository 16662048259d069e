//! What is wrong with the syntax of a JSON text, in our words.

use jsonc_parser::ParseStringErrorKind;
use jsonc_parser::common::Range;
use jsonc_parser::errors::{ParseError, ParseErrorKind};

use super::format::too_deep;
use crate::source::{SourceFinding, Span};

impl From<Range> for Span {
    fn from(range: Range) -> Self {
        Self::new(range.start, range.end)
    }
}

/// Our words for what stopped the parser or the scanner.
pub(super) fn syntax_error(error: &ParseError) -> SourceFinding {
    use ParseErrorKind as Kind;
    let message = match error.kind() {
        Kind::String(kind) => return string_error(kind, error.range().into()),
        Kind::ExpectedColonAfterObjectKey => "expected `:` after the key",
        Kind::ExpectedObjectValue => "expected a value after `:`",
        Kind::ExpectedDigit
        | Kind::ExpectedDigitFollowingNegativeSign
        | Kind::ExpectedPlusMinusOrDigitInNumberLiteral => "expected a digit",
        Kind::MultipleRootJsonValues => "unexpected text after the end of the value",
        Kind::UnexpectedCloseBrace => "unexpected `}`",
        Kind::UnexpectedCloseBracket => "unexpected `]`",
        Kind::UnexpectedColon => "unexpected `:`",
        Kind::UnexpectedComma => "unexpected `,`",
        Kind::UnexpectedWord => "unexpected word: strings stand in double quotes",
        Kind::UnexpectedTokenInObject => "expected a key in double quotes",
        Kind::UnterminatedArray => "`[` is not closed",
        Kind::UnterminatedObject => "`{` is not closed",
        Kind::UnterminatedCommentBlock => "`/*` is not closed",
        Kind::NestingDepthExceeded => return too_deep(error.range().into()),
        _ => "unexpected character",
    };
    let span: Span = error.range().into();
    let unclosed = matches!(
        error.kind(),
        Kind::UnterminatedArray | Kind::UnterminatedObject
    );
    SourceFinding::error(if unclosed { span.opening() } else { span }, message)
}

fn string_error(kind: &ParseStringErrorKind, span: Span) -> SourceFinding {
    use ParseStringErrorKind as Kind;
    match kind {
        Kind::ExpectedFourHexDigits => {
            SourceFinding::error(span, "`\\u` needs four hexadecimal digits")
        }
        Kind::InvalidUnicodeEscapeSequence(_) => SourceFinding::error(
            span,
            "the escape is half of a surrogate pair, which is no character",
        )
        .help("write the character itself, or both halves"),
        Kind::UnterminatedStringLiteral => {
            SourceFinding::error(span.opening(), "the string is not closed")
        }
        _ => SourceFinding::error(span, "unknown escape in a string").help(
            "JSON knows \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u; write `\\\\` for a backslash",
        ),
    }
}
