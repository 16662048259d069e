//! Which images an object storage has, without I/O: the one object of it that changes.
//!
//! Everything that is added, removed or collected is a replacement of the index on the condition
//! that it is the one that was read. So a collector that condemns objects and a push that uses
//! them know of each other: the push fails its condition, sees that [`ImageIndex::collections`]
//! has grown, and looks again which of its objects are there.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use vmm_api_core::ImageRef;

use crate::image_manifest::{StoredImageError, read_version};
use crate::stored_name::StoredName;

const VERSION: u32 = 1;

/// Which images there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageIndex {
    version: u32,
    /// How often objects were condemned.
    pub collections: u64,
    /// Digests by name.
    pub names: BTreeMap<String, String>,
    /// What there is, by digest.
    pub images: BTreeMap<String, IndexedImage>,
    /// What is being removed: nothing may use it any more.
    pub condemned: PendingRemovals,
}

/// Objects that are being removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingRemovals {
    /// Chunks.
    pub chunks: BTreeSet<StoredName>,
    /// Manifests.
    pub manifests: BTreeSet<StoredName>,
}

impl PendingRemovals {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.manifests.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunks.len() + self.manifests.len()
    }
}

/// An image that the storage has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexedImage {
    /// Its manifest.
    pub manifest: StoredName,
    /// Bytes of its disk without holes.
    pub bytes: u64,
    /// Where it came from, in words.
    pub origin: String,
    /// When it came, in milliseconds of the Unix epoch.
    pub pushed_ms: u64,
}

impl Default for ImageIndex {
    fn default() -> Self {
        Self {
            version: VERSION,
            collections: 0,
            names: BTreeMap::new(),
            images: BTreeMap::new(),
            condemned: PendingRemovals::default(),
        }
    }
}

/// Which image a request means, where there is a storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageChoice {
    /// The image of this digest, which is here.
    Here(String),
    /// The image of this digest, which is to be fetched first.
    Fetch(String),
    /// There is none.
    Unknown,
}

/// What a name means on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalName {
    /// The image.
    pub digest: String,
    /// It came with an image that was fetched, and follows the storage's name.
    pub follows: bool,
}

impl ImageIndex {
    /// Reads and checks one.
    ///
    /// # Errors
    /// [`StoredImageError`].
    pub fn parse(json: &[u8]) -> Result<Self, StoredImageError> {
        let index: Self = read_version(json, VERSION)?;
        // Both become names of files.
        let is_digest = |text: &String| is_reference(&format!("blake3:{text}"));
        if !index.images.keys().all(is_digest) || !index.names.keys().all(|name| is_reference(name))
        {
            return Err(StoredImageError::Wrong(
                "a name or a digest has no possible form",
            ));
        }
        let dangling = |digest: &String| !index.images.contains_key(digest);
        if index.names.values().any(dangling) {
            return Err(StoredImageError::Wrong("a name has no image"));
        }
        Ok(index)
    }

    /// As it is stored.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers are always JSON")
    }

    /// The digest of the image of this name or digest.
    #[must_use]
    pub fn resolve(&self, image: &ImageRef) -> Option<&str> {
        match image.digest() {
            Some(digest) => self.images.get_key_value(digest).map(|(key, _)| &**key),
            None => self.names.get(image.as_str()).map(String::as_str),
        }
    }

    /// What an image is called.
    #[must_use]
    pub fn names_of(&self, digest: &str) -> Vec<String> {
        let names = self.names.iter().filter(|(_, of)| *of == digest);
        names.map(|(name, _)| name.clone()).collect()
    }

    /// Those names of an image on this host that mean it, of `names` with whether they follow the
    /// storage's: one that does means what it means there.
    #[must_use]
    pub fn names_here(&self, digest: &str, names: Vec<(String, bool)>) -> Vec<String> {
        let moved = |name: &str| self.names.get(name).is_some_and(|of| of != digest);
        let meant = names
            .into_iter()
            .filter(|(name, follows)| !follows || !moved(name));
        meant.map(|(name, _)| name).collect()
    }

    /// Which image a request means. A name that was given on this host means that image; one that
    /// came with a fetched image means what it means in the storage.
    #[must_use]
    pub fn choose(
        &self,
        image: &ImageRef,
        local: Option<&LocalName>,
        is_here: impl Fn(&str) -> bool,
    ) -> ImageChoice {
        let stored = self.resolve(image);
        let digest = match (image.digest(), local) {
            (Some(digest), _) => Some(digest),
            (None, Some(local)) if !local.follows => Some(&*local.digest),
            (None, local) => stored.or(local.map(|local| &*local.digest)),
        };
        match digest {
            Some(digest) if is_here(digest) => ImageChoice::Here(digest.to_owned()),
            Some(digest) if self.images.contains_key(digest) => {
                ImageChoice::Fetch(digest.to_owned())
            }
            _ => ImageChoice::Unknown,
        }
    }

    /// Forgets a name, or an image with all its names; an image goes when nothing names it any
    /// more. The digest of an image that is gone; `Err` when there is no such image.
    ///
    /// # Errors
    /// The reference again, when it leads nowhere.
    pub fn remove<'a>(&mut self, image: &'a ImageRef) -> Result<Option<String>, &'a ImageRef> {
        let digest = self.resolve(image).ok_or(image)?.to_owned();
        let is_meant = |name: &String, of: &String| {
            of == &digest && (image.digest().is_some() || name == image.as_str())
        };
        self.names.retain(|name, of| !is_meant(name, of));
        if !self.names_of(&digest).is_empty() {
            return Ok(None);
        }
        self.images.remove(&digest);
        Ok(Some(digest))
    }
}

