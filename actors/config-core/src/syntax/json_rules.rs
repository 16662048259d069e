//! What the tokens of a JSON text tell before it is parsed: depth, and every breach of RFC 8259
//! that a lenient parser would let pass.

use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};

use super::format::too_deep;
use super::json_errors::syntax_error;
use crate::MAX_DEPTH;
use crate::diagnostic::Diagnostics;
use crate::source::{NamedText, SourceFinding, Span};

/// Looks at all tokens; false when the text cannot be parsed.
pub(super) fn check_tokens(source: &NamedText, findings: &mut Vec<SourceFinding>) -> bool {
    let options = ScannerOptions {
        allow_extended_string_escapes: false,
        ..Default::default()
    };
    let mut scanner = Scanner::new(source.text(), &options);
    let mut rules = Rules {
        source,
        findings,
        last: None,
        open: Vec::new(),
        after_key: false,
    };
    loop {
        let gap_start = scanner.token_end();
        let token = match scanner.scan() {
            Ok(Some(token)) => token,
            Ok(None) => return rules.gap(gap_start, source.text().len()),
            Err(error) => {
                rules.findings.push(syntax_error(&error));
                return false;
            }
        };
        let span = Span::new(scanner.token_start(), scanner.token_end());
        rules.gap(gap_start, span.start);
        if !rules.token(&token, span) {
            return false;
        }
    }
}

struct Rules<'s, 'f> {
    source: &'s NamedText,
    findings: &'f mut Vec<SourceFinding>,
    /// The last token that is no comment.
    last: Option<(Kind, Span)>,
    /// The brackets that are open.
    open: Vec<(Bracket, Span)>,
    /// Whether that token is a key.
    after_key: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Bracket {
    Brace,
    Square,
}

impl Bracket {
    const fn signs(self) -> (char, char) {
        match self {
            Self::Brace => ('{', '}'),
            Self::Square => ('[', ']'),
        }
    }
}

/// What the rules need to know of a token.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Open(Bracket),
    Close(Bracket),
    Comma,
    Colon,
    /// A literal: the beginning and the end of a value, or a key.
    Atom,
}

impl Rules<'_, '_> {
    fn report(&mut self, span: Span, message: &str, help: &str) {
        let finding = SourceFinding::error(span, message);
        self.findings.push(if help.is_empty() {
            finding
        } else {
            finding.help(help)
        });
    }

    /// Between tokens only four characters may stand.
    fn gap(&mut self, start: usize, end: usize) -> bool {
        let gap = self.source.slice(Span::new(start, end));
        let odd = gap
            .char_indices()
            .find(|(_, c)| !matches!(c, ' ' | '\t' | '\n' | '\r'));
        if let Some((index, character)) = odd {
            let span = Span::new(start + index, start + index + character.len_utf8());
            let message = format!("unexpected character U+{:04X}", u32::from(character));
            self.report(
                span,
                &message,
                "only blanks, tabs and line ends may stand between values",
            );
        }
        true
    }

    /// False when it makes no sense to go on.
    fn token(&mut self, token: &Token<'_>, span: Span) -> bool {
        let kind = match token {
            Token::CommentLine(_) | Token::CommentBlock(_) => {
                self.report(span, "comments are not allowed in JSON", "remove it");
                return self.findings.len() < Diagnostics::MAX;
            }
            Token::OpenBrace => Kind::Open(Bracket::Brace),
            Token::OpenBracket => Kind::Open(Bracket::Square),
            Token::CloseBrace => Kind::Close(Bracket::Brace),
            Token::CloseBracket => Kind::Close(Bracket::Square),
            Token::Comma => Kind::Comma,
            Token::Colon => Kind::Colon,
            _ => Kind::Atom,
        };
        self.check_commas(kind, span);
        let readable = match kind {
            Kind::Open(bracket) => self.open(bracket, span),
            Kind::Close(bracket) => self.close(bracket, span),
            Kind::Atom => self.atom(token, span),
            Kind::Comma | Kind::Colon => true,
        };
        let in_object = self
            .open
            .last()
            .is_some_and(|(bracket, _)| *bracket == Bracket::Brace);
        let begins = matches!(self.last, Some((Kind::Open(_) | Kind::Comma, _)));
        self.after_key = kind == Kind::Atom && in_object && begins;
        self.last = Some((kind, span));
        readable && self.findings.len() < Diagnostics::MAX
    }

