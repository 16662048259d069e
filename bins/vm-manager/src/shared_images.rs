//! `vm-manager image`: images in object storage.

use anyhow::Context as _;
use command_line::{print, print_note};
use config_core::ObjectPlace;
use daemon::steps::TransferPrinter;
use vm_actors::image_storage::{ImageStorage, PushOptions, TransferProgress};
use vm_core::ImageRef;
use vm_engine::image::ImageStore;
use vm_web::boot;
use vm_web::config::ManagerConfig;

const MIB: u64 = 1 << 20;

/// The images of `[objects]`.
pub(crate) struct ObjectImages(ImageStorage);

impl ObjectImages {
    pub(crate) fn open(config: &ManagerConfig, store: ImageStore) -> anyhow::Result<Self> {
        let storage = boot::image_storage(config, store)?;
        storage.map(Self).context(
            "no object storage is configured: name one with `url` in [objects] of vm-manager.toml",
        )
    }

    pub(crate) fn push(&self, image: &ImageRef, again: bool) -> anyhow::Result<()> {
        let steps = TransferPrinter::new("stored", print_note);
        let options = PushOptions { again };
        let pushed = self.0.push(image, options, &|at| show(&steps, at))?;
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
        let steps = TransferPrinter::new("fetched", print_note);
        let pulled = self.0.pull(image, &|at| show(&steps, at))?;
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
            let place = if self.0.local().contains(digest) {
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

    /// Copies all images to another storage.
    pub(crate) fn migrate(&self, to: ObjectPlace) -> anyhow::Result<()> {
        let mut settings = self.0.settings().clone();
        if settings.objects.place == to {
            anyhow::bail!("the images are in {} already", self.0.place());
        }
        settings.objects.place = to;
        let to = ImageStorage::open(settings, self.0.local().clone())?;
        let steps = TransferPrinter::new("copied", print_note);
        let migrated = self.0.migrate(&to, &|at| show(&steps, at))?;
        for fault in &migrated.faults {
            print_note(&format!("error: {fault}"));
        }
        print(&format!(
            "{} images are in {}: {} chunks copied and compared ({} MiB), {} there already",
            migrated.images,
            to.place(),
            migrated.sent_chunks,
            migrated.sent_bytes.div_ceil(MIB),
            migrated.known_chunks,
        ));
        if !migrated.faults.is_empty() {
            anyhow::bail!("{} images are damaged and not there", migrated.faults.len());
        }
        Ok(())
    }

    pub(crate) fn sweep(&self) -> anyhow::Result<()> {
        let removed = self.0.sweep(self.0.settings().objects.grace)?;
        print(&format!("removed: {removed} objects"));
        Ok(())
    }
}

fn show(steps: &TransferPrinter, at: TransferProgress) {
    steps.show(at.done, at.total);
}
