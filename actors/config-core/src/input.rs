//! One file to decode: its bytes, its language and the environment it may refer to.

use std::ops::Range;
use std::path::Path;

use crate::decode::{ConfigItem, DecodeSession};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::environment::Environment;
use crate::expand::expand;
use crate::severity::Severity;
use crate::snippet::SecretSpans;
use crate::source::{NamedText, SourceFinding, Span};
use crate::syntax::ConfigFormat;
use crate::table::{EffectiveSetting, FlagValues, Layers, TableInfo};
use crate::tree::ConfigNode;
use crate::unknown_keys::UnknownKeys;
use crate::written::{TextPlace, WrittenValue, add_places};

/// A configuration text and how to read it.
#[derive(Debug, Clone, Copy)]
pub struct ConfigInput<'a> {
    name: &'a str,
    bytes: &'a [u8],
    format: ConfigFormat,
    environment: &'a Environment,
    unknown_keys: UnknownKeys,
    base: &'a Path,
}

/// A checked value, and what is odd about the text it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeResult<T> {
    /// The value.
    pub value: T,
    /// Warnings only.
    pub warnings: Diagnostics,
    /// Where the text holds secrets, in the order they were read.
    pub secrets: Vec<SecretPlace>,
}

/// Where a secret stands in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretPlace {
    /// Bytes of the text, without the quotes.
    pub range: Range<usize>,
    /// The path of the value, for example `roles[1].extra.cloudllm_api_key`.
    pub key_path: String,
}

impl<'a> ConfigInput<'a> {
    /// A text in `format`; `name` is what messages call it.
    pub fn new(
        name: &'a str,
        text: &'a (impl AsRef<[u8]> + ?Sized),
        format: ConfigFormat,
        environment: &'a Environment,
    ) -> Self {
        let unknown_keys = UnknownKeys::default();
        Self {
            name,
            bytes: text.as_ref(),
            format,
            environment,
            unknown_keys,
            base: Path::new(""),
        }
    }

    /// A JSON text.
    pub fn json(
        name: &'a str,
        text: &'a (impl AsRef<[u8]> + ?Sized),
        environment: &'a Environment,
    ) -> Self {
        Self::new(name, text, ConfigFormat::Json, environment)
    }

    /// A TOML text.
    pub fn toml(
        name: &'a str,
        text: &'a (impl AsRef<[u8]> + ?Sized),
        environment: &'a Environment,
    ) -> Self {
        Self::new(name, text, ConfigFormat::Toml, environment)
    }

    /// The same text, unknown keys treated as told.
    #[must_use]
    pub fn unknown_keys(mut self, unknown_keys: UnknownKeys) -> Self {
        self.unknown_keys = unknown_keys;
        self
    }

    /// The same text; relative paths in it are meant from `base`.
    #[must_use]
    pub fn base(mut self, base: &'a Path) -> Self {
        self.base = base;
        self
    }

    /// The settings in force when the root of the text has the keys of `info`, and where each comes
    /// from.
    ///
    /// # Errors
    /// Every mistake of the syntax.
    pub fn effective(
        &self,
        info: &TableInfo,
        flags: FlagValues<'_>,
    ) -> Result<Vec<EffectiveSetting>, Diagnostics> {
        let (source, root) = self.parsed()?;
        let mut settings = Vec::new();
        let layers = Layers {
            source: &source,
            environment: self.environment,
            flags,
        };
        layers.add_table("", info, Some(&root), &mut settings);
        Ok(settings)
    }

    /// The values as they are written, no variable put in.
    ///
    /// # Errors
    /// Every mistake of the syntax.
    pub fn written(&self) -> Result<WrittenValue, Diagnostics> {
        self.parsed().map(|(_, root)| WrittenValue::from(&root))
    }

    /// Where each string stands.
    ///
    /// # Errors
    /// Every mistake of the syntax.
    pub fn texts(&self) -> Result<Vec<TextPlace>, Diagnostics> {
        let (_, root) = self.parsed()?;
        let mut places = Vec::new();
        add_places("", &root, &mut places);
        Ok(places)
    }

    fn parsed(&self) -> Result<(NamedText, ConfigNode), Diagnostics> {
        let (source, mut findings, readable) = NamedText::read(self.name, self.bytes);
        let root = readable
            .then(|| self.format.parse(&source, &mut findings))
            .flatten();
        match root {
            Some(root) if findings.is_empty() => Ok((source, root)),
            _ => Err(diagnostics(&source, findings, Vec::new())),
        }
    }

    /// Reads the text and hands its root to `read`.
    ///
    /// # Errors
    /// Every mistake of the text, in its order. `read` returns `None` after it has reported why.
    pub fn decode<T>(
        &self,
        read: impl FnOnce(&ConfigItem<'_>) -> Option<T>,
    ) -> Result<DecodeResult<T>, Diagnostics> {
        let (source, mut findings, readable) = NamedText::read(self.name, self.bytes);
        let root = readable
            .then(|| self.format.parse(&source, &mut findings))
            .flatten();
        let Some(mut root) = root else {
            return Err(diagnostics(&source, findings, Vec::new()));
        };
        expand(&mut root, &source, self.environment, &mut findings);
        let session =
            DecodeSession::new(&source, self.format, self.unknown_keys, self.base, findings);
        let value = read(&ConfigItem::root(&session, &root));
        let (mut findings, hidden) = session.finish();
        let secrets = hidden.iter().map(|(span, _)| *span).collect();
        let wrong = findings
            .iter()
            .any(|finding| finding.severity == Severity::Error);
        match value {
            Some(value) if !wrong => Ok(DecodeResult {
                value,
                warnings: diagnostics(&source, findings, secrets),
                secrets: hidden.into_iter().map(SecretPlace::from).collect(),
            }),
            Some(_) => Err(diagnostics(&source, findings, secrets)),
            None => {
                if !wrong {
                    findings.push(SourceFinding::error(
                        Span::default(),
                        "the file cannot be used",
                    ));
                }
                Err(diagnostics(&source, findings, secrets))
            }
        }
    }
}

impl From<(Span, String)> for SecretPlace {
    fn from((span, key_path): (Span, String)) -> Self {
        Self {
            range: span.start..span.end,
            key_path,
        }
    }
}

/// In the order of the text, each once, not more than anyone would read.
fn diagnostics(
    source: &NamedText,
    mut findings: Vec<SourceFinding>,
    secrets: Vec<Span>,
) -> Diagnostics {
    findings.sort_by_key(|finding| finding.span.start);
    findings.dedup();
    let more = findings.len().saturating_sub(Diagnostics::MAX);
    if more > 0 {
        findings.truncate(Diagnostics::MAX);
        let span = findings.last().map_or(Span::default(), |last| last.span);
        findings.push(SourceFinding::error(
            span,
            format!("and {more} further errors"),
        ));
    }
    let mut secrets = SecretSpans::new(secrets);
    let shown = |finding| Diagnostic::new(source, finding, &mut secrets);
    findings.into_iter().map(shown).collect()
}
