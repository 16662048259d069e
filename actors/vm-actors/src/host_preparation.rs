//! What VMs are made of, while it is being made: the default image, a kernel, the canary's verdict.
//!
//! ```text
//! a thread: prepare(progress) ─▶ driver, KVM report ─▶ PreparedHost ◀─ VmScheduler, PoolManager, /health
//!              └─fails─▶ said in /health, tried again
//! ```
//! The manager answers from its first second; requests are told what is still missing.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use vm_core::{DriverName, ImageRef, Isolation, TemplateKey};
use vm_engine::image::{DiskFormat, Image, ImageError, ImageStore, ListedImage};
use vm_engine::{Driver, DriverError, Machine, StartRequest, Template};
use vmm_api_core::{ImageView, SharedImages};

use crate::image_fetcher::ImageFetcher;
use crate::images::{HostState, HostView, ImageFailure, Images};

/// How long after a failure it is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(60);

/// A driver that can be used, and what was found out on the way.
pub struct PreparedHost {
    /// The driver.
    pub driver: Arc<dyn Driver>,
    /// What the canary said.
    pub kvm: vmm_api_core::Kvm,
}

/// The images of this host, and the others that it can fetch.
#[derive(Clone)]
pub struct LocalImages {
    /// Those of this host.
    pub store: ImageStore,
    /// Where the others come from.
    pub fetcher: Option<Arc<ImageFetcher>>,
}

/// Makes all that VMs need; called on a thread, told what to do with its progress. The error is
/// for people.
pub type Prepare =
    Box<dyn Fn(&(dyn Fn(&str) + Send + Sync)) -> Result<PreparedHost, String> + Send>;

/// A driver and images that are ready later.
pub struct HostPreparation {
    name: DriverName,
    images: LocalImages,
    state: Mutex<State>,
    /// Dropped with this, which ends the thread's wait.
    _alive: Sender<()>,
}

enum State {
    Working(String),
    Failed(String),
    Ready(PreparedHost),
}

impl HostPreparation {
    /// Begins to prepare on a thread of its own. The thread ends when it is done, or with the
    /// process.
    ///
    /// # Errors
    /// When the system has no thread.
    pub fn spawn(
        name: DriverName,
        images: LocalImages,
        prepare: Prepare,
    ) -> std::io::Result<Arc<Self>> {
        let (alive, dropped) = channel();
        let me = Arc::new(Self {
            name,
            images,
            state: Mutex::new(State::Working("beginning".to_owned())),
            _alive: alive,
        });
        let working = Arc::downgrade(&me);
        std::thread::Builder::new()
            .name("vm-prepare".to_owned())
            .spawn(move || {
                let progress = {
                    let working = working.clone();
                    move |text: &str| {
                        tracing::info!(event = "vm.preparing", "{text}");
                        if let Some(me) = working.upgrade() {
                            *me.state.lock() = State::Working(text.to_owned());
                        }
                    }
                };
                while working.strong_count() > 0 {
                    let prepared = prepare(&progress);
                    let Some(me) = working.upgrade() else { return };
                    if me.finish(prepared) {
                        return;
                    }
                    drop(me);
                    if dropped.recv_timeout(RETRY_DELAY) == Err(RecvTimeoutError::Disconnected) {
                        return;
                    }
                }
            })?;
        Ok(me)
    }

    fn finish(&self, prepared: Result<PreparedHost, String>) -> bool {
        match prepared {
            Ok(prepared) => {
                tracing::info!(
                    event = "vm.prepared",
                    driver = %prepared.driver.name(),
                    isolation = %prepared.driver.isolation(),
                    kvm = prepared.kvm.usable,
                    reason = %prepared.kvm.reason,
                    "VMs can be had"
                );
                *self.state.lock() = State::Ready(prepared);
                true
            }
            Err(error) => {
                tracing::error!(event = "vm.prepare_failed", %error, "no VM can be had");
                *self.state.lock() = State::Failed(error);
                false
            }
        }
    }

