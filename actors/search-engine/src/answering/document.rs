//! One document read again from its source.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;

use search_core::answer::{DefinitionView, DocumentView};
use search_core::definitions::{DefinitionKind, definitions};
use search_core::document::ExtractedDocument;
use search_core::query::{self, SearchRequest};

use super::failure::SearchFailure;
use super::params::DocumentRequest;
use super::source::{MAX_BODY_BYTES, SearchableRole, SearchableSource};
use crate::excerpt::Excerpter;
use crate::extract::{self, TextFormat};
use crate::files::SourceFiles;
use crate::index::DocumentRecord;
use crate::times::rfc3339;
use crate::walk::{FileBytes, SkipReason};

/// The longest text shown, in bytes; the rest is cut off, and said to be.
const MAX_VIEW_BYTES: usize = 1 << 20;

/// Lines that are shown before the one asked for.
const LINES_BEFORE: usize = 200;

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
    let read = read(source, &record, request);
    let DocumentText {
        document,
        original,
        definitions,
        lines_before,
        goes_on,
    } = read.map_err(|reason| SearchFailure::GoneDocument {
        id: request.id.clone(),
        reason,
    })?;
    let is_cut = document.body.len() > MAX_VIEW_BYTES;
    let body = beginning(document.body, MAX_VIEW_BYTES);
    let place = source.location(key);
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
        goes_on: goes_on || (original.is_none() && is_cut),
        original,
        definitions,
        truncated: is_cut || lines_before > 0,
        first_line: (lines_before > 0).then_some(lines_before + 1),
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
    /// Lines of the file that stand before it.
    lines_before: usize,
    /// Whether more of the file stands behind it, or behind its own text where that is wanted.
    goes_on: bool,
}

/// What was read of a file.
struct FileText {
    content: FileBytes,
    lines_before: usize,
    goes_on: bool,
}

impl FileText {
    fn complete(content: FileBytes) -> Self {
        Self {
            content,
            lines_before: 0,
            goes_on: false,
        }
    }
}

/// The document, and its file's own text where that is wanted and text.
fn read(
    source: &SearchableSource,
    record: &DocumentRecord,
    request: &DocumentRequest,
) -> Result<DocumentText, String> {
    if let Some(body) = source.stored_text(record) {
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
    let format = TextFormat::from_key(key);
    let has_pieces = match format {
        TextFormat::Text | TextFormat::Code | TextFormat::Data => true,
        // A piece of it has lines where it is not freed from its markup.
        TextFormat::Markdown => request.by_lines,
        TextFormat::Html => false,
    };
    let line = request.line.filter(|_| has_pieces);
    let content = match line {
        Some(line) if record.file.size > MAX_VIEW_BYTES as u64 => {
            piece_at(root.as_ref(), key, line)
        }
        _ => match root.read(key, MAX_BODY_BYTES, &|_| false) {
            // Of a log that is longer than that its beginning can be read.
            Err(SkipReason::TooLarge) => piece_at(root.as_ref(), key, 1),
            read => read.map(FileText::complete),
        },
    };
    let FileText {
        content,
        lines_before,
        goes_on,
    } = content.map_err(|reason| reason.to_string())?;
    let text = std::str::from_utf8(&content.bytes).ok();
    let has_lines = |text: &&str| format.or_by_content(text) != TextFormat::Html;
    let wanted = text.filter(|text| request.original || request.by_lines && has_lines(text));
    let is_cut = wanted.is_some_and(|text| text.len() > MAX_VIEW_BYTES);
    let original = wanted.map(|text| beginning(text.to_owned(), MAX_VIEW_BYTES));
    // The lines of a Markdown file are those of the file, not of the text without its markup.
    let mut defined = text.map(|text| defined_in(key, text)).unwrap_or_default();
    for one in &mut defined {
        one.line = one.line.map(|line| line + lines_before);
    }
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
        lines_before,
        goes_on: goes_on || is_cut,
    })
}

/// What is given of a file that is too long to be read whole, from some lines before `line` on; the
/// beginning where the file has no such line.
fn piece_at(root: &dyn SourceFiles, key: &str, line: usize) -> Result<FileText, SkipReason> {
    let file = root.open_file(key)?;
    let read = || {
        let data = file.metadata()?;
        let wanted = line.saturating_sub(LINES_BEFORE + 1);
        let (start, lines_before) = start_of(&file, wanted)?.unwrap_or((0, 0));
        let mut bytes = Vec::new();
        let mut rest = &file;
        rest.seek(SeekFrom::Start(start))?;
        // A character that is cut at the end is left off.
        rest.take(MAX_VIEW_BYTES as u64 + 8)
            .read_to_end(&mut bytes)?;
        Ok((data, bytes, lines_before, start))
    };
    let read = read().map_err(|error: std::io::Error| SkipReason::from_io_error(&error));
    let (data, mut bytes, lines_before, start) = read?;
    let goes_on = start + (bytes.len() as u64) < data.len();
    if let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    let content = FileBytes {
        bytes,
        size: data.len(),
        mtime_ns: data.mtime() * 1_000_000_000 + data.mtime_nsec(),
        hash: None,
    };
    Ok(FileText {
        content,
        lines_before,
        goes_on,
    })
}

/// The byte behind so many lines of a file, and their number; none where it has fewer.
fn start_of(file: &File, lines: usize) -> std::io::Result<Option<(u64, usize)>> {
    let (mut at, mut seen) = (0, 0);
    let mut reader = BufReader::with_capacity(MAX_VIEW_BYTES, file);
    while seen < lines {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let mut gaps = memchr::memchr_iter(b'\n', bytes);
        let length = match gaps.nth(lines - seen - 1) {
            Some(gap) => {
                seen = lines;
                gap + 1
            }
            None => {
                seen += memchr::memchr_iter(b'\n', bytes).count();
                bytes.len()
            }
        };
        at += length as u64;
        reader.consume(length);
    }
    Ok(Some((at, seen)))
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
    let query = query::parse_lenient(&SearchRequest::for_text(words))?.query;
    Ok(Excerpter::new(&query, 0).highlights(body))
}

/// At most `limit` bytes, not cut inside a character.
fn beginning(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit));
    }
    text
}
