//! The images of a job as a machine's engine gets them: one tar.

use std::fs::File;
use std::io::Cursor;
use std::path::PathBuf;

use bytes::Bytes;
use cluster_actors::vm_hosts::tarball;
use futures_util::Stream;
use runner_core::container::ImageReference;
use runner_core::container::stored::{Seed, StoredImage, seed, unpack_script};

use super::ContainerImageStore;

/// What is put into a machine for the images of its job.
pub(crate) struct MachineImages {
    /// Name and digest of each image, for the log.
    pub(crate) digests: Vec<(String, String)>,
    seed: Seed,
    /// The tars of its layers, in order.
    tars: Vec<PathBuf>,
    /// How they are put together again: path in the machine's store, and file.
    splits: Vec<(String, PathBuf)>,
}

impl ContainerImageStore {
    /// The images of these names. Blocking.
    ///
    /// # Errors
    /// Which one cannot be used, and what to do, for people.
    pub(crate) fn machine_images(
        &self,
        references: &[ImageReference],
    ) -> Result<MachineImages, String> {
        let text = |error: super::ImageStoreError| error.to_string();
        let mut images: Vec<(Vec<String>, StoredImage, Vec<u8>)> = Vec::new();
        let mut digests = Vec::new();
        for reference in references {
            let locked = self.find(reference)?;
            let stored = self.stored(&locked).map_err(text)?;
            let path = self.blob(&stored.config);
            self.check_blob(&stored.config).map_err(text)?;
            let config = std::fs::read(&path).map_err(|error| error.to_string())?;
            let name = reference.local_name();
            digests.push((reference.familiar(), locked.digest.clone()));
            match images
                .iter_mut()
                .find(|(_, known, _)| known.config == stored.config)
            {
                Some((names, ..)) if names.contains(&name) => {}
                Some((names, ..)) => names.push(name),
                None => images.push((vec![name], stored, config)),
            }
        }
        let seed = seed(&images);
        let (mut tars, mut splits) = (Vec::new(), Vec::new());
        for layer in &seed.layers {
            // A store that was changed is noticed before a machine gets it.
            self.check_blob(&layer.tar).map_err(text)?;
            tars.push(self.blob(&layer.tar));
            if let Some((path, digest)) = &layer.split {
                self.check_blob(digest).map_err(text)?;
                splits.push((path.clone(), self.blob(digest)));
            }
        }
        Ok(MachineImages {
            digests,
            seed,
            tars,
            splits,
        })
    }
}

impl MachineImages {
    /// The tar, as it is read.
    pub(crate) fn tar(&self) -> impl Stream<Item = Result<Bytes, std::io::Error>> + use<> {
        let script = unpack_script(&self.seed).into_bytes();
        let mut files = self.seed.files.clone();
        files.push(("unpack.sh".to_owned(), script));
        let incoming = (0..).map(|number| format!("incoming/{number}.tar"));
        let mut parts: Vec<_> = incoming.zip(self.tars.iter().cloned()).collect();
        parts.extend(self.splits.iter().cloned());
        tarball::of_parts(move |append| {
            for (path, bytes) in &files {
                append(path, bytes.len() as u64, &mut Cursor::new(bytes))?;
            }
            for (name, path) in &parts {
                let mut file = File::open(path)?;
                let size = file.metadata()?.len();
                append(name, size, &mut file)?;
            }
            Ok(())
        })
    }
}