    fn driver(&self) -> Result<Arc<dyn Driver>, DriverError> {
        match &*self.state.lock() {
            State::Ready(prepared) => Ok(Arc::clone(&prepared.driver)),
            State::Working(text) | State::Failed(text) => Err(DriverError::Unsupported {
                driver: self.name,
                what: format!("start VMs yet: {text}"),
            }),
        }
    }
}

impl Driver for HostPreparation {
    fn name(&self) -> DriverName {
        self.name
    }

    /// Until it is known, the least this driver may turn out to have.
    fn isolation(&self) -> Isolation {
        match (self.driver(), self.name) {
            (Ok(driver), _) => driver.isolation(),
            (Err(_), DriverName::Bubblewrap) => Isolation::NamespaceSandbox,
            (Err(_), _) => Isolation::EmulatedVm,
        }
    }

    fn overhead_mib(&self) -> u64 {
        self.driver().map_or(0, |driver| driver.overhead_mib())
    }

    fn start(&self, request: StartRequest) -> Result<Arc<dyn Machine>, DriverError> {
        self.driver()?.start(request)
    }

    fn template(
        &self,
        key: &TemplateKey,
        image: &Arc<Image>,
    ) -> Result<Option<Arc<dyn Template>>, DriverError> {
        self.driver()?.template(key, image)
    }
}

impl Images for HostPreparation {
    fn resolve(&self, name: &ImageRef) -> Result<Arc<Image>, ImageFailure> {
        match &*self.state.lock() {
            State::Ready(_) => {}
            State::Working(text) => {
                let progress = text.clone();
                return Err(ImageFailure::Preparing { progress });
            }
            State::Failed(text) => return Err(ImageFailure::Unusable(text.clone())),
        }
        if self.name == DriverName::Bubblewrap && *name == ImageRef::default() {
            return Ok(Arc::new(of_the_host()));
        }
        if let Some(fetcher) = &self.images.fetcher {
            return fetcher.find(name);
        }
        let store = &self.images.store;
        store.resolve(name).map_err(|error| match error {
            ImageError::Unknown(name) => ImageFailure::Unknown {
                name: name.to_string(),
                known: list_images(store),
            },
            error => ImageFailure::Unusable(error.to_string()),
        })
    }

    fn list(&self) -> Result<Vec<ImageView>, ImageFailure> {
        let listed = self.images.store.list();
        let listed = listed.map_err(|error| ImageFailure::Unusable(error.to_string()))?;
        if let Some(fetcher) = &self.images.fetcher {
            return Ok(fetcher.list(listed));
        }
        let view = |image: ListedImage| ImageView {
            digest: image.digest,
            names: image.names,
            bytes: image.stored_bytes,
            virtual_bytes: image.virtual_bytes,
            here: true,
        };
        Ok(listed.into_iter().map(view).collect())
    }

    fn fetches(&self) -> Option<watch::Receiver<u64>> {
        self.images
            .fetcher
            .as_ref()
            .map(|fetcher| fetcher.fetch_ends())
    }

    fn shared(&self) -> Option<SharedImages> {
        let fetcher = self.images.fetcher.as_ref()?;
        Some(fetcher.view(self.images.store.list().unwrap_or_default()))
    }

    fn host(&self) -> HostView {
        let unknown = || vmm_api_core::Kvm {
            device: false,
            usable: false,
            reason: "not tried yet".to_owned(),
        };
        match &*self.state.lock() {
            State::Ready(prepared) => HostView {
                state: HostState::Ready,
                kvm: prepared.kvm.clone(),
            },
            State::Working(text) => HostView {
                state: HostState::Preparing(text.clone()),
                kvm: unknown(),
            },
            State::Failed(text) => HostView {
                state: HostState::Failed(text.clone()),
                kvm: unknown(),
            },
        }
    }
}

/// What a namespace sandbox runs in: the host's own files, so there is no disk.
fn of_the_host() -> Image {
    Image {
        digest: "0".repeat(64),
        disk: "/".into(),
        format: DiskFormat::Raw,
        virtual_bytes: 0,
    }
}

/// The names there are, for a message.
fn list_images(store: &ImageStore) -> String {
    let listed = store.list().unwrap_or_default();
    let names: Vec<String> = listed.into_iter().flat_map(|image| image.names).collect();
    names.join(", ")
}
