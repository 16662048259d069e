//! Folders of judged collections.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The folder itself when it is a collection, else the collections in it.
pub(super) fn collections(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_collection = |folder: &Path| {
        ["corpus.jsonl", "corpus.jsonl.gz"]
            .iter()
            .any(|name| folder.join(name).is_file())
    };
    if is_collection(folder) {
        return Ok(vec![folder.to_owned()]);
    }
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("{} cannot be read", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found: Vec<PathBuf> = paths.filter(|path| is_collection(path)).collect();
    found.sort();
    if found.is_empty() {
        bail!(
            "{} holds no collection: corpus.jsonl, queries.jsonl, qrels/ (BEIR layout)",
            folder.display()
        );
    }
    Ok(found)
}
