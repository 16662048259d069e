//! Files that go to another storage, or back into the data folder of one machine.
//!
//! ```text
//! to a storage:  object ─▶ the same name there ─▶ read back ─▶ noted       rows stay as they are
//! back here:     object ─▶ a file of the product ─▶ compared ─▶ its row goes
//! ```
//! An object's name holds the digest of its bytes and is used once, so that rows mean the same in
//! every storage. What is copied is left where it was. Until all is there the target is closed, and
//! from then on the source: no process stores a file where the next one does not look for it.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use config_core::{ObjectPlace, ObjectSettings};
use http_clients::objects::{ObjectError, ObjectStorage, for_each};
use parking_lot::Mutex;
use store::{DirectoryLock, JsonRow, LockError, ReadRows as _, Store, StoreError};

use crate::replica::file_rows::{
    FileKey, FileTables, SharedFile, all_files, describe, digest_in_name, named_objects,
};
use crate::replica::migration_notes::MigrationNotes;
use crate::replica::shared_files::{OBJECTS, SharedFiles};

/// The folder of a migration below the data folder.
const FOLDER: &str = "objects-migrating";
/// Rows that are forgotten at once.
const ROWS: usize = 1000;

/// Makes a file of the product's own from a shared one, in the data folder; done when it is on the
/// disk, and compared.
pub type BringFile = fn(&SharedFiles, &FileKey, &SharedFile) -> io::Result<()>;

/// The files of a product that are to go elsewhere.
#[derive(Debug)]
pub struct FileMigration {
    /// The product's data folder.
    pub data: PathBuf,
    /// Where the files are.
    pub from: ObjectSettings,
    /// And their rows.
    pub tables: FileTables,
    /// How one becomes a file of the data folder.
    pub bring: BringFile,
    /// Whether a migration ends well without what is damaged or missing.
    pub leave_damaged: bool,
}

/// Told how many bytes of how many are done, by any thread.
pub type MigrationWatch<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// What a migration did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MigrationReport {
    /// Files that were copied and compared, and their bytes.
    pub copied: (u64, u64),
    /// Those that were there, as they should be.
    pub there: (u64, u64),
    /// What is damaged or missing, each with its name.
    pub faults: Vec<String>,
    /// Everything is there, and nothing more can come: the target is the place from now on.
    pub is_complete: bool,
}

