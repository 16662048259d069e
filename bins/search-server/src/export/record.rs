//! What was exported: which version of which document, a line each, appended batch by batch.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use search_core::bulk::BulkItem;

use super::documents::ExportSource;
use super::target::RemoteIndex;
use crate::arguments::ExportOptions;

/// Stands for a document that was removed.
const REMOVED: &str = "-";

/// What was exported to one index of one server.
pub(super) struct ExportRecord {
    path: PathBuf,
    versions: BTreeMap<String, String>,
    met: BTreeSet<String>,
    /// Sources whose documents may be removed.
    sources: BTreeSet<String>,
}

impl ExportRecord {
    pub(super) fn open(
        data: &Path,
        options: &ExportOptions,
        sources: &[ExportSource],
    ) -> anyhow::Result<Self> {
        let name = format!("{}\n{}", options.elasticsearch, options.index);
        let name = blake3::hash(name.as_bytes()).to_hex();
        let folder = data.join("export");
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let path = folder.join(format!("{}.tsv", &name[..16]));
        let mut versions = BTreeMap::new();
        let known = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.with_context(|| path.display().to_string())?,
        };
        // A line that was cut short names no version: its document is put again.
        for line in known
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
        {
            let Some((version, id)) = line.trim_end().split_once('\t') else {
                continue;
            };
            let _ = match version {
                REMOVED => versions.remove(id),
                version if options.all => versions.insert(id.to_owned(), format!("?{version}")),
                version => versions.insert(id.to_owned(), version.to_owned()),
            };
        }
        Ok(Self {
            path,
            versions,
            met: BTreeSet::new(),
            sources: sources
                .iter()
                .filter(|source| source.is_whole)
                .map(|source| source.id.clone())
                .collect(),
        })
    }

    /// Sees whether what was put went into this index; where it did not, all is put again.
    pub(super) fn is_of_another(&mut self, index: &RemoteIndex) -> anyhow::Result<bool> {
        let path = self.path.with_extension("index");
        let known = fs::read_to_string(&path).ok();
        let is_other = match (&index.id, known) {
            _ if index.is_new => true,
            (Some(id), Some(known)) => *id != known,
            // It does not say, or was not asked before.
            _ => false,
        };
        let is_other = is_other && !self.versions.is_empty();
        if is_other {
            for version in self.versions.values_mut() {
                // No document has such a version; which ones there are is still known.
                version.insert(0, '?');
            }
            // A run that ends early must not be taken for one that has put them.
            self.compact().context("noting what was exported")?;
        }
        if let Some(id) = &index.id {
            fs::write(&path, id).with_context(|| path.display().to_string())?;
        }
        Ok(is_other)
    }

    /// Whether this version was exported.
    pub(super) fn holds(&self, id: &str, version: &str) -> bool {
        self.versions.get(id).is_some_and(|known| known == version)
    }

    /// The document is indexed.
    pub(super) fn meet(&mut self, id: &str) {
        self.met.insert(id.to_owned());
    }

    /// Documents of the sources that were exported and are not indexed any more.
    pub(super) fn vanished(&self) -> Vec<String> {
        let of_sources = |id: &&String| {
            let source = id.split('/').next().unwrap_or_default();
            self.sources.contains(source)
        };
        let all = self.versions.keys().filter(of_sources);
        all.filter(|id| !self.met.contains(*id)).cloned().collect()
    }

    /// Notes what the server has.
    pub(super) fn note<'i>(&mut self, items: impl Iterator<Item = &'i BulkItem>) -> io::Result<()> {
        let mut options = File::options();
        let file = options.create(true).append(true).open(&self.path)?;
        let mut file = BufWriter::new(file);
        for item in items {
            match &item.version {
                Some(version) => {
                    writeln!(file, "{version}\t{}", item.id)?;
                    self.versions.insert(item.id.clone(), version.clone());
                }
                None => {
                    writeln!(file, "{REMOVED}\t{}", item.id)?;
                    self.versions.remove(&item.id);
                }
            }
        }
        file.flush()
    }

    /// Leaves a line a document.
    pub(super) fn compact(&self) -> io::Result<()> {
        store::replace_file(&self.path, None, |file| {
            let mut versions = self.versions.iter();
            versions.try_for_each(|(id, version)| writeln!(file, "{version}\t{id}"))
        })
    }
}
