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

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use config_core::ObjectSettings;
use http_clients::objects::{ObjectError, ObjectStorage, digest_of_file};
use parking_lot::Mutex;
use store::{JsonRow, ReadRows as _, Store, StoreError, WriteTxn};

use crate::replica::file_rows::{
    FileKey, FileTables, SharedFile, digest_in_name, without_row, writer_id,
};

/// What objects' names begin with, and the folder of copies.
pub(crate) const OBJECTS: &str = "objects";

/// The files; clones share them. Methods block.
#[derive(Clone)]
pub struct SharedFiles {
    pub(crate) inner: Arc<SharedFilesState>,
}

pub(crate) struct SharedFilesState {
    pub(crate) storage: ObjectStorage,
    pub(crate) store: Store,
    pub(crate) local: PathBuf,
    pub(crate) settings: ObjectSettings,
    pub(crate) tables: FileTables,
    /// This data folder, as rows may name it.
    writer: String,
    /// Why the storage cannot be used, as it was last seen.
    trouble: Mutex<Option<String>>,
    pub(crate) claimed: Mutex<bool>,
    /// The place is not to be used: that it answers is no recovery.
    pub(crate) is_refused: AtomicBool,
}

impl std::fmt::Debug for SharedFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.storage.fmt(f)
    }
}

impl SharedFiles {
    /// Files of this store; the storage is not asked yet.
    ///
    /// # Errors
    /// When the folder for copies cannot be made, or there can be no further thread.
    pub fn open(
        data: &Path,
        settings: &ObjectSettings,
        store: &Store,
        tables: FileTables,
    ) -> std::io::Result<Self> {
        let local = data.join(OBJECTS);
        std::fs::create_dir_all(&local)?;
        let writer = writer_id(data)?;
        let storage = ObjectStorage::open(&settings.place).map_err(std::io::Error::other)?;
        Ok(Self {
            inner: Arc::new(SharedFilesState {
                storage,
                store: store.clone(),
                local,
                settings: settings.clone(),
                tables,
                writer,
                trouble: Mutex::default(),
                claimed: Mutex::new(false),
                is_refused: AtomicBool::new(false),
            }),
        })
    }

    /// The data folder.
    #[must_use]
    pub fn data(&self) -> &Path {
        self.inner.local.parent().unwrap_or(&self.inner.local)
    }

    /// This data folder's own name, for rows that say who wrote a file.
    #[must_use]
    pub fn writer(&self) -> &str {
        &self.inner.writer
    }

