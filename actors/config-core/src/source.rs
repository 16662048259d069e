//! The text of one file: bytes checked, offsets turned into lines and columns.

use crate::severity::Severity;

/// The largest configuration file that is read, in bytes (1 MiB). A larger one is a mistake (the
/// wrong file was named), and refusing it bounds the memory a wrong file can take.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// How deep values may be nested. It is checked before parsing, so no file can exhaust the stack.
pub const MAX_DEPTH: usize = 64;

/// A range of bytes of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Span {
    /// The first byte.
    pub(crate) start: usize,
    /// The byte after the last.
    pub(crate) end: usize,
}

impl Span {
    pub(crate) const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The first byte only: for objects that go over many lines.
    pub(crate) const fn opening(self) -> Self {
        Self {
            start: self.start,
            end: self.start + 1,
        }
    }
}

/// Line and column, both counted from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// A mistake at a place of the text, not yet shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceFinding {
    pub(crate) span: Span,
    pub(crate) severity: Severity,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    pub(crate) key_path: String,
}

impl SourceFinding {
    pub(crate) fn error(span: Span, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            span,
            severity: Severity::Error,
            message,
            help: None,
            key_path: String::new(),
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// A named text and where its lines begin.
#[derive(Debug, Clone)]
pub(crate) struct NamedText {
    pub(crate) name: String,
    text: String,
    line_starts: Vec<usize>,
}

impl NamedText {
    /// Reads the bytes of a file. The findings say what is wrong with the bytes themselves; the
    /// flag tells whether parsing makes sense at all.
    pub(crate) fn read(name: &str, bytes: &[u8]) -> (Self, Vec<SourceFinding>, bool) {
        let wrong = |text: &str, span: Span, message: String, help: &str| {
            let finding = SourceFinding::error(span, message).help(help);
            (Self::new(name, text.to_owned()), vec![finding], false)
        };
        if bytes.len() > MAX_FILE_BYTES {
            let message = format!(
                "the file has {} bytes, more than {MAX_FILE_BYTES}",
                bytes.len()
            );
            return wrong("", Span::default(), message, "is it the right file?");
        }
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            let message = "the file is UTF-16".to_owned();
            return wrong("", Span::default(), message, "save it as UTF-8");
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::from_text(name, text),
            Err(error) => {
                let at = error.valid_up_to();
                let message = format!("byte 0x{:02x} is not valid UTF-8", bytes[at]);
                let text = String::from_utf8_lossy(bytes);
                wrong(
                    &text,
                    Span::new(at, at + 1),
                    message,
                    "save the file as UTF-8",
                )
            }
        }
    }

    fn from_text(name: &str, text: &str) -> (Self, Vec<SourceFinding>, bool) {
        let mut findings = Vec::new();
        // A mark is blanked out (three spaces of ASCII keep every offset) so that the rest of the
        // file is still checked.
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => {
                let finding =
                    SourceFinding::error(Span::new(0, 3), "the file begins with a byte-order mark");
                findings.push(finding.help("save it as UTF-8 without a mark"));
                format!("   {rest}")
            }
            None => text.to_owned(),
        };
        let source = Self::new(name, text);
        if let Some(at) = source.text.find('\0') {
            let finding = SourceFinding::error(Span::new(at, at + 1), "the file holds a NUL byte");
            findings.push(finding.help("is it a text file?"));
            return (source, findings, false);
        }
        if source.text.trim().is_empty() {
            findings.push(SourceFinding::error(Span::default(), "the file is empty"));
            return (source, findings, false);
        }
        (source, findings, true)
    }

    pub(crate) fn new(name: &str, text: String) -> Self {
        let after_newline = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0)
            .chain(after_newline.map(|(index, _)| index + 1))
            .collect();
        Self {
            name: name.to_owned(),
            text,
            line_starts,
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The text of `span`, cut to what exists.
    pub(crate) fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    /// The index (from 0) of the line that holds `offset`.
    fn line_index(&self, offset: usize) -> usize {
        self.line_starts
            .partition_point(|start| *start <= offset)
            .saturating_sub(1)
    }

    /// Where the line that holds `offset` begins, and its text without the line end.
    pub(crate) fn line_at(&self, offset: usize) -> (usize, &str) {
        let index = self.line_index(offset);
        let start = self.line_starts[index];
        let end = self
            .line_starts
            .get(index + 1)
            .map_or(self.text.len(), |next| next - 1);
        let line = &self.text[start..end];
        (start, line.strip_suffix('\r').unwrap_or(line))
    }

    /// The line and column of `offset`, never outside the text (one past the last character of a
    /// line is its end).
    pub(crate) fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let (start, line) = self.line_at(offset);
        // An offset inside a character belongs to that character.
        let within = line.floor_char_boundary(offset - start);
        // Both fit: a file has at most MAX_FILE_BYTES.
        let counted = |count: usize| u32::try_from(count).unwrap_or(u32::MAX - 1) + 1;
        Position {
            line: counted(self.line_index(offset)),
            column: counted(line[..within].chars().count()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> (Vec<String>, bool) {
        let (_, findings, usable) = NamedText::read("file", bytes);
        (
            findings
                .into_iter()
                .map(|finding| finding.message)
                .collect(),
            usable,
        )
    }

    #[test]
    fn positions_count_characters() {
        let source = NamedText::new("file", "aé\r\nx\n\nlast".to_owned());
        let at = |offset| {
            let Position { line, column } = source.position(offset);
            (line, column)
        };
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(1), (1, 2));
        assert_eq!(at(2), (1, 2), "inside the two bytes of é");
        assert_eq!(at(3), (1, 3), "the line end");
        assert_eq!(at(5), (2, 1));
        assert_eq!(at(7), (3, 1), "an empty line");
        assert_eq!(at(8), (4, 1));
        assert_eq!(at(999), (4, 5), "past the end");
    }

    #[test]
    fn bytes_that_are_no_text_are_named() {
        assert_eq!(
            read(b"\xff\xfe{\0}\0"),
            (vec!["the file is UTF-16".to_owned()], false)
        );
        assert_eq!(
            read(b"{\0}"),
            (vec!["the file holds a NUL byte".to_owned()], false)
        );
        assert_eq!(read(b" \n"), (vec!["the file is empty".to_owned()], false));
        let (messages, usable) = read(b"\xef\xbb\xbf{}");
        assert_eq!((messages.len(), usable), (1, true));
        assert_eq!(
            read(b"ab\xc3("),
            (vec!["byte 0xc3 is not valid UTF-8".to_owned()], false)
        );
        assert_eq!(read(&vec![b' '; MAX_FILE_BYTES + 1]).0.len(), 1);
    }
}
