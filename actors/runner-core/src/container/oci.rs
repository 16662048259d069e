//! Documents of OCI images: indexes, manifests and configurations, as registries, layouts and
//! `docker save` have them (OCI image specification 1.1, Docker image manifest version 2). The VM
//! manager's importer has shapes of its own: products do not see each other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::image::is_digest;

/// Largest index, manifest or configuration, in bytes.
pub const MAX_DOCUMENT: usize = 4 << 20;
/// Most layers of an image.
const MAX_LAYERS: usize = 200;
/// The media types that are asked of a registry.
pub const ACCEPTED: [&str; 4] = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
];
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// What a layout calls an image.
const REF_NAME: &str = "org.opencontainers.image.ref.name";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// What one document says of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// Its kind.
    pub media_type: String,
    /// Its digest.
    pub digest: String,
    /// Its bytes.
    pub size: u64,
    /// The machine it is for, in an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// What else is said of it: its name in a layout.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// A kind of machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    /// `amd64`
    pub architecture: String,
    /// `linux`
    pub os: String,
}

/// A manifest or an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OciDocument {
    /// One manifest for each kind of machine.
    Index(Vec<Descriptor>),
    /// An image.
    Manifest(OciManifest),
}

/// An image: its configuration and its layers, the lowest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OciManifest {
    /// Its configuration.
    pub config: Descriptor,
    /// Its layers.
    pub layers: Vec<Descriptor>,
}

/// How a layer is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerCompression {
    /// A tar as it is.
    Plain,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

/// Why an image cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OciError(pub String);

fn oci_error(text: impl Into<String>) -> OciError {
    OciError(text.into())
}

#[derive(Deserialize)]
struct RawConfig {
    manifests: Option<Vec<Descriptor>>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
}

/// Reads an index or a manifest.
///
/// # Errors
/// When it is neither.
pub fn document(bytes: &[u8]) -> Result<OciDocument, OciError> {
    if bytes.len() > MAX_DOCUMENT {
        return Err(oci_error("its manifest is too large"));
    }
    let raw: RawConfig = serde_json::from_slice(bytes)
        .map_err(|error| oci_error(format!("its manifest cannot be read: {error}")))?;
    let layers = raw.layers.unwrap_or_default();
    let named = raw
        .manifests
        .iter()
        .flatten()
        .chain(&raw.config)
        .chain(&layers);
    if let Some(bad) = named.into_iter().find(|it| !is_digest(&it.digest)) {
        let digest = config_core::quoted(&bad.digest);
        return Err(oci_error(format!("{digest} in its manifest is no digest")));
    }
    match (raw.manifests, raw.config) {
        (Some(manifests), _) => Ok(OciDocument::Index(manifests)),
        (None, Some(config)) if (1..=MAX_LAYERS).contains(&layers.len()) => {
            Ok(OciDocument::Manifest(OciManifest { config, layers }))
        }
        (None, Some(_)) => Err(oci_error(format!("it has {} layers", layers.len()))),
        (None, None) => Err(oci_error("its manifest names neither images nor layers")),
    }
}

/// The manifest for this kind of machine, of those with one of these names where any has.
///
/// # Errors
/// When there is none.
pub fn choose<'d>(
    manifests: &'d [Descriptor],
    names: &[String],
) -> Result<&'d Descriptor, OciError> {
    let fits = |manifest: &&Descriptor| {
        manifest
            .platform
            .as_ref()
            .is_none_or(|it| it.architecture == "amd64" && it.os == "linux")
    };
    let named = |manifest: &&Descriptor| {
        let name = manifest.annotations.get(REF_NAME);
        name.is_some_and(|name| names.contains(name))
    };
    let mut fitting = manifests.iter().filter(fits);
    let found = fitting.clone().find(named).or_else(|| fitting.next());
    found.ok_or_else(|| oci_error("it holds no image for linux on amd64"))
}

