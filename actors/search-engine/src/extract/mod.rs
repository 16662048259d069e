//! From the bytes of a file to a document: encoding, format, title, headings, tags, plain text.
//!
//! ```text
//! bytes ──decode──> text ──by format──> ExtractedDocument
//! ```
//!
//! Source code and plain text in UTF-8 are validated once and moved, never copied.

mod decode;
mod extraction;
mod folded;
mod format;
mod front_matter;
mod html;
mod html_tokens;
mod html_words;
pub(crate) mod json;
mod links;
mod markdown;
mod outline;
mod parts;
mod plain;
mod redirect;

use search_core::document::{ContentKind, ExtractedDocument};

use crate::reading::{TextReadResult, WordPiece};
use crate::times::believed;
use crate::walk::SkipReason;

pub use decode::{DecodedText, decode, is_binary};
pub use extraction::{Extraction, PackedFormats, notes_dialect};
pub use format::TextFormat;
pub(crate) use html::{fragment_text as html_fragment_text, main_range as html_main_range};
pub use links::link_name;
pub(crate) use markdown::fragment_text as markdown_fragment_text;
use parts::TextParts;
pub(crate) use parts::fold_line;

/// The text of a whole page, as it is indexed.
pub(crate) fn html_text(page: &str) -> String {
    html::body(page)
}

/// The body of a document as [`extract`] gives it; none where that fails.
pub(crate) fn body(key: &str, bytes: Vec<u8>) -> Option<String> {
    match body_with(key, bytes, WordPiece::ANY) {
        TextReadResult::Text(text) => Some(text),
        _ => None,
    }
}

/// The same where only a text is wanted that holds a piece of a word.
pub(crate) fn body_with(key: &str, bytes: Vec<u8>, piece: WordPiece<'_>) -> TextReadResult {
    let or_unreadable =
        |text: Option<String>| text.map_or(TextReadResult::Unreadable, TextReadResult::Text);
    let other = |bytes| extract(key, bytes, 0).ok().map(|document| document.body);
    let format = TextFormat::from_key(key);
    if !matches!(format, TextFormat::Html | TextFormat::Text) {
        return or_unreadable(other(bytes));
    }
    let Some(DecodedText { text, .. }) = decode(bytes, format) else {
        return TextReadResult::Unreadable;
    };
    if text.trim_start().is_empty() {
        return TextReadResult::Unreadable;
    }
    if format.or_by_content(&text) != TextFormat::Html {
        return or_unreadable(other(text.into_bytes()));
    }
    if !html_words::may_hold(&text, piece) {
        return TextReadResult::RuledOut(text.len());
    }
    if redirect::is_redirect(&text) {
        return TextReadResult::Unreadable;
    }
    html::body_with(&text, piece)
}

/// Offset behind the front matter of a Markdown text; 0 without any.
pub(crate) fn front_matter_end(text: &str) -> usize {
    text.len() - front_matter::split(text).1.len()
}

/// Longest title in characters; longer ones are cut.
const MAX_TITLE_CHARS: usize = 300;

/// Turns the content of a file into a document.
///
/// `mtime_ns` is the file's modification time in nanoseconds since the Unix epoch. The title is
/// never empty: a text without one is named after its file.
///
/// # Errors
/// [`SkipReason::Binary`] for content that is not text, [`SkipReason::Empty`] for white space,
/// [`SkipReason::Redirect`] for a page that leads to another at once.
pub fn extract(key: &str, bytes: Vec<u8>, mtime_ns: i64) -> Result<ExtractedDocument, SkipReason> {
    let format = TextFormat::from_key(key);
    let DecodedText { text, .. } = decode(bytes, format).ok_or(SkipReason::Binary)?;
    let text = folded::read(key, text);
    if text.trim_start().is_empty() {
        return Err(SkipReason::Empty);
    }
    let format = format.or_by_content(&text);
    if format == TextFormat::Html && redirect::is_redirect(&text) {
        return Err(SkipReason::Redirect);
    }
    let parts = match format {
        TextFormat::Markdown => markdown::parse_parts(&text),
        TextFormat::Html => html::parse_parts(&text),
        TextFormat::Text => match outline::outline_for_key(key) {
            Some(outline) => outline.parse_parts(text),
            None => plain::parse_parts(text),
        },
        TextFormat::Code | TextFormat::Data => TextParts {
            body: text,
            ..TextParts::default()
        },
    };
    Ok(ExtractedDocument {
        key: key.to_owned(),
        title: title_or_name(&parts.title, key),
        title_is_heading: parts.title_is_heading,
        headings: parts.headings,
        tags: parts.tags,
        links: parts.links,
        body: parts.body,
        kind: match folded::is_captions(key) {
            true => ContentKind::Prose,
            false => kind(format),
        },
        modified: Some(believed(parts.written, mtime_ns.div_euclid(1_000_000_000))),
    })
}

fn kind(format: TextFormat) -> ContentKind {
    match format {
        TextFormat::Markdown | TextFormat::Html | TextFormat::Text => ContentKind::Prose,
        TextFormat::Code => ContentKind::Code,
        TextFormat::Data => ContentKind::Data,
    }
}

fn title_or_name(title: &str, key: &str) -> String {
    let title = fold_line(title, MAX_TITLE_CHARS);
    if !title.is_empty() {
        return title;
    }
    let name = key.rsplit('/').next().unwrap_or(key);
    fold_line(name, MAX_TITLE_CHARS)
}
