//! The handle: files go, files come, names are listed and removed.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use config_core::{Bucket, ObjectPlace, ObjectSettings};
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::prefix::PrefixStore;
use object_store::{BackoffConfig, ObjectStore, ObjectStoreExt as _, RetryConfig};
use tokio::sync::{mpsc, oneshot};

use crate::objects::bridge::HttpBridge;
use crate::objects::crypto::RingCrypto;
use crate::objects::error::ObjectError;
use crate::objects::mount::RememberedFolder;
use crate::objects::worker::{ConnectionWorker, next};

/// Chunks of a download that wait for the disk.
const CHUNKS: usize = 8;
/// The longest time that the repetitions of one request take.
const RETRY_TIMEOUT: Duration = Duration::from_secs(60);
/// Repetitions for whoever is asked himself: some seconds.
const MAX_RETRIES: usize = 6;
/// Those for work that would be lost, which the time ends.
const PATIENT_RETRIES: usize = 1000;
/// The longest time that a look at the place takes.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// A place for objects; clones share its connections.
#[derive(Clone)]
pub struct ObjectStorage {
    pub(crate) inner: Arc<StorageHandles>,
}

pub(crate) struct StorageHandles {
    objects: Arc<dyn ObjectStore>,
    /// The same for uploads that wait out a storage that is away.
    patient: Arc<dyn ObjectStore>,
    place: String,
    /// Where the objects are files.
    folder: Option<PathBuf>,
    /// That it is the place, where nobody claims it.
    remembered: Option<RememberedFolder>,
    /// The conditions of writes were seen to be kept.
    pub(crate) keeps_conditions: AtomicBool,
    worker: ConnectionWorker,
    /// The thread ends with the last of them.
    _bridge: HttpBridge,
}

/// An object that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredObject {
    /// Its name.
    pub key: String,
    /// Its length.
    pub bytes: u64,
    /// When it was stored, by the storage's clock.
    pub stored: SystemTime,
}

impl std::fmt::Debug for ObjectStorage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ObjectStorage({})", self.inner.place)
    }
}

impl ObjectStorage {
    /// The storage at a place; nothing is asked of it yet. A folder is made.
    ///
    /// # Errors
    /// When there can be no further thread, or the folder cannot be made.
    pub fn open(place: &ObjectPlace) -> Result<Self, ObjectError> {
        Self::open_folder(place, None)
    }

    /// The same of a place that nobody claims. Of a folder `memory`, a folder of this machine
    /// alone, keeps that it has been the place: when it is empty later, it is a share that is not
    /// mounted, and nothing is read there or written.
    ///
    /// # Errors
    /// As there, and when that cannot be kept.
    pub fn open_remembered(place: &ObjectPlace, memory: &Path) -> Result<Self, ObjectError> {
        let remembered = match place {
            ObjectPlace::Folder(folder) => Some(RememberedFolder::new(folder, memory)?),
            ObjectPlace::Bucket(_) => None,
        };
        Self::open_folder(place, remembered)
    }

    fn open_folder(
        place: &ObjectPlace,
        remembered: Option<RememberedFolder>,
    ) -> Result<Self, ObjectError> {
        let shown = place.describe();
        let local = |source| ObjectError::File {
            file: shown.clone(),
            source,
        };
        let (worker, bridge) = ConnectionWorker::start().map_err(local)?;
        let refused = |error: object_store::Error| ObjectError::from_store(&shown, "", &error);
        let folder = match place {
            ObjectPlace::Folder(folder) => Some(folder.clone()),
            ObjectPlace::Bucket(_) => None,
        };
        let (objects, patient): (Arc<dyn ObjectStore>, Arc<dyn ObjectStore>) = match place {
            ObjectPlace::Folder(folder) => {
                std::fs::create_dir_all(folder).map_err(local)?;
                let objects = LocalFileSystem::new_with_prefix(folder).map_err(refused)?;
                let objects = Arc::new(objects.with_fsync(true));
                (Arc::clone(&objects) as _, objects)
            }
            ObjectPlace::Bucket(bucket) => {
                let of = |retries| {
                    let objects = s3(bucket, bridge.clone(), retries).map_err(refused)?;
                    Ok(Arc::new(PrefixStore::new(objects, bucket.prefix.as_str())))
                };
                (of(MAX_RETRIES)?, of(PATIENT_RETRIES)?)
            }
        };
        Ok(Self {
            inner: Arc::new(StorageHandles {
                objects,
                patient,
                place: shown,
                folder,
                remembered,
                keeps_conditions: AtomicBool::new(false),
                worker,
                _bridge: bridge,
            }),
        })
    }

