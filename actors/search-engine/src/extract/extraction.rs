//! How a source's files become documents: as plain files, as notes, or by a reader of their format
//! in a child process.

use std::sync::Arc;

use search_core::document::{ContentKind, ExtractedDocument};
use search_formats_engine::{DocumentFormat, DocumentRefusal, ExtractedText, ReaderPool};
use search_sources_core::notes::{NoteLink, NotesApp};

use super::links::Links;
use super::{DecodedText, TextFormat, decode, extract, is_binary, title_or_name};
use crate::files::SourceFiles;
use crate::texts::TextStore;
use crate::times::believed;
use crate::walk::SkipReason;

/// What a source's files are read with.
#[derive(Debug, Clone, Default)]
pub struct Extraction {
    /// Whose notes they are, if they are notes.
    pub notes: Option<NotesApp>,
    /// Readers of PDF, office documents, books, mail and notebooks; without them such files count
    /// as binary or text.
    pub packed: Option<PackedFormats>,
}

/// Readers of complicated formats, and where the texts they find are kept.
#[derive(Debug, Clone)]
pub struct PackedFormats {
    /// The child processes.
    pub readers: ReaderPool,
    /// The texts, for excerpts.
    pub texts: Arc<TextStore>,
}

/// The dialect of a folder of notes.
#[must_use]
pub fn notes_dialect(root: &dyn SourceFiles) -> NotesApp {
    let names = root.top_names();
    NotesApp::detect(names.iter().map(String::as_str))
}

impl Extraction {
    /// Whether content that begins like this is refused before it is read to its end.
    pub(crate) fn refuses(&self, key: &str, beginning: &[u8]) -> bool {
        self.packed(key).is_none() && is_binary(beginning)
    }

    fn packed(&self, key: &str) -> Option<(&PackedFormats, DocumentFormat)> {
        Some((self.packed.as_ref()?, DocumentFormat::from_name(key)?))
    }

    /// Turns the content of a file, whose hash is known, into a document.
    ///
    /// # Errors
    /// Why the file is left out.
    pub fn document(
        &self,
        key: &str,
        bytes: Vec<u8>,
        hash: &[u8; 16],
        mtime_ns: i64,
    ) -> Result<ExtractedDocument, SkipReason> {
        let by_content = || {
            let packed = self.packed.as_ref().filter(|_| self.notes.is_none())?;
            Some((packed, DocumentFormat::detect(key, &bytes)?))
        };
        if let Some((packed, format)) = self.packed(key).or_else(by_content) {
            let text = packed.text(key, format, &bytes, hash)?;
            return Ok(packed_document(key, format, text, mtime_ns));
        }
        match self.notes {
            Some(dialect) => extract_note(dialect, key, bytes, mtime_ns),
            None => extract(key, bytes, mtime_ns),
        }
    }
}

impl PackedFormats {
    fn text(
        &self,
        key: &str,
        format: DocumentFormat,
        bytes: &[u8],
        hash: &[u8; 16],
    ) -> Result<ExtractedText, SkipReason> {
        let text = self.readers.read(format, bytes).map_err(|refusal| {
            tracing::info!(event = "file.refused", key, %refusal);
            skip_reason(&refusal)
        })?;
        if text.body.trim().is_empty() {
            return Err(SkipReason::Empty);
        }
        if let Err(error) = self.texts.put(hash, &text.body) {
            tracing::warn!(event = "texts.unwritable", key, %error);
        }
        Ok(text)
    }
}

fn skip_reason(refusal: &DocumentRefusal) -> SkipReason {
    match refusal {
        DocumentRefusal::NoText => SkipReason::Empty,
        DocumentRefusal::NotText => SkipReason::Binary,
        DocumentRefusal::Encrypted => SkipReason::Encrypted,
        DocumentRefusal::Bomb(_) => SkipReason::UnpacksToTooMuch,
        DocumentRefusal::TooSlow(_) => SkipReason::TooSlow,
        DocumentRefusal::NoResources(_) => SkipReason::NoResources,
        DocumentRefusal::Died(_) | DocumentRefusal::NoReader(_) => SkipReason::ParserFailed,
        DocumentRefusal::Malformed(_) => SkipReason::Damaged,
    }
}

fn packed_document(
    key: &str,
    format: DocumentFormat,
    mut text: ExtractedText,
    mtime_ns: i64,
) -> ExtractedDocument {
    // What stands at its head is what a document is called that names no title. Those of a mailbox
    // are of its messages.
    let title_is_heading =
        text.title.is_empty() && !text.headings.is_empty() && format != DocumentFormat::Mbox;
    if title_is_heading {
        text.title = text.headings.remove(0);
    }
    ExtractedDocument {
        key: key.to_owned(),
        title: title_or_name(&text.title, key),
        title_is_heading,
        headings: text.headings,
        tags: text.tags,
        links: Vec::new(),
        body: text.body,
        kind: ContentKind::Prose,
        modified: Some(believed(text.written, mtime_ns.div_euclid(1_000_000_000))),
    }
}

/// A page of notes: aliases are searched like headings, references to blocks of other pages stay as
/// they are written.
fn extract_note(
    dialect: NotesApp,
    key: &str,
    bytes: Vec<u8>,
    mtime_ns: i64,
) -> Result<ExtractedDocument, SkipReason> {
    if !dialect.is_note(key) {
        return Err(SkipReason::NoNote);
    }
    let DecodedText { text, .. } = decode(bytes, TextFormat::Markdown).ok_or(SkipReason::Binary)?;
    if text.trim_start().is_empty() {
        return Err(SkipReason::Empty);
    }
    let mut page = dialect.page(key, &text);
    for alias in &page.aliases {
        page.body.push('\n');
        page.body.push_str(alias);
    }
    if page.journal.is_some() {
        page.tags.push("journal".to_owned());
    }
    let mut links = Links::default();
    for link in &page.links {
        if let NoteLink::Page(name) = link {
            links.page(name);
        }
    }
    Ok(ExtractedDocument {
        key: key.to_owned(),
        title: title_or_name(&page.title, key),
        title_is_heading: false,
        headings: page.aliases,
        tags: page.tags,
        links: links.into_names(),
        body: page.body,
        kind: ContentKind::Prose,
        modified: Some(mtime_ns.div_euclid(1_000_000_000)),
    })
}
