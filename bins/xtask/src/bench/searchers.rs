//! `cargo xtask bench searchers`: collections whose answers are compared, and many documents.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::collections::collections;
use super::places::label;
use super::{Job, growth, job};

/// One job a collection, and one over many documents.
pub(super) fn jobs(
    folder: Option<&Path>,
    documents: Option<NonZeroUsize>,
    texts: &[PathBuf],
) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for folder in folder.map(collections).transpose()?.unwrap_or_default() {
        let label = label(&folder);
        let title = format!("Searchers beside one machine: {label}");
        jobs.push(named(&format!("searchers-{label}"), &title).on(&folder)?);
    }
    if let Some(documents) = documents {
        let title = "Searchers over many documents";
        let mut many = named("searchers-documents", title);
        for folder in growth::folders(texts)? {
            many = many.on(&folder)?;
        }
        jobs.push(many.with(["--documents".to_owned(), documents.to_string()]));
    }
    if jobs.is_empty() {
        bail!("name a folder of judged collections, or --documents 90000");
    }
    Ok(jobs)
}

fn named(name: &str, title: &str) -> Job {
    job(name, title, "search-server", "searchers")
}
