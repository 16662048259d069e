//! Images that are fetched because a VM was asked for: each once, however many ask.
//!
//! ```text
//! VmScheduler, PoolManager ─find─▶ here? ─▶ the image
//!                                   └no─▶ a thread: ImageStorage::pull ─▶ here, or why not
//!                                           └─ progress ─▶ /health, who asks meanwhile
//! a thread: the index every 15 s, and room for what may come; a sweep when one is due
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::watch;
use vm_core::ImageRef;
use vm_core::image_index::{ImageChoice, ImageIndex};
use vm_engine::image::{Image, ImageError, ListedImage};
use vmm_api_core::{ImageFetch, ImageView, SharedImages};

use crate::image_storage::{ImageStorage, ImageStorageError, TransferProgress};
use crate::images::ImageFailure;

/// How old what is known of the storage gets.
const INDEX_INTERVAL: Duration = Duration::from_secs(15);
/// How long the reason of a fetch that failed is the answer, before it is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(10);
/// How often the log says how far a fetch is.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Fetches images; there is one for a manager.
pub struct ImageFetcher {
    pub(crate) storage: ImageStorage,
    /// Images that the configuration names: they are never removed.
    pub(crate) configured: Vec<ImageRef>,
    fetches: Mutex<Fetches>,
    /// Held by the fetch that transfers: one after the other, each with several requests at once.
    turn: Mutex<()>,
    /// Counts fetches that have ended.
    ended: watch::Sender<u64>,
    /// Why the storage cannot be used, as it was last seen.
    trouble: Mutex<Option<String>>,
    /// Dropped with this, which ends the thread's wait.
    _alive: Sender<()>,
}

#[derive(Default)]
struct Fetches {
    /// By digest.
    running: BTreeMap<String, TransferProgress>,
    failed: BTreeMap<String, (Instant, ImageFailure)>,
}

/// A fetch that is under way; dropped, it has ended, also by a panic: the next request begins anew.
struct RunningFetch<'f> {
    fetcher: &'f ImageFetcher,
    digest: &'f str,
}

impl Drop for RunningFetch<'_> {
    fn drop(&mut self) {
        self.fetcher.fetches.lock().running.remove(self.digest);
        let ended = &self.fetcher.ended;
        ended.send_modify(|count| *count = count.wrapping_add(1));
    }
}

