//! One part of one source in the storage: its pointer and its objects.

use std::fs;
use std::path::Path;

use http_clients::objects::{
    ObjectStorage, ObjectVersion, ReplaceResult, SmallObject, digest_of_file,
};
use search_core::snapshots::{
    DescribedFile, FileKind, PartManifest, PublishedManifest, SnapshotPointer, SourcePart,
};

use super::error::SnapshotError;

/// Below this all sources stand.
pub(super) const SOURCES: &str = "sources";

/// One part of one source.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    pub(super) storage: ObjectStorage,
    /// What the names of its objects begin with.
    prefix: String,
    /// Its part, as people are told.
    pub(super) shown: String,
}

/// A pointer that was read.
pub(super) enum PointerRead {
    Missing,
    Unchanged,
    Read(SnapshotPointer, ObjectVersion),
}

impl Unit {
    pub(super) fn new(storage: &ObjectStorage, source: &str, part: SourcePart) -> Self {
        Self::with_part_name(storage, source, &part.folder())
    }

    pub(super) fn with_part_name(storage: &ObjectStorage, source: &str, part: &str) -> Self {
        Self {
            storage: storage.clone(),
            prefix: format!("{SOURCES}/{source}/{part}"),
            shown: part.to_owned(),
        }
    }

    pub(super) fn pointer_key(&self) -> String {
        format!("{}/pointer", self.prefix)
    }

    /// What the names of its files begin with.
    pub(super) fn objects(&self) -> String {
        format!("{}/objects", self.prefix)
    }

    pub(super) fn key(&self, object: &str) -> String {
        format!("{}/{object}", self.objects())
    }

    /// Reads the pointer, unless it is the one that is known.
    pub(super) fn pointer(
        &self,
        known: Option<&ObjectVersion>,
    ) -> Result<PointerRead, SnapshotError> {
        Ok(match self.storage.read_small(&self.pointer_key(), known)? {
            SmallObject::Missing => PointerRead::Missing,
            SmallObject::Unchanged => PointerRead::Unchanged,
            SmallObject::Read(bytes, version) => {
                PointerRead::Read(SnapshotPointer::parse(&bytes)?, version)
            }
        })
    }

    /// Replaces the pointer where it is the expected one.
    pub(super) fn replace(
        &self,
        expected: Option<&ObjectVersion>,
        pointer: &SnapshotPointer,
    ) -> Result<ReplaceResult, SnapshotError> {
        let key = self.pointer_key();
        Ok(self.storage.replace(&key, expected, pointer.to_json())?)
    }

    /// Stores a file under a name that was never used.
    pub(super) fn store(
        &self,
        kind: FileKind,
        name: &str,
        file: &Path,
    ) -> Result<DescribedFile, SnapshotError> {
        let digest = digest_of_file(file).map_err(SnapshotError::file(file))?;
        let bytes = fs::metadata(file).map_err(SnapshotError::file(file))?.len();
        let object = format!("{digest}-{}", uuid::Uuid::new_v4().simple());
        self.storage.put(&self.key(&object), file)?;
        Ok(DescribedFile {
            kind,
            name: name.to_owned(),
            object,
            digest,
            bytes,
        })
    }

    /// The same of a file whose object was lost; it has to be the one that was stored.
    pub(super) fn put_again(
        &self,
        former: &DescribedFile,
        file: &Path,
    ) -> Result<DescribedFile, SnapshotError> {
        let digest = digest_of_file(file).map_err(SnapshotError::file(file))?;
        if digest != former.digest {
            let file = file.display();
            return Err(SnapshotError::Refused(format!(
                "{file} is lost in the storage, and damaged here"
            )));
        }
        self.store(former.kind, &former.name, file)
    }

    /// The manifest that a pointer names; `scratch` is a folder for a moment.
    pub(super) fn manifest(
        &self,
        published: &PublishedManifest,
        scratch: &Path,
    ) -> Result<PartManifest, SnapshotError> {
        let file = scratch.join(format!("manifest-{}", uuid::Uuid::new_v4().simple()));
        let key = self.key(&published.object);
        self.storage.get(&key, &published.digest, &file)?;
        let bytes = fs::read(&file).map_err(SnapshotError::file(&file));
        // Left behind it is removed with the folder.
        let _ = fs::remove_file(&file);
        Ok(PartManifest::parse(&bytes?)?)
    }
}
