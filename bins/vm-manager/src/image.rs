//! `vm-manager image`: what VMs are made of.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use command_line::{print, print_note};
use config_core::Environment;
use vm_core::ImageRef;
use vm_engine::image::kernel::KernelStore;
use vm_engine::image::{ImageStore, Recipe};
use vm_web::boot::DataDirectory;
use vm_web::config::ManagerConfig;

use crate::agent;
use crate::arguments::{Common, ImageCommand};
use crate::shared_images::ObjectImages;

const MIB: u64 = 1 << 20;

/// Progress, for people.
fn progress(text: &str) {
    print_note(text);
}

pub(crate) fn run(
    command: ImageCommand,
    common: &Common,
    (config, environment): (&ManagerConfig, &Environment),
    directory: &DataDirectory,
) -> anyhow::Result<()> {
    let store = ImageStore::open(&directory.images())?;
    match command {
        ImageCommand::Build { recipe, oci, json } => {
            build(&store, recipe.as_deref(), oci.as_deref())?.print(json);
            Ok(())
        }
        ImageCommand::Import { disk, name } => import(&store, &disk, &name),
        ImageCommand::List { remote: false } => list(&store),
        ImageCommand::List { remote: true } => ObjectImages::open(config, store)?.list(),
        ImageCommand::Remove { image, remote } => match remote {
            true => ObjectImages::open(config, store)?.remove(&image),
            false => remove(&store, directory, &image),
        },
        ImageCommand::Push { image, again } => {
            ObjectImages::open(config, store)?.push(&image, again)
        }
        ImageCommand::Pull { image } => ObjectImages::open(config, store)?.pull(&image),
        ImageCommand::Migrate(options) => {
            let to = options.place(environment).map_err(anyhow::Error::msg)?;
            ObjectImages::open(config, store)?.migrate(to)
        }
        ImageCommand::Sweep => ObjectImages::open(config, store)?.sweep(),
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

/// What was built, and what it cost.
struct BuiltImage {
    /// The image's name, or the folder of an OCI layout.
    place: (&'static str, String),
    digest: String,
    took: Duration,
    /// What it takes of the disk.
    stored_bytes: u64,
    /// What a VM sees of it.
    virtual_bytes: Option<u64>,
}

impl BuiltImage {
    fn print(&self, json: bool) {
        if json {
            return print(&self.json().to_string());
        }
        print(&format!("{} {}", self.place.1, self.digest));
        print_note(&self.cost());
    }

    /// For programs.
    fn json(&self) -> serde_json::Value {
        let (kind, place) = &self.place;
        let mut all = serde_json::json!({
            "digest": self.digest,
            "seconds": (self.took.as_secs_f64() * 10.0).round() / 10.0,
            "stored_bytes": self.stored_bytes,
        });
        all[*kind] = place.as_str().into();
        if let Some(bytes) = self.virtual_bytes {
            all["virtual_bytes"] = bytes.into();
        }
        all
    }

    /// For people.
    fn cost(&self) -> String {
        let seen = match self.virtual_bytes {
            Some(bytes) => format!(", {} MiB seen", bytes.div_ceil(MIB)),
            None => String::new(),
        };
        let stored = self.stored_bytes.div_ceil(MIB);
        let seconds = self.took.as_secs_f64();
        format!("built in {seconds:.1} s: {stored} MiB stored{seen}")
    }
}

fn build(
    store: &ImageStore,
    recipe: Option<&Path>,
    oci: Option<&Path>,
) -> anyhow::Result<BuiltImage> {
    let recipe = match recipe {
        None => Recipe::default_image(),
        Some(path) => match path.to_str().and_then(Recipe::find) {
            Some(known) if !path.exists() => known,
            _ => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                Recipe::parse(path, &text)?
            }
        },
    };
    let started = Instant::now();
    if let Some(folder) = oci {
        let digest = vm_engine::image::build_container(&recipe, folder, &progress)?;
        return Ok(BuiltImage {
            place: ("folder", folder.display().to_string()),
            digest,
            took: started.elapsed(),
            stored_bytes: size_of(folder)?,
            virtual_bytes: None,
        });
    }
    let image = store.build(&recipe, &progress)?;
    let took = started.elapsed();
    let listed = store.list()?.into_iter();
    let stored = listed.filter(|one| one.digest == image.digest);
    Ok(BuiltImage {
        place: ("name", recipe.name.to_string()),
        digest: format!("blake3:{}", image.digest),
        took,
        stored_bytes: stored.map(|one| one.stored_bytes).sum(),
        virtual_bytes: Some(image.virtual_bytes),
    })
}

/// Bytes of the files below a folder.
fn size_of(folder: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        bytes += match entry.file_type()?.is_dir() {
            true => size_of(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(bytes)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_what_a_build_cost_is_said_to_people_and_programs() {
        let mut built = BuiltImage {
            place: ("name", "full".to_owned()),
            digest: "blake3:ab".to_owned(),
            took: Duration::from_millis(312_345),
            stored_bytes: 3_000_000_000,
            virtual_bytes: Some(4 << 30),
        };
        assert_eq!(
            built.cost(),
            "built in 312.3 s: 2862 MiB stored, 4096 MiB seen"
        );
        assert_eq!(
            built.json(),
            serde_json::json!({
                "name": "full", "digest": "blake3:ab", "seconds": 312.3,
                "stored_bytes": 3_000_000_000_u64, "virtual_bytes": 4_294_967_296_u64,
            })
        );
        built.place = ("folder", "redis".to_owned());
        built.virtual_bytes = None;
        assert_eq!(built.cost(), "built in 312.3 s: 2862 MiB stored");
        assert_eq!(built.json()["folder"], "redis");
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        std::fs::write(folder.path().join("a/b"), "12").unwrap();
        std::fs::write(folder.path().join("c"), "345").unwrap();
        assert_eq!(size_of(folder.path()).unwrap(), 5);
    }
}
