//! What is wrong, shown to people (plain or coloured) and to programs (JSON).

use std::fmt::{self, Write as _};

use serde::Serialize;

use crate::severity::Severity;
use crate::snippet::{SecretSpans, SourceSnippet};
use crate::source::{NamedText, SourceFinding};
use crate::value_error::ValueError;

/// Whether rendered text carries ANSI colours; the program decides (a terminal, `NO_COLOR`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// Plain text.
    Off,
    /// ANSI escape sequences.
    On,
}

/// One mistake and where it stands.
///
/// Serialised, it is the element of `--check --format json`:
/// `{"severity","file","line","col","message","help","key_path"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The file as it was named; for a flag or a variable, its name.
    pub file: Box<str>,
    /// The line, from 1; nothing for a flag or a variable.
    pub line: Option<u32>,
    /// The column in characters, from 1; nothing for a flag or a variable.
    pub col: Option<u32>,
    /// What is wrong: lowercase, no full stop.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
    /// The path of the value, for example `roles[1].haystacks[0].name`; empty for the whole file.
    pub key_path: String,
    /// The source line.
    #[serde(skip)]
    snippet: Option<Box<SourceSnippet>>,
}

impl Diagnostic {
    /// A mistake in a flag or a variable named `name`.
    pub fn for_setting(name: &str, error: ValueError) -> Self {
        Self {
            severity: Severity::Error,
            file: name.into(),
            line: None,
            col: None,
            message: error.message,
            help: error.help,
            key_path: String::new(),
            snippet: None,
        }
    }

    /// The same, as a warning.
    #[must_use]
    pub fn into_warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    pub(crate) fn new(
        source: &NamedText,
        finding: SourceFinding,
        secrets: &mut SecretSpans,
    ) -> Self {
        let position = source.position(finding.span.start);
        let snippet = SourceSnippet::new(source, finding.span, secrets);
        Self {
            severity: finding.severity,
            file: source.name.as_str().into(),
            line: Some(position.line),
            col: Some(position.column),
            message: finding.message,
            help: finding.help,
            key_path: finding.key_path,
            snippet: (!source.text().trim().is_empty()).then(|| Box::new(snippet)),
        }
    }

    /// `file:line:col: message`, without the source line.
    pub fn headline(&self) -> String {
        self.headline_in(Palette::new(Colours::Off))
    }

    fn headline_in(&self, palette: Palette) -> String {
        let Palette {
            bold,
            accent,
            reset,
            ..
        } = palette.for_severity(self.severity);
        let mut place: String = self.file.chars().map(printable).collect();
        if let (Some(line), Some(col)) = (self.line, self.col) {
            let _ = write!(place, ":{line}:{col}");
        }
        let kind = match self.severity {
            Severity::Error => String::new(),
            Severity::Warning => format!("{accent}warning:{reset} "),
        };
        format!("{bold}{place}:{reset} {kind}{bold}{}{reset}", self.message)
    }

    /// The headline, the source line with carets, the advice; ends with a line end.
    pub fn render(&self, colours: Colours) -> String {
        let palette = Palette::new(colours);
        let Palette {
            accent,
            frame,
            reset,
            ..
        } = palette.for_severity(self.severity);
        let mut text = self.headline_in(palette);
        text.push('\n');
        let number = self.line.map(|line| line.to_string()).unwrap_or_default();
        let gutter = " ".repeat(number.len());
        if let Some(snippet) = &self.snippet {
            let SourceSnippet {
                text: line,
                indent,
                carets,
            } = snippet.as_ref();
            let shown = format!("{frame}{number} |{reset} {line}");
            let _ = writeln!(text, "{frame}{gutter} |{reset}");
            let _ = writeln!(text, "{}", shown.trim_end());
            let (indent, carets) = (" ".repeat(*indent), "^".repeat(*carets));
            let _ = writeln!(
                text,
                "{frame}{gutter} |{reset} {indent}{accent}{carets}{reset}"
            );
        }
        if let Some(help) = &self.help {
            let _ = writeln!(text, "{gutter} {frame}= help:{reset} {help}");
        }
        text
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(Colours::Off).trim_end())
    }
}

