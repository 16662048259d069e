//! What a backup consists of.

use anyhow::{Context, bail};
use bytes::Bytes;
use http_clients::s3::Condition;
use serde::{Deserialize, Serialize};

use super::bucket::Bucket;

/// The form of backups this version writes and reads.
const FORMAT: u32 = 1;
/// The most backups that are looked through for the latest.
const MAX_LISTED: usize = 100_000;
/// Name of the manifest.
const MANIFEST: &str = "manifest.json";

/// A backup.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) format: u32,
    pub(super) id: String,
    /// Version of the program that made it.
    pub(super) version: String,
    /// Keys of the local state.
    pub(super) records: u64,
    /// The local state, in order.
    pub(super) parts: Vec<Part>,
    /// The role file, where there was one.
    pub(super) roles: Option<Part>,
}

/// An object of a backup.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) blake3: String,
}

impl Manifest {
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

impl Bucket {
    fn name(&self, id: &str, part: &str) -> String {
        match self.prefix.as_str() {
            "" => format!("{id}/{part}"),
            prefix => format!("{prefix}/{id}/{part}"),
        }
    }

    /// Stores an object of a backup, which must be new.
    pub(super) async fn put(&self, id: &str, name: &str, body: Bytes) -> anyhow::Result<Part> {
        let part = Part {
            name: name.to_owned(),
            size: body.len() as u64,
            blake3: blake3::hash(&body).to_hex().to_string(),
        };
        let key = self.name(id, name);
        let put = self.client.put(&key, body, &Condition::Absent).await;
        put.with_context(|| format!("storing {key}"))?;
        Ok(part)
    }

    /// Reads an object, and makes sure that it is the one that was stored.
    pub(super) async fn get(&self, id: &str, part: &Part) -> anyhow::Result<Bytes> {
        let key = self.name(id, &part.name);
        let object = self.client.get(&key).await;
        let object = object.with_context(|| format!("reading {key}"))?;
        let body = object
            .with_context(|| format!("{key} is missing: the backup is not whole"))?
            .body;
        let hash = blake3::hash(&body).to_hex();
        if body.len() as u64 != part.size || hash.as_str() != part.blake3 {
            bail!("{key} is not what was stored: its size or checksum is another one");
        }
        Ok(body)
    }

    /// Ends a backup: from now on it can be restored.
    pub(super) async fn seal(&self, manifest: &Manifest) -> anyhow::Result<()> {
        let text = serde_json::to_vec_pretty(manifest)?;
        self.put(&manifest.id, MANIFEST, Bytes::from(text)).await?;
        Ok(())
    }

    /// The backup called `id`, or the latest.
    pub(super) async fn manifest(&self, id: Option<&str>) -> anyhow::Result<Manifest> {
        let prefix = match self.prefix.as_str() {
            "" => String::new(),
            prefix => format!("{prefix}/"),
        };
        let id = match id {
            Some(id) => id.to_owned(),
            None => self.latest(&prefix).await?,
        };
        let key = self.name(&id, MANIFEST);
        let object = self.client.get(&key).await;
        let object = object.with_context(|| format!("reading {key}"))?;
        let object = object.with_context(|| format!("there is no backup {id}"))?;
        let manifest: Manifest =
            serde_json::from_slice(&object.body).with_context(|| format!("{key} is unreadable"))?;
        if manifest.format != FORMAT || manifest.id != id {
            bail!(
                "backup {id} was made by version {}, in a form that this one does not read",
                manifest.version
            );
        }
        Ok(manifest)
    }

    /// Ids begin with the time, so the last by name is the latest.
    async fn latest(&self, prefix: &str) -> anyhow::Result<String> {
        let list = self
            .client
            .list(prefix, MAX_LISTED)
            .await
            .context("listing the backups")?;
        let ids = list.objects.iter().filter_map(|object| {
            let rest = object.key.strip_prefix(prefix)?;
            rest.strip_suffix(MANIFEST)?.strip_suffix('/')
        });
        let latest = ids.filter(|id| !id.contains('/')).max();
        Ok(latest
            .context("there is no backup at this place")?
            .to_owned())
    }
}
