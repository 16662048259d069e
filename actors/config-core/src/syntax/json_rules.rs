//! What the tokens of a JSON text tell before it is parsed: depth, and every breach of RFC 8259
//! that a lenient parser would let pass.

use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};

use super::json::syntax_error;
use super::too_deep;
use crate::MAX_DEPTH;
use crate::diagnostic::Diagnostics;
use crate::source::{Finding, Source, Span};

/// Looks at all tokens; false when the text cannot be parsed.
pub(super) fn check_tokens(source: &Source, findings: &mut Vec<Finding>) -> bool {
    let options = ScannerOptions { allow_extended_string_escapes: false, ..Default::default() };
    let mut scanner = Scanner::new(source.text(), &options);
    let mut rules = Rules { source, findings, last: None, before_last_end: 0, depth: 0 };
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
    source: &'s Source,
    findings: &'f mut Vec<Finding>,
    /// The last token that is no comment.
    last: Option<(Kind, Span)>,
    /// Where that token ended, for a comma that is missing.
    before_last_end: usize,
    depth: usize,
}

/// What the rules need to know of a token.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Open,
    Close,
    Comma,
    Colon,
    /// A literal: the beginning and the end of a value, or a key.
    Atom,
}

impl Rules<'_, '_> {
    fn report(&mut self, span: Span, message: &str, help: &str) {
        let finding = Finding::error(span, message);
        self.findings.push(if help.is_empty() { finding } else { finding.help(help) });
    }

    /// Between tokens only four characters may stand.
    fn gap(&mut self, start: usize, end: usize) -> bool {
        let gap = self.source.slice(Span::new(start, end));
        let odd = gap.char_indices().find(|(_, c)| !matches!(c, ' ' | '\t' | '\n' | '\r'));
        if let Some((index, character)) = odd {
            let span = Span::new(start + index, start + index + character.len_utf8());
            let message = format!("unexpected character U+{:04X}", u32::from(character));
            self.report(span, &message, "only blanks, tabs and line ends may stand between values");
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
            Token::OpenBrace | Token::OpenBracket => Kind::Open,
            Token::CloseBrace | Token::CloseBracket => Kind::Close,
            Token::Comma => Kind::Comma,
            Token::Colon => Kind::Colon,
            _ => Kind::Atom,
        };
        self.check_commas(kind, span);
        let readable = match kind {
            Kind::Open => self.open(span),
            Kind::Close => {
                self.depth = self.depth.saturating_sub(1);
                true
            }
            Kind::Atom => self.atom(token, span),
            Kind::Comma | Kind::Colon => true,
        };
        self.last = Some((kind, span));
        self.before_last_end = span.end;
        readable && self.findings.len() < Diagnostics::MAX
    }

    fn open(&mut self, span: Span) -> bool {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.findings.push(too_deep(span));
        }
        self.depth <= MAX_DEPTH
    }

    fn check_commas(&mut self, kind: Kind, span: Span) {
        let Some((last, last_span)) = self.last else { return };
        match (last, kind) {
            (Kind::Comma, Kind::Close) => {
                self.report(last_span, "a comma after the last element is not allowed", "remove it");
            }
            (Kind::Atom | Kind::Close, Kind::Atom | Kind::Open) if self.depth > 0 => {
                let after = Span::new(last_span.end, last_span.end + 1);
                let same_line = self.source.line_at(last_span.end) == self.source.line_at(span.start);
                let place = if same_line { span } else { after };
                self.report(place, "expected `,` between elements", "");
            }
            _ => {}
        }
    }

    fn atom(&mut self, token: &Token<'_>, span: Span) -> bool {
        match token {
            Token::String(_) => return self.string(span),
            Token::Number(literal) => self.number(literal, span),
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
            self.report(span, "strings stand in double quotes", "write `\"` instead of `'`");
        }
        let Some((index, control)) = literal.char_indices().find(|(_, c)| u32::from(*c) < 0x20)
        else {
            return true;
        };
        if matches!(control, '\n' | '\r') {
            let span = Span::new(span.start, span.start + index);
            self.report(span, "the string is not closed on its line", "write `\\n` for a line end");
            return false;
        }
        let place = Span::new(span.start + index, span.start + index + 1);
        let escape = if control == '\t' { "\\t".to_owned() } else { format!("\\u{:04x}", u32::from(control)) };
        let message = format!("unescaped control character U+{:04X} in a string", u32::from(control));
        self.report(place, &message, &format!("write `{escape}`"));
        true
    }

    /// RFC 8259 section 6: no plus, no hexadecimal digits, no leading zeros, a digit on both sides
    /// of the point, nothing infinite.
    fn number(&mut self, literal: &str, span: Span) {
        let digits = literal.strip_prefix('-').unwrap_or(literal);
        let fault = if literal.starts_with('+') {
            "a number does not begin with `+`"
        } else if digits.starts_with("0x") || digits.starts_with("0X") {
            "hexadecimal numbers are not allowed"
        } else if digits.starts_with(['I', 'N']) {
            "a number must be finite"
        } else if digits.starts_with('.') || !digits_follow_point(digits) {
            "a digit is needed on both sides of the decimal point"
        } else {
            return;
        };
        self.report(span, fault, "");
    }
}

fn digits_follow_point(digits: &str) -> bool {
    match digits.split_once('.') {
        Some((_, fraction)) => fraction.starts_with(|c: char| c.is_ascii_digit()),
        None => true,
    }
}
