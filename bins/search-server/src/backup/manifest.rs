//! What a backup consists of.

use anyhow::{Context, bail};
use bytes::Bytes;
use http_clients::objects::{ObjectError, ObjectStorage};
use serde::{Deserialize, Serialize};

/// The form of backups this version writes and reads.
const FORMAT: u32 = 1;
/// The longest object of a backup that is read, in bytes: a part, or the manifest of 100,000 parts.
const MAX_OBJECT: u64 = 16 << 20;
/// Name of the manifest.
const MANIFEST: &str = "manifest.json";

/// A backup.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BackupManifest {
    pub(super) format: u32,
    pub(super) id: String,
    /// Version of the program that made it.
    pub(super) version: String,
    /// Keys of the local state.
    pub(super) records: u64,
    /// The local state, in order.
    pub(super) parts: Vec<BackupObject>,
    /// The role file, where there was one.
    pub(super) roles: Option<BackupObject>,
}

/// An object of a backup.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BackupObject {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) blake3: String,
}

impl BackupManifest {
    pub(super) fn new(id: String) -> Self {
        Self {
            format: FORMAT,
            id,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            records: 0,
            parts: Vec::new(),
            roles: None,
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        let all = self.parts.iter().chain(&self.roles);
        all.map(|part| part.size).sum()
    }
}

fn name(id: &str, part: &str) -> String {
    format!("{id}/{part}")
}

/// Stores an object of a backup.
pub(super) fn store_part(
    storage: &ObjectStorage,
    id: &str,
    name_of_part: &str,
    body: Bytes,
) -> anyhow::Result<BackupObject> {
    let part = BackupObject {
        name: name_of_part.to_owned(),
        size: body.len() as u64,
        blake3: blake3::hash(&body).to_hex().to_string(),
    };
    let key = name(id, name_of_part);
    let stored = storage.put_bytes(&key, body);
    stored.with_context(|| format!("storing {key}"))?;
    Ok(part)
}

/// Reads an object, and makes sure that it is the one that was stored.
pub(super) fn get(storage: &ObjectStorage, id: &str, part: &BackupObject) -> anyhow::Result<Bytes> {
    let key = name(id, &part.name);
    let body = match storage.get_bytes(&key, MAX_OBJECT) {
        Err(ObjectError::Missing { .. }) => bail!("{key} is missing: the backup is not whole"),
        body => body.with_context(|| format!("reading {key}"))?,
    };
    let hash = blake3::hash(&body).to_hex();
    if body.len() as u64 != part.size || hash.as_str() != part.blake3 {
        bail!("{key} is not what was stored: its size or checksum is another one");
    }
    Ok(body)
}

/// Ends a backup: from now on it can be restored.
pub(super) fn seal(storage: &ObjectStorage, manifest: &BackupManifest) -> anyhow::Result<()> {
    let text = serde_json::to_vec_pretty(manifest)?;
    store_part(storage, &manifest.id, MANIFEST, Bytes::from(text)).map(drop)
}

/// The backup called `id`, or the latest.
pub(super) fn find(storage: &ObjectStorage, id: Option<&str>) -> anyhow::Result<BackupManifest> {
    let id = match id {
        Some(id) => id.to_owned(),
        None => latest(storage)?,
    };
    let key = name(&id, MANIFEST);
    let body = match storage.get_bytes(&key, MAX_OBJECT) {
        Err(ObjectError::Missing { .. }) => bail!("there is no backup {id}"),
        body => body.with_context(|| format!("reading {key}"))?,
    };
    let manifest: BackupManifest =
        serde_json::from_slice(&body).with_context(|| format!("{key} is unreadable"))?;
    if manifest.format != FORMAT || manifest.id != id {
        bail!(
            "backup {id} was made by version {}, in a form that this one does not read",
            manifest.version
        );
    }
    Ok(manifest)
}

/// Ids begin with the time, so the last by name is the latest.
fn latest(storage: &ObjectStorage) -> anyhow::Result<String> {
    let objects = storage.list("").context("listing the backups")?;
    let ids = objects.iter().filter_map(|object| {
        let id = object.key.strip_suffix(MANIFEST)?.strip_suffix('/')?;
        (!id.contains('/')).then_some(id)
    });
    let latest = ids.max().context("there is no backup at this place")?;
    Ok(latest.to_owned())
}
