//! Which images are in use, when they were used last, and the removal of those that can be fetched
//! again.
//!
//! ```text
//! <folder>/blobs/<digest>/fetched     it came from the storage; written when it is used
//! ```

use std::fs::{self, File};
use std::sync::Arc;
use std::time::SystemTime;

use super::store::ListedImage;
use super::{Image, ImageError, ImageStore, files};

/// What marks an image that was fetched.
const MARK: &str = "fetched";

/// An image that can be fetched again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedBlob {
    /// The image.
    pub image: ListedImage,
    /// When it was asked for last, or came.
    pub used: SystemTime,
    /// Whether something of this process stands on it.
    pub in_use: bool,
}

impl ImageStore {
    /// Remembers that an image was fetched, or was asked for now.
    pub(super) fn mark_fetched(&self, digest: &str) {
        let path = self.blob(digest).join(MARK);
        if let Ok(mark) = File::options().create(true).append(true).open(path) {
            // Where it fails the image goes earlier than it might.
            let _ = mark.set_modified(SystemTime::now());
        }
    }

    /// Remembers that an image was asked for now, if it is one that was fetched.
    pub fn record_use(&self, digest: &str) {
        if self.blob(digest).join(MARK).exists() {
            self.mark_fetched(digest);
        }
    }

    /// The images that were fetched and have no name of this host's own.
    ///
    /// # Errors
    /// [`ImageError::Files`] when the folder cannot be read.
    pub fn fetched(&self) -> Result<Vec<FetchedBlob>, ImageError> {
        let is_own = |name: &String| self.local_name(name).is_some_and(|it| !it.follows);
        let mut fetched = Vec::new();
        for image in self.list()? {
            let blob = self.blob(&image.digest);
            let mark = fs::metadata(blob.join(MARK));
            let used = mark.and_then(|about| about.modified());
            let Ok(used) = used.map_err(drop) else {
                continue;
            };
            if !image.names.iter().any(is_own) {
                let in_use = self.is_in_use(&image.digest);
                fetched.push(FetchedBlob {
                    image,
                    used,
                    in_use,
                });
            }
        }
        Ok(fetched)
    }

    /// Removes an image with its names, unless something of this process stands on it; whether it
    /// is gone.
    ///
    /// # Errors
    /// [`ImageError::Files`].
    pub fn remove_unused(&self, image: &ListedImage) -> Result<bool, ImageError> {
        // Whoever asks for it meanwhile finds it before, or not at all.
        let uses = self.uses.lock();
        let known = uses.get(&image.digest);
        if known.is_some_and(|image| image.strong_count() > 0) {
            return Ok(false);
        }
        for name in &image.names {
            let path = self.name(name);
            let meant = self.local_name(name);
            if meant.is_some_and(|meant| meant.digest == image.digest) {
                fs::remove_file(&path).map_err(files("removing", &path))?;
            }
        }
        let blob = self.blob(&image.digest);
        // Half of it is no image.
        let described = blob.join("image.json");
        fs::remove_file(&described).map_err(files("removing", &described))?;
        fs::remove_dir_all(&blob).map_err(files("removing", &blob))?;
        Ok(true)
    }

    fn is_in_use(&self, digest: &str) -> bool {
        let uses = self.uses.lock();
        uses.get(digest)
            .is_some_and(|image| image.strong_count() > 0)
    }

    /// The image that was found: the same for all, as long as somebody has it.
    pub(super) fn shared(
        &self,
        image: impl FnOnce() -> Option<Image>,
        digest: &str,
    ) -> Option<Arc<Image>> {
        let mut uses = self.uses.lock();
        let found = image()?;
        if let Some(known) = uses.get(digest).and_then(std::sync::Weak::upgrade) {
            return Some(known);
        }
        uses.retain(|_, image| image.strong_count() > 0);
        let found = Arc::new(found);
        uses.insert(digest.to_owned(), Arc::downgrade(&found));
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_a_fetched_image_is_removed_when_nothing_stands_on_it_and_no_other_is() {
        let folder = tempfile::tempdir().unwrap();
        let store = ImageStore::open(&folder.path().join("images")).unwrap();
        let make = |name: &str, fill: u8| {
            let disk = folder.path().join("disk");
            let mut bytes = vec![fill; 4096];
            bytes[1080..1082].copy_from_slice(&[0x53, 0xef]);
            fs::write(&disk, bytes).unwrap();
            let image = store.import_disk(&disk, &name.parse().unwrap(), &|_| {});
            image.unwrap().digest.clone()
        };
        let (own, fetched) = (make("own", 1), make("fetched", 2));
        let both = make("both", 4);
        for digest in [&fetched, &both] {
            store.mark_fetched(digest);
        }
        store.point("fetched", &fetched, true).unwrap();
        store.record_use(&own);
        let found = || {
            let mut found = store.fetched().unwrap();
            found.sort_by(|a, b| a.image.names.cmp(&b.image.names));
            found
        };
        let digests: Vec<String> = found().into_iter().map(|it| it.image.digest).collect();
        assert_eq!(
            digests,
            std::slice::from_ref(&fetched),
            "the others have names of their own"
        );
        let image = store.resolve(&"fetched".parse().unwrap()).unwrap();
        let other = store.clone().resolve(&"fetched".parse().unwrap()).unwrap();
        let [first] = &found()[..] else { panic!() };
        assert!(first.in_use);
        assert!(!store.remove_unused(&first.image).unwrap());
        drop(image);
        assert!(
            !store.remove_unused(&first.image).unwrap(),
            "the other one has it"
        );
        drop(other);
        assert!(!found()[0].in_use);
        assert!(store.remove_unused(&first.image).unwrap());
        assert!(!store.contains(&fetched) && store.local_name("fetched").is_none());
        assert!(store.contains(&own) && store.contains(&both));
        assert!(found().is_empty());
    }
}
