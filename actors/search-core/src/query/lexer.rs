//! From text to tokens with their places. Everything that is not clearly the language is text: a
//! pasted `f(x)`, `std::vector` or `5"` means its words.

use super::error::QueryError;
use super::terms::Field;
use crate::analysis::words;

/// A piece of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueryToken<'q> {
    Open,
    Close,
    And,
    Or,
    /// `NOT`, or `-` in front of something.
    Not,
    /// `field:`, in front of its value.
    Field(Field),
    /// What stands between double quotes.
    Phrase(&'q str),
    /// `re:/expression/`, and whether an `i` behind it says that case does not matter.
    Expression {
        text: &'q str,
        ignores_case: bool,
    },
    /// Text without white space; it may hold no word.
    Text(&'q str),
    /// Text that ends with a star behind a word.
    Starred(&'q str),
}

/// A token and the byte where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenAt<'q> {
    pub(super) token: QueryToken<'q>,
    pub(super) at: usize,
}

/// Takes a text apart, in one pass.
pub(super) struct Lexer<'q> {
    text: &'q str,
    at: usize,
    /// Groups that are open.
    depth: usize,
    /// The token before was `field:`: its value follows directly.
    wants_value: bool,
    /// What `case:yes` or `case:no` says, wherever it stands.
    minds_case: Option<bool>,
    /// The text is a pasted one: its quotes are its own and ask for nothing.
    is_pasted: bool,
}

/// Words outside of quotes from which on nobody has typed a text to search for a phrase.
const PASTED_WORDS: usize = 24;

/// Whether so much stands beside the quotes of a text that it was pasted: a text that nothing shows
/// to be a query.
fn is_pasted(text: &str) -> bool {
    let outside = || text.split('"').step_by(2);
    let says_so = |word: &str| matches!(word, "AND" | "OR" | "NOT" | "case:yes" | "case:no");
    let is_query = outside().flat_map(str::split_whitespace).any(says_so);
    !is_query && outside().flat_map(words).nth(PASTED_WORDS - 1).is_some()
}

