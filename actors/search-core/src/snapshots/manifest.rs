//! The JSON documents of a published snapshot.

use serde::{Deserialize, Serialize};

/// The form of both documents; another one is refused.
pub const MANIFEST_FORMAT: u32 = 1;

/// The object that changes: who publishes, and what was published last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotPointer {
    /// [`MANIFEST_FORMAT`].
    pub format: u32,
    /// The process that publishes; empty when it gave that back.
    pub owner: String,
    /// Counts the owners.
    pub epoch: u64,
    /// Counts what owners wrote here.
    pub beat: u64,
    /// Counts what was published.
    pub sequence: u64,
    /// What was published last.
    pub manifest: Option<PublishedManifest>,
}

/// Where a manifest is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedManifest {
    /// Its object.
    pub object: String,
    /// Its BLAKE3 digest, in hexadecimal digits.
    pub digest: String,
}

/// What a file of a snapshot is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A file of the index.
    Index,
    /// Texts, for excerpts.
    Texts,
    /// What was learnt of concepts.
    Concepts,
}

/// A file of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DescribedFile {
    /// What it is for.
    pub kind: FileKind,
    /// Its name among those of its kind.
    pub name: String,
    /// Its object in the storage.
    pub object: String,
    /// Its BLAKE3 digest, in hexadecimal digits.
    pub digest: String,
    /// Its length.
    pub bytes: u64,
}

/// A snapshot of one part of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartManifest {
    /// [`MANIFEST_FORMAT`].
    pub format: u32,
    /// The form of the index's files.
    pub index_format: u32,
    /// The source's id.
    pub source: String,
    /// Which part of it, `1-of-1` for all.
    pub part: String,
    /// The epoch of who published it.
    pub epoch: u64,
    /// Counts what was published.
    pub sequence: u64,
    /// When, in milliseconds since the Unix epoch, by the publisher's clock.
    pub published_ms: u64,
    /// The folder or the repository that was indexed, where it was.
    pub folder: String,
    /// The name of the commit, of a repository.
    pub revision: Option<String>,
    /// Documents that are not deleted.
    pub documents: u64,
    /// The lengths of these documents together, in terms.
    pub terms: u64,
    /// Whether the indexer had seen all of the source.
    pub is_complete: bool,
    /// Whether each file of the source tells when it was changed.
    pub has_times: bool,
    /// The list of the index's segments, as the index has it.
    pub segments: String,
    /// All files.
    pub files: Vec<DescribedFile>,
}

/// Why a document is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It is no such JSON.
    #[error("{what} cannot be read: {reason}")]
    Json {
        /// Which document.
        what: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Another version wrote it.
    #[error(
        "{what} has form {found}, this version reads {MANIFEST_FORMAT}; use the same version everywhere"
    )]
    Format {
        /// Which document.
        what: &'static str,
        /// What it says.
        found: u32,
    },
    /// A file's name leads elsewhere.
    #[error("the manifest names a file {0:?}")]
    Name(String),
}

impl SnapshotPointer {
    /// Reads one.
    ///
    /// # Errors
    /// It is none, or of another version.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let what = "the pointer";
        let pointer: Self = json(what, bytes)?;
        check_format(what, pointer.format)?;
        Ok(pointer)
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("text and numbers are JSON")
    }
}

impl PartManifest {
    /// Reads one.
    ///
    /// # Errors
    /// It is none, of another version, or a name in it is no file's.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let what = "the manifest";
        let manifest: Self = json(what, bytes)?;
        check_format(what, manifest.format)?;
        let is_plain = |name: &str| {
            let mut letters = name.chars();
            !name.starts_with('.')
                && !name.is_empty()
                && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
        };
        for file in &manifest.files {
            for name in [&file.name, &file.object, &file.digest] {
                if !is_plain(name) {
                    return Err(ManifestError::Name(name.clone()));
                }
            }
        }
        Ok(manifest)
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("text and numbers are JSON")
    }

    /// The files of one kind.
    pub fn files_of(&self, kind: FileKind) -> impl Iterator<Item = &DescribedFile> {
        self.files.iter().filter(move |file| file.kind == kind)
    }

    /// Bytes of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

fn json<T: for<'a> Deserialize<'a>>(what: &'static str, bytes: &[u8]) -> Result<T, ManifestError> {
    serde_json::from_slice(bytes).map_err(|error| ManifestError::Json {
        what,
        reason: error.to_string(),
    })
}

fn check_format(what: &'static str, found: u32) -> Result<(), ManifestError> {
    if found == MANIFEST_FORMAT {
        Ok(())
    } else {
        Err(ManifestError::Format { what, found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> PartManifest {
        PartManifest {
            format: MANIFEST_FORMAT,
            index_format: 6,
            source: "0a1b2c3d".to_owned(),
            part: "1-of-1".to_owned(),
            epoch: 2,
            sequence: 7,
            published_ms: 1,
            folder: "/srv/docs".to_owned(),
            revision: None,
            documents: 3,
            terms: 90,
            is_complete: true,
            has_times: true,
            segments: "{}".to_owned(),
            files: vec![DescribedFile {
                kind: FileKind::Index,
                name: "a.idx".to_owned(),
                object: "00ff-1".to_owned(),
                digest: "00ff".to_owned(),
                bytes: 5,
            }],
        }
    }

    #[test]
    fn i18_what_was_written_is_read_and_nothing_else() {
        let read = PartManifest::parse(&manifest().to_json());
        assert_eq!(read, Ok(manifest()));
        let pointer = SnapshotPointer {
            format: MANIFEST_FORMAT,
            ..SnapshotPointer::default()
        };
        assert_eq!(SnapshotPointer::parse(&pointer.to_json()), Ok(pointer));
        let other = PartManifest {
            format: 9,
            ..manifest()
        };
        let refused = PartManifest::parse(&other.to_json()).map_err(|error| error.to_string());
        assert_eq!(
            refused,
            Err(
                "the manifest has form 9, this version reads 1; use the same version everywhere"
                    .to_owned()
            )
        );
        for name in ["../../etc/passwd", ".hidden", "", "a/b"] {
            let mut hostile = manifest();
            hostile.files[0].name = name.to_owned();
            let refused = PartManifest::parse(&hostile.to_json());
            assert_eq!(refused, Err(ManifestError::Name(name.to_owned())));
        }
        assert!(SnapshotPointer::parse(b"{\"format\":1").is_err());
    }
}
