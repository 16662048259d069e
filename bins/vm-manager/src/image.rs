//! `vm-manager image`: what VMs are made of.

use std::path::Path;

use anyhow::Context;
use command_line::{print, say};
use config_core::Environment;
use vm_core::ImageRef;
use vm_engine::image::kernel::KernelStore;
use vm_engine::image::{ImageStore, Recipe};
use vm_web::boot::DataDirectory;
use vm_web::config::ManagerConfig;

use crate::agent;
use crate::arguments::{Common, ImageCommand};
use crate::shared_images::SharedImages;

/// Progress, for people.
fn progress(text: &str) {
    say(text);
}

pub(crate) fn run(
    command: ImageCommand,
    common: &Common,
    (config, environment): (&ManagerConfig, &Environment),
    directory: &DataDirectory,
) -> anyhow::Result<()> {
    let store = ImageStore::open(&directory.images())?;
    match command {
        ImageCommand::Build { recipe, oci } => build(&store, recipe.as_deref(), oci.as_deref()),
        ImageCommand::Import { disk, name } => import(&store, &disk, &name),
        ImageCommand::List { remote: false } => list(&store),
        ImageCommand::List { remote: true } => SharedImages::open(config, store)?.list(),
        ImageCommand::Remove { image, remote } => match remote {
            true => SharedImages::open(config, store)?.remove(&image),
            false => remove(&store, directory, &image),
        },
        ImageCommand::Push { image, again } => {
            SharedImages::open(config, store)?.push(&image, again)
        }
        ImageCommand::Pull { image } => SharedImages::open(config, store)?.pull(&image),
        ImageCommand::Migrate(options) => {
            let to = options.place(environment).map_err(anyhow::Error::msg)?;
            SharedImages::open(config, store)?.migrate(to)
        }
        ImageCommand::Sweep => SharedImages::open(config, store)?.sweep(),
        ImageCommand::Kernel { own } => {
            let agent = agent::find(common, config)?;
            let kernels = KernelStore::new(directory.kernels());
            let kernel = match kernels.best(&agent)? {
                _ if own => {
                    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
                    kernels.build_own(&agent, jobs, &progress)?
                }
                Some(kernel) => kernel,
                None => kernels.debian(&agent, &progress)?,
            };
            print(&format!("{} {}", kernel.release, kernel.vmlinux.display()));
            Ok(())
        }
    }
}

fn build(store: &ImageStore, recipe: Option<&Path>, oci: Option<&Path>) -> anyhow::Result<()> {
    let recipe = match recipe {
        None => Recipe::default_image(),
        Some(path) => match path.to_str().and_then(Recipe::known) {
            Some(known) if !path.exists() => known,
            _ => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                Recipe::parse(path, &text)?
            }
        },
    };
    if let Some(folder) = oci {
        let digest = vm_engine::image::build_container(&recipe, folder, &progress)?;
        print(&format!("{} {digest}", folder.display()));
        return Ok(());
    }
    let image = store.build(&recipe, &progress)?;
    print(&format!("{} blake3:{}", recipe.name, image.digest));
    Ok(())
}

fn import(store: &ImageStore, disk: &Path, name: &ImageRef) -> anyhow::Result<()> {
    let image = if disk.is_dir() {
        store.import_oci(disk, name, &progress)?
    } else {
        store.import_disk(disk, name, &progress)?
    };
    print(&format!("{name} blake3:{}", image.digest));
    Ok(())
}

fn remove(store: &ImageStore, directory: &DataDirectory, image: &ImageRef) -> anyhow::Result<()> {
    // VMs of a manager stand on the disks.
    let _alone = directory
        .alone()
        .context("a manager that runs may need the image: stop it first")?;
    let removed = store.remove(image)?;
    print(&format!(
        "removed: {}",
        if removed.is_empty() {
            "the name; its disk has other names".to_owned()
        } else {
            removed.join(", ")
        }
    ));
    Ok(())
}

fn list(store: &ImageStore) -> anyhow::Result<()> {
    const MIB: u64 = 1 << 20;
    for image in store.list()? {
        print(&format!(
            "{}  blake3:{}  {} MiB stored, {} MiB seen  {}",
            image.names.join(","),
            image.digest,
            image.stored_bytes.div_ceil(MIB),
            image.virtual_bytes.div_ceil(MIB),
            image.origin
        ));
    }
    Ok(())
}
