//! The thread that publishes a source: after each commit, and when concepts were learnt.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use search_core::answer::SourceState;
use search_core::snapshots::{
    DescribedFile, FileKind, MANIFEST_FORMAT, PartManifest, PublishedManifest, SourcePart,
};
use search_engine::files::SourceFiles;
use search_engine::index::{INDEX_FORMAT, IndexSnapshot, PinnedFiles};
use search_engine::published_files::SourcePlace;
use supervision::unix_ms;

use super::adopt::SourceFolders;
use super::cache::{SnapshotCache, in_parallel};
use super::collect::{COLLECT_INTERVAL, GRACE, ObjectCollector, referenced_objects};
use super::error::SnapshotError;
use super::lease::SnapshotLease;
use super::stored_check::StoredCheck;
use super::texts::PublishedTexts;
use super::wait::sleep;
use crate::concepts::embedding_files;
use crate::source_handle::SourceHandle;

/// How often the thread looks whether anything has changed.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long what is new may be unpublished before somebody is told.
pub(super) const UNPUBLISHED_LIMIT: Duration = Duration::from_secs(30);
/// After a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// What of the folder of concepts is published.
const CONCEPT_FILES: [&str; 4] = ["graph", "space", "manifest", "journal"];

/// Which state a file is in, without reading it.
type FileStamp = (u64, SystemTime);

/// The thread's work.
pub(super) struct Publisher {
    handle: Arc<SourceHandle>,
    lease: Arc<SnapshotLease>,
    ends: Arc<AtomicBool>,
    cache: SnapshotCache,
    folders: SourceFolders,
    /// Whether what was learnt of the source comes with this part of it.
    learns: bool,
    /// What was published last, and where that is.
    manifest: Option<PartManifest>,
    published: Option<PublishedManifest>,
    texts: PublishedTexts,
    /// The index that was published last by this process.
    snapshot: Option<IndexSnapshot>,
    /// The concept files that were published last.
    concepts: BTreeMap<&'static str, (FileStamp, DescribedFile)>,
    /// Whether what is published has all of the source: a part of it must not take its place.
    was_complete: bool,
    /// Whether the indexer was in step with the source since this process holds the lease.
    was_ready: bool,
    collects_at: Instant,
    collector: ObjectCollector,
    /// What of it the storage has lost since.
    check: Arc<StoredCheck>,
}

impl Publisher {
    pub(super) fn new(
        (handle, lease, ends): (Arc<SourceHandle>, Arc<SnapshotLease>, Arc<AtomicBool>),
        (cache, folders, part): (SnapshotCache, SourceFolders, SourcePart),
        (published, was_published): (Option<(PartManifest, PublishedTexts)>, bool),
    ) -> Self {
        let (manifest, texts) = published.map_or_else(Default::default, |(manifest, texts)| {
            (Some(manifest), texts)
        });
        let was_complete = manifest
            .as_ref()
            .map_or(was_published, |one| one.is_complete);
        Self {
            published: lease.pointer().manifest.filter(|_| manifest.is_some()),
            learns: handle.learns && part.is_learner(),
            was_complete,
            handle,
            lease,
            ends,
            cache,
            folders,
            manifest,
            texts,
            snapshot: None,
            concepts: BTreeMap::new(),
            was_ready: false,
            collects_at: Instant::now() + COLLECT_INTERVAL,
            collector: ObjectCollector::default(),
            check: Arc::default(),
        }
    }

    /// Publishes until it is told to end.
    pub(super) fn run(mut self) {
        let (ends, lease) = (Arc::clone(&self.ends), Arc::clone(&self.lease));
        let is_ended = move || ends.load(Ordering::Acquire) || lease.is_lost();
        self.record_published();
        let (unit, source) = (self.lease.unit.clone(), self.handle.haystack.name.as_str());
        if let Err(error) = self.check.start(unit, source, is_ended.clone()) {
            tracing::warn!(event = "snapshot.unchecked", source, %error);
        }
        let mut seen = None;
        let mut told = String::new();
        let mut failing: Option<Instant> = None;
        loop {
            let embeddings = self.embeddings();
            let now = (self.handle.version(), self.concept_stamps(), embeddings);
            let mut pause = POLL_INTERVAL;
            if seen.as_ref() != Some(&now) || self.check.has_lost() {
                let began = Instant::now();
                match self.publish() {
                    Ok(()) => {
                        seen = Some(now);
                        told.clear();
                        if failing.take().is_some() {
                            show_unpublished(&self.handle, None);
                        }
                    }
                    Err(SnapshotError::LeaseLost) => return,
                    Err(error) => {
                        pause = RETRY_INTERVAL;
                        self.unpublished(&error, &mut told);
                        let since = *failing.get_or_insert(began);
                        if since.elapsed() >= UNPUBLISHED_LIMIT {
                            show_unpublished(&self.handle, Some(&error));
                        }
                    }
                }
            }
            self.collect_now_and_then();
            if !sleep(pause, &is_ended) {
                return;
            }
        }
    }