impl<'q> Lexer<'q> {
    pub(super) fn new(text: &'q str) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            wants_value: false,
            minds_case: None,
            is_pasted: is_pasted(text),
        }
    }

    /// Whether a minus in front of this excludes it.
    fn negates(&self, rest: &str) -> bool {
        negates(rest) && !(self.is_pasted && rest.starts_with('"'))
    }

    /// Whether quoted text is exact, and whether its case matters: as `case:` said so far.
    pub(super) fn case_sensitivity(&self) -> Option<bool> {
        self.minds_case
    }

    /// The next token; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<TokenAt<'q>>, QueryError> {
        let wants_value = std::mem::take(&mut self.wants_value);
        if !wants_value {
            self.skip_space();
            while let Some((option, minds_case)) = case_option(self.rest()) {
                self.minds_case = Some(minds_case);
                self.at += option;
                self.skip_space();
            }
            while self.is_pasted && self.rest().starts_with('"') {
                self.at += 1;
                self.skip_space();
            }
        }
        let at = self.at;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Ok(None);
        };
        let token = match first {
            '(' if !wants_value => self.take_group(),
            ')' if self.depth > 0 => self.take_close(),
            ')' if ends_token(&rest[1..]) => {
                return Err(self.fault("this bracket closes nothing; remove it or open one before"));
            }
            '"' => self.take_phrase()?,
            '“' | '„' if curly_phrase(rest).is_some() => self.take_curly_phrase(),
            '-' if !wants_value && self.is_at_start() && self.negates(&rest[1..]) => {
                self.at += 1;
                QueryToken::Not
            }
            _ if !wants_value && rest.starts_with(EXPRESSION) => self.take_expression()?,
            _ => self.take_text(wants_value)?,
        };
        Ok(Some(TokenAt { token, at }))
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn rest(&self) -> &'q str {
        &self.text[self.at..]
    }

    /// Whether nothing but white space or an open group stands before: a minus behind `)` is a
    /// hyphen, as in `histone 2A (H2A)-histone 2B`.
    fn is_at_start(&self) -> bool {
        let before = self.text[..self.at].chars().next_back();
        before.is_none_or(|before| before.is_whitespace() || before == '(')
    }

    fn fault(&self, message: impl Into<String>) -> QueryError {
        QueryError::at_offset(self.text, self.at, message)
    }

    fn take_group(&mut self) -> QueryToken<'q> {
        self.at += 1;
        self.depth += 1;
        QueryToken::Open
    }

    fn take_close(&mut self) -> QueryToken<'q> {
        self.at += 1;
        self.depth -= 1;
        QueryToken::Close
    }

    fn take_phrase(&mut self) -> Result<QueryToken<'q>, QueryError> {
        let inside = &self.rest()[1..];
        let Some(length) = inside.find('"') else {
            return Err(self.fault("this quote is not closed; add a second one"));
        };
        self.at += length + 2;
        Ok(QueryToken::Phrase(&inside[..length]))
    }

    /// A phrase in the quotes that a word processor makes of others.
    fn take_curly_phrase(&mut self) -> QueryToken<'q> {
        let (inside, length) = curly_phrase(self.rest()).unwrap_or_default();
        self.take(length, QueryToken::Phrase(inside))
    }

    /// From `re:/` to the slash that closes it; `\\/` and a slash in a class do not.
    fn take_expression(&mut self) -> Result<QueryToken<'q>, QueryError> {
        let inside = &self.rest()[EXPRESSION.len()..];
        let Some(length) = closing_slash(inside) else {
            return Err(self.fault(
                "this expression is not closed; add a slash, and write a slash of its own as \\/",
            ));
        };
        let behind = &inside[length + 1..];
        let flags = behind.len() - behind.trim_start_matches(char::is_alphanumeric).len();
        let at = self.at + EXPRESSION.len() + length + 1;
        let ends = |rest: &str| ends_token(rest) || (self.depth > 0 && rest.starts_with(')'));
        let ignores_case = match &behind[..flags] {
            "" => false,
            "i" => true,
            _ => {
                return Err(QueryError::at_offset(
                    self.text,
                    at,
                    "behind a regular expression only `i` may stand: case does not matter",
                ));
            }
        };
        if !ends(&behind[flags..]) {
            return Err(QueryError::at_offset(
                self.text,
                at + flags,
                "a regular expression ends here; put a space behind it, and write a slash of its \
                 own as \\/",
            ));
        }
        self.at = at + flags;
        let text = &inside[..length];
        Ok(QueryToken::Expression { text, ignores_case })
    }

    /// Text up to the next white space, or up to the bracket that closes the group.
    fn take_text(&mut self, is_value: bool) -> Result<QueryToken<'q>, QueryError> {
        let text = &self.rest()[..self.text_length()];
        if !is_value {
            match text {
                "AND" => return Ok(self.take(text.len(), QueryToken::And)),
                "OR" => return Ok(self.take(text.len(), QueryToken::Or)),
                "NOT" => return Ok(self.take(text.len(), QueryToken::Not)),
                _ => {}
            }
            if let Some(field) = field_of(text) {
                return self.take_field(field);
            }
            // `*.toml` means files, not the word.
            if is_extension(text) {
                self.wants_value = true;
                return Ok(QueryToken::Field(Field::Path));
            }
        }
        let token = match starred(text) {
            Some(letters) => QueryToken::Starred(letters),
            None => QueryToken::Text(text),
        };
        Ok(self.take(text.len(), token))
    }

    fn take(&mut self, length: usize, token: QueryToken<'q>) -> QueryToken<'q> {
        self.at += length;
        token
    }

    fn take_field(&mut self, field: Field) -> Result<QueryToken<'q>, QueryError> {
        let name = field.as_str();
        let behind = &self.rest()[name.len() + 1..];
        if ends_token(behind) || (self.depth > 0 && behind.starts_with(')')) {
            return Err(self.fault(format!(
                "`{name}:` has no value; write it directly behind, as in {name}:word, or quote \"{name}\" to look for the word"
            )));
        }
        self.at += name.len() + 1;
        self.wants_value = true;
        Ok(QueryToken::Field(field))
    }

    fn text_length(&self) -> usize {
        let rest = self.rest();
        let mut inner = 0_usize;
        for (at, character) in rest.char_indices() {
            match character {
                _ if character.is_whitespace() => return at,
                '(' => inner += 1,
                ')' if inner > 0 => inner -= 1,
                ')' if self.depth > 0 && at > 0 => return at,
                _ => {}
            }
        }
        rest.len()
    }
}

/// What stands between typographic quotes, and the bytes with them; none where they are not closed.
fn curly_phrase(rest: &str) -> Option<(&str, usize)> {
    let mut signs = rest.chars();
    let open = signs.next()?;
    let inside = signs.as_str();
    let close = |c: char| c == '”' || (open == '„' && c == '“');
    let (length, sign) = inside.char_indices().find(|(_, c)| close(*c))?;
    let bytes = open.len_utf8() + length + sign.len_utf8();
    Some((&inside[..length], bytes))
}

