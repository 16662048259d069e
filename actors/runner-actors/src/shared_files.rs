//! Files that every process of an installation can read: bytes in object storage, and a row of the
//! store for each that counts.
//!
//! ```text
//! put:   file ─▶ object (a name of its own) ─▶ row          a kill in between leaves an object
//! open:  row ─▶ <data>/objects/<digest>, else the object ─▶ there
//! sweep: objects without a row, older than the grace ─▶ removed
//! ```
//! An object's name is the digest of its bytes and a random part, and is never used twice: an
//! object without a row never gets one once the grace is over, so that it can be removed whatever
//! goes on beside. Bytes that are there already get a row and no second object.

use std::collections::HashSet;
use std::fs::FileTimes;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use object_clients::{ObjectError, ObjectPlace, ObjectStorage, digest_of_file};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use store::{ReadRows, Store, StoreError, Table, WriteTxn};

use crate::json_row::JsonRow;

/// By what it is, whose, and which.
pub(crate) type FileKey = (String, String, String);

const FILES: Table<FileKey, JsonRow<SharedFile>> = Table::new("runner_files");
/// The object of a digest.
const CONTENTS: Table<String, JsonRow<String>> = Table::new("runner_file_contents");
/// What the storage's place is called by, so that no other installation takes it.
const INSTALLATION: Table<u8, JsonRow<String>> = Table::new("runner_installation");
/// What objects' names begin with.
const OBJECTS: &str = "objects";
/// Copies that were used lately stay, whatever they take.
const IN_USE: Duration = Duration::from_secs(600);

/// Where files are shared.
#[derive(Debug, Clone)]
pub struct ObjectSettings {
    /// The folder or bucket.
    pub place: ObjectPlace,
    /// Bytes of copies on this machine.
    pub local_bytes: u64,
    /// How long an object may be there without a row.
    pub grace: Duration,
    /// Time between two looks for such objects.
    pub sweep_every: Duration,
}

/// A file that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SharedFile {
    /// The object's name.
    object: String,
    /// The BLAKE3 digest of its bytes.
    digest: String,
    pub(crate) bytes: u64,
    /// What its owner says of it.
    pub(crate) about: String,
}

/// The files; clones share them. Methods block.
#[derive(Clone)]
pub(crate) struct SharedFiles {
    inner: Arc<Inner>,
}

struct Inner {
    storage: ObjectStorage,
    store: Store,
    local: PathBuf,
    settings: ObjectSettings,
    /// Why the storage cannot be used, as it was last seen.
    trouble: Mutex<Option<String>>,
    claimed: Mutex<bool>,
}

impl std::fmt::Debug for SharedFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.storage.fmt(f)
    }
}

impl SharedFiles {
    /// Files of this store; the storage is not asked yet.
    pub(crate) fn open(
        data: &Path,
        settings: &ObjectSettings,
        store: &Store,
    ) -> std::io::Result<Self> {
        let local = data.join("objects");
        std::fs::create_dir_all(&local)?;
        let storage = ObjectStorage::open(&settings.place).map_err(std::io::Error::other)?;
        Ok(Self {
            inner: Arc::new(Inner {
                storage,
                store: store.clone(),
                local,
                settings: settings.clone(),
                trouble: Mutex::default(),
                claimed: Mutex::new(false),
            }),
        })
    }

