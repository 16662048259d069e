//! Whose a place for files is: an installation has it by its name, and one of its stores. A copy of
//! the store that runs beside it has the same name, and would remove what it does not know.

use std::sync::atomic::Ordering;

use http_clients::objects::{ObjectError, ObjectStorage};
use store::{JsonRow, PostgresUrl, ReadRows, Store, StoreError, StoreOptions};

use crate::replica::file_migration::{FileMigration, MigrationError};
use crate::replica::file_rows::FileTables;
use crate::replica::shared_files::SharedFiles;

/// The row of the installation's name.
const NAME: u8 = 0;
/// The row of the place which it has claimed last.
const CLAIMED_PLACE: u8 = 1;
/// The row of the store that has claimed a place last.
const CLAIMED_AS: u8 = 2;

impl SharedFiles {
    /// Makes the place this installation's, once, and as long as it is: a share that is not mounted
    /// any more is an empty folder, which must not be taken for the place.
    pub(crate) fn claim_place(&self) -> std::io::Result<()> {
        let mut claimed = self.inner.claimed.lock();
        let storage = &self.inner.storage;
        if *claimed && storage.has_folder_with_owner() {
            return Ok(());
        }
        *claimed = false;
        let (name, was_used) = self.installation()?;
        self.judged(self.try_to_claim(&name, was_used)?)?;
        let (tables, place) = (self.inner.tables, JsonRow::new(&storage.place().to_owned()));
        self.write(move |rows| rows.put(&tables.installation, &CLAIMED_PLACE, &place))?;
        *claimed = true;
        Ok(())
    }

    /// That the place is still this store's.
    pub(crate) fn claim_for_this_store(&self) -> std::io::Result<()> {
        let claimed = self.store_claim()?;
        let is_lost = matches!(claimed, Err(ObjectError::OtherStore { .. }));
        if is_lost {
            *self.inner.claimed.lock() = false;
        }
        self.judged(claimed)
    }

    /// The store's failures are those of this function, the storage's its answer.
    fn try_to_claim(&self, name: &str, was_used: bool) -> std::io::Result<Result<(), ObjectError>> {
        let storage = &self.inner.storage;
        if was_used {
            match storage.owner() {
                Ok(Some(_)) => {}
                Ok(None) => {
                    let (place, owner) = (storage.place().to_owned(), name.to_owned());
                    return Ok(Err(ObjectError::Elsewhere { place, owner }));
                }
                Err(error) => return Ok(Err(error)),
            }
        }
        match storage.claim(name) {
            Ok(()) => self.store_claim(),
            refused => Ok(refused),
        }
    }

    fn store_claim(&self) -> std::io::Result<Result<(), ObjectError>> {
        let (store, tables) = (&self.inner.store, &self.inner.tables);
        claim_as(&self.inner.storage, store, tables).map_err(std::io::Error::other)
    }

    /// Remembers that the place is not to be used, whatever else it answers.
    fn judged(&self, claimed: Result<(), ObjectError>) -> std::io::Result<()> {
        let is_refused = matches!(
            claimed,
            Err(ObjectError::OtherOwner { .. }
                | ObjectError::OtherStore { .. }
                | ObjectError::Closed { .. }
                | ObjectError::Elsewhere { .. }
                | ObjectError::Unsuitable { .. })
        );
        self.inner.is_refused.store(is_refused, Ordering::Relaxed);
        self.record_result(claimed)
    }

    /// The installation's name, which it gets here, and whether the store knows that the place was
    /// used before.
    fn installation(&self) -> std::io::Result<(String, bool)> {
        let (tables, place) = (self.inner.tables, self.inner.storage.place().to_owned());
        self.write(move |rows| {
            if let Some(known) = load_claim(rows, &tables, &place)? {
                return Ok(known);
            }
            let name = uuid::Uuid::new_v4().to_string();
            rows.put(&tables.installation, &NAME, &JsonRow::new(&name))?;
            Ok((name, false))
        })
    }
}

/// The installation's name, if it has one, and whether the place was used before as far as the
/// store knows.
fn load_claim(
    rows: &mut impl ReadRows,
    tables: &FileTables,
    place: &str,
) -> Result<Option<(String, bool)>, StoreError> {
    let mut said = |of: u8| {
        let row = rows.get(&tables.installation, &of)?;
        Ok::<_, StoreError>(row.and_then(JsonRow::value))
    };
    let (Some(name), claimed) = (said(NAME)?, said(CLAIMED_PLACE)?) else {
        return Ok(None);
    };
    let was_claimed = claimed.is_some_and(|at| at == place);
    Ok(Some((name, was_claimed || rows.len(&tables.files)? > 0)))
}

/// Whether the place is another installation's than the store at `url`, or has lost its owner: what
/// a process would find when it leads. Where one of them does not say, nothing is known. Nothing is
/// made or taken. Blocks.
#[must_use]
pub fn foreign_place(
    files: &FileMigration,
    url: &PostgresUrl,
    options: &StoreOptions,
) -> Option<ObjectError> {
    let storage = ObjectStorage::open(&files.from.place).ok()?;
    let (tables, place) = (files.tables, storage.place().to_owned());
    let read = store::peek(url, options, |rows| load_claim(rows, &tables, &place)).ok()?;
    let (name, was_used) = read.flatten().unwrap_or_default();
    match storage.owner().ok()? {
        Some(owner) if owner != name => Some(ObjectError::OtherOwner { place, owner }),
        None if was_used => Some(ObjectError::Elsewhere { place, owner: name }),
        _ => None,
    }
}

/// Makes the place this store's, unless it is another's: one that this store was moved from is
/// over, once.
fn claim_as(
    storage: &ObjectStorage,
    store: &Store,
    tables: &FileTables,
) -> Result<Result<(), ObjectError>, StoreError> {
    let identity = store.identity()?;
    let table = tables.installation;
    let last = store.read_blocking(move |rows| rows.get(&table, &CLAIMED_AS))?;
    let is_known = last.and_then(JsonRow::value).as_deref() == Some(identity.id.as_str());
    let replaces = identity.is_moved_in && !is_known;
    if let Err(error) = storage.claim_for_store(&identity.id, replaces) {
        return Ok(Err(error));
    }
    if !is_known {
        record_claim(store, tables, &identity.id)?;
    }
    Ok(Ok(()))
}

fn record_claim(store: &Store, tables: &FileTables, id: &String) -> Result<(), StoreError> {
    let (table, row) = (tables.installation, JsonRow::new(id));
    store.write_blocking(move |rows| rows.put(&table, &CLAIMED_AS, &row))
}

/// Says that the store which had the place is over for good, and that this one, of the same
/// installation, has it now; gives the place. Nobody else may have the store.
///
/// # Errors
/// The place is of another installation; otherwise see [`MigrationError`].
pub fn claim_objects(files: &FileMigration, store: &Store) -> Result<String, MigrationError> {
    let storage = ObjectStorage::open(&files.from.place)?;
    files.owner(&storage, Some(store))?;
    let id = store.identity()?.id;
    storage.claim_for_store(&id, true)?;
    record_claim(store, &files.tables, &id)?;
    Ok(storage.place().to_owned())
}