/// Whether a text is a star and the extension of files.
fn is_extension(text: &str) -> bool {
    let extension = text.strip_prefix("*.");
    extension.is_some_and(|extension| {
        extension.starts_with(|c: char| c.is_ascii_alphabetic())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// How a regular expression begins.
pub(super) const EXPRESSION: &str = "re:/";

/// Where the slash is that closes an expression.
fn closing_slash(inside: &str) -> Option<usize> {
    let (mut is_escaped, mut in_class) = (false, false);
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'/' if !in_class => return Some(at),
            _ => {}
        }
    }
    None
}

/// The length of `case:yes` or `case:no` where `rest` begins with one, and whether case matters.
fn case_option(rest: &str) -> Option<(usize, bool)> {
    let options = [("case:yes", true), ("case:no", false)];
    let found = options.into_iter().find(|(option, _)| {
        let behind = rest.strip_prefix(option);
        behind.is_some_and(|behind| ends_token(behind) || behind.starts_with(')'))
    });
    found.map(|(option, minds_case)| (option.len(), minds_case))
}

/// Whether a token ends where `rest` begins.
fn ends_token(rest: &str) -> bool {
    rest.chars().next().is_none_or(char::is_whitespace)
}

/// Whether a minus in front of `rest` excludes what follows. In front of a digit it belongs to the
/// number (`exit code -1`) or to a row of names (`E2f-1, -2, -3`), in front of a letter alone to
/// the option of a command (`ls -l`).
fn negates(rest: &str) -> bool {
    let first = rest.chars().next();
    let is_option = rest.starts_with(|c: char| c.is_ascii_alphabetic())
        && rest.get(1..).is_some_and(ends_token);
    !is_option
        && first.is_some_and(|first| first.is_alphabetic() || matches!(first, '"' | '(' | '_'))
}

/// The field whose name and colon `text` begins with.
fn field_of(text: &str) -> Option<Field> {
    let (name, behind) = text.split_once(':')?;
    // `path::Path` is code.
    let field = Field::ALL
        .into_iter()
        .find(|field| field.as_str() == name)?;
    let has_value = match field {
        // `after: all` is text.
        Field::After | Field::Before => behind.starts_with(|c: char| c.is_ascii_digit()),
        // `what it is: all` is text.
        Field::Is => behind.starts_with(|c: char| c.is_ascii_alphabetic()),
        _ => !behind.starts_with(':'),
    };
    has_value.then_some(field)
}

/// The text before a star that ends it, where a word ends there.
fn starred(text: &str) -> Option<&str> {
    let letters = text.strip_suffix('*')?;
    let last = words(letters).last()?;
    (last.end() == letters.len()).then_some(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<QueryToken<'_>> {
        let mut lexer = Lexer::new(text);
        std::iter::from_fn(|| lexer.next().expect("no fault"))
            .map(|placed| placed.token)
            .collect()
    }

    #[test]
    fn i16_the_language_is_told_from_text() {
        use QueryToken::{And, Close, Not, Open, Or, Phrase, Starred, Text};
        for (text, expected) in [
            ("a AND b", vec![Text("a"), And, Text("b")]),
            ("a and b", vec![Text("a"), Text("and"), Text("b")]),
            ("(a OR b)", vec![Open, Text("a"), Or, Text("b"), Close]),
            (
                "-ab --a - a",
                vec![Not, Text("ab"), Text("--a"), Text("-"), Text("a")],
            ),
            ("ls -l -北", vec![Text("ls"), Text("-l"), Not, Text("北")]),
            ("e-mail", vec![Text("e-mail")]),
            (
                "x (-a)-b \"c d\"-e",
                vec![
                    Text("x"),
                    Open,
                    Not,
                    Text("a"),
                    Close,
                    Text("-b"),
                    Phrase("c d"),
                    Text("-e"),
                ],
            ),
            ("code -1 -2nd", vec![Text("code"), Text("-1"), Text("-2nd")]),
            ("f(x) (g(y))", vec![Text("f(x)"), Open, Text("g(y)"), Close]),
            ("smile :)", vec![Text("smile"), Text(":)")]),
            ("\"a b\" 5\"", vec![Phrase("a b"), Text("5\"")]),
            ("mem* *y x**", vec![Starred("mem"), Text("*y"), Text("x**")]),
            ("path::Path", vec![Text("path::Path")]),
            (
                "title:x tag:\"y z\"",
                vec![
                    QueryToken::Field(Field::Title),
                    Text("x"),
                    QueryToken::Field(Field::Tag),
                    Phrase("y z"),
                ],
            ),
            (
                "“a b” „c” x“ “open",
                vec![Phrase("a b"), Phrase("c"), Text("x“"), Text("“open")],
            ),
            (
                "lock *.toml *.a.b",
                vec![
                    Text("lock"),
                    QueryToken::Field(Field::Path),
                    Text("*.toml"),
                    Text("*.a.b"),
                ],
            ),
            (
                "is:test it is: x is:",
                vec![
                    QueryToken::Field(Field::Is),
                    Text("test"),
                    Text("it"),
                    Text("is:"),
                    Text("x"),
                    Text("is:"),
                ],
            ),
            (
                "source:(x)",
                vec![QueryToken::Field(Field::Source), Text("(x)")],
            ),
            ("Title: x", vec![Text("Title:"), Text("x")]),
        ] {
            assert_eq!(tokens(text), expected, "{text}");
        }
    }
}