    /// Why the storage cannot be used, as it was last seen.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.inner.trouble.lock().clone()
    }

    /// Looks whether the storage answers, and is this installation's.
    pub fn probe(&self) {
        let is_claimed = *self.inner.claimed.lock();
        // What is not claimed is asked by the claim, which alone says how it is.
        let probed = match is_claimed {
            true => self.record_result(self.inner.storage.probe()),
            false => Ok(()),
        };
        let seen = probed.and_then(|()| self.claim_place());
        if let Err(error) = seen {
            *self.inner.trouble.lock() = Some(error.to_string());
        }
    }

    /// Stores a file, which is gone afterwards, in place of what had its key.
    ///
    /// # Errors
    /// The storage's, and the store's.
    pub fn put(&self, key: FileKey, file: &Path, about: String) -> std::io::Result<()> {
        self.put_and_keep((key, about), file, false)
    }

    /// The same of a file that would be lost: a storage that is away is tried for a minute.
    ///
    /// # Errors
    /// As there.
    pub fn put_patiently(&self, key: FileKey, file: &Path, about: String) -> std::io::Result<()> {
        self.put_and_keep((key, about), file, true)
    }

    fn put_and_keep(
        &self,
        named: (FileKey, String),
        file: &Path,
        is_patient: bool,
    ) -> std::io::Result<()> {
        let digest = self.upload(named, file, is_patient)?;
        // A copy that has its name is given out: what it holds must not go with the power.
        std::fs::File::open(file)?.sync_all()?;
        if std::fs::rename(file, self.copy_of(&digest)).is_err() {
            std::fs::remove_file(file)?;
        }
        self.trim();
        Ok(())
    }

    /// The same of a file that stays, and whose bytes are not kept here; gives its digest.
    ///
    /// # Errors
    /// The storage's, and the store's.
    pub fn put_without_copy(
        &self,
        key: FileKey,
        file: &Path,
        about: String,
    ) -> std::io::Result<String> {
        self.upload((key, about), file, false)
    }

    fn upload(
        &self,
        (key, about): (FileKey, String),
        file: &Path,
        is_patient: bool,
    ) -> std::io::Result<String> {
        let tables = self.inner.tables;
        self.claim_place()?;
        let digest = digest_of_file(file)?;
        let bytes = std::fs::metadata(file)?.len();
        match self.put_known(&key, &digest, bytes, &about) {
            Ok(true) => return Ok(digest),
            Ok(false) => {}
            // Sent once more it is there as soon as the storage is.
            Err(_) if is_patient && self.trouble().is_some() => {}
            Err(error) => return Err(error),
        }
        let random = uuid::Uuid::new_v4().simple();
        let object = format!("{OBJECTS}/{}/{digest}-{random}", &digest[..2]);
        let storage = &self.inner.storage;
        self.record_result(match is_patient {
            true => storage.put_patiently(&object, file),
            false => storage.put(&object, file),
        })?;
        let row = SharedFile {
            object: object.clone(),
            digest: digest.clone(),
            bytes,
            about,
        };
        let known = digest.clone();
        self.write(move |rows| {
            rows.put(&tables.contents, &known, &JsonRow::new(&object))?;
            rows.put(&tables.files, &key, &JsonRow::new(&row))
        })?;
        Ok(digest)
    }

    /// Gives bytes that are stored already a further row, if they are: a row of them alone is no
    /// proof, as objects are lost to rules of buckets and by hand.
    fn put_known(
        &self,
        key: &FileKey,
        digest: &str,
        bytes: u64,
        about: &str,
    ) -> std::io::Result<bool> {
        let tables = self.inner.tables;
        let Some(object) = self.object_of(digest)? else {
            return Ok(false);
        };
        if self.record_result(self.inner.storage.bytes_of(&object))? != Some(bytes) {
            self.forget_object(digest, &object)?;
            return Ok(false);
        }
        let row = SharedFile {
            object,
            digest: digest.to_owned(),
            bytes,
            about: about.to_owned(),
        };
        let key = key.clone();
        self.write(move |rows| {
            let known = rows
                .get(&tables.contents, &row.digest)?
                .and_then(JsonRow::value);
            // A sweep may have condemned it since.
            let is_there = known.as_ref() == Some(&row.object);
            if is_there {
                rows.put(&tables.files, &key, &JsonRow::new(&row))?;
            }
            Ok(is_there)
        })
    }

    /// The object that has these bytes, as far as is known.
    pub(crate) fn object_of(&self, digest: &str) -> std::io::Result<Option<String>> {
        let tables = self.inner.tables;
        let digest = digest.to_owned();
        self.read(move |rows| {
            Ok(rows
                .get(&tables.contents, &digest)?
                .and_then(JsonRow::value))
        })
    }

    /// The object is lost: bytes that come again are stored anew.
    pub(crate) fn forget_object(&self, digest: &str, object: &str) -> std::io::Result<()> {
        let tables = self.inner.tables;
        let (digest, object) = (digest.to_owned(), object.to_owned());
        self.write(move |rows| {
            let known = rows
                .get(&tables.contents, &digest)?
                .and_then(JsonRow::value);
            if known.as_ref() == Some(&object) {
                rows.delete(&tables.contents, &digest)?;
            }
            Ok(())
        })
    }

    /// The file of a key.
    ///
    /// # Errors
    /// The storage's, and the store's.
    pub fn get(&self, key: &FileKey) -> std::io::Result<Option<SharedFile>> {
        let tables = self.inner.tables;
        let key = key.clone();
        self.read(move |rows| Ok(rows.get(&tables.files, &key)?.and_then(JsonRow::value)))
    }

    /// All files of this kind; of one owner.
    ///
    /// # Errors
    /// The storage's, and the store's.
    pub fn list(
        &self,
        kind: &str,
        owner: Option<&str>,
    ) -> std::io::Result<Vec<(FileKey, SharedFile)>> {
        let tables = self.inner.tables;
        let (kind, owner) = (kind.to_owned(), owner.map(str::to_owned));
        let found = self.read(move |rows| match owner {
            Some(owner) => rows.below(&tables.files, &(kind, owner), None, usize::MAX),
            None => rows.below(&tables.files, &kind, None, usize::MAX),
        })?;
        let files = found.into_iter();
        Ok(files
            .filter_map(|(key, row)| Some((key, row.value()?)))
            .collect())
    }

    /// Says something else of a file, if it is still there.
    ///
    /// # Errors
    /// The storage's, and the store's.
    pub fn describe(&self, key: &FileKey, about: String) -> std::io::Result<()> {
        let tables = self.inner.tables;
        let key = key.clone();
        self.write(move |rows| {
            let Some(file) = rows.get(&tables.files, &key)?.and_then(JsonRow::value) else {
                return Ok(());
            };
            rows.put(
                &tables.files,
                &key,
                &JsonRow::new(&SharedFile { about, ..file }),
            )
        })
    }

    /// Gives a file a second key, where that has none yet.
    ///
    /// # Errors
    /// The storage's, and the store's.
    pub fn copy(&self, from: &FileKey, to: FileKey) -> std::io::Result<()> {
        let tables = self.inner.tables;
        let from = from.clone();
        self.write(move |rows| {
            let file = rows.get(&tables.files, &from)?.and_then(JsonRow::value);
            match file {
                Some(file) if !rows.contains(&tables.files, &to)? => {
                    rows.put(&tables.files, &to, &JsonRow::new(&file))
                }
                _ => Ok(()),
            }
        })
    }

    /// Forgets a file; its object goes with the next sweep.
    ///
    /// # Errors
    /// The storage's, and the store's.
    pub fn remove(&self, key: &FileKey) -> std::io::Result<()> {
        let tables = self.inner.tables;
        let key = key.clone();
        self.write(move |rows| rows.delete(&tables.files, &key).map(drop))
    }

    /// Forgets a file whose object is lost, unless it was stored again since.
    ///
    /// # Errors
    /// The storage's, and the store's.
    pub fn remove_lost(&self, key: &FileKey, lost: &SharedFile) -> std::io::Result<()> {
        let tables = self.inner.tables;
        let (key, object) = (key.clone(), lost.object.clone());
        self.write(move |rows| {
            let row = rows.get(&tables.files, &key)?.and_then(JsonRow::value);
            if row.is_some_and(|row| row.object == object) {
                rows.delete(&tables.files, &key)?;
            }
            Ok(())
        })
    }

    /// Forgets all files of an owner.
    ///
    /// # Errors
    /// The storage's, and the store's.
    pub fn remove_owner(&self, kind: &str, owner: &str) -> std::io::Result<()> {
        let tables = self.inner.tables;
        let prefix = (kind.to_owned(), owner.to_owned());
        self.write(move |rows| {
            for (key, _) in rows.below(&tables.files, &prefix, None, usize::MAX)? {
                rows.delete(&tables.files, &key)?;
            }
            Ok(())
        })
    }

    /// Removes objects that no row names, older than the grace by the storage's clock; gives how
    /// many.
    ///
    /// # Errors
    /// The storage's, and the store's.
    pub fn sweep(&self) -> std::io::Result<usize> {
        let tables = self.inner.tables;
        self.claim_place()?;
        // What another store stored since is unknown here.
        self.claim_for_this_store()?;
        let there = self.record_result(self.inner.storage.list(OBJECTS))?;
        if there.is_empty() {
            return Ok(0);
        }
        let before = self.record_result(self.inner.storage.time())? - self.inner.settings.grace;
        let there = there.into_iter();
        let old = there.filter(|object| object.stored <= before);
        let old: Vec<String> = old.map(|object| object.key).collect();
        if old.is_empty() {
            return Ok(0);
        }
        let unused = self.read(move |rows| without_row(rows, &tables, old))?;
        if unused.is_empty() {
            return Ok(0);
        }
        // Again, where nothing comes in between: from here on nobody gives them a row.
        let removed = self.write(move |rows| {
            let unused = without_row(rows, &tables, unused)?;
            for object in &unused {
                let Some(digest) = digest_in_name(object) else {
                    continue;
                };
                let known = rows
                    .get(&tables.contents, &digest)?
                    .and_then(JsonRow::value);
                if known.as_ref() == Some(object) {
                    rows.delete(&tables.contents, &digest)?;
                }
            }
            Ok(unused)
        })?;
        for object in &removed {
            self.record_result(self.inner.storage.delete(object))?;
        }
        Ok(removed.len())
    }

    /// Sweeps, where that is due, and tells; `swept` is when it was done last.
    ///
    /// # Errors
    /// The storage's, and the store's.
    pub fn sweep_when_due(&self, swept: &mut Option<Instant>) -> std::io::Result<()> {
        let every = self.inner.settings.sweep_every;
        if swept.is_some_and(|at| at.elapsed() < every) {
            return Ok(());
        }
        let removed = self.sweep()?;
        *swept = Some(Instant::now());
        if removed > 0 {
            tracing::info!(
                event = "objects.swept",
                removed,
                "objects that nothing names were removed"
            );
        }
        Ok(())
    }

    /// Remembers how the storage is.
    pub(crate) fn record_result<T>(&self, result: Result<T, ObjectError>) -> std::io::Result<T> {
        if result.is_ok() && self.inner.is_refused.load(Ordering::Relaxed) {
            return result.map_err(std::io::Error::other);
        }
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

    pub(crate) fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WriteTxn<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> std::io::Result<T> {
        let written = self.inner.store.write_blocking(work);
        written.map_err(std::io::Error::other)
    }
}