/// How a layer of this media type is packed.
///
/// # Errors
/// When it is packed in a way that is not unpacked here.
pub fn packing(media_type: &str) -> Result<LayerCompression, OciError> {
    match media_type
        .rsplit_once(['.', '+'])
        .map_or("", |(_, end)| end)
    {
        "tar" => Ok(LayerCompression::Plain),
        "gzip" => Ok(LayerCompression::Gzip),
        "zstd" => Ok(LayerCompression::Zstd),
        _ => {
            let media_type = config_core::quoted(media_type);
            Err(oci_error(format!(
                "layers of type {media_type} cannot be read: gzip, zstd and plain tar can"
            )))
        }
    }
}

/// The digests of the layers as they are unpacked, which the configuration names.
///
/// # Errors
/// When it names not as many as there are layers.
pub fn diff_ids(config: &[u8], layers: usize) -> Result<Vec<String>, OciError> {
    let value: serde_json::Value = serde_json::from_slice(config)
        .map_err(|error| oci_error(format!("its configuration cannot be read: {error}")))?;
    let ids = value.pointer("/rootfs/diff_ids");
    let ids = ids.and_then(serde_json::Value::as_array);
    let ids = ids.into_iter().flatten();
    let ids: Vec<String> = ids
        .filter_map(|id| id.as_str().map(str::to_owned))
        .collect();
    if ids.len() == layers && ids.iter().all(|id| is_digest(id)) {
        return Ok(ids);
    }
    Err(oci_error("its configuration does not name its layers"))
}

/// A manifest of the same image with layers as they are unpacked: digest and bytes of each.
#[must_use]
pub fn plain_manifest(config: (&str, u64), layers: &[(String, u64)]) -> Vec<u8> {
    let descriptor = |media_type: &str, digest: &str, size: u64| serde_json::json!({"mediaType": media_type, "digest": digest, "size": size});
    let layers = layers.iter();
    let layers: Vec<_> = layers
        .map(|(digest, size)| descriptor(LAYER, digest, *size))
        .collect();
    let manifest = serde_json::json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": descriptor(CONFIG, config.0, config.1),
        "layers": layers,
    });
    serde_json::to_vec(&manifest).expect("texts and numbers are JSON")
}

/// `index.json` of a layout with one image.
#[must_use]
pub fn layout_index(manifest: (&str, u64), name: &str) -> Vec<u8> {
    let index = serde_json::json!({
        "schemaVersion": 2,
        "manifests": [{
            "mediaType": MANIFEST,
            "digest": manifest.0,
            "size": manifest.1,
            "annotations": {REF_NAME: name},
        }],
    });
    serde_json::to_vec(&index).expect("texts and numbers are JSON")
}

/// `manifest.json` of `docker save`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct SavedImage {
    /// The file of its configuration.
    pub config: String,
    /// Its names.
    #[serde(default)]
    pub repo_tags: Option<Vec<String>>,
    /// The files of its layers.
    pub layers: Vec<String>,
}

/// Reads the `manifest.json` of `docker save`.
///
/// # Errors
/// When it holds not exactly one image with paths inside the archive.
pub fn saved(bytes: &[u8]) -> Result<SavedImage, OciError> {
    let mut images: Vec<SavedImage> = serde_json::from_slice(bytes)
        .map_err(|error| oci_error(format!("its manifest.json cannot be read: {error}")))?;
    let (Some(image), true) = (images.pop(), images.is_empty()) else {
        return Err(oci_error("the archive holds not exactly one image"));
    };
    let inside = |path: &String| !path.starts_with('/') && !path.split('/').any(|it| it == "..");
    let paths = image.layers.iter().chain([&image.config]);
    if !paths.into_iter().all(inside) || !(1..=MAX_LAYERS).contains(&image.layers.len()) {
        return Err(oci_error("its manifest.json names wrong files"));
    }
    Ok(image)
}