    /// The place, as people write it.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.inner.place
    }

    /// Reads an object into a new file, which has its name only when it is whole and has this
    /// BLAKE3 digest.
    ///
    /// # Errors
    /// See [`ObjectError`]; there is no file then.
    pub fn get(&self, key: &str, digest: &str, file: &Path) -> Result<(), ObjectError> {
        let part = file.with_extension(format!("{}.part", uuid::Uuid::new_v4().simple()));
        let read = self
            .get_into(key, digest, &part)
            .and_then(|()| std::fs::rename(&part, file).map_err(|source| file_error(file, source)));
        if read.is_err() {
            let _ = std::fs::remove_file(&part);
        }
        read
    }

    fn get_into(&self, key: &str, digest: &str, file: &Path) -> Result<(), ObjectError> {
        let mut to = File::create_new(file).map_err(|source| file_error(file, source))?;
        if self.read_to(key, &mut to, file)? != digest {
            return Err(self.damaged(key));
        }
        // A power loss may leave a file with its new name and without its content.
        to.sync_all().map_err(|source| file_error(file, source))
    }

    /// Reads an object; the BLAKE3 digest of what came. `named`: what is written to, for errors.
    pub(crate) fn read_to(
        &self,
        key: &str,
        to: &mut impl Write,
        named: &Path,
    ) -> Result<String, ObjectError> {
        let path = Key::from(key);
        let (chunks, mut coming) = mpsc::channel::<object_store::Result<Bytes>>(CHUNKS);
        self.check_folder()?;
        let objects = Arc::clone(&self.inner.objects);
        self.inner.worker.spawn(async move {
            let mut stream = match objects.get(&path).await {
                Ok(found) => found.into_stream(),
                Err(error) => futures_util::stream::once(async { Err(error) }).boxed(),
            };
            while let Some(chunk) = stream.next().await {
                if chunks.send(chunk).await.is_err() {
                    return;
                }
            }
        });
        let mut hasher = blake3::Hasher::new();
        while let Some(chunk) = next(&mut coming) {
            let chunk = chunk.map_err(|error| self.error(key, &error))?;
            hasher.update(&chunk);
            to.write_all(&chunk)
                .map_err(|source| file_error(named, source))?;
        }
        Ok(hasher.finalize().to_hex().to_string())
    }

    pub(crate) fn damaged(&self, key: &str) -> ObjectError {
        ObjectError::Damaged {
            place: self.inner.place.clone(),
            key: key.to_owned(),
        }
    }

    /// Removes an object; one that is not there is well.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn delete(&self, key: &str) -> Result<(), ObjectError> {
        let path = Key::from(key);
        let removed = self.run(
            key,
            move |objects| async move { objects.delete(&path).await },
        );
        match removed {
            Err(ObjectError::Missing { .. }) => Ok(()),
            removed => removed,
        }
    }

    /// The length of an object; `None` where it is not there.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn bytes_of(&self, key: &str) -> Result<Option<u64>, ObjectError> {
        let path = Key::from(key);
        let looked = self.run(key, move |objects| async move { objects.head(&path).await });
        match looked {
            Ok(found) => Ok(Some(found.size)),
            Err(ObjectError::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All objects whose names begin with `prefix` and a slash.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn list(&self, prefix: &str) -> Result<Vec<StoredObject>, ObjectError> {
        let path = Key::from(prefix);
        let found = self.run(prefix, move |objects| async move {
            objects.list(Some(&path)).try_collect::<Vec<_>>().await
        })?;
        let stored = found.into_iter().map(|object| StoredObject {
            key: object.location.to_string(),
            bytes: object.size,
            stored: object.last_modified.into(),
        });
        Ok(stored.collect())
    }

    /// The time by the clock that [`StoredObject::stored`] is by: that of an object which is
    /// written for it and removed. This machine's clock may be hours off, and what is old by it may
    /// be new.
    ///
    /// # Errors
    /// See [`ObjectError`].
    pub fn time(&self) -> Result<SystemTime, ObjectError> {
        let folder = format!("probes/{}", uuid::Uuid::new_v4().simple());
        let prefix = Key::from(folder.as_str());
        let key = format!("{folder}/time");
        let listed = self.with_probe_of(&key, move |objects, _| async move {
            // Listed, as the others are: other answers have times that are rounded otherwise.
            let listed = objects.list(Some(&prefix)).try_next().await?;
            Ok(listed.map(|object| object.last_modified.into()))
        })?;
        listed.ok_or_else(|| self.unavailable("it does not list what it has just stored"))
    }

    /// Writes, reads and removes a small object, and sees that conditions of writes are kept: what
    /// a start needs.
    ///
    /// # Errors
    /// What does not work.
    pub fn try_out(&self) -> Result<(), ObjectError> {
        let key = format!("probes/{}", uuid::Uuid::new_v4().simple());
        self.with_probe_of(&key, move |objects, path| async move {
            objects.get(&path).await?.bytes().await.map(drop)
        })?;
        self.check_conditions()
    }

    /// The same of the place that settings name, if they name one.
    ///
    /// # Errors
    /// What does not work.
    pub fn try_place(objects: Option<&ObjectSettings>) -> Result<(), ObjectError> {
        match objects {
            Some(objects) => {
                let storage = Self::open(&objects.place)?;
                storage.try_out()?;
                storage.usable()
            }
            None => Ok(()),
        }
    }

    /// The folder that holds the objects, where it is one.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.inner.folder.as_deref()
    }

    /// That a folder is the place, where that is remembered.
    pub(crate) fn check_folder(&self) -> Result<(), ObjectError> {
        let remembered = self.inner.remembered.as_ref();
        remembered.map_or(Ok(()), |one| one.check(&self.inner.place))
    }

    /// What `look` sees while there is an object of this name. The object is removed at the end,
    /// however long that takes, and whether somebody still waits for it or not.
    pub(crate) fn with_probe_of<T, F>(
        &self,
        key: &str,
        look: impl FnOnce(Arc<dyn ObjectStore>, Key) -> F + Send + 'static,
    ) -> Result<T, ObjectError>
    where
        T: Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        self.check_folder()?;
        let (objects, path) = (Arc::clone(&self.inner.objects), Key::from(key));
        let (done, seen) = oneshot::channel();
        self.inner.worker.spawn(async move {
            // Whoever waits no longer hears nothing.
            let _ = match objects.put(&path, "probe".into()).await {
                // It may be there all the same.
                Err(error) => {
                    let told = done.send(Err(error));
                    let _ = objects.delete(&path).await;
                    told
                }
                Ok(_) => {
                    let looked = look(Arc::clone(&objects), path.clone()).await;
                    let removed = objects.delete(&path).await;
                    done.send(looked.and_then(|seen| removed.map(|()| seen)))
                }
            };
        });
        match self.inner.worker.wait(probed(seen)) {
            Some(Some(Ok(result))) => result.map_err(|error| self.error(key, &error)),
            _ => Err(self.unavailable(&format!("it does not answer within {PROBE_TIMEOUT:?}"))),
        }
    }

    pub(crate) fn with_probe<T, F>(
        &self,
        key: &str,
        work: impl FnOnce(Arc<dyn ObjectStore>) -> F,
    ) -> Result<T, ObjectError>
    where
        T: Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        self.check_folder()?;
        let work = work(Arc::clone(&self.inner.objects));
        let done = self.inner.worker.wait(probed(work));
        match done {
            Some(Some(result)) => result.map_err(|error| self.error(key, &error)),
            _ => Err(self.unavailable(&format!("it does not answer within {PROBE_TIMEOUT:?}"))),
        }
    }

    pub(crate) fn run<T, F>(
        &self,
        key: &str,
        work: impl FnOnce(Arc<dyn ObjectStore>) -> F,
    ) -> Result<T, ObjectError>
    where
        T: Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        self.run_on(&self.inner.objects, key, work)
    }

    /// The same, as patient as is said.
    pub(crate) fn run_on<T, F>(
        &self,
        objects: &Arc<dyn ObjectStore>,
        key: &str,
        work: impl FnOnce(Arc<dyn ObjectStore>) -> F,
    ) -> Result<T, ObjectError>
    where
        T: Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        self.check_folder()?;
        let done = self.inner.worker.wait(work(Arc::clone(objects)));
        done.ok_or_else(|| self.unavailable("its thread has ended"))?
            .map_err(|error| self.error(key, &error))
    }

    /// For uploads: those that wait for a minute, or for some seconds.
    pub(crate) fn uploads(&self, is_patient: bool) -> &Arc<dyn ObjectStore> {
        match is_patient {
            true => &self.inner.patient,
            false => &self.inner.objects,
        }
    }

    fn error(&self, key: &str, error: &object_store::Error) -> ObjectError {
        ObjectError::from_store(&self.inner.place, key, error)
    }

    fn unavailable(&self, reason: &str) -> ObjectError {
        ObjectError::Unavailable {
            place: self.inner.place.clone(),
            reason: reason.to_owned(),
        }
    }
}

