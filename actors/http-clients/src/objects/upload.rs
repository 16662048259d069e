//! A file on its way to the storage: at once, or in parts.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use bytes::Bytes;
use object_store::path::Path as Key;
use object_store::{MultipartUpload, ObjectStoreExt as _, PutPayload};

use crate::objects::error::ObjectError;
use crate::objects::storage::{ObjectStorage, file_error};

/// Bytes of one part of an upload, and the most that is held of it.
const PART: usize = 8 << 20;

impl ObjectStorage {
    /// Stores a file under a name, in parts; it is there as a whole or not at all.
    ///
    /// # Errors
    /// See [`ObjectError`]; nothing is there then.
    pub fn put(&self, key: &str, file: &Path) -> Result<(), ObjectError> {
        self.put_within(key, file, false)
    }

    /// The same of a file that would be lost: a storage that is away is tried for a minute.
    ///
    /// # Errors
    /// As there.
    pub fn put_patiently(&self, key: &str, file: &Path) -> Result<(), ObjectError> {
        self.put_within(key, file, true)
    }

    fn put_within(&self, key: &str, file: &Path, is_patient: bool) -> Result<(), ObjectError> {
        let local = |source| file_error(file, source);
        let mut from = File::open(file).map_err(local)?;
        let first = part(&mut from).map_err(local)?;
        let to = self.uploads(is_patient);
        if first.len() < PART {
            let path = Key::from(key);
            return self.run_on(to, key, move |objects| async move {
                objects.put(&path, first.into()).await.map(drop)
            });
        }
        let path = Key::from(key);
        let upload = self.run_on(to, key, move |objects| async move {
            objects.put_multipart(&path).await
        })?;
        self.put_parts(key, upload, first, &mut from)
            .map_err(|error| match error {
                PartError::Storage(error) => error,
                PartError::File(source) => local(source),
            })
    }

    fn put_parts(
        &self,
        key: &str,
        mut upload: Box<dyn MultipartUpload>,
        first: Bytes,
        from: &mut File,
    ) -> Result<(), PartError> {
        let mut next = Ok(first);
        loop {
            let failed = match next {
                Ok(bytes) if bytes.is_empty() => break,
                Ok(bytes) => {
                    // One behind the other: a runner has many uploads at once, and one at a time
                    // bounds what each holds.
                    let sent = upload.put_part(PutPayload::from_bytes(bytes));
                    self.run(key, move |_| sent).err().map(PartError::Storage)
                }
                Err(error) => Some(PartError::File(error)),
            };
            if let Some(error) = failed {
                // What an abort does not reach goes by the bucket's rule for unfinished uploads.
                let _ = self.run(key, move |_| async move { upload.abort().await });
                return Err(error);
            }
            next = part(from);
        }
        let completed = self.run(key, move |_| async move {
            let completed = upload.complete().await;
            if completed.is_err() {
                // One that was completed, and of which only the answer was lost, knows it no more.
                let _ = upload.abort().await;
            }
            completed
        });
        completed.map(drop).map_err(PartError::Storage)
    }
}

enum PartError {
    Storage(ObjectError),
    File(std::io::Error),
}

/// The next bytes of a file, at most a part; empty at its end.
fn part(file: &mut File) -> std::io::Result<Bytes> {
    let mut bytes = Vec::new();
    file.take(PART as u64).read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use config_core::ObjectPlace;
    use object_store::{PutResult, UploadPart};

    use super::*;

    /// An upload that cannot be completed.
    #[derive(Debug)]
    struct Incomplete {
        was_aborted: Arc<AtomicBool>,
    }

    #[async_trait::async_trait]
    impl MultipartUpload for Incomplete {
        fn put_part(&mut self, _: PutPayload) -> UploadPart {
            Box::pin(async { Ok(()) })
        }

        async fn complete(&mut self) -> object_store::Result<PutResult> {
            Err(object_store::Error::NotImplemented {
                operation: "completing".to_owned(),
                implementer: "this upload".to_owned(),
            })
        }

        async fn abort(&mut self) -> object_store::Result<()> {
            self.was_aborted.store(true, Ordering::SeqCst);
            Ok(())
        }
    }

    #[test]
    fn i18_an_upload_that_cannot_be_completed_is_aborted() {
        let home = tempfile::tempdir().expect("a folder");
        let url = format!("file://{}", home.path().display());
        let place = ObjectPlace::new(&url, None, None, false, None).expect("a place");
        let storage = ObjectStorage::open(&place).expect("it opens");
        let file = home.path().join("rest");
        std::fs::write(&file, "the rest").expect("room");
        let was_aborted = Arc::new(AtomicBool::new(false));
        let upload = Box::new(Incomplete {
            was_aborted: Arc::clone(&was_aborted),
        });
        let mut from = File::open(&file).expect("it is there");
        let put = storage.put_parts("key", upload, Bytes::from_static(b"first"), &mut from);
        assert!(put.is_err());
        assert!(was_aborted.load(Ordering::SeqCst));
    }
}
