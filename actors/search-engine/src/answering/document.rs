//! One document read again from its source.

use search_core::answer::{DefinitionView, DocumentView};
use search_core::definitions::{DefinitionKind, definitions};
use search_core::document::ExtractedDocument;
use search_core::query::{self, SearchRequest};

use super::failure::SearchFailure;
use super::params::DocumentRequest;
use super::source::{MAX_BODY_BYTES, SearchableRole, SearchableSource};
use crate::excerpt::Excerpter;
use crate::extract;
use crate::index::DocumentRecord;
use crate::times::rfc3339;

/// The longest text shown, in bytes; the rest is cut off, and said to be.
const MAX_VIEW_BYTES: usize = 1 << 20;

/// Reads a document that is in the index of one of the role's sources. Nothing else can be read:
/// a key that is not indexed names no document.
///
/// # Errors
/// The document is not indexed, or its file cannot be read any more.
pub fn read_document(
    role: &SearchableRole,
    request: &DocumentRequest,
) -> Result<DocumentView, SearchFailure> {
    let unknown = || SearchFailure::UnknownDocument {
        id: request.id.clone(),
    };
    let (source_id, key) = request.id.split_once('/').ok_or_else(unknown)?;
    let source = role
        .sources
        .iter()
        .find(|source| source.id == source_id)
        .ok_or_else(unknown)?;
    let snapshot = source.snapshot.as_ref();
    let snapshot = snapshot.ok_or_else(|| SearchFailure::Unavailable {
        source_name: source.name.clone(),
    })?;
    let record = snapshot
        .document(key)
        .map_err(|error| SearchFailure::Index {
            message: error.to_string(),
        })?;
    let record = record.ok_or_else(unknown)?;
    let read = read(source, &record, request.original);
    let DocumentText {
        document,
        original,
        definitions,
    } = read.map_err(|reason| SearchFailure::GoneDocument {
        id: request.id.clone(),
        reason,
    })?;
    let truncated = document.body.len() > MAX_VIEW_BYTES;
    let body = beginning(document.body, MAX_VIEW_BYTES);
    let place = source.place(key);
    Ok(DocumentView {
        id: request.id.clone(),
        title: source.title(&record),
        url: place.url,
        path: place.path,
        source: source.name.clone(),
        highlights: highlights(&request.query, &body)?,
        original_highlights: match &original {
            Some(original) => highlights(&request.query, original)?,
            None => Vec::new(),
        },
        body,
        original,
        definitions,
        truncated,
        modified: document.modified.map(rfc3339),
    })
}

/// A document that was read.
#[derive(Default)]
struct DocumentText {
    document: ExtractedDocument,
    /// Its file's own text, where it is wanted.
    original: Option<String>,
    definitions: Vec<DefinitionView>,
}

/// The document, and its file's own text where that is `wanted` and text.
fn read(
    source: &SearchableSource,
    record: &DocumentRecord,
    wanted: bool,
) -> Result<DocumentText, String> {
    if let Some(body) = source.kept_text(record) {
        let document = ExtractedDocument {
            body,
            modified: record.modified,
            ..ExtractedDocument::default()
        };
        return Ok(DocumentText {
            document,
            ..DocumentText::default()
        });
    }
    let key = record.key.as_str();
    let root = source.root.as_ref().ok_or("its folder is not open")?;
    let content = root
        .read(key, MAX_BODY_BYTES, &|_| false)
        .map_err(|reason| reason.to_string())?;
    let text = std::str::from_utf8(&content.bytes).ok();
    let original = text
        .filter(|_| wanted)
        .map(|text| beginning(text.to_owned(), MAX_VIEW_BYTES));
    // The lines of a Markdown file are those of the file, not of the text without its markup.
    let defined = text.map(|text| defined_in(key, text)).unwrap_or_default();
    let document = extract::extract(key, content.bytes, content.mtime_ns);
    let mut document = document.map_err(|reason| reason.to_string())?;
    if !root.has_times() {
        document.modified = record.modified;
    }
    let definitions = if defined.is_empty() {
        headings_of(&document)
    } else {
        defined
    };
    Ok(DocumentText {
        document,
        original,
        definitions,
    })
}

fn defined_in(key: &str, text: &str) -> Vec<DefinitionView> {
    let found = definitions(key, text);
    found
        .map(|one| DefinitionView {
            name: one.name.to_owned(),
            kind: one.kind,
            line: Some(one.line),
        })
        .collect()
}

fn headings_of(document: &ExtractedDocument) -> Vec<DefinitionView> {
    let headings = document.headings.iter();
    headings
        .map(|heading| DefinitionView {
            name: heading.clone(),
            kind: DefinitionKind::Heading,
            line: None,
        })
        .collect()
}

fn highlights(words: &str, body: &str) -> Result<Vec<[usize; 2]>, SearchFailure> {
    if words.trim().is_empty() {
        return Ok(Vec::new());
    }
    // Half an expression still has words to mark.
    let query = query::understand(&SearchRequest::for_text(words))?.query;
    Ok(Excerpter::new(&query, 0).highlights(body))
}

/// At most `limit` bytes, not cut inside a character.
fn beginning(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit));
    }
    text
}
