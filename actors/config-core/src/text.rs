//! Texts of other languages (a workflow's YAML): the same checks of the bytes, the same way to show
//! mistakes.

use std::cell::RefCell;
use std::ops::Range;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::severity::Severity;
use crate::snippet::SecretSpans;
use crate::source::{NamedText, SourceFinding, Span};

/// A named text whose bytes have been checked, and where its lines begin.
#[derive(Debug)]
pub struct SourceText {
    source: NamedText,
    /// What must not be shown, remembered for the line that was shown last.
    secrets: RefCell<SecretSpans>,
}

impl SourceText {
    /// Reads the bytes of a file; a byte-order mark is taken off.
    ///
    /// # Errors
    /// When they are no text: too many ([`crate::MAX_FILE_BYTES`]), UTF-16, not UTF-8, a NUL,
    /// nothing.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, Diagnostics> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let (source, findings, usable) = NamedText::read(name, bytes);
        let secrets = RefCell::default();
        let text = Self { source, secrets };
        if usable {
            return Ok(text);
        }
        let shown = |finding| Diagnostic::new(&text.source, finding, &mut SecretSpans::default());
        Err(findings.into_iter().map(shown).collect())
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.source.text()
    }

    /// Line and column of a byte offset, both from 1; the column counts characters.
    pub fn position(&self, offset: usize) -> (u32, u32) {
        let position = self.source.position(offset);
        (position.line, position.column)
    }

    /// A mistake at `place` (a range of bytes).
    pub fn diagnostic(
        &self,
        severity: Severity,
        place: Range<usize>,
        message: &str,
        help: Option<&str>,
        key_path: &str,
    ) -> Diagnostic {
        let finding = SourceFinding {
            span: Span::new(place.start, place.end),
            severity,
            message: message.to_owned(),
            help: help.map(str::to_owned),
            key_path: key_path.to_owned(),
        };
        Diagnostic::new(&self.source, finding, &mut self.secrets.borrow_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_shown_as_in_a_configuration() {
        let text = SourceText::read("ci.yml", b"\xef\xbb\xbfon: push\njbos: {}\n").unwrap();
        let help = Some("did you mean `jobs`?");
        let shown = text.diagnostic(Severity::Error, 9..13, "unknown key `jbos`", help, "jbos");
        assert_eq!((shown.line, shown.col), (Some(2), Some(1)));
        assert!(shown.to_string().contains("2 | jbos: {}\n  | ^^^^\n"));
        assert_eq!(text.position(9), (2, 1));
    }

    #[test]
    fn bytes_that_are_no_text_are_refused() {
        for bytes in [&b"\xff\xfea"[..], b"a\0b", b" \n", b"\xff"] {
            assert_eq!(SourceText::read("x", bytes).unwrap_err().len(), 1);
        }
    }
}