    fn unpublished(&self, error: &SnapshotError, told: &mut String) {
        let (reason, source) = (error.to_string(), self.handle.haystack.name.as_str());
        if reason != *told {
            tracing::warn!(event = "snapshot.unpublished", source, %reason);
            *told = reason;
        }
    }

    fn concept_stamps(&self) -> Vec<Option<FileStamp>> {
        let stamps = CONCEPT_FILES.iter();
        stamps
            .map(|name| stamp(&self.folders.concepts.join(name)))
            .collect()
    }

    /// Publishes the index as it is now, where it differs from what is published.
    fn publish(&mut self) -> Result<(), SnapshotError> {
        let status = self.handle.read();
        let (Some(snapshot), Some(root)) = (&status.snapshot, &status.root) else {
            return Ok(());
        };
        let is_ready = status.state == SourceState::Ready;
        self.was_ready |= is_ready;
        if self.was_complete && !self.was_ready {
            return Ok(());
        }
        let began = Instant::now();
        let pinned = snapshot.pin_files()?;
        let lost = self.check.lost_objects();
        let files = self.files(&pinned, root.as_ref(), &lost)?;
        let place = SourcePlace::from_files(root.as_ref());
        let is_complete = is_ready || self.was_complete;
        let is_same = self.manifest.as_ref().is_some_and(|former| {
            former.files == files
                && former.segments == pinned.segments
                && former.is_complete == is_complete
        });
        let has_manifest = |one: &PublishedManifest| !lost.contains(&one.object);
        if is_same && self.published.as_ref().is_some_and(has_manifest) {
            self.snapshot = Some(pinned.snapshot);
            return Ok(());
        }
        let pointer = self.lease.pointer();
        let manifest = PartManifest {
            format: MANIFEST_FORMAT,
            index_format: INDEX_FORMAT,
            source: self.handle.id.clone(),
            part: self.lease.unit.shown.clone(),
            epoch: pointer.epoch,
            sequence: pointer.sequence + 1,
            published_ms: unix_ms(),
            folder: place
                .as_ref()
                .map(|place| place.folder.to_string_lossy().into_owned())
                .unwrap_or_default(),
            revision: place.and_then(|place| place.revision),
            documents: pinned.snapshot.document_count(),
            terms: pinned.snapshot.term_count(),
            is_complete,
            has_times: root.has_times(),
            segments: pinned.segments.clone(),
            files,
        };
        let published = self.put_manifest(&manifest)?;
        tracing::debug!(
            event = "snapshot.published",
            source = self.handle.haystack.name,
            sequence = manifest.sequence,
            documents = manifest.documents,
            took_ms = began.elapsed().as_millis() as u64,
        );
        if !lost.is_empty() {
            let (source, objects) = (self.handle.haystack.name.as_str(), lost.len());
            tracing::info!(event = "snapshot.stored_again", source, objects);
        }
        self.was_complete = is_complete;
        self.manifest = Some(manifest);
        self.published = Some(published);
        self.snapshot = Some(pinned.snapshot);
        self.record_published();
        Ok(())
    }

    /// What is published is looked after in the storage from now on.
    fn record_published(&self) {
        if let (Some(published), Some(manifest)) = (&self.published, &self.manifest) {
            self.check.follow(published, manifest);
        }
    }

    /// Stores a manifest, and leads searchers to it.
    fn put_manifest(&self, manifest: &PartManifest) -> Result<PublishedManifest, SnapshotError> {
        let path = self.cache.folder().join("manifest.new");
        fs::write(&path, manifest.to_json()).map_err(SnapshotError::file(&path))?;
        let stored = self.lease.unit.store(FileKind::Index, "manifest", &path)?;
        let published = PublishedManifest {
            object: stored.object,
            digest: stored.digest,
        };
        self.lease.publish(&published)?;
        // Without the mark the next run fetches what it has.
        self.folders.mark(&published.object)?;
        let wanted: BTreeSet<&str> = self
            .texts
            .files()
            .map(|file| file.digest.as_str())
            .collect();
        let _ = self.cache.retain(&wanted);
        Ok(published)
    }

    /// All files of the snapshot; what the storage does not have, or has `lost`, is stored.
    fn files(
        &mut self,
        pinned: &PinnedFiles,
        root: &dyn SourceFiles,
        lost: &BTreeSet<String>,
    ) -> Result<Vec<DescribedFile>, SnapshotError> {
        let place = (&self.lease.unit, &self.cache);
        if !self.texts.store_again(lost, place)? {
            // All documents are looked at: some have no text any more.
            self.snapshot = None;
        }
        self.concepts
            .retain(|_, (_, file)| !lost.contains(&file.object));
        let texts = self.handle.texts.get().map(|texts| &**texts);
        self.texts.follow(
            (&pinned.snapshot, self.snapshot.as_ref()),
            root,
            texts,
            place,
        )?;
        let mut files = self.index_files(pinned, lost)?;
        files.extend(self.texts.files().cloned());
        if self.learns {
            files.extend(self.concept_files()?);
        }
        files.extend(self.embedding_files(lost)?);
        Ok(files)
    }