    fn open(&mut self, bracket: Bracket, span: Span) -> bool {
        self.open.push((bracket, span));
        let too_many = self.open.len() > MAX_DEPTH;
        if too_many {
            self.findings.push(too_deep(span));
        }
        !too_many
    }

    /// A bracket that closes another one: what is missing is named where it was opened.
    fn close(&mut self, bracket: Bracket, span: Span) -> bool {
        let Some((opened, place)) = self.open.pop() else {
            return true;
        };
        if opened == bracket {
            return true;
        }
        let (sign, wanted) = opened.signs();
        let found = bracket.signs().1;
        let line = self.source.position(place.start).line;
        let message = format!("expected `{wanted}`, found `{found}`");
        self.report(
            span,
            &message,
            &format!("`{sign}` on line {line} is not closed"),
        );
        false
    }

    fn check_commas(&mut self, kind: Kind, span: Span) {
        let Some((last, last_span)) = self.last else {
            return;
        };
        match (last, kind) {
            (Kind::Comma, Kind::Close(_)) => {
                self.report(
                    last_span,
                    "a comma after the last element is not allowed",
                    "remove it",
                );
            }
            (Kind::Colon, Kind::Comma | Kind::Close(_)) => {
                self.report(span, "expected a value after `:`", "");
            }
            // After a key a colon is missing, which the parser tells.
            (Kind::Atom | Kind::Close(_), Kind::Atom | Kind::Open(_))
                if !self.open.is_empty() && !self.after_key =>
            {
                let after = Span::new(last_span.end, last_span.end + 1);
                let same_line =
                    self.source.line_at(last_span.end) == self.source.line_at(span.start);
                let place = if same_line { span } else { after };
                self.report(place, "expected `,` between elements", "");
            }
            _ => {}
        }
    }

    fn atom(&mut self, token: &Token<'_>, span: Span) -> bool {
        match token {
            Token::String(_) => return self.string(span),
            Token::Number(literal) => {
                if let Some(fault) = number_fault(literal) {
                    self.report(span, fault, "");
                }
            }
            Token::Word(word) => {
                let message = format!("{} is not in quotes", crate::quoted(word));
                self.report(span, &message, "keys and strings stand in double quotes");
            }
            _ => {}
        }
        true
    }

    /// A string that goes over a line end is one whose closing quote is missing: what follows
    /// cannot be understood.
    fn string(&mut self, span: Span) -> bool {
        let literal = self.source.slice(span);
        if literal.starts_with('\'') {
            self.report(
                span,
                "strings stand in double quotes",
                "write `\"` instead of `'`",
            );
        }
        let Some((index, control)) = literal.char_indices().find(|(_, c)| u32::from(*c) < 0x20)
        else {
            return true;
        };
        if matches!(control, '\n' | '\r') {
            let span = Span::new(span.start, span.start + index);
            self.report(
                span,
                "the string is not closed on its line",
                "write `\\n` for a line end",
            );
            return false;
        }
        let place = Span::new(span.start + index, span.start + index + 1);
        let escape = if control == '\t' {
            "\\t".to_owned()
        } else {
            format!("\\u{:04x}", u32::from(control))
        };
        let message = format!(
            "unescaped control character U+{:04X} in a string",
            u32::from(control)
        );
        self.report(place, &message, &format!("write `{escape}`"));
        true
    }
}

/// Whether a string literal holds a control character as it is.
pub(super) fn has_control(literal: &str) -> bool {
    literal.bytes().any(|byte| byte < 0x20)
}

/// RFC 8259 section 6: no plus, no hexadecimal digits, a digit on both sides of the point, nothing
/// infinite. (After a leading zero the scanner ends the number.)
pub(super) fn number_fault(literal: &str) -> Option<&'static str> {
    let digits = literal.strip_prefix('-').unwrap_or(literal);
    if literal.starts_with('+') {
        Some("a number does not begin with `+`")
    } else if digits.starts_with("0x") || digits.starts_with("0X") {
        Some("hexadecimal numbers are not allowed")
    } else if digits.starts_with(['I', 'N']) {
        Some("a number must be finite")
    } else if digits.starts_with('.') || !digits_follow_point(digits) {
        Some("a digit is needed on both sides of the decimal point")
    } else {
        None
    }
}

fn digits_follow_point(digits: &str) -> bool {
    match digits.split_once('.') {
        Some((_, fraction)) => fraction.starts_with(|c: char| c.is_ascii_digit()),
        None => true,
    }
}
