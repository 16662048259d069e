//! The answer of `GET /api/documents/{id}`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::definitions::DefinitionKind;

/// Something that a document defines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DefinitionView {
    /// Its name as written; the text of a heading.
    pub name: String,
    /// What it is.
    pub kind: DefinitionKind,
    /// Its line in the file, from 1, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// The answer of `GET /api/documents/{id}`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DocumentView {
    /// The id asked for.
    pub id: String,
    /// Title, never empty.
    pub title: String,
    /// Where the document lives, as a URL.
    pub url: String,
    /// Path of a local file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Name of its source.
    pub source: String,
    /// Text of the document without markup, as it was indexed.
    pub body: String,
    /// The file's own text with its markup, where it was asked for and the file is text; its
    /// beginning where it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
    /// Matches of the query in `original`, as in `SearchResult::highlights`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub original_highlights: Vec<[usize; 2]>,
    /// What the document defines, in the order of its text: functions, types, headings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<DefinitionView>,
    /// Whether `body` is only a part of it: the beginning, or what follows `first_line`.
    pub truncated: bool,
    /// Whether more of the document stands behind `original`, or behind `body` where that is all
    /// that is given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
    /// The line of the file with which `body` and `original` begin, where that is not the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_line: Option<usize>,
    /// Matches of the query in `body`, as in `SearchResult::highlights`.
    pub highlights: Vec<[usize; 2]>,
    /// Last modification, RFC 3339 in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
}
