//! What was exported: which version of which document, a line each, appended batch by batch.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use search_core::bulk::BulkItem;
use search_core::snapshots::SourcePart;

use super::documents::NotedSource;
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
        sources: &[NotedSource],
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

    /// Sees under which leases this process put what it noted: what others put under a lease in
    /// between is not noted here. The sources of which all is put again.
    ///
    /// What belongs to another part now is its indexer's, there and in its notes.
    pub(super) fn check_leases(&mut self, sources: &[NotedSource]) -> anyhow::Result<Vec<String>> {
        let path = self.path.with_extension("leases");
        let known = fs::read_to_string(&path).unwrap_or_default();
        let mut leases: BTreeMap<String, String> = known
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(id, lease)| (id.to_owned(), lease.to_owned()))
            .collect();
        let mut again = Vec::new();
        for source in sources {
            let now = source.tenure.as_ref();
            let now = now.map(|it| format!("{} {}", it.part.folder(), it.epoch));
            if leases.get(&source.id) == now.as_ref() {
                continue;
            }
            if self.put_again(source) {
                again.push(source.id.clone());
            }
            match now {
                Some(now) => leases.insert(source.id.clone(), now),
                None => leases.remove(&source.id),
            };
        }
        if leases_text(&leases) != known {
            // A run that ends early must not be taken for one that has put them.
            self.compact().context("noting what was exported")?;
            fs::write(&path, leases_text(&leases)).with_context(|| path.display().to_string())?;
        }
        Ok(again)
    }

    /// Believes nothing that is noted of a source; whether anything was.
    fn put_again(&mut self, source: &NotedSource) -> bool {
        let part = source
            .tenure
            .as_ref()
            .map_or(SourcePart::WHOLE, |it| it.part);
        let key_of = |id: &str| {
            let (of, key) = id.split_once('/')?;
            (of == source.id).then(|| key.to_owned())
        };
        self.versions
            .retain(|id, _| key_of(id).is_none_or(|key| part.contains(&key)));
        let own = self
            .versions
            .iter_mut()
            .filter(|(id, _)| key_of(id).is_some());
        let marked = own.map(|(_, version)| version.insert(0, '?'));
        marked.count() > 0
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
    pub(super) fn contains(&self, id: &str, version: &str) -> bool {
        self.versions.get(id).is_some_and(|known| known == version)
    }

    /// The document is indexed.
    pub(super) fn record_indexed(&mut self, id: &str) {
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
    pub(super) fn record_exported<'i>(
        &mut self,
        items: impl Iterator<Item = &'i BulkItem>,
    ) -> io::Result<()> {
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

/// A line a source: its id, its part and the lease's epoch.
fn leases_text(leases: &BTreeMap<String, String>) -> String {
    let lines = leases.iter().map(|(id, lease)| format!("{id}\t{lease}\n"));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use search_actors::snapshots::PublishingLease;

    use super::*;

    fn source(tenure: Option<(u32, u32, u64)>) -> [NotedSource; 1] {
        let number = |number| NonZeroU32::new(number).expect("from 1");
        [NotedSource {
            id: "docs".to_owned(),
            is_whole: true,
            tenure: tenure.map(|(part, count, epoch)| PublishingLease {
                part: SourcePart::new(number(part), number(count)).expect("a part"),
                epoch,
            }),
        }]
    }

    fn put(id: &str) -> BulkItem {
        BulkItem::put(id, id, "v1", &serde_json::json!({}))
    }

    /// Another indexer has put what it liked meanwhile, and two parts are noted by two.
    #[test]
    fn i18_what_was_noted_under_another_lease_is_put_again_and_other_parts_are_left_alone() {
        let data = tempfile::tempdir().expect("a folder");
        let options = ExportOptions {
            elasticsearch: "http://there".to_owned(),
            index: "docs".to_owned(),
            role: None,
            authorization_file: None,
            all: false,
        };
        let open = |tenure| {
            let sources = source(tenure);
            let mut record = ExportRecord::open(data.path(), &options, &sources).expect("room");
            let again = record.check_leases(&sources).expect("room");
            (record, !again.is_empty())
        };
        let ids: Vec<String> = (0..20).map(|n| format!("docs/page-{n}.md")).collect();
        let (mut record, again) = open(Some((1, 1, 4)));
        assert!(!again, "nothing was noted");
        let items: Vec<_> = ids.iter().map(|id| put(id)).collect();
        record.record_exported(items.iter()).expect("room");
        let elsewhere = put("other/page-1.md");
        record
            .record_exported([&elsewhere].into_iter())
            .expect("room");
        for (tenure, is_again, kept, why) in [
            (Some((1, 1, 4)), false, 20, "the same lease"),
            (Some((1, 1, 6)), true, 20, "another has had it"),
            (Some((1, 1, 6)), true, 20, "and the run ended early"),
        ] {
            let (record, again) = open(tenure);
            let held = ids.iter().filter(|id| record.contains(id, "v1")).count();
            assert_eq!(held == 0, is_again, "{why}");
            assert!(!again || is_again, "{why}");
            assert_eq!(record.vanished().len(), kept, "{why}");
            assert!(record.contains("other/page-1.md", "v1"), "{why}");
        }
        // One of two now: what the other part holds is not removed here.
        let (record, again) = open(Some((1, 2, 1)));
        let part = source(Some((1, 2, 1)))[0].tenure.clone().expect("one").part;
        let vanished = record.vanished();
        assert!(again && !vanished.is_empty() && vanished.len() < 20);
        assert!(
            vanished
                .iter()
                .all(|id| part.contains(&id["docs/".len()..]))
        );
        // On one machine again.
        let (record, again) = open(None);
        assert!(again && record.vanished().len() == vanished.len());
    }
}
