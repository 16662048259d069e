//! Looking at what is published: lists for people, and a check of every object.

use std::collections::BTreeSet;
use std::path::Path;

use http_clients::objects::ObjectStorage;
use search_core::snapshots::PartManifest;
use serde::Serialize;

use super::error::SnapshotError;
use super::unit::{PointerRead, SOURCES, Unit};

/// A part of a source, as it is published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PublishedSource {
    /// The source's id.
    pub source: String,
    /// Which part, `1-of-1` for all.
    pub part: String,
    /// Who publishes it; empty where nobody does.
    pub owner: String,
    /// Counts the owners.
    pub epoch: u64,
    /// Counts what was published.
    pub sequence: u64,
    /// The folder or the repository that was indexed.
    pub folder: String,
    /// When it was published, in milliseconds since the Unix epoch.
    pub published_ms: u64,
    /// Its documents.
    pub documents: u64,
    /// Its files.
    pub files: usize,
    /// Bytes of its files.
    pub bytes: u64,
    /// Why it cannot be used.
    pub error: Option<String>,
}

/// A part of a source whose files were read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifiedSource {
    /// What was looked at.
    #[serde(flatten)]
    pub published: PublishedSource,
    /// What is wrong, one line a file.
    pub damaged: Vec<String>,
}

/// All parts of all sources in the storage.
///
/// # Errors
/// The storage cannot be read.
pub fn list_published(
    storage: &ObjectStorage,
    scratch: &Path,
) -> Result<Vec<PublishedSource>, SnapshotError> {
    let read = units(storage)?
        .into_iter()
        .map(|(source, unit)| Ok(read(&source, &unit, scratch)?.0));
    read.collect()
}

/// The same, with every file fetched and compared with its digest.
///
/// # Errors
/// The storage cannot be read.
pub fn verify_published(
    storage: &ObjectStorage,
    scratch: &Path,
) -> Result<Vec<VerifiedSource>, SnapshotError> {
    let mut verified = Vec::new();
    for (source, unit) in units(storage)? {
        let (published, manifest) = read(&source, &unit, scratch)?;
        let mut damaged: Vec<String> = published.error.iter().cloned().collect();
        for file in manifest.iter().flat_map(|manifest| &manifest.files) {
            let copy = scratch.join("verified");
            let key = unit.key(&file.object);
            if let Err(error) = storage.get(&key, &file.digest, &copy) {
                damaged.push(format!("{}: {error}", file.name));
            }
            // There is none after a failure.
            let _ = std::fs::remove_file(&copy);
        }
        verified.push(VerifiedSource { published, damaged });
    }
    Ok(verified)
}

/// The parts of a source that somebody publishes.
pub(super) fn published_parts(
    storage: &ObjectStorage,
    source: &str,
) -> Result<Vec<String>, SnapshotError> {
    let mut parts = Vec::new();
    for (of, unit) in units(storage)? {
        if of != source {
            continue;
        }
        if let PointerRead::Read(pointer, _) = unit.pointer(None)?
            && !pointer.owner.is_empty()
        {
            parts.push(unit.shown);
        }
    }
    Ok(parts)
}

pub(super) fn units(storage: &ObjectStorage) -> Result<Vec<(String, Unit)>, SnapshotError> {
    let mut names = BTreeSet::new();
    for object in storage.list(SOURCES)? {
        // In a folder the file stays that orders the writers of a pointer, also of one that was
        // removed.
        if object.key.ends_with("/pointer.lock") {
            continue;
        }
        let mut parts = object.key.split('/').skip(1);
        if let (Some(source), Some(part)) = (parts.next(), parts.next()) {
            names.insert((source.to_owned(), part.to_owned()));
        }
    }
    let unit = |(source, part): (String, String)| {
        let unit = Unit::with_part_name(storage, &source, &part);
        (source, unit)
    };
    Ok(names.into_iter().map(unit).collect())
}

fn read(
    source: &str,
    unit: &Unit,
    scratch: &Path,
) -> Result<(PublishedSource, Option<PartManifest>), SnapshotError> {
    let mut published = PublishedSource {
        source: source.to_owned(),
        part: unit.shown.clone(),
        owner: String::new(),
        epoch: 0,
        sequence: 0,
        folder: String::new(),
        published_ms: 0,
        documents: 0,
        files: 0,
        bytes: 0,
        error: None,
    };
    let pointer = match unit.pointer(None) {
        Ok(PointerRead::Read(pointer, _)) => pointer,
        Ok(_) => {
            published.error = Some("it has no pointer".to_owned());
            return Ok((published, None));
        }
        Err(SnapshotError::Manifest(error)) => {
            published.error = Some(error.to_string());
            return Ok((published, None));
        }
        Err(error) => return Err(error),
    };
    published.owner = pointer.owner;
    (published.epoch, published.sequence) = (pointer.epoch, pointer.sequence);
    let Some(named) = pointer.manifest else {
        return Ok((published, None));
    };
    match unit.manifest(&named, scratch) {
        Ok(manifest) => {
            published.folder.clone_from(&manifest.folder);
            published.published_ms = manifest.published_ms;
            published.documents = manifest.documents;
            published.files = manifest.files.len();
            published.bytes = manifest.bytes();
            Ok((published, Some(manifest)))
        }
        Err(error) => {
            published.error = Some(error.to_string());
            Ok((published, None))
        }
    }
}
