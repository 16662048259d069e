//! How deep a TOML text nests its values, seen from its tokens alone.
//!
//! Dotted keys nest like brackets do, and tables are built and dropped recursively: a megabyte of
//! `a.a.a.…` would exhaust the stack.

use toml_parser::Source as TomlSource;
use toml_parser::lexer::TokenKind;

use crate::MAX_DEPTH;
use crate::source::Span;

/// The place at which the text nests deeper than [`MAX_DEPTH`].
pub(super) fn first_too_deep(text: &str) -> Option<Span> {
    let mut depth = Depth::default();
    for token in TomlSource::new(text).lex() {
        depth.count(token.kind());
        if depth.total() > MAX_DEPTH {
            return Some(Span::new(token.span().start(), token.span().end().max(1)));
        }
    }
    None
}

#[derive(Default)]
struct Depth {
    /// Dots of the last `[table.header]`, which all keys below it are inside.
    header: usize,
    /// Whether the current line is such a header.
    in_header: bool,
    /// Dots of the key now being written, for each open bracket around it.
    outer: Vec<usize>,
    /// Dots of the innermost key.
    dots: usize,
    /// Whether anything but blanks stood on the line.
    line_started: bool,
}

impl Depth {
    fn total(&self) -> usize {
        self.header + self.outer.iter().sum::<usize>() + self.outer.len() + self.dots
    }

    fn count(&mut self, kind: TokenKind) {
        match kind {
            TokenKind::Whitespace | TokenKind::Comment | TokenKind::Eof => return,
            TokenKind::Newline => {
                if self.outer.is_empty() {
                    self.end_line();
                }
                return;
            }
            TokenKind::LeftSquareBracket if !self.line_started => self.start_header(),
            TokenKind::LeftSquareBracket if self.in_header => {}
            TokenKind::RightSquareBracket if self.in_header => {}
            TokenKind::Dot if self.in_header => self.header += 1,
            TokenKind::Dot => self.dots += 1,
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                self.outer.push(std::mem::take(&mut self.dots));
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                self.dots = self.outer.pop().unwrap_or(0);
            }
            TokenKind::Comma => self.dots = 0,
            _ => {}
        }
        self.line_started = true;
    }

    fn start_header(&mut self) {
        self.in_header = true;
        self.header = 1;
    }

    fn end_line(&mut self) {
        self.in_header = false;
        self.line_started = false;
        self.dots = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_nest_is_counted() {
        let deep = 100_000;
        for (name, text) in [
            ("arrays", format!("a = {}", "[".repeat(deep))),
            ("tables", format!("a = {}", "{b=".repeat(deep))),
            ("dotted key", format!("a{} = 1", ".a".repeat(deep))),
            ("header", format!("[a{}]", ".a".repeat(deep))),
            ("header of an array", format!("[[a{}]]", ".a".repeat(deep))),
            (
                "mixed",
                format!("[a{0}]\nb{0} = {{ c{0} = [[[[1]]]] }}", ".b".repeat(22)),
            ),
        ] {
            assert!(first_too_deep(&text).is_some(), "{name}");
        }
    }

    #[test]
    fn many_flat_values_are_not_deep() {
        let text = "[a.b]\nc.d = 1.5\ne = [1.5, 2.5, {f.g = 1}]\n".repeat(1000);
        assert_eq!(first_too_deep(&text), None);
        assert_eq!(
            first_too_deep(&format!("a = [{}]", "1.5, ".repeat(1000))),
            None
        );
        assert_eq!(
            first_too_deep(&format!("a = [\n{}]", "1.5,\n".repeat(1000))),
            None
        );
    }
}