    fn index_files(
        &self,
        pinned: &PinnedFiles,
        lost: &BTreeSet<String>,
    ) -> Result<Vec<DescribedFile>, SnapshotError> {
        let stored = self.fixed_files(FileKind::Index, (&pinned.folder, &pinned.names), lost);
        if matches!(stored, Err(SnapshotError::Refused(_))) {
            // The indexer makes it anew.
            self.handle.quarantine_if_damaged();
        }
        stored
    }

    /// The names of what is embedded here.
    fn embeddings(&self) -> Vec<String> {
        match self.handle.model {
            Some(_) => embedding_files(&self.folders.concepts),
            None => Vec::new(),
        }
    }

    /// What the model has made of this part. Files that are put together are there before the
    /// former ones go: where one goes meanwhile, they are listed again.
    fn embedding_files(
        &self,
        lost: &BTreeSet<String>,
    ) -> Result<Vec<DescribedFile>, SnapshotError> {
        loop {
            let names = self.embeddings();
            match self.fixed_files(FileKind::Concepts, (&self.folders.concepts, &names), lost) {
                Err(_) if self.embeddings() != names => {}
                stored => return stored,
            }
        }
    }

    /// Files of which a name stands for one content: what was published is not stored again, but
    /// for what is `lost`.
    fn fixed_files(
        &self,
        kind: FileKind,
        (folder, names): (&Path, &[String]),
        lost: &BTreeSet<String>,
    ) -> Result<Vec<DescribedFile>, SnapshotError> {
        let former: BTreeMap<&str, &DescribedFile> = self
            .manifest
            .iter()
            .flat_map(|manifest| manifest.files_of(kind))
            .map(|file| (file.name.as_str(), file))
            .collect();
        let found = Mutex::new(BTreeMap::new());
        in_parallel(names, |name| {
            let file = match former.get(name.as_str()) {
                Some(file) if !lost.contains(&file.object) => (*file).clone(),
                Some(former) => self.lease.unit.put_again(former, &folder.join(name))?,
                None => self.lease.unit.store(kind, name, &folder.join(name))?,
            };
            found.lock().insert(name.clone(), file);
            Ok(())
        })?;
        Ok(found.into_inner().into_values().collect())
    }

    /// The files of what was learnt. They are written beside their places and renamed, but for the
    /// journal, which grows: what of it is cut off is as if it came later.
    fn concept_files(&mut self) -> Result<Vec<DescribedFile>, SnapshotError> {
        let mut files = Vec::new();
        for name in CONCEPT_FILES {
            let from = self.folders.concepts.join(name);
            let Some(now) = stamp(&from) else {
                self.concepts.remove(name);
                continue;
            };
            let known = self.concepts.get(name);
            if let Some((_, file)) = known.filter(|(known, _)| *known == now) {
                files.push(file.clone());
                continue;
            }
            let copy = self.cache.folder().join("concepts.new");
            fs::copy(&from, &copy).map_err(SnapshotError::file(&from))?;
            let file = self.lease.unit.store(FileKind::Concepts, name, &copy)?;
            let _ = fs::remove_file(&copy);
            self.concepts.insert(name, (now, file.clone()));
            files.push(file);
        }
        Ok(files)
    }

    fn collect_now_and_then(&mut self) {
        if Instant::now() < self.collects_at {
            return;
        }
        self.collects_at = Instant::now() + COLLECT_INTERVAL;
        let (Some(published), Some(manifest)) = (&self.published, &self.manifest) else {
            return;
        };
        let concepts = self.concepts.values().map(|(_, file)| file);
        let wanted = referenced_objects(manifest, &self.texts, concepts);
        let of = (published, &wanted);
        let now = Instant::now();
        match self.collector.collect(&self.lease, of, GRACE, now) {
            Ok(removed) => tracing::debug!(event = "snapshot.collected", removed),
            Err(error) => tracing::warn!(event = "snapshot.uncollected", %error),
        }
    }
}

/// Says in `/health` that searchers do not see what is indexed here; searches here do.
pub(super) fn show_unpublished(handle: &SourceHandle, error: Option<&SnapshotError>) {
    let own = "what is indexed here is not published";
    let now = error.map(|error| format!("{own}: {error}"));
    handle.publish_progress(|status| {
        let is_own = status
            .error
            .as_ref()
            .is_none_or(|said| said.starts_with(own));
        if is_own {
            status.error = now;
        }
    });
}

fn stamp(path: &Path) -> Option<FileStamp> {
    let found = fs::metadata(path).ok()?;
    Some((found.len(), found.modified().ok()?))
}
