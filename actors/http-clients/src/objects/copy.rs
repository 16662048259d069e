//! From one storage to another.

use std::path::Path;

use crate::objects::error::ObjectError;
use crate::objects::storage::{ObjectStorage, file_error};

impl ObjectStorage {
    /// Copies the object that has this BLAKE3 digest to another storage, under the same name, and
    /// reads it back; its bytes. It goes over a new file in `folder`, which is gone afterwards.
    ///
    /// # Errors
    /// [`ObjectError::Missing`] and [`ObjectError::Damaged`] of either storage; otherwise see
    /// [`ObjectError`].
    pub fn copy_to(
        &self,
        (key, digest): (&str, &str),
        to: &Self,
        folder: &Path,
    ) -> Result<u64, ObjectError> {
        let file = folder.join(uuid::Uuid::new_v4().simple().to_string());
        let copied = self.get(key, digest, &file).and_then(|()| {
            to.put(key, &file)?;
            if to.digest_of(key)? != digest {
                return Err(to.damaged(key));
            }
            let about = std::fs::metadata(&file);
            Ok(about.map_err(|source| file_error(&file, source))?.len())
        });
        let _ = std::fs::remove_file(&file);
        copied
    }

    /// The BLAKE3 digest of an object, all of which is read.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn digest_of(&self, key: &str) -> Result<String, ObjectError> {
        self.read_to(key, &mut std::io::sink(), Path::new(key))
    }
}