    /// Why the storage cannot be used, as it was last seen.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.inner.trouble.lock().clone()
    }

    /// Looks whether the storage answers, and is this installation's.
    pub(crate) fn probe(&self) {
        let probed = match *self.inner.claimed.lock() {
            true => self.inner.storage.probe(),
            false => Ok(()),
        };
        let seen = self.seen(probed).and_then(|()| self.claim_place());
        if let Err(error) = seen {
            *self.inner.trouble.lock() = Some(error.to_string());
        }
    }

    /// Stores a file, which is gone afterwards, in place of what had its key.
    pub(crate) fn put(&self, key: FileKey, file: &Path, about: String) -> std::io::Result<()> {
        let digest = self.put_without_copy(key, file, about)?;
        if std::fs::rename(file, self.copy_of(&digest)).is_err() {
            std::fs::remove_file(file)?;
        }
        self.trim();
        Ok(())
    }

    /// The same of a file that stays, and whose bytes are not kept here; gives its digest.
    pub(crate) fn put_without_copy(
        &self,
        key: FileKey,
        file: &Path,
        about: String,
    ) -> std::io::Result<String> {
        self.claim_place()?;
        let digest = digest_of_file(file)?;
        let bytes = std::fs::metadata(file)?.len();
        if self.put_known(&key, &digest, bytes, &about)? {
            return Ok(digest);
        }
        let random = uuid::Uuid::new_v4().simple();
        let object = format!("{OBJECTS}/{}/{digest}-{random}", &digest[..2]);
        self.seen(self.inner.storage.put(&object, file))?;
        let row = SharedFile {
            object: object.clone(),
            digest: digest.clone(),
            bytes,
            about,
        };
        let known = digest.clone();
        self.write(move |rows| {
            rows.put(&CONTENTS, &known, &JsonRow::of(&object))?;
            rows.put(&FILES, &key, &JsonRow::of(&row))
        })?;
        Ok(digest)
    }

    /// Gives bytes that are stored already a further row, if they are.
    fn put_known(
        &self,
        key: &FileKey,
        digest: &str,
        bytes: u64,
        about: &str,
    ) -> std::io::Result<bool> {
        let (key, digest, about) = (key.clone(), digest.to_owned(), about.to_owned());
        self.write(move |rows| {
            let object = rows.get(&CONTENTS, &digest)?.and_then(JsonRow::value);
            let Some(object) = object else {
                return Ok(false);
            };
            let row = SharedFile {
                object,
                digest,
                bytes,
                about,
            };
            rows.put(&FILES, &key, &JsonRow::of(&row))?;
            Ok(true)
        })
    }

    /// The file of a key.
    pub(crate) fn get(&self, key: &FileKey) -> std::io::Result<Option<SharedFile>> {
        let key = key.clone();
        self.read(move |rows| Ok(rows.get(&FILES, &key)?.and_then(JsonRow::value)))
    }

    /// All files of this kind; of one owner.
    pub(crate) fn list(
        &self,
        kind: &str,
        owner: Option<&str>,
    ) -> std::io::Result<Vec<(FileKey, SharedFile)>> {
        let (kind, owner) = (kind.to_owned(), owner.map(str::to_owned));
        let found = self.read(move |rows| match owner {
            Some(owner) => rows.below(&FILES, &(kind, owner), None, usize::MAX),
            None => rows.below(&FILES, &kind, None, usize::MAX),
        })?;
        let files = found.into_iter();
        Ok(files
            .filter_map(|(key, row)| Some((key, row.value()?)))
            .collect())
    }

    /// Says something else of a file, if it is still there.
    pub(crate) fn describe(&self, key: &FileKey, about: String) -> std::io::Result<()> {
        let key = key.clone();
        self.write(move |rows| {
            let Some(file) = rows.get(&FILES, &key)?.and_then(JsonRow::value) else {
                return Ok(());
            };
            rows.put(&FILES, &key, &JsonRow::of(&SharedFile { about, ..file }))
        })
    }

    /// Gives a file a second key, where that has none yet.
    pub(crate) fn copy(&self, from: &FileKey, to: FileKey) -> std::io::Result<()> {
        let from = from.clone();
        self.write(move |rows| {
            let file = rows.get(&FILES, &from)?.and_then(JsonRow::value);
            match file {
                Some(file) if !rows.contains(&FILES, &to)? => {
                    rows.put(&FILES, &to, &JsonRow::of(&file))
                }
                _ => Ok(()),
            }
        })
    }

    /// Forgets a file; its object goes with the next sweep.
    pub(crate) fn remove(&self, key: &FileKey) -> std::io::Result<()> {
        let key = key.clone();
        self.write(move |rows| rows.delete(&FILES, &key).map(drop))
    }

    /// Forgets all files of an owner.
    pub(crate) fn remove_owner(&self, kind: &str, owner: &str) -> std::io::Result<()> {
        let prefix = (kind.to_owned(), owner.to_owned());
        self.write(move |rows| {
            for (key, _) in rows.below(&FILES, &prefix, None, usize::MAX)? {
                rows.delete(&FILES, &key)?;
            }
            Ok(())
        })
    }

    /// A copy of the file on this machine; it is fetched where there is none.
    pub(crate) fn open_file(&self, file: &SharedFile) -> std::io::Result<PathBuf> {
        let copy = self.copy_of(&file.digest);
        let now = FileTimes::new().set_modified(SystemTime::now());
        if let Ok(there) = std::fs::File::options().append(true).open(&copy) {
            // The copies that were used longest ago go first.
            let _ = there.set_times(now);
            return Ok(copy);
        }
        self.seen(self.inner.storage.get(&file.object, &file.digest, &copy))?;
        self.trim();
        Ok(copy)
    }

    /// The same, in a file of its own.
    pub(crate) fn fetch_to(&self, file: &SharedFile, to: &Path) -> std::io::Result<()> {
        let part = to.with_extension("fetched");
        std::fs::copy(self.open_file(file)?, &part)?;
        std::fs::rename(part, to)
    }

    /// Reads a stored file back from the storage, and compares.
    pub(crate) fn verify(&self, file: &SharedFile) -> std::io::Result<()> {
        let _ = std::fs::remove_file(self.copy_of(&file.digest));
        self.open_file(file).map(drop)
    }

    /// Removes objects that no row names, older than the grace; gives how many.
    pub(crate) fn sweep(&self) -> std::io::Result<usize> {
        self.claim_place()?;
        let before = SystemTime::now() - self.inner.settings.grace;
        let there = self.seen(self.inner.storage.list(OBJECTS))?.into_iter();
        let old = there.filter(|object| object.stored < before);
        let old: Vec<String> = old.map(|object| object.key).collect();
        if old.is_empty() {
            return Ok(0);
        }
        let unused = self.read(move |rows| without_row(rows, old))?;
        if unused.is_empty() {
            return Ok(0);
        }
        // Again, where nothing comes in between: from here on nobody gives them a row.
        let removed = self.write(move |rows| {
            let unused = without_row(rows, unused)?;
            for object in &unused {
                let digest = object
                    .rsplit('/')
                    .next()
                    .and_then(|name| name.split_once('-'));
                let digest = digest.map(|(digest, _)| digest.to_owned());
                let Some(digest) = digest else { continue };
                let known = rows.get(&CONTENTS, &digest)?.and_then(JsonRow::value);
                if known.as_ref() == Some(object) {
                    rows.delete(&CONTENTS, &digest)?;
                }
            }
            Ok(unused)
        })?;
        for object in &removed {
            self.seen(self.inner.storage.delete(object))?;
        }
        Ok(removed.len())
    }

    /// Time between two sweeps.
    pub(crate) fn sweep_every(&self) -> Duration {
        self.inner.settings.sweep_every
    }

    fn copy_of(&self, digest: &str) -> PathBuf {
        self.inner.local.join(digest)
    }

    /// Removes the copies that were used longest ago beyond what they may take.
    fn trim(&self) {
        let files = std::fs::read_dir(&self.inner.local);
        let files = files.into_iter().flatten().flatten();
        let known = files.filter_map(|file| {
            let about = file.metadata().ok()?;
            Some((about.modified().ok()?, about.len(), file.path()))
        });
        let mut all: Vec<(SystemTime, u64, PathBuf)> = known.collect();
        let mut total: u64 = all.iter().map(|(_, bytes, _)| bytes).sum();
        all.sort();
        let unused_since = SystemTime::now() - IN_USE;
        for (used, bytes, path) in all {
            if total <= self.inner.settings.local_bytes || used > unused_since {
                return;
            }
            if std::fs::remove_file(path).is_ok() {
                total -= bytes;
            }
        }
    }

    /// Makes the place this installation's, once.
    fn claim_place(&self) -> std::io::Result<()> {
        let mut claimed = self.inner.claimed.lock();
        if !*claimed {
            let name = self.write(|rows| {
                if let Some(name) = rows.get(&INSTALLATION, &0)?.and_then(JsonRow::value) {
                    return Ok(name);
                }
                let name = uuid::Uuid::new_v4().to_string();
                rows.put(&INSTALLATION, &0, &JsonRow::of(&name))?;
                Ok(name)
            })?;
            self.seen(self.inner.storage.claim(&name))?;
            *claimed = true;
        }
        Ok(())
    }

    /// Remembers how the storage is.
    fn seen<T>(&self, result: Result<T, ObjectError>) -> std::io::Result<T> {
        let trouble = match &result {
            // The storage is well, this one object is not.
            Ok(_) | Err(ObjectError::Missing { .. } | ObjectError::File { .. }) => None,
            Err(error) => Some(error.to_string()),
        };
        let former = std::mem::replace(&mut *self.inner.trouble.lock(), trouble.clone());
        if let Some(error) = trouble.filter(|_| former.is_none()) {
            tracing::error!(
                event = "objects.failing",
                error,
                "object storage cannot be used"
            );
        } else if former.is_some() && result.is_ok() {
            tracing::info!(
                event = "objects.recovered",
                place = self.inner.storage.place(),
                "object storage can be used again"
            );
        }
        result.map_err(std::io::Error::other)
    }

    fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut store::ReadTxn<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> std::io::Result<T> {
        let read = self.inner.store.read_blocking(work);
        read.map_err(std::io::Error::other)
    }

    fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WriteTxn<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> std::io::Result<T> {
        let written = self.inner.store.write_blocking(work);
        written.map_err(std::io::Error::other)
    }
}

/// Those of these objects that no row names.
fn without_row(
    rows: &mut impl ReadRows,
    mut objects: Vec<String>,
) -> Result<Vec<String>, StoreError> {
    let mut named = HashSet::new();
    rows.for_each(&FILES, .., |_, row| {
        named.extend(row.value().map(|file| file.object));
        ControlFlow::Continue(())
    })?;
    objects.retain(|object| !named.contains(object));
    Ok(objects)
}

#[cfg(test)]
mod tests;
