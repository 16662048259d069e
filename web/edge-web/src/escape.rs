//! Text of strangers in the log: shown on one line, without control characters or secrets.

use std::fmt::{self, Write as _};

use config_core::is_hidden;

/// The longest piece of a stranger's text in a log line, in characters.
const MAX_CHARS: usize = 512;

/// Query parameters whose values never reach the log.
const SECRET_KEYS: [&str; 8] = [
    "token",
    "access_token",
    "api_key",
    "apikey",
    "key",
    "password",
    "secret",
    "signature",
];

/// Displays a text with control characters (CR, LF, ESC), and the direction overrides of Unicode,
/// escaped, and cut after 512 characters: it cannot forge a log line or repaint a terminal.
#[derive(Debug, Clone, Copy)]
pub struct EscapedText<'a>(pub &'a str);

impl fmt::Display for EscapedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, character) in self.0.chars().enumerate() {
            if count == MAX_CHARS {
                return f.write_char('…');
            }
            match character {
                _ if character.is_control() => write!(f, "{}", character.escape_default())?,
                _ if is_hidden(character) => write!(f, "{}", character.escape_unicode())?,
                _ => f.write_char(character)?,
            }
        }
        Ok(())
    }
}

/// Displays a request target for the log: escaped, with the values of secret parameters left out.
pub(crate) struct LoggedTarget<'a> {
    pub(crate) path: &'a str,
    pub(crate) query: Option<&'a str>,
}

impl fmt::Display for LoggedTarget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        EscapedText(self.path).fmt(f)?;
        let Some(query) = self.query else {
            return Ok(());
        };
        // A query longer than the limit is cut at a parameter: a whole megabyte is never walked.
        let mut written = 0;
        for (index, pair) in query.split('&').enumerate() {
            if written > MAX_CHARS {
                return f.write_str("&…");
            }
            f.write_char(if index == 0 { '?' } else { '&' })?;
            match pair.split_once('=') {
                Some((key, _)) if is_secret(key) => write!(f, "{}=…", EscapedText(key))?,
                _ => EscapedText(pair).fmt(f)?,
            }
            written += pair.len().min(MAX_CHARS) + 1;
        }
        Ok(())
    }
}

fn is_secret(key: &str) -> bool {
    SECRET_KEYS
        .iter()
        .any(|secret| key.eq_ignore_ascii_case(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s16_control_characters_are_escaped() {
        let shown = EscapedText("a\r\nb\u{1b}[31mc\u{7f}\u{202e}d\u{9b}").to_string();
        assert_eq!(shown, "a\\r\\nb\\u{1b}[31mc\\u{7f}\\u{202e}d\\u{9b}");
        assert!(!shown.chars().any(char::is_control));
    }

    #[test]
    fn s16_long_text_is_cut() {
        let shown = EscapedText(&"é".repeat(2_000)).to_string();
        assert_eq!(shown.chars().count(), MAX_CHARS + 1);
    }

    #[test]
    fn secret_parameters_are_left_out() {
        let target = LoggedTarget {
            path: "/ws",
            query: Some("q=a&Token=hunter2&x"),
        };
        assert_eq!(target.to_string(), "/ws?q=a&Token=…&x");
    }
}
