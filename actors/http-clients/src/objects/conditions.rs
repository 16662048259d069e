//! Whether a storage keeps the conditions of writes. Some servers take the headers and write all
//! the same: whoever trusts them loses objects.

use std::sync::atomic::Ordering;

use object_store::{ObjectStore as _, PutMode, PutOptions, UpdateVersion};

use crate::objects::error::ObjectError;
use crate::objects::storage::ObjectStorage;

/// A version that no object has.
const NO_VERSION: &str = "\"00000000000000000000000000000000\"";

impl ObjectStorage {
    /// Sees, once, that an object is not made twice, and not replaced where it is another version.
    /// In a folder locks see to that.
    ///
    /// # Errors
    /// [`ObjectError::Unsuitable`]; otherwise see [`ObjectError`].
    pub(crate) fn check_conditions(&self) -> Result<(), ObjectError> {
        if self.folder().is_some() || self.inner.keeps_conditions.load(Ordering::Acquire) {
            return Ok(());
        }
        let key = format!("probes/{}", uuid::Uuid::new_v4().simple());
        let ignored = self.with_probe_of(&key, |objects, path| async move {
            let update = PutMode::Update(UpdateVersion {
                e_tag: Some(NO_VERSION.to_owned()),
                version: None,
            });
            for (condition, mode) in [("If-None-Match", PutMode::Create), ("If-Match", update)] {
                let options = PutOptions::from(mode);
                match objects.put_opts(&path, "again".into(), options).await {
                    Ok(_) => return Ok(Some(condition)),
                    Err(
                        object_store::Error::AlreadyExists { .. }
                        | object_store::Error::Precondition { .. },
                    ) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(None)
        })?;
        if let Some(condition) = ignored {
            let place = self.place().to_owned();
            return Err(ObjectError::Unsuitable { place, condition });
        }
        self.inner.keeps_conditions.store(true, Ordering::Release);
        Ok(())
    }
}