fn s3(bucket: &Bucket, bridge: HttpBridge, max_retries: usize) -> object_store::Result<AmazonS3> {
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(&bucket.name)
        .with_region(&bucket.region)
        .with_access_key_id(bucket.keys.access.expose())
        .with_secret_access_key(bucket.keys.secret.expose())
        .with_crypto_provider(Arc::new(RingCrypto))
        .with_http_connector(bridge)
        .with_retry(retries(max_retries));
    if let Some(session) = &bucket.keys.session {
        builder = builder.with_token(session.expose());
    }
    if let Some(endpoint) = &bucket.endpoint {
        // Whether it may be without TLS was decided when the settings were read.
        builder = builder
            .with_endpoint(endpoint.as_str().trim_end_matches('/'))
            .with_allow_http(true);
    }
    builder.build()
}

async fn probed<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(PROBE_TIMEOUT, work).await.ok()
}

pub(crate) fn file_error(file: &Path, source: std::io::Error) -> ObjectError {
    ObjectError::File {
        file: file.display().to_string(),
        source,
    }
}

fn retries(max_retries: usize) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(200),
            max_backoff: Duration::from_secs(5),
            base: 2.0,
        },
        max_retries,
        retry_timeout: RETRY_TIMEOUT,
    }
}

/// The BLAKE3 digest of a file, in hexadecimal digits.
///
/// # Errors
/// When it cannot be read.
pub fn digest_of_file(file: &Path) -> std::io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(file)?)?;
    Ok(hasher.finalize().to_hex().to_string())
}