impl std::error::Error for Diagnostic {}

/// A file name may hold anything; a message must not.
fn printable(character: char) -> char {
    if character.is_control() {
        '\u{fffd}'
    } else {
        character
    }
}

/// The escape sequences in use.
#[derive(Clone, Copy)]
struct Palette {
    bold: &'static str,
    accent: &'static str,
    frame: &'static str,
    reset: &'static str,
    on: bool,
}

impl Palette {
    fn new(colours: Colours) -> Self {
        match colours {
            Colours::Off => Self {
                bold: "",
                accent: "",
                frame: "",
                reset: "",
                on: false,
            },
            Colours::On => Self {
                bold: "\x1b[1m",
                accent: "",
                frame: "\x1b[34m",
                reset: "\x1b[0m",
                on: true,
            },
        }
    }

    fn for_severity(mut self, severity: Severity) -> Self {
        self.accent = match (self.on, severity) {
            (false, _) => "",
            (true, Severity::Error) => "\x1b[1;31m",
            (true, Severity::Warning) => "\x1b[1;33m",
        };
        self
    }
}

/// All mistakes of a configuration, in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// More are not collected: a file that wrong is not the right file.
    pub(crate) const MAX: usize = 200;

    /// One after the other, a blank line between them.
    pub fn render(&self, colours: Colours) -> String {
        let rendered: Vec<String> = self
            .0
            .iter()
            .map(|diagnostic| diagnostic.render(colours))
            .collect();
        rendered.join("\n")
    }

    /// Whether one of them is an error.
    pub fn has_errors(&self) -> bool {
        self.iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Each of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// Adds one at the end.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(diagnostics: I) -> Self {
        Self(diagnostics.into_iter().collect())
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, diagnostics: I) {
        self.0.extend(diagnostics);
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Colours::Off))
    }
}

impl std::error::Error for Diagnostics {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    fn diagnostic() -> Diagnostic {
        let source = NamedText::new("config.json", "{\n  \"haystack\": []\n}".to_owned());
        let finding = SourceFinding::error(Span::new(4, 14), "unknown key `haystack` in a role");
        Diagnostic::new(
            &source,
            finding.help("did you mean `haystacks`?"),
            &mut SecretSpans::default(),
        )
    }

    #[test]
    fn plain_text_shows_the_line_the_caret_and_the_advice() {
        expect_test::expect![[r#"
            config.json:2:3: unknown key `haystack` in a role
              |
            2 |   "haystack": []
              |   ^^^^^^^^^^
              = help: did you mean `haystacks`?
        "#]]
        .assert_eq(&diagnostic().render(Colours::Off));
    }

    #[test]
    fn colours_add_nothing_but_escapes() {
        let coloured = diagnostic().render(Colours::On);
        let mut plain = coloured;
        for escape in ["\x1b[0m", "\x1b[1m", "\x1b[34m", "\x1b[1;31m"] {
            assert!(plain.contains(escape), "{escape:?} is in use");
            plain = plain.replace(escape, "");
        }
        assert_eq!(plain, diagnostic().render(Colours::Off));
    }

    #[test]
    fn programs_get_every_part() {
        let json = serde_json::to_value(Diagnostics::from(diagnostic())).unwrap();
        let expected = serde_json::json!([{
            "severity": "error", "file": "config.json", "line": 2, "col": 3,
            "message": "unknown key `haystack` in a role",
            "help": "did you mean `haystacks`?", "key_path": "",
        }]);
        assert_eq!(json, expected);
    }

    #[test]
    fn a_variable_has_no_line() {
        let error = ValueError::new("`x` is not a size").help("for example `64MB`");
        let diagnostic = Diagnostic::for_setting("SERVICE_CACHE_SIZE", error).into_warning();
        let expected =
            "SERVICE_CACHE_SIZE: warning: `x` is not a size\n = help: for example `64MB`\n";
        assert_eq!(diagnostic.render(Colours::Off), expected);
    }
}
