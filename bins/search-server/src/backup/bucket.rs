//! What saving and restoring share.

use std::path::Path;

use anyhow::Context;
use http_clients::s3::S3Client;

/// Bytes of a part.
pub(super) const PART: usize = 8 << 20;

/// A bucket, and the beginning of all names in it.
pub(super) struct Bucket {
    pub(super) client: S3Client,
    pub(super) prefix: String,
}

impl Bucket {
    /// Whether the place can be used at all: a server may close the connection in the middle of a
    /// large object without saying why.
    pub(super) async fn check(&self) -> anyhow::Result<()> {
        let listed = self.client.list(&self.prefix, 1).await;
        listed.map(drop).context("looking at the bucket")
    }
}

/// What was done.
#[derive(Debug, serde::Serialize)]
pub(super) struct BackupReport {
    /// `saved` or `restored`.
    pub(super) what: &'static str,
    pub(super) backup: String,
    pub(super) records: u64,
    pub(super) parts: usize,
    pub(super) bytes: u64,
    /// What somebody has to know or do.
    pub(super) notes: Vec<String>,
}

/// Removes a file or folder that may not be there.
pub(super) fn clear(path: &Path) -> anyhow::Result<()> {
    let gone = if path.is_dir() {
        std::fs::remove_dir_all(path)
    } else {
        std::fs::remove_file(path)
    };
    match gone {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
