//! Objects that are held whole: parts of a backup, and what leads to them.

use bytes::Bytes;
use object_store::ObjectStoreExt as _;
use object_store::path::Path as Key;

use crate::objects::error::ObjectError;
use crate::objects::storage::ObjectStorage;

impl ObjectStorage {
    /// Stores bytes under a name, whatever stood there.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn put_bytes(&self, key: &str, bytes: Bytes) -> Result<(), ObjectError> {
        let path = Key::from(key);
        self.run(key, move |objects| async move {
            objects.put(&path, bytes.into()).await.map(drop)
        })
    }

    /// Reads an object of at most `most` bytes.
    ///
    /// # Errors
    /// [`ObjectError::Missing`], [`ObjectError::TooLarge`]; otherwise see [`ObjectError`].
    pub fn get_bytes(&self, key: &str, most: u64) -> Result<Bytes, ObjectError> {
        let path = Key::from(key);
        let read = self.run(key, move |objects| async move {
            let found = objects.get(&path).await?;
            match found.meta.size {
                size if size > most => Ok(Err(size)),
                _ => found.bytes().await.map(Ok),
            }
        })?;
        read.map_err(|bytes| ObjectError::TooLarge {
            place: self.place().to_owned(),
            key: key.to_owned(),
            bytes,
            most,
        })
    }
}
