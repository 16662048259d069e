//! Small objects that change: read where they differ from what is known, replaced where they do
//! not.
//!
//! In S3-compatible storage the server decides, by `If-None-Match` and `If-Match`. In a folder the
//! lock of a file beside the object orders the writers of all hosts that mount it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use object_store::path::Path as Key;
use object_store::{GetOptions, ObjectStore as _, PutMode, PutOptions, UpdateVersion};

use crate::objects::error::ObjectError;
use crate::objects::storage::{ObjectStorage, file_error};

/// Which content an object has; equal ones are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectVersion(String);

/// What was read of a small object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmallObject {
    /// It is not there.
    Missing,
    /// It is what is known.
    Unchanged,
    /// Its bytes.
    Read(Vec<u8>, ObjectVersion),
}

/// How replacing an object ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplaceResult {
    /// It has the new content, of this version.
    Done(ObjectVersion),
    /// It has another content than the expected one; nothing was written.
    Conflict,
}

impl ObjectStorage {
    /// Reads a small object, unless it is the version that is `known`; waits 5 s at most.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn read_small(
        &self,
        key: &str,
        known: Option<&ObjectVersion>,
    ) -> Result<SmallObject, ObjectError> {
        self.check_folder()?;
        if let Some(folder) = self.folder() {
            let found = read_file(&folder.join(key), known);
            return found.map_err(|source| file_error(&folder.join(key), source));
        }
        let path = Key::from(key);
        let options = GetOptions {
            if_none_match: known.map(|version| version.0.clone()),
            ..GetOptions::default()
        };
        let known = known.cloned();
        self.with_probe(key, move |objects| async move {
            let found = match objects.get_opts(&path, options).await {
                Err(object_store::Error::NotModified { .. }) => return Ok(SmallObject::Unchanged),
                Err(object_store::Error::NotFound { source, path }) => {
                    // A bucket that is missing is no missing object.
                    if source.to_string().contains("NoSuchBucket") {
                        return Err(object_store::Error::NotFound { source, path });
                    }
                    return Ok(SmallObject::Missing);
                }
                found => found?,
            };
            let version = ObjectVersion(found.meta.e_tag.clone().unwrap_or_default());
            // Not every server knows the condition.
            if known == Some(version.clone()) {
                return Ok(SmallObject::Unchanged);
            }
            let bytes = found.bytes().await?;
            Ok(SmallObject::Read(bytes.into(), version))
        })
    }

    /// Replaces the object where it is still the `expected` version, or makes it where none is
    /// expected; waits 5 s at most. After an error it is unknown whether that was done: read it.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn replace(
        &self,
        key: &str,
        expected: Option<&ObjectVersion>,
        bytes: Vec<u8>,
    ) -> Result<ReplaceResult, ObjectError> {
        self.check_folder()?;
        if let Some(folder) = self.folder() {
            let replaced = replace_file(&folder.join(key), expected, &bytes);
            return replaced.map_err(|source| file_error(&folder.join(key), source));
        }
        self.check_conditions()?;
        let path = Key::from(key);
        let mode = match expected {
            None => PutMode::Create,
            Some(version) => PutMode::Update(UpdateVersion {
                e_tag: Some(version.0.clone()),
                version: None,
            }),
        };
        self.with_probe(key, move |objects| async move {
            let put = objects.put_opts(&path, bytes.into(), PutOptions::from(mode));
            match put.await {
                Ok(put) => Ok(ReplaceResult::Done(ObjectVersion(
                    put.e_tag.unwrap_or_default(),
                ))),
                Err(
                    object_store::Error::AlreadyExists { .. }
                    | object_store::Error::Precondition { .. },
                ) => Ok(ReplaceResult::Conflict),
                Err(error) => Err(error),
            }
        })
    }
}

fn version_of(bytes: &[u8]) -> ObjectVersion {
    ObjectVersion(blake3::hash(bytes).to_hex().to_string())
}

fn read_file(path: &Path, known: Option<&ObjectVersion>) -> io::Result<SmallObject> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(SmallObject::Missing);
        }
        read => read?,
    };
    let version = version_of(&bytes);
    Ok(match known {
        Some(known) if *known == version => SmallObject::Unchanged,
        _ => SmallObject::Read(bytes, version),
    })
}

fn sibling_path(path: &Path, end: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(end);
    path.with_file_name(name)
}

fn replace_file(
    path: &Path,
    expected: Option<&ObjectVersion>,
    bytes: &[u8],
) -> io::Result<ReplaceResult> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(sibling_path(path, ".lock"))?;
    // Held until the file is closed, at the end of its process too.
    lock.lock()?;
    let is_expected = match (read_file(path, None)?, expected) {
        (SmallObject::Read(_, there), Some(expected)) => there == *expected,
        (SmallObject::Missing, None) => true,
        _ => false,
    };
    if !is_expected {
        return Ok(ReplaceResult::Conflict);
    }
    let new = sibling_path(path, ".new");
    if let Err(error) = write(&new, bytes).and_then(|()| fs::rename(&new, path)) {
        let _ = fs::remove_file(&new);
        return Err(error);
    }
    // Its new name too: whoever is told of this version finds it after a power cut.
    if let Some(parent) = path.parent() {
        File::open(parent)?.sync_all()?;
    }
    Ok(ReplaceResult::Done(version_of(bytes)))
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
