//! What the store of images keeps of an image, and what a machine's engine gets of it: a read-only
//! store of images, as the engine's storage library lays it out (containers/storage, driver
//! `overlay`, format of 2019 and later). So nothing is unpacked and digested by the engine in the
//! machine, which would take ten times as long there.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::oci;

/// Where a machine's engine finds the images.
pub const MACHINE_STORE: &str = "/var/lib/orrery-images";
/// Letters of the short names that the engine mounts layers by.
const LINK: usize = 26;

/// An image in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredImage {
    /// The digest of its configuration.
    pub config: String,
    /// Its layers, the lowest first.
    pub layers: Vec<StoredLayer>,
}

/// A layer in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredLayer {
    /// The digest of the layer as the configuration names it.
    pub diff_id: String,
    /// The digest of its tar in the store: without devices, and without the files that stand for
    /// what is hidden.
    pub tar: String,
    /// The bytes of that tar.
    pub bytes: u64,
    /// Paths of lower layers that it hides.
    pub hidden: Vec<String>,
    /// How the layer is put together again as it came; images of older stores lack it, and what a
    /// machine builds on them can neither be saved nor pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<TarSplit>,
}

impl StoredLayer {
    /// The digests of the files in the store that it consists of.
    pub fn blobs(&self) -> impl Iterator<Item = &String> {
        let split = self.split.iter().map(|split| &split.digest);
        std::iter::once(&self.tar).chain(split)
    }

    /// The bytes of its tar as it came, which the engine announces before it gives them out.
    fn original_bytes(&self) -> u64 {
        self.split.as_ref().map_or(self.bytes, |split| split.bytes)
    }
}

/// How the tar of a layer is put together again from its files: gzipped lines of tar-split.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TarSplit {
    /// Its digest in the store.
    pub digest: String,
    /// The bytes of the layer as it came, unpacked.
    pub bytes: u64,
}

/// What a machine gets: files of the engine's store, and layers to unpack into it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seed {
    /// Path in the store, and bytes.
    pub files: Vec<(String, Vec<u8>)>,
    /// Each layer once.
    pub layers: Vec<SeedLayer>,
}

/// A layer to unpack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedLayer {
    /// The folder in the store that it is unpacked into.
    pub folder: String,
    /// The digest of its tar.
    pub tar: String,
    /// Paths in it that hide lower ones.
    pub hidden: Vec<String>,
    /// Where in the store lies how it is put together again, and the digest of that.
    pub split: Option<(String, String)>,
}

/// `sha256:…` of some bytes.
#[must_use]
pub fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

/// The digits of a digest.
fn digits(digest: &str) -> &str {
    digest.strip_prefix("sha256:").unwrap_or(digest)
}

/// The store of images for a machine: each image with its names and the bytes of its
/// configuration.
#[must_use]
pub fn seed(images: &[(Vec<String>, StoredImage, Vec<u8>)]) -> Seed {
    let mut seed = Seed::default();
    let (mut layers, mut listed) = (Vec::new(), Vec::new());
    let mut known = BTreeSet::new();
    for (names, image, config) in images {
        let top = add_layers(&mut seed, &mut layers, &mut known, image);
        let plain = image.layers.iter();
        let plain: Vec<_> = plain
            .map(|layer| (layer.diff_id.clone(), layer.original_bytes()))
            .collect();
        let manifest = oci::plain_manifest((&image.config, config.len() as u64), &plain);
        let digest = digest_of(&manifest);
        let blobs = [
            ("manifest".to_owned(), manifest.as_slice()),
            (format!("manifest-{digest}"), manifest.as_slice()),
            (image.config.clone(), config.as_slice()),
        ];
        let id = digits(&image.config);
        let blob_names: Vec<&str> = blobs.iter().map(|(name, _)| name.as_str()).collect();
        let sizes = blobs
            .iter()
            .map(|(name, bytes)| (name.clone(), bytes.len()));
        let digests = blobs.iter();
        let digests = digests.map(|(name, bytes)| (name.clone(), digest_of(bytes)));
        listed.push(serde_json::json!({
            "id": id,
            "digest": digest,
            "names": names,
            "layer": top,
            "metadata": "{}",
            "big-data-names": blob_names,
            "big-data-sizes": sizes.collect::<std::collections::BTreeMap<_, _>>(),
            "big-data-digests": digests.collect::<std::collections::BTreeMap<_, _>>(),
            "created": "2020-01-01T00:00:00Z",
        }));
        for (name, bytes) in &blobs {
            let file = match name.as_str() {
                "manifest" => "manifest".to_owned(),
                other => format!("={}", STANDARD.encode(other)),
            };
            let path = format!("overlay-images/{id}/{file}");
            seed.files.push((path, bytes.to_vec()));
        }
    }
    let json = |value: &Vec<serde_json::Value>| serde_json::to_vec(value).unwrap_or_default();
    let (layers, listed) = (json(&layers), json(&listed));
    seed.files
        .push(("overlay-layers/layers.json".to_owned(), layers));
    seed.files
        .push(("overlay-images/images.json".to_owned(), listed));
    seed
}