impl ImageFetcher {
    /// Begins to look at the storage, on a thread of its own that ends with this. Images that are
    /// `configured` are not removed to make room.
    ///
    /// # Errors
    /// When the system has no thread.
    pub fn spawn(storage: ImageStorage, configured: Vec<ImageRef>) -> std::io::Result<Arc<Self>> {
        let (alive, dropped) = channel();
        let me = Arc::new(Self {
            storage,
            configured,
            fetches: Mutex::default(),
            turn: Mutex::new(()),
            ended: watch::Sender::new(0),
            trouble: Mutex::default(),
            _alive: alive,
        });
        let working = Arc::downgrade(&me);
        let work = move || {
            let mut swept = Instant::now();
            while let Some(me) = working.upgrade() {
                me.poll(&mut swept);
                drop(me);
                if dropped.recv_timeout(INDEX_INTERVAL) == Err(RecvTimeoutError::Disconnected) {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("vm-images".to_owned());
        thread.spawn(work).map(|_| me)
    }

    fn poll(&self, swept: &mut Instant) {
        self.make_room(0);
        let objects = &self.storage.settings().objects;
        if self.read_index().is_err() || swept.elapsed() < objects.sweep_every {
            return;
        }
        *swept = Instant::now();
        match self.storage.sweep(objects.grace) {
            Ok(0) => {}
            Ok(removed) => {
                tracing::info!(
                    event = "image.swept",
                    removed,
                    "objects that no image consists of were removed"
                );
            }
            Err(error) => {
                tracing::warn!(event = "image.sweep_failed", %error, "what no image consists of is removed later");
            }
        }
    }

    /// The index as it is; remembers how the storage is.
    fn read_index(&self) -> Result<Arc<ImageIndex>, ImageStorageError> {
        let read = self.storage.index();
        let trouble = read.as_ref().err().map(ToString::to_string);
        let former = std::mem::replace(&mut *self.trouble.lock(), trouble.clone());
        match (former, trouble) {
            (None, Some(error)) => {
                tracing::warn!(
                    event = "image.storage_failing",
                    error,
                    "images cannot be fetched now"
                );
            }
            (Some(_), None) => {
                let place = self.storage.place();
                tracing::info!(
                    event = "image.storage_recovered",
                    place,
                    "images can be fetched again"
                );
            }
            _ => {}
        }
        read
    }

    /// The image of this name or digest, when it is here; else it is fetched, if the storage has
    /// it. Blocks for a few files, and 5 s at most for what is not known yet.
    ///
    /// # Errors
    /// [`ImageFailure::Fetching`] while it is on its way; why there is none.
    pub fn find(self: &Arc<Self>, image: &ImageRef) -> Result<Arc<Image>, ImageFailure> {
        let known = self.storage.known_index().unwrap_or_default();
        let choice = match self.choose(&known, image) {
            // It may have come since.
            ImageChoice::Unknown => {
                let now = self.read_index().map_err(|error| failure(image, &error))?;
                self.choose(&now, image)
            }
            choice => choice,
        };
        match choice {
            ImageChoice::Here(digest) => match self.open_local(image, &digest) {
                // It made room at this moment.
                Err(_) if !self.storage.local().contains(&digest) => {
                    Err(self.fetch(image, &digest))
                }
                found => found,
            },
            ImageChoice::Fetch(digest) => Err(self.fetch(image, &digest)),
            ImageChoice::Unknown => Err(self.unknown(image)),
        }
    }

    fn choose(&self, index: &ImageIndex, image: &ImageRef) -> ImageChoice {
        let store = self.storage.local();
        let local = store.local_name(image.as_str());
        index.choose(image, local.as_ref(), |digest| store.contains(digest))
    }

    fn open_local(&self, image: &ImageRef, digest: &str) -> Result<Arc<Image>, ImageFailure> {
        let store = self.storage.local();
        let unusable = |error: ImageError| ImageFailure::Unusable(error.to_string());
        if image.digest().is_none() {
            let known = store.local_name(image.as_str());
            if known.is_none_or(|known| known.digest != digest) {
                // What the storage's name means was here by another name.
                store
                    .point(image.as_str(), digest, true)
                    .map_err(unusable)?;
            }
        }
        let found = store.resolve(&by_digest(digest)).map_err(unusable)?;
        store.record_use(digest);
        Ok(found)
    }

    /// Sees to it that an image is fetched; how that stands.
    fn fetch(self: &Arc<Self>, image: &ImageRef, digest: &str) -> ImageFailure {
        let mut fetches = self.fetches.lock();
        if let Some(progress) = fetches.running.get(digest) {
            return fetching(image, *progress);
        }
        if let Some((at, failure)) = fetches.failed.get(digest)
            && at.elapsed() < RETRY_DELAY
        {
            return failure.clone();
        }
        fetches.failed.remove(digest);
        let progress = TransferProgress { done: 0, total: 0 };
        let (me, image, key) = (Arc::clone(self), image.clone(), digest.to_owned());
        let shown = image.clone();
        let work = move || me.transfer(&image, &key);
        let thread = std::thread::Builder::new().name("vm-image-fetch".to_owned());
        match thread.spawn(work) {
            Ok(_) => {
                fetches.running.insert(digest.to_owned(), progress);
                fetching(&shown, progress)
            }
            Err(error) => ImageFailure::Unfetched {
                name: shown.to_string(),
                reason: error.to_string(),
            },
        }
    }

    fn transfer(&self, image: &ImageRef, digest: &str) {
        let _ends = RunningFetch {
            fetcher: self,
            digest,
        };
        let _turn = self.turn.lock();
        let index = self.storage.known_index().unwrap_or_default();
        self.make_room(index.images.get(digest).map_or(0, |image| image.bytes));
        let began = Instant::now();
        tracing::info!(event = "image.fetch_started", %image, digest, place = self.storage.place(), "an image is fetched");
        let logged = Mutex::new(began);
        let pulled = self.storage.pull(&by_digest(digest), &|progress| {
            self.fetches
                .lock()
                .running
                .insert(digest.to_owned(), progress);
            let mut logged = logged.lock();
            if logged.elapsed() >= LOG_INTERVAL {
                *logged = Instant::now();
                let (done_bytes, total_bytes) = (progress.done, progress.total);
                tracing::info!(
                    event = "image.fetching",
                    digest,
                    done_bytes,
                    total_bytes,
                    "an image is on its way"
                );
            }
        });
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        match pulled {
            Ok(_) => {
                tracing::info!(event = "image.fetched", %image, digest, duration_ms, "an image is here");
            }
            Err(error) => {
                tracing::error!(event = "image.fetch_failed", %image, digest, duration_ms, %error, "an image could not be fetched");
                let failed = (Instant::now(), failure(image, &error));
                let mut fetches = self.fetches.lock();
                fetches.failed.insert(digest.to_owned(), failed);
            }
        }
    }

    /// Changes each time that a fetch has ended.
    #[must_use]
    pub fn fetch_ends(&self) -> watch::Receiver<u64> {
        self.ended.subscribe()
    }

    /// Fetches an image now, unless it is here: for what cannot go on without it. `None`: the
    /// storage does not have it.
    ///
    /// # Errors
    /// The storage's, and this host's.
    pub fn fetch_now(
        &self,
        image: &ImageRef,
        watch: &(dyn Fn(TransferProgress) + Sync),
    ) -> Result<Option<Arc<Image>>, ImageStorageError> {
        if self.read_index()?.resolve(image).is_none() {
            return Ok(None);
        }
        let _turn = self.turn.lock();
        self.storage.pull(image, watch).map(Some)
    }

    /// The images of this host, then those that can be fetched.
    #[must_use]
    pub fn list(&self, here: Vec<ListedImage>) -> Vec<ImageView> {
        let index = self.storage.known_index().unwrap_or_default();
        let store = self.storage.local();
        let follows = |name: &String| store.local_name(name).is_some_and(|it| it.follows);
        let local = here.into_iter().map(|image| {
            let names = image.names.into_iter();
            let names = names.map(|name| (name.clone(), follows(&name)));
            ImageView {
                names: index.names_here(&image.digest, names.collect()),
                digest: image.digest,
                bytes: image.stored_bytes,
                virtual_bytes: image.virtual_bytes,
                here: true,
            }
        });
        let mut views: Vec<ImageView> = local.collect();
        for (digest, image) in &index.images {
            if views.iter().any(|view| view.here && view.digest == *digest) {
                continue;
            }
            let is_own = |name: &String| store.local_name(name).is_some_and(|it| !it.follows);
            let names = index.names_of(digest).into_iter();
            views.push(ImageView {
                digest: digest.clone(),
                names: names.filter(|name| !is_own(name)).collect(),
                bytes: image.bytes,
                virtual_bytes: 0,
                here: false,
            });
        }
        views
    }

    /// How it is, for `/health`.
    #[must_use]
    pub fn view(&self, here: Vec<ListedImage>) -> SharedImages {
        let images = self.list(here);
        let is_here = images.iter().filter(|image| image.here).count();
        let (fetched_bytes, most_bytes) = self.room();
        let fetches = self.fetches.lock();
        let fetching = fetches.running.iter().map(|(digest, at)| ImageFetch {
            digest: digest.clone(),
            done_bytes: at.done,
            bytes: at.total,
        });
        SharedImages {
            here: is_here,
            fetchable: images.len() - is_here,
            fetching: fetching.collect(),
            fetched_bytes,
            most_bytes,
            trouble: self.trouble.lock().clone(),
        }
    }

    fn unknown(&self, image: &ImageRef) -> ImageFailure {
        let here = self.storage.local().list().unwrap_or_default();
        let names = self.list(here).into_iter().flat_map(|image| image.names);
        let names: Vec<String> = names.collect();
        ImageFailure::Unknown {
            name: image.to_string(),
            known: names.join(", "),
        }
    }
}

fn by_digest(digest: &str) -> ImageRef {
    let reference = format!("blake3:{digest}").parse();
    reference.expect("digests of images are checked")
}

fn fetching(image: &ImageRef, at: TransferProgress) -> ImageFailure {
    let (done, total) = (at.done >> 20, at.total.div_ceil(1 << 20));
    let progress = match total {
        0 => "it begins".to_owned(),
        _ => format!("{done} of {total} MiB"),
    };
    ImageFailure::Fetching {
        name: image.to_string(),
        progress,
    }
}

fn failure(image: &ImageRef, error: &ImageStorageError) -> ImageFailure {
    let name = image.to_string();
    let reason = error.to_string();
    match error {
        ImageStorageError::Image(ImageError::NoRoom { .. }) => {
            ImageFailure::NoRoom { name, reason }
        }
        _ => ImageFailure::Unfetched { name, reason },
    }
}