fn is_reference(text: &str) -> bool {
    text.parse::<ImageRef>().is_ok()
}

/// An object as a collector sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgedObject {
    /// Its name.
    pub name: StoredName,
    /// Since when it is there.
    pub age: Duration,
}

/// Which objects may be condemned: nothing uses them, and they are older than the grace, so that
/// no push that goes on has just stored them.
#[must_use]
pub fn unused(
    objects: &[AgedObject],
    used: &BTreeSet<StoredName>,
    grace: Duration,
) -> BTreeSet<StoredName> {
    let unused = objects
        .iter()
        .filter(|object| object.age >= grace && !used.contains(&object.name));
    unused.map(|object| object.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(letter: &str) -> StoredName {
        StoredName::new(&letter.repeat(64), &"0".repeat(32)).unwrap()
    }

    fn image(letter: &str) -> IndexedImage {
        IndexedImage {
            manifest: stored(letter),
            bytes: 5,
            origin: "built".to_owned(),
            pushed_ms: 1,
        }
    }

    fn index() -> ImageIndex {
        let mut index = ImageIndex::default();
        for letter in ["a", "b"] {
            index.images.insert(letter.repeat(64), image(letter));
        }
        for (name, letter) in [("full", "a"), ("ubuntu", "a"), ("small", "b")] {
            index.names.insert(name.to_owned(), letter.repeat(64));
        }
        index
    }

    fn by(text: &str) -> ImageRef {
        text.parse().unwrap()
    }

    fn by_digest(letter: &str) -> ImageRef {
        by(&format!("blake3:{}", letter.repeat(64)))
    }

    #[test]
    fn i18_an_index_is_read_as_it_was_written() {
        let index = index();
        assert_eq!(ImageIndex::parse(&index.to_json()).unwrap(), index);
        let text = String::from_utf8(index.to_json()).unwrap();
        for (from, to) in [
            ("\"version\":1", "\"version\":7"),
            (":\"bbb", ":\"bbc"),
            ("{", ""),
            ("\"full\"", "\"../full\""),
        ] {
            ImageIndex::parse(text.replacen(from, to, 1).as_bytes()).unwrap_err();
        }
    }

    #[test]
    fn i18_a_request_means_the_image_that_its_name_means_where_it_was_given() {
        use ImageChoice::{Fetch, Here, Unknown};
        let index = index();
        let [a, b, c] = ["a", "b", "c"].map(|letter| letter.repeat(64));
        let local = |letter: &str, follows| {
            Some(LocalName {
                digest: letter.repeat(64),
                follows,
            })
        };
        for (request, local, here, choice) in [
            (by("full"), None, "", Fetch(a.clone())),
            (by("full"), None, "a", Here(a.clone())),
            // Given here: the storage is not asked.
            (by("full"), local("c", false), "c", Here(c.clone())),
            // Its disk was removed by hand, and is in the storage.
            (by("full"), local("b", false), "", Fetch(b.clone())),
            // It came with an image, and the storage's name has moved.
            (by("full"), local("c", true), "c", Fetch(a.clone())),
            (by("full"), local("c", true), "ca", Here(a)),
            // The storage has forgotten the name.
            (by("old"), local("c", true), "c", Here(c.clone())),
            (by("old"), local("c", true), "", Unknown),
            (by("none"), None, "abc", Unknown),
            (by_digest("b"), None, "", Fetch(b)),
            (by_digest("c"), None, "c", Here(c)),
            (by_digest("c"), None, "", Unknown),
        ] {
            let is_here = |digest: &str| here.contains(&digest[..1]);
            let found = index.choose(&request, local.as_ref(), is_here);
            assert_eq!(found, choice, "{request} {local:?} {here}");
        }
    }

    #[test]
    fn i18_a_name_that_follows_leaves_the_image_that_it_meant() {
        let names = ["full", "own", "gone"].map(str::to_owned);
        let all = |follows| names.iter().cloned().map(|name| (name, follows)).collect();
        let c = "c".repeat(64);
        assert_eq!(index().names_here(&c, all(false)), names);
        assert_eq!(index().names_here(&c, all(true)), ["own", "gone"]);
        assert_eq!(index().names_here(&"a".repeat(64), all(true)), names);
    }

    #[test]
    fn i18_an_image_goes_with_its_last_name() {
        let mut index = index();
        assert_eq!(index.remove(&by("full")), Ok(None));
        assert!(index.images.contains_key(&"a".repeat(64)));
        assert_eq!(index.remove(&by("ubuntu")), Ok(Some("a".repeat(64))));
        assert_eq!(index.remove(&by_digest("b")), Ok(Some("b".repeat(64))));
        assert!(index.names.is_empty() && index.images.is_empty());
        assert_eq!(index.remove(&by("full")), Err(&by("full")));
    }

    #[test]
    fn i18_only_what_is_old_and_unused_is_condemned() {
        let object = |letter: &str, age| AgedObject {
            name: stored(letter),
            age: Duration::from_secs(age),
        };
        let objects = [
            object("a", 100),
            object("b", 100),
            object("c", 9),
            object("d", 10),
        ];
        let used = BTreeSet::from([stored("a")]);
        let found = unused(&objects, &used, Duration::from_secs(10));
        assert_eq!(found, BTreeSet::from([stored("b"), stored("d")]));
    }
}
