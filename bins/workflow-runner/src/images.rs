//! `images`: the operator's side of the store of images of containers.

use std::fmt::Write as _;
use std::process::ExitCode;

use config_core::Environment;
use runner_actors::{AddedImage, ContainerImageStore};
use runner_core::container::ImageReference;

use crate::arguments::{exit_code, print, print_note};
use crate::image_arguments::{
    ImagesAddOptions, ImagesCommand, ImagesListOptions, ImagesRemoveOptions,
};
use crate::store_options::ActionsStoreOptions;

/// Does it; the exit code says whether all of it was done.
pub(crate) fn run(command: &ImagesCommand, environment: &Environment) -> ExitCode {
    exit_code(match command {
        ImagesCommand::Add(options) => add(options, environment),
        ImagesCommand::List(options) => list(options, environment),
        ImagesCommand::Verify(options) => verify(options, environment),
        ImagesCommand::Remove(options) => remove(options, environment),
    })
}

fn store(
    options: &ActionsStoreOptions,
    environment: &Environment,
) -> anyhow::Result<ContainerImageStore> {
    let settings = crate::actions::settings(options, environment)?;
    Ok(ContainerImageStore::new(&settings.images))
}

fn references(images: &[String]) -> anyhow::Result<Vec<ImageReference>> {
    let references = images.iter().map(|text| Ok(text.parse()?));
    references.collect()
}

fn add(options: &ImagesAddOptions, environment: &Environment) -> anyhow::Result<bool> {
    let store = store(&options.store, environment)?;
    let mut all = true;
    for reference in references(&options.images)? {
        let name = reference.familiar();
        let added = match &options.from {
            Some(from) => store.add_from(&reference, from),
            None => {
                let pulled = store.pull(&reference, None);
                actix_rt::System::new().block_on(pulled)
            }
        };
        match added {
            Ok(AddedImage { image, former }) => {
                let change = match former {
                    None => "added".to_owned(),
                    Some(former) if former.digest == image.digest => "unchanged".to_owned(),
                    Some(former) => format!("moved from {}", former.digest),
                };
                print(&format!("{name}: {change}, {}\n", image.digest));
            }
            Err(error) => {
                print_note(&format!("{name}: {}", daemon::error_chain(&error)));
                all = false;
            }
        }
    }
    Ok(all)
}

fn list(options: &ImagesListOptions, environment: &Environment) -> anyhow::Result<bool> {
    let lock = store(&options.store, environment)?.lock()?;
    if options.json {
        print(&lock.to_text());
        return Ok(true);
    }
    let mut text = String::new();
    for (name, image) in lock.entries() {
        let mib = image.bytes.div_ceil(1 << 20);
        let _ = writeln!(
            text,
            "{name}  {}  {mib} MiB  {}",
            image.digest, image.source
        );
    }
    if text.is_empty() {
        text.push_str("the store holds no images\n");
    }
    print(&text);
    Ok(true)
}

fn verify(options: &ActionsStoreOptions, environment: &Environment) -> anyhow::Result<bool> {
    let verified = store(options, environment)?.verify()?;
    Ok(crate::actions::report_verified(
        "images",
        verified.into_iter(),
    ))
}

fn remove(options: &ImagesRemoveOptions, environment: &Environment) -> anyhow::Result<bool> {
    let store = store(&options.store, environment)?;
    let mut all = true;
    for reference in references(&options.images)? {
        match store.remove(&reference) {
            Ok(()) => print(&format!("{}: removed\n", reference.familiar())),
            Err(error) => {
                print_note(&error.to_string());
                all = false;
            }
        }
    }
    Ok(all)
}
