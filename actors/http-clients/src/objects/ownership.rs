//! Whose a place is, and whether it may be used.

use object_store::path::Path as Key;
use object_store::{ObjectStore as _, ObjectStoreExt as _, PutMode, PutOptions};

use crate::objects::conditional::SmallObject;
use crate::objects::error::ObjectError;
use crate::objects::storage::ObjectStorage;

/// The object that says whose the place is.
const OWNER: &str = "owner";
/// The object that says which store of the owner's has the place.
const STORE: &str = "owner-store";
/// The object that says why its owner is not to use it.
const CLOSED: &str = "closed";

impl ObjectStorage {
    /// Makes the place this installation's, or finds that it is, and that it may be used.
    ///
    /// # Errors
    /// [`ObjectError::OtherOwner`], [`ObjectError::Closed`], [`ObjectError::Unsuitable`]; otherwise
    /// see [`ObjectError`].
    pub fn claim(&self, installation: &str) -> Result<(), ObjectError> {
        self.claim_closed(installation)?;
        match self.closed()? {
            Some(why) => Err(ObjectError::Closed {
                place: self.place().to_owned(),
                why,
            }),
            None => Ok(()),
        }
    }

    /// The same of a place that may be closed.
    ///
    /// # Errors
    /// [`ObjectError::OtherOwner`]; otherwise see [`ObjectError`].
    pub fn claim_closed(&self, installation: &str) -> Result<(), ObjectError> {
        self.check_conditions()?;
        let owner = installation.to_owned();
        let there = self.with_probe(OWNER, move |objects| async move {
            let path = Key::from(OWNER);
            let create = PutOptions::from(PutMode::Create);
            let made = objects.put_opts(&path, owner.clone().into(), create).await;
            match made {
                Ok(_) => Ok(owner.into()),
                Err(object_store::Error::AlreadyExists { .. }) => {
                    objects.get(&path).await?.bytes().await
                }
                Err(error) => Err(error),
            }
        })?;
        if there == installation.as_bytes() {
            return Ok(());
        }
        Err(ObjectError::OtherOwner {
            place: self.place().to_owned(),
            owner: String::from_utf8_lossy(&there).into_owned(),
        })
    }

    /// Makes the place that of one store of its owner, or finds that it is; `replaces` another one.
    ///
    /// # Errors
    /// [`ObjectError::OtherStore`]; otherwise see [`ObjectError`].
    pub fn claim_for_store(&self, store: &str, replaces: bool) -> Result<(), ObjectError> {
        let own = store.to_owned();
        let there = self.with_probe(STORE, move |objects| async move {
            let path = Key::from(STORE);
            let create = PutOptions::from(PutMode::Create);
            let made = objects.put_opts(&path, own.clone().into(), create).await;
            match made {
                Ok(_) => Ok(own.into()),
                Err(object_store::Error::AlreadyExists { .. }) => {
                    objects.get(&path).await?.bytes().await
                }
                Err(error) => Err(error),
            }
        })?;
        if there == store.as_bytes() {
            return Ok(());
        }
        if replaces {
            return self.put_bytes(STORE, store.to_owned().into());
        }
        Err(ObjectError::OtherStore {
            place: self.place().to_owned(),
            there: String::from_utf8_lossy(&there).into_owned(),
            own: store.to_owned(),
        })
    }

    /// Whether the place, where it is a folder, has what [`Self::claim`] put there: one that is a
    /// share has not, while that is not mounted. Of a bucket nothing is asked.
    #[must_use]
    pub fn has_folder_with_owner(&self) -> bool {
        let folder = self.folder();
        folder.is_none_or(|folder| folder.join(OWNER).exists())
    }

    /// The installation whose place it is.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn owner(&self) -> Result<Option<String>, ObjectError> {
        self.small_text(OWNER)
    }

    /// Why its owner is not to use it, if so.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn closed(&self) -> Result<Option<String>, ObjectError> {
        self.small_text(CLOSED)
    }

    /// Has no process of its owner use it from its next start on, and says why.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn close(&self, why: &str) -> Result<(), ObjectError> {
        self.put_bytes(CLOSED, why.to_owned().into())
    }

    /// Takes [`Self::close`] back.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn reopen(&self) -> Result<(), ObjectError> {
        self.delete(CLOSED)
    }

    /// Whether the storage answers, within 5 s; that it holds nothing yet is well.
    ///
    /// # Errors
    /// Why not.
    pub fn probe(&self) -> Result<(), ObjectError> {
        // Not a HEAD: its answer has no body that would tell a missing object from a missing
        // bucket.
        let looked = self.with_probe(OWNER, |objects| async move {
            objects.get(&Key::from(OWNER)).await?.bytes().await
        });
        match looked {
            Ok(_) | Err(ObjectError::Missing { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether the storage answers, takes the keys, and its owner may use it.
    ///
    /// # Errors
    /// Why not.
    pub fn usable(&self) -> Result<(), ObjectError> {
        self.probe()?;
        match self.closed()? {
            Some(why) => Err(ObjectError::Closed {
                place: self.place().to_owned(),
                why,
            }),
            None => Ok(()),
        }
    }

    fn small_text(&self, key: &str) -> Result<Option<String>, ObjectError> {
        Ok(match self.read_small(key, None)? {
            SmallObject::Read(bytes, _) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            SmallObject::Missing | SmallObject::Unchanged => None,
        })
    }
}
