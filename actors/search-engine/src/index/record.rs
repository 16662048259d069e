//! The stored record of a document.

use search_core::defined_names::names_for_ranking;
use search_core::document::{ContentKind, ExtractedDocument};
use search_core::file_roles::FileRole;
use serde::{Deserialize, Serialize};

/// Which version of a file is indexed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileState {
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change, in nanoseconds since the Unix epoch.
    pub modified_ns: i64,
    /// First 16 bytes of the content's BLAKE3 hash.
    pub hash: [u8; 16],
}

impl FileState {
    /// The first 16 bytes of the BLAKE3 hash of `content`.
    #[must_use]
    pub fn hash_of(content: &[u8]) -> [u8; 16] {
        let hash = blake3::hash(content);
        let mut short = [0; 16];
        short.copy_from_slice(&hash.as_bytes()[..16]);
        short
    }
}

/// What the index knows of a document beside its terms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentRecord {
    /// Identity inside the source.
    pub key: String,
    /// Title as shown; empty when there is none.
    pub title: String,
    /// Tags.
    pub tags: Vec<String>,
    /// Sort of text.
    pub kind: ContentKind,
    /// Time of the last change, in seconds since the Unix epoch.
    pub modified: Option<i64>,
    /// Version of the file.
    pub file: FileState,
    /// What the file is for.
    pub role: FileRole,
    /// Names of what source code defines, see [`names_for_ranking`].
    pub defined: String,
}

/// The record's form in the store.
#[derive(Serialize, Deserialize)]
struct StoredRecord<'r> {
    #[serde(borrow)]
    key: &'r str,
    #[serde(borrow)]
    title: &'r str,
    #[serde(borrow)]
    tags: Vec<&'r str>,
    kind: u8,
    modified: Option<i64>,
    file: FileState,
    role: u8,
    defined: &'r str,
}

/// Encodes the record of a document.
pub(super) fn encode(document: &ExtractedDocument, file: FileState) -> Vec<u8> {
    let role = FileRole::of(&document.key, &document.body);
    let defined = match document.kind {
        ContentKind::Code => names_for_ranking(&document.key, &document.body, role),
        _ => String::new(),
    };
    let stored = StoredRecord {
        key: &document.key,
        title: &document.title,
        tags: document.tags.iter().map(String::as_str).collect(),
        kind: document.kind.code(),
        modified: document.modified,
        file,
        role: role.code(),
        defined: &defined,
    };
    postcard::to_stdvec(&stored).expect("strings and numbers always encode")
}

/// Decodes a record; `None` when the bytes are damaged.
pub(super) fn decode(bytes: &[u8]) -> Option<DocumentRecord> {
    let stored: StoredRecord<'_> = postcard::from_bytes(bytes).ok()?;
    Some(DocumentRecord {
        key: stored.key.to_owned(),
        title: stored.title.to_owned(),
        tags: stored.tags.into_iter().map(str::to_owned).collect(),
        kind: ContentKind::from_code(stored.kind),
        modified: stored.modified,
        file: stored.file,
        role: FileRole::from_code(stored.role),
        defined: stored.defined.to_owned(),
    })
}
