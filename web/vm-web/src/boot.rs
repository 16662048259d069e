//! From a checked configuration to a service that can be started.
//!
//! ```text
//! <data>/store.redb      requests and their keys; locked, so that there is one manager a directory
//! <data>/token.key       what tokens are signed with, 0600
//! <data>/images, kernels what VMs are made of
//! <data>/vms             a directory for each VM; emptied at each start
//! <data>/places         which shares of images were there
//! <data>/kvm.json        what the canary said, until the host boots again
//! ```

mod data_directory;
mod drivers;
mod needs;

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;

use vm_actors::host_preparation::{HostPreparation, LocalImages};
use vm_actors::image_fetcher::ImageFetcher;
use vm_actors::image_storage::{ImageStorage, ImageStorageError, ImageStorageSettings};
use vm_actors::{Clock, VmService};
use vm_core::ImageRef;
use vm_engine::image::ImageStore;

use crate::config::ManagerConfig;
use data_directory::failed;

pub use data_directory::{DataDirectory, ManagerBootError};
pub use needs::missing;

/// The images that the managers of all hosts share, where a storage is configured; nothing is asked
/// of it yet.
///
/// # Errors
/// When it cannot be opened.
pub fn image_storage(
    config: &ManagerConfig,
    store: ImageStore,
) -> Result<Option<ImageStorage>, ImageStorageError> {
    let settings = config.objects.clone().map(|objects| ImageStorageSettings {
        objects,
        keep_free: config.images.keep_free,
        memory: Some(config.data.value.join("places")),
    });
    let opened = settings.map(|settings| ImageStorage::open(settings, store));
    opened.transpose()
}

/// Takes the data directory for this process, ends what a previous one left, and begins to prepare
/// what VMs are made of. `agent` is the static program that VMs run. Blocks.
///
/// # Errors
/// See [`ManagerBootError`]; that no VM can be had yet is no such error.
pub fn service(
    config: &ManagerConfig,
    directory: &DataDirectory,
    agent: &Path,
) -> Result<VmService, ManagerBootError> {
    let store = directory.alone()?;
    vm_engine::bound_buffers(config.settings.buffers_mib << 20);
    let runtime = directory.runtime();
    // The lock is held: nobody else's VMs can be there.
    let leftovers = vm_engine::end_orphans(&runtime)
        .map_err(failed("cannot end what a former manager left in", &runtime))?;
    for leftover in leftovers {
        tracing::warn!(
            event = "vm.left_behind",
            folder = %leftover.folder.display(),
            pid = leftover.killed,
            "ended what the previous incarnation of the manager left"
        );
    }
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&runtime)
        .map_err(failed("cannot make", &runtime))?;
    let store_of_images = ImageStore::open(&directory.images())?;
    let storage = image_storage(config, store_of_images.clone())?;
    let warm = config.settings.warm.iter().map(|key| key.image.clone());
    let configured: Vec<ImageRef> = warm.chain([ImageRef::default()]).collect();
    let fetcher = storage.map(|storage| ImageFetcher::spawn(storage, configured));
    let fetcher = fetcher.transpose();
    let images = LocalImages {
        store: store_of_images,
        fetcher: fetcher.map_err(failed("cannot start a thread for", &directory.data))?,
    };
    let setup = drivers::DriverSetup {
        config: config.clone(),
        directory: directory.clone(),
        images: images.clone(),
        agent: agent.to_owned(),
    };
    let prepare = Box::new(move |progress: &(dyn Fn(&str) + Send + Sync)| setup.prepare(progress));
    let host = HostPreparation::spawn(config.driver, images, prepare)
        .map_err(failed("cannot start a thread for", &directory.data))?;
    let (driver, images) = (Arc::clone(&host), host);
    Ok(VmService::new(
        config.settings.clone(),
        driver,
        images,
        store,
        Clock::start(),
    )?)
}
