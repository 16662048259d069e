//! `vm-manager image`: images in object storage.

use std::sync::Mutex;

use anyhow::Context as _;
use vm_actors::image_storage::{ImageStorage, PushOptions, TransferProgress};
use vm_core::ImageRef;
use vm_engine::image::ImageStore;
use vm_web::boot;
use vm_web::config::ManagerConfig;

use crate::arguments::{print, say};

const MIB: u64 = 1 << 20;

/// The images of `[objects]`.
pub(crate) struct SharedImages(ImageStorage);

impl SharedImages {
    pub(crate) fn open(config: &ManagerConfig, store: ImageStore) -> anyhow::Result<Self> {
        let storage = boot::image_storage(config, store)?;
        storage.map(Self).context(
            "no object storage is configured: name one with `url` in [objects] of vm-manager.toml",
        )
    }

    pub(crate) fn push(&self, image: &ImageRef, again: bool) -> anyhow::Result<()> {
        let steps = Steps::new("stored");
        let options = PushOptions { again };
        let pushed = self.0.push(image, options, &|at| steps.show(at))?;
        print(&format!(
            "{image} blake3:{}: {} chunks sent ({} MiB), {} there already",
            pushed.digest,
            pushed.sent_chunks,
            pushed.sent_bytes.div_ceil(MIB),
            pushed.known_chunks,
        ));
        Ok(())
    }

    pub(crate) fn pull(&self, image: &ImageRef) -> anyhow::Result<()> {
        let steps = Steps::new("fetched");
        let pulled = self.0.pull(image, &|at| steps.show(at))?;
        let (there, total) = steps.first();
        print(&format!(
            "{image} blake3:{}: {} MiB fetched, {} MiB there already",
            pulled.digest,
            (total - there).div_ceil(MIB),
            there / MIB,
        ));
        Ok(())
    }

    pub(crate) fn list(&self) -> anyhow::Result<()> {
        let index = self.0.index()?;
        for (digest, image) in &index.images {
            let place = if self.0.local().has(digest) {
                "here too"
            } else {
                "not here"
            };
            print(&format!(
                "{}  blake3:{digest}  {} MiB  {place}  {}",
                index.names_of(digest).join(","),
                image.bytes.div_ceil(MIB),
                image.origin
            ));
        }
        Ok(())
    }

    pub(crate) fn remove(&self, image: &ImageRef) -> anyhow::Result<()> {
        let removed = match self.0.remove(image)? {
            Some(digest) => format!("blake3:{digest}"),
            None => "the name; its image has other names".to_owned(),
        };
        print(&format!("removed: {removed}"));
        Ok(())
    }

    pub(crate) fn sweep(&self) -> anyhow::Result<()> {
        let removed = self.0.sweep(self.0.settings().objects.grace)?;
        print(&format!("removed: {removed} objects"));
        Ok(())
    }
}

/// Progress for people: a line for each tenth.
struct Steps {
    what: &'static str,
    shown: Mutex<Shown>,
}

#[derive(Default)]
struct Shown {
    first: Option<TransferProgress>,
    tenths: u64,
}

impl Steps {
    fn new(what: &'static str) -> Self {
        let shown = Mutex::default();
        Self { what, shown }
    }

    /// How far it was at the beginning, and how far it goes.
    fn first(&self) -> (u64, u64) {
        let shown = self.shown.lock().ok();
        let first = shown.and_then(|shown| shown.first);
        first.map_or((0, 0), |first| (first.done, first.total))
    }

    fn show(&self, at: TransferProgress) {
        let tenths = at.done.saturating_mul(10) / at.total.max(1);
        let Ok(mut shown) = self.shown.lock() else {
            return;
        };
        shown.first.get_or_insert(at);
        if tenths > shown.tenths {
            shown.tenths = tenths;
            let (done, total) = (at.done / MIB, at.total.div_ceil(MIB));
            say(&format!("{done} of {total} MiB {}", self.what));
        }
    }
}