/// Why a migration ended early. What it has copied is not copied again by the next one.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// A storage failed.
    #[error(transparent)]
    Objects(#[from] ObjectError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another migration is under way.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A file of this machine.
    #[error("{file}: {source}")]
    File {
        /// Which.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// Source and target are one.
    #[error("the files are in {0} already")]
    SamePlace(String),
    /// There is nothing that could be moved.
    #[error("{0} holds no files of an installation")]
    NoFiles(String),
    /// The source is not this store's.
    #[error("{place} is of the installation {owner}; the store is of another one")]
    OtherStore {
        /// Where.
        place: String,
        /// Whose it is.
        owner: String,
    },
}

/// An object to copy.
struct NamedObject {
    key: String,
    digest: String,
    /// What it is; nothing where the bytes have a row and no file has.
    files: Vec<String>,
}

/// The folder of a migration, for one at a time.
struct MigrationDirectory {
    folder: PathBuf,
    /// What is on its way.
    parts: PathBuf,
    _alone: DirectoryLock,
}

/// What is counted by several threads.
#[derive(Default)]
struct Counters {
    copied: (AtomicU64, AtomicU64),
    there: (AtomicU64, AtomicU64),
    done: AtomicU64,
    faults: Mutex<Vec<String>>,
}

impl FileMigration {
    /// Copies the objects to another storage, each read back and compared. With the `store`, which
    /// nobody else may have then, those that it names, and the target is the place afterwards;
    /// without it all that are there so far, while the service goes on.
    ///
    /// # Errors
    /// See [`MigrationError`].
    pub fn to_storage(
        &self,
        to: &ObjectPlace,
        store: Option<&Store>,
        watch: MigrationWatch<'_>,
    ) -> Result<MigrationReport, MigrationError> {
        let workplace = self.workplace()?;
        let (from, to) = (self.source()?, ObjectStorage::open(to)?);
        let owner = self.owner(&from, store)?;
        let moved = format!("its files were moved to {}", to.place());
        refuse_moved_elsewhere(&from, &moved)?;
        close_target(&from, &to, &owner)?;
        let stored = sizes(&from)?;
        let objects = match store {
            Some(store) => self.named(store)?,
            None => all_of(&stored),
        };
        let notes = MigrationNotes::open(&workplace.folder, to.place());
        let notes = notes.map_err(|error| self.file_error(error))?;
        let counters = Counters::default();
        let there = sizes(&to)?;
        let total = stored.values().sum();
        for_each::<MigrationError>(objects.len(), |index| {
            let object = &objects[index];
            let bytes = stored.get(&object.key).copied();
            let is_there = bytes.is_some() && there.get(&object.key).copied() == bytes;
            let is_right = is_there
                && (notes.contains(&object.key) || to.digest_of(&object.key)? == object.digest);
            let copied = match is_right {
                true => None,
                false => Some(from.copy_to((&object.key, &object.digest), &to, &workplace.parts)),
            };
            match copied {
                None => count(&counters.there, bytes.unwrap_or_default()),
                Some(Ok(bytes)) => count(&counters.copied, bytes),
                // The service has forgotten it meanwhile.
                Some(Err(ObjectError::Missing { .. })) if store.is_none() => return Ok(()),
                Some(Err(ObjectError::Missing { .. })) if object.files.is_empty() => {
                    // Retention has forgotten what it was: nothing is lost.
                    return Ok(forget(store, &self.tables, object)?);
                }
                Some(Err(error)) => return fault(&counters, object, error),
            }
            notes
                .record(&object.key)
                .map_err(|error| self.file_error(error))?;
            let bytes = bytes.unwrap_or_default();
            let done = counters.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
            watch(done, total);
            Ok(())
        })?;
        let mut report = counters.report();
        if store.is_some() && (report.faults.is_empty() || self.leave_damaged) {
            from.close(&moved)?;
            if let Some(store) = store {
                to.claim_for_store(&store.identity()?.id, true)?;
            }
            to.reopen()?;
            // Without its notes the next migration compares all that is there.
            let _ = std::fs::remove_dir_all(&workplace.folder);
            report.is_complete = true;
        }
        Ok(report)
    }

    /// Brings the files back into the data folder, each compared; then its row goes. Nobody else
    /// may have the store.
    ///
    /// # Errors
    /// See [`MigrationError`].
    pub fn to_data(
        &self,
        store: &Store,
        watch: MigrationWatch<'_>,
    ) -> Result<MigrationReport, MigrationError> {
        let workplace = self.workplace()?;
        let from = self.source()?;
        let owner = self.owner(&from, Some(store))?;
        from.claim(&owner)?;
        let files = SharedFiles::open(&self.data, &self.from, store, self.tables)
            .map_err(|error| self.file_error(error))?;
        let tables = self.tables;
        let rows = store.read_blocking(move |rows| all_files(rows, &tables))?;
        let total = rows.iter().map(|(_, file)| file.bytes).sum();
        let counters = Counters::default();
        let damaged = Mutex::new(Vec::new());
        let mut rows_of = HashMap::<&str, usize>::new();
        for (_, file) in &rows {
            *rows_of.entry(&file.digest).or_default() += 1;
        }
        let rows_of = Mutex::new(rows_of);
        for_each::<MigrationError>(rows.len(), |index| {
            let (key, file) = &rows[index];
            let brought = files
                .open_whole(file)
                .and_then(|_| (self.bring)(&files, key, file));
            match brought {
                Ok(()) => {
                    files.remove(key).map_err(|error| self.file_error(error))?;
                    count(&counters.copied, file.bytes);
                }
                Err(error) => {
                    self.fault_of_file(&counters, (key, file), error)?;
                    damaged.lock().push(key.clone());
                }
            }
            let mut rows_of = rows_of.lock();
            let left = rows_of.entry(&file.digest).or_default();
            *left = left.saturating_sub(1);
            if *left == 0 {
                // What is in the data folder needs no room twice.
                let _ = std::fs::remove_file(files.copy_of(&file.digest));
            }
            drop(rows_of);
            let done = counters.done.fetch_add(file.bytes, Ordering::Relaxed) + file.bytes;
            watch(done, total);
            Ok(())
        })?;
        let mut report = counters.report();
        if report.faults.is_empty() || self.leave_damaged {
            for key in damaged.into_inner() {
                files.remove(&key).map_err(|error| self.file_error(error))?;
            }
            self.forget_contents(store)?;
            // Copies of what is in the data folder now.
            let _ = std::fs::remove_dir_all(self.data.join(OBJECTS));
            let _ = std::fs::remove_dir_all(&workplace.folder);
            report.is_complete = true;
        }
        Ok(report)
    }

    fn source(&self) -> Result<ObjectStorage, MigrationError> {
        Ok(ObjectStorage::open(&self.from.place)?)
    }

    fn workplace(&self) -> Result<MigrationDirectory, MigrationError> {
        let folder = self.data.join(FOLDER);
        let alone = DirectoryLock::take(&folder, "objects migrate")?;
        let parts = folder.join("parts");
        // Left by one that was killed.
        let _ = std::fs::remove_dir_all(&parts);
        std::fs::create_dir(&parts).map_err(|error| self.file_error(error))?;
        Ok(MigrationDirectory {
            folder,
            parts,
            _alone: alone,
        })
    }

    /// The installation that the source is of, which has to be the store's.
    pub(crate) fn owner(
        &self,
        from: &ObjectStorage,
        store: Option<&Store>,
    ) -> Result<String, MigrationError> {
        let place = from.place().to_owned();
        let Some(owner) = from.owner()? else {
            return Err(MigrationError::NoFiles(place));
        };
        let Some(store) = store else {
            return Ok(owner);
        };
        let tables = self.tables;
        let own = store.read_blocking(move |rows| rows.get(&tables.installation, &0))?;
        match own.and_then(JsonRow::value) {
            Some(own) if own == owner => Ok(owner),
            _ => Err(MigrationError::OtherStore { place, owner }),
        }
    }

    /// What the store names, or may name again.
    fn named(&self, store: &Store) -> Result<Vec<NamedObject>, MigrationError> {
        let tables = self.tables;
        let named = store.read_blocking(move |rows| named_objects(rows, &tables))?;
        let named = named.into_iter();
        Ok(named
            .map(|(key, (digest, files))| NamedObject { key, digest, files })
            .collect())
    }

    /// Bytes that come later are stored anew.
    fn forget_contents(&self, store: &Store) -> Result<(), StoreError> {
        let contents = self.tables.contents;
        loop {
            let more = store.write_blocking(move |rows| {
                let page = rows.range(&contents, .., ROWS)?;
                for (digest, _) in &page {
                    rows.delete(&contents, digest)?;
                }
                Ok::<_, StoreError>(page.len() == ROWS)
            })?;
            if !more {
                return Ok(());
            }
        }
    }

    /// Notes what is damaged or missing; every other error ends the migration.
    fn fault_of_file(
        &self,
        counters: &Counters,
        (key, file): (&FileKey, &SharedFile),
        error: io::Error,
    ) -> Result<(), MigrationError> {
        let of_object = |error: &io::Error| {
            let inner = error.get_ref()?.downcast_ref::<ObjectError>()?;
            Some(is_of_one_object(inner))
        };
        if error.kind() != io::ErrorKind::InvalidData && of_object(&error) != Some(true) {
            return Err(self.file_error(error));
        }
        let text = format!("{}, object {}: {error}", describe(key, file), file.object);
        counters.faults.lock().push(text);
        Ok(())
    }

    fn file_error(&self, source: io::Error) -> MigrationError {
        let file = self.data.display().to_string();
        MigrationError::File { file, source }
    }
}

impl Counters {
    fn report(&self) -> MigrationReport {
        let pair = |of: &(AtomicU64, AtomicU64)| {
            (of.0.load(Ordering::Relaxed), of.1.load(Ordering::Relaxed))
        };
        let mut faults = self.faults.lock().clone();
        faults.sort();
        MigrationReport {
            copied: pair(&self.copied),
            there: pair(&self.there),
            faults,
            is_complete: false,
        }
    }
}

fn count(of: &(AtomicU64, AtomicU64), bytes: u64) {
    of.0.fetch_add(1, Ordering::Relaxed);
    of.1.fetch_add(bytes, Ordering::Relaxed);
}

fn is_of_one_object(error: &ObjectError) -> bool {
    matches!(
        error,
        ObjectError::Missing { .. } | ObjectError::Damaged { .. }
    )
}

/// Bytes that are not there are stored when they come again.
fn forget(
    store: Option<&Store>,
    tables: &FileTables,
    object: &NamedObject,
) -> Result<(), StoreError> {
    let Some(store) = store else {
        return Ok(());
    };
    let (contents, digest) = (tables.contents, object.digest.clone());
    store.write_blocking(move |rows| rows.delete(&contents, &digest).map(drop))
}

fn fault(
    counters: &Counters,
    object: &NamedObject,
    error: ObjectError,
) -> Result<(), MigrationError> {
    if !is_of_one_object(&error) {
        return Err(error.into());
    }
    let files = object.files.join(", ");
    let named = if files.is_empty() {
        "bytes of no file"
    } else {
        &files
    };
    counters.faults.lock().push(format!("{named}: {error}"));
    Ok(())
}

fn refuse_moved_elsewhere(from: &ObjectStorage, moved: &str) -> Result<(), MigrationError> {
    match from.closed()? {
        // By a migration to the same target, which is made again.
        None => Ok(()),
        Some(why) if why == moved => Ok(()),
        Some(why) => Err(MigrationError::Objects(ObjectError::Closed {
            place: from.place().to_owned(),
            why,
        })),
    }
}

/// Makes the target the owner's, and has nobody use it until all is there.
fn close_target(
    from: &ObjectStorage,
    to: &ObjectStorage,
    owner: &str,
) -> Result<(), MigrationError> {
    let why = format!("files are being copied to it from {}", from.place());
    if to.owner()?.is_some() {
        to.claim_closed(owner)?;
    }
    to.close(&why)?;
    // Whatever the two are called by.
    if from.closed()?.as_deref() == Some(why.as_str()) {
        from.reopen()?;
        return Err(MigrationError::SamePlace(from.place().to_owned()));
    }
    if let Err(error) = to.claim_closed(owner) {
        // Somebody was faster.
        to.reopen()?;
        return Err(error.into());
    }
    Ok(())
}

fn sizes(storage: &ObjectStorage) -> Result<HashMap<String, u64>, ObjectError> {
    let listed = storage.list(OBJECTS)?.into_iter();
    Ok(listed.map(|object| (object.key, object.bytes)).collect())
}

fn all_of(stored: &HashMap<String, u64>) -> Vec<NamedObject> {
    let objects = stored.keys().filter_map(|key| {
        Some(NamedObject {
            digest: digest_in_name(key)?,
            key: key.clone(),
            files: Vec::new(),
        })
    });
    objects.collect()
}