/// Adds the layers of an image that are not there yet; the id of the highest.
fn add_layers(
    seed: &mut Seed,
    listed: &mut Vec<serde_json::Value>,
    known: &mut BTreeSet<String>,
    image: &StoredImage,
) -> String {
    let mut parent: Option<String> = None;
    let mut lower: Vec<String> = Vec::new();
    for layer in &image.layers {
        let diff = digits(&layer.diff_id);
        // The same layer on others is another one, as with every engine.
        let id = match &parent {
            None => diff.to_owned(),
            Some(parent) => {
                let chain = format!("sha256:{parent} sha256:{diff}");
                hex::encode(Sha256::digest(chain.as_bytes()))
            }
        };
        let link = id[..LINK].to_uppercase();
        if known.insert(id.clone()) {
            let mut entry = serde_json::json!({
                "id": id,
                "created": "2020-01-01T00:00:00Z",
                "diff-digest": layer.diff_id,
                "diff-size": layer.original_bytes(),
            });
            if let Some(parent) = &parent {
                entry["parent"] = parent.as_str().into();
                let path = format!("overlay/{id}/lower");
                seed.files.push((path, lower.join(":").into_bytes()));
            }
            listed.push(entry);
            let path = format!("overlay/{id}/link");
            seed.files.push((path, link.clone().into_bytes()));
            seed.layers.push(SeedLayer {
                folder: format!("overlay/{id}"),
                tar: layer.tar.clone(),
                hidden: layer.hidden.clone(),
                split: layer.split.as_ref().map(|split| {
                    let path = format!("overlay-layers/{id}.tar-split.gz");
                    (path, split.digest.clone())
                }),
            });
        }
        lower.insert(0, format!("l/{link}"));
        parent = Some(id);
    }
    parent.unwrap_or_default()
}

/// The script that unpacks the layers of a seed whose tars lie in `incoming/<number>.tar` of the
/// store, the current folder. What hides is made by its argument, a program that may.
#[must_use]
pub fn unpack_script(seed: &Seed) -> String {
    let mut script = String::from("set -e\nmkdir -p overlay/l\n");
    for (number, layer) in seed.layers.iter().enumerate() {
        let folder = &layer.folder;
        let id = folder.trim_start_matches("overlay/");
        let link = id[..LINK].to_uppercase();
        script += &format!(
            "mkdir -p {folder}/diff {folder}/work {folder}/merged\nchmod 755 {folder}/diff\n"
        );
        script += &format!(
            "tar --numeric-owner -p -xf incoming/{number}.tar -C {folder}/diff\nrm incoming/{number}.tar\nln -sfn ../{id}/diff overlay/l/{link}\n"
        );
        for path in &layer.hidden {
            let path = super::words::quote(&format!("{MACHINE_STORE}/{folder}/diff/{path}"));
            script += &format!("mkdir -p \"$(dirname {path})\"\n\"$@\" mknod {path} c 0 0\n");
        }
    }
    script += "rm -rf incoming\n";
    script
}
