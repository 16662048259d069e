//! What saving and restoring share.

use std::path::Path;

use anyhow::Context;

/// Bytes of a part.
pub(super) const PART: usize = 8 << 20;

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
