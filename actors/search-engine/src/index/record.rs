//! The stored record of a document.

use search_core::defined_names::names_for_ranking;
use search_core::document::{ContentKind, ExtractedDocument};
use search_core::file_roles::FileRole;
use serde::{Deserialize, Serialize};
use tantivy::schema::Field;

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
    let role = FileRole::detect(&document.key, &document.body);
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

/// What tells bytes among the values of a stored document.
const BYTES_CODE: u8 = 4;

/// The bit of the last byte of a number.
const LAST_BYTE: u8 = 0x80;

/// The bytes of the record in a document as the store holds it: the number of values, which is one,
/// its field, its sort and its length. `None` where it has another form. Tantivy's own reader
/// copies each byte by itself.
pub(super) fn record_bytes(document: &[u8], field: Field) -> Option<&[u8]> {
    let behind = document.strip_prefix(&[1 | LAST_BYTE])?;
    let behind = behind.strip_prefix(&field.field_id().to_le_bytes())?;
    let mut behind = behind.strip_prefix(&[BYTES_CODE])?;
    let (mut length, mut shift) = (0_u64, 0);
    loop {
        let (byte, rest) = behind.split_first()?;
        length |= u64::from(byte & !LAST_BYTE).checked_shl(shift)?;
        (behind, shift) = (rest, shift + 7);
        if byte & LAST_BYTE != 0 {
            break;
        }
    }
    (behind.len() as u64 == length).then_some(behind)
}

#[cfg(test)]
mod tests {
    use tantivy::schema::Field;

    use super::record_bytes;

    #[test]
    fn i16_a_stored_record_is_told_from_other_documents() {
        let field = Field::from_field_id(1);
        let long: Vec<u8> = [&[0x81, 1, 0, 0, 0, 4, 0x48, 0x82][..], &[7; 328]].concat();
        for (document, expected) in [
            (&[0x81, 1, 0, 0, 0, 4, 0x82, 5, 6][..], Some(&[5, 6][..])),
            (&[0x81, 1, 0, 0, 0, 4, 0x80], Some(&[])),
            (&long, Some(&[7; 328])),
            // Two values, another field, a text, too few bytes, too many, none.
            (&[0x82, 1, 0, 0, 0, 4, 0x82, 5, 6], None),
            (&[0x81, 2, 0, 0, 0, 4, 0x82, 5, 6], None),
            (&[0x81, 1, 0, 0, 0, 0, 0x82, 5, 6], None),
            (&[0x81, 1, 0, 0, 0, 4, 0x83, 5, 6], None),
            (&[0x81, 1, 0, 0, 0, 4, 0x82, 5, 6, 7], None),
            (
                &[0x81, 1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                None,
            ),
            (&[], None),
        ] {
            assert_eq!(record_bytes(document, field), expected, "{document:?}");
        }
    }
}
