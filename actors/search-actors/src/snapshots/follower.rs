//! A searcher's thread for one source: fetches what indexers have published, and shows it to
//! searches.
//!
//! What was fetched last stays searchable whatever happens: the storage is away, an object is
//! damaged, an indexer of another version publishes. The health of the source says so then.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use http_clients::objects::ObjectVersion;
use search_core::answer::{IndexProgress, SourceState};
use search_core::snapshots::{
    DescribedFile, FileKind, PartManifest, PublishedManifest, SourcePart,
};
use search_engine::index::{INDEX_FORMAT, IndexError, IndexSnapshot};
use search_engine::packs::TextPack;

use super::cache::SnapshotCache;
use super::concept_taking::ConceptFollower;
use super::error::SnapshotError;
use super::inspect::published_parts;
use super::place::SnapshotPlace;
use super::pointer_ages::PointerAges;
use super::unit::{PointerRead, Unit};
use super::view::{OpenSnapshot, open_view, write_concepts};
use crate::changed_documents::ChangedDocuments;
use crate::concepts::{self, ConceptSettings};
use crate::source_handle::SourceHandle;

/// How often the pointers are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(400);
/// After a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);
/// Names the manifests of the view, for the next start.
const IN_FORCE: &str = "in-force.json";

/// A part, and what is known of it.
struct FollowedPart {
    unit: Unit,
    pointer: Option<ObjectVersion>,
    published: Option<PublishedManifest>,
    /// The manifest that `published` names, once it was read.
    manifest: Option<(PublishedManifest, PartManifest)>,
}

/// The thread's work.
pub(crate) struct SnapshotFollower<C> {
    handle: Arc<SourceHandle>,
    settings: Arc<ConceptSettings>,
    /// Where what was fetched lies.
    folder: PathBuf,
    inbox: Receiver<C>,
    cancel: Arc<AtomicBool>,
    parts: Vec<FollowedPart>,
    /// What the view is made of.
    in_force: Vec<PartManifest>,
    packs: BTreeMap<String, Arc<TextPack>>,
    views: u64,
    /// The one of them that is shown.
    shown: u64,
    /// Whether there was all of a snapshot once: until then a failure keeps searches away.
    had_whole: bool,
    concepts: ConceptFollower,
    /// Whether somebody publishes what is followed.
    attendance: PointerAges,
    started_at: Instant,
    /// Who learns of what is followed, where that is done here.
    learner: Option<PartLearner>,
}

/// Who learns of all parts of a source that is split: it reads what they publish.
pub(super) struct PartLearner {
    /// What lies at the top of the source.
    pub(super) top_names: Vec<String>,
    /// Tells it that something has changed.
    pub(super) wake: Sender<()>,
    /// Shows how far it is.
    pub(super) part: Arc<SourceHandle>,
}

impl<C> SnapshotFollower<C> {
    pub(crate) fn new(
        (handle, settings): (Arc<SourceHandle>, Arc<ConceptSettings>),
        folder: PathBuf,
        place: &SnapshotPlace,
        inbox: Receiver<C>,
        cancel: Arc<AtomicBool>,
    ) -> Self {
        let parts = SourcePart::all(place.parts).map(|part| FollowedPart {
            unit: Unit::new(&place.storage, &handle.id, part),
            pointer: None,
            published: None,
            manifest: None,
        });
        Self {
            parts: parts.collect(),
            handle,
            settings,
            folder,
            inbox,
            cancel,
            in_force: Vec::new(),
            packs: BTreeMap::new(),
            views: 0,
            shown: 0,
            had_whole: false,
            concepts: ConceptFollower::default(),
            attendance: PointerAges::default(),
            started_at: Instant::now(),
            learner: None,
        }
    }

    /// What is followed is learnt of here: what others have learnt is left.
    pub(super) fn for_learner(mut self, learner: PartLearner) -> Self {
        self.learner = Some(learner);
        self
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Follows until it is told to end.
    pub(crate) fn run(mut self) {
        self.handle.publish(|status| {
            status.is_down = status.snapshot.is_none();
            status.error = Some("no snapshot has been fetched yet".to_owned());
        });
        let cache = loop {
            match SnapshotCache::open(self.folder.join("files")) {
                Ok(cache) => break cache,
                Err(error) => self.report(&error),
            }
            if !self.wait(RETRY_INTERVAL) {
                return;
            }
        };
        if let Err(error) = self.take_up_kept(&cache) {
            tracing::info!(event = "snapshot.unusable", source = self.handle.haystack.name, %error);
        }
        while !self.is_cancelled() {
            if self.handle.take_suspicion() {
                // A search has met damage: everything is looked at, and fetched again.
                cache.invalidate();
                self.in_force.clear();
            }
            let pause = match self.poll(&cache) {
                Ok(()) => POLL_INTERVAL,
                Err(SnapshotError::Cancelled) => return,
                Err(error) => {
                    self.report(&error);
                    RETRY_INTERVAL
                }
            };
            self.follow_concepts(&cache);
            if !self.wait(pause) {
                return;
            }
        }
    }

    /// Waits; a command to reindex ends it. `false` when the actor has ended.
    fn wait(&self, pause: Duration) -> bool {
        match self.inbox.recv_timeout(pause) {
            Ok(_) | Err(RecvTimeoutError::Timeout) => !self.is_cancelled(),
            Err(RecvTimeoutError::Disconnected) => false,
        }
    }

    /// Says what is wrong; what was fetched stays searchable.
    fn report(&self, error: &SnapshotError) {
        let (mut reason, source) = (error.to_string(), self.handle.haystack.name.as_str());
        if self.handle.read_status(|status| status.snapshot.is_some()) {
            reason += "; what was fetched last is searched";
        }
        if self
            .handle
            .read_status(|status| status.error.as_ref() == Some(&reason))
        {
            return;
        }
        tracing::warn!(event = "snapshot.unfetched", source, %reason);
        self.handle.publish(|status| {
            status.is_down = !self.had_whole || status.snapshot.is_none();
            status.error = Some(reason);
        });
    }

    /// Shows what an earlier run has fetched: the storage may be away.
    fn take_up_kept(&mut self, cache: &SnapshotCache) -> Result<(), SnapshotError> {
        let path = self.folder.join(IN_FORCE);
        let Ok(bytes) = fs::read(&path) else {
            return Ok(());
        };
        let kept: Vec<PartManifest> = serde_json::from_slice(&bytes)
            .map_err(|error| SnapshotError::Refused(error.to_string()))?;
        if kept.len() != self.parts.len() {
            return Ok(());
        }
        // Only what is whole counts; nothing is fetched for it.
        let whole = kept.iter().flat_map(|manifest| &manifest.files);
        for file in whole {
            let path = cache.path(&file.digest);
            let digest = http_clients::objects::digest_of_file(&path);
            if digest.map_err(SnapshotError::file(&path))? != file.digest {
                return Err(SnapshotError::Refused(format!(
                    "{} is damaged",
                    path.display()
                )));
            }
        }
        self.show(kept, cache, true)
    }

    /// Looks at the pointers, and takes up what is new.
    fn poll(&mut self, cache: &SnapshotCache) -> Result<(), SnapshotError> {
        for part in &mut self.parts {
            match part.unit.pointer(part.pointer.as_ref())? {
                PointerRead::Missing => part.published = None,
                PointerRead::Unchanged => {}
                PointerRead::Read(pointer, version) => {
                    part.pointer = Some(version);
                    let now = self.started_at.elapsed();
                    self.attendance.record(&part.unit.shown, now);
                    // A pointer that was lost and made anew leads nowhere for a while.
                    part.published = pointer.manifest;
                }
            }
            let Some(published) = &part.published else {
                return Err(SnapshotError::Nothing(part.unit.shown.clone()));
            };
            let is_read = part
                .manifest
                .as_ref()
                .is_some_and(|(of, _)| of == published);
            if !is_read {
                let manifest = part.unit.manifest(published, cache.folder())?;
                if manifest.index_format != INDEX_FORMAT {
                    // Before anything of it is fetched: none of it can be used.
                    return Err(SnapshotError::IndexFormat(manifest.index_format));
                }
                part.manifest = Some((published.clone(), manifest));
            }
        }
        let manifests = self.parts.iter().filter_map(|part| part.manifest.as_ref());
        let mut manifests: Vec<PartManifest> =
            manifests.map(|(_, manifest)| manifest.clone()).collect();
        if self.learner.is_some() {
            manifests.iter_mut().for_each(without_concepts);
        }
        if manifests == self.in_force {
            return match self.stale_reason() {
                None => {
                    self.record_recovery();
                    Ok(())
                }
                Some(reason) => Err(SnapshotError::Unattended(reason)),
            };
        }
        // What was fetched of a snapshot that was not shown takes room that this one may need.
        self.prune(&manifests, cache)?;
        self.fetch(&manifests, cache)?;
        self.show(manifests, cache, true)?;
        self.save(cache)
    }

    /// Why nothing new comes, if so.
    fn stale_reason(&mut self) -> Option<String> {
        let unit = &self.parts.first()?.unit;
        let (storage, source) = (&unit.storage, self.handle.id.as_str());
        let now = self.started_at.elapsed();
        // Where it cannot be looked for, there is nothing more to say.
        let others = || published_parts(storage, source).unwrap_or_default();
        self.attendance.stale_reason(now, others)
    }

    /// The storage answers again, with what is known.
    fn record_recovery(&self) {
        if self.handle.read_status(|status| status.error.is_some()) {
            self.handle.publish(|status| {
                status.error = None;
                status.is_down = false;
            });
        }
    }

    /// Fetches what is missing. A searcher that has nothing shows the index before the texts are
    /// there.
    fn fetch(&mut self, all: &[PartManifest], cache: &SnapshotCache) -> Result<(), SnapshotError> {
        let total: u64 = all.iter().map(PartManifest::bytes).sum();
        let done = AtomicU64::new(0);
        let (handle, cancel) = (Arc::clone(&self.handle), Arc::clone(&self.cancel));
        let each = move |bytes: u64| {
            let done = done.fetch_add(bytes, Ordering::Relaxed) + bytes;
            handle.publish_progress(|status| {
                status.progress = IndexProgress {
                    done,
                    total,
                    bytes: done,
                };
            });
        };
        let is_cancelled = move || cancel.load(Ordering::Relaxed);
        let stages: [&dyn Fn(&DescribedFile) -> bool; 2] =
            [&|file| file.kind == FileKind::Index, &|file| {
                file.kind != FileKind::Index
            }];
        for (number, is_wanted) in stages.into_iter().enumerate() {
            let parts = self.parts.iter().zip(all);
            let files = parts.flat_map(|(part, manifest)| {
                let files = manifest.files.iter();
                files.map(move |file| (&part.unit, file))
            });
            let files: Vec<_> = files.filter(|(_, file)| is_wanted(file)).collect();
            cache.fetch(&files, &each, &is_cancelled)?;
            if number == 0 && self.handle.read_status(|status| status.snapshot.is_none()) {
                self.show(all.to_vec(), cache, false)?;
                // There is more to come.
                self.in_force.clear();
            }
        }
        Ok(())
    }

    /// Shows what was fetched to searches.
    fn show(
        &mut self,
        manifests: Vec<PartManifest>,
        cache: &SnapshotCache,
        with_texts: bool,
    ) -> Result<(), SnapshotError> {
        self.views += 1;
        let former = self.handle.read_status(|status| status.snapshot.clone());
        let folder = self.folder.join(format!("view-{}", self.views));
        let opened = open_view(
            &manifests,
            cache,
            (&folder, self.views),
            former.as_ref(),
            (&self.packs, with_texts),
        );
        if opened.is_err() {
            let _ = fs::remove_dir_all(&folder);
        }
        let view = opened?;
        self.shown = self.views;
        self.had_whole |= with_texts;
        let OpenSnapshot {
            snapshot,
            files,
            packs,
        } = view;
        let is_complete = with_texts && manifests.iter().all(|manifest| manifest.is_complete);
        let published_ms = manifests.iter().map(|one| one.published_ms).max();
        if let Some(texts) = self.handle.texts.get() {
            texts.set_packs(packs.values().cloned().collect());
        }
        self.packs = packs;
        let documents = snapshot.document_count();
        let (files, changed) = match &self.learner {
            Some(learner) => {
                let changed = changed_documents(former.as_ref(), &snapshot)?;
                (files.with_top_names(learner.top_names.clone()), changed)
            }
            None => (files, ChangedDocuments::default()),
        };
        self.handle.publish_changed(changed, |status| {
            status.snapshot = Some(snapshot);
            status.root = Some(Arc::new(files));
            status.is_down = false;
            status.error = None;
            status.state = match is_complete {
                true => SourceState::Ready,
                false => SourceState::Indexing,
            };
            status.updated_at =
                published_ms.map(|ms| SystemTime::UNIX_EPOCH + Duration::from_millis(ms));
        });
        tracing::info!(
            event = "snapshot.shown",
            source = self.handle.haystack.name,
            documents,
            sequence = manifests.iter().map(|one| one.sequence).max(),
            complete = is_complete,
        );
        self.in_force = manifests;
        if let Some(learner) = &self.learner {
            // A full channel has woken it already.
            let _ = learner.wake.try_send(());
        }
        Ok(())
    }

    /// Takes up what was learnt, where that is new, on a thread of its own: it may take seconds,
    /// and the index goes on meanwhile.
    fn follow_concepts(&mut self, cache: &SnapshotCache) {
        if let Some(learner) = &self.learner {
            return learner.show_progress(&self.handle);
        }
        let source = self.handle.haystack.name.as_str();
        if let Some(error) = self.concepts.poll_end() {
            tracing::warn!(event = "snapshot.unusable", source, %error);
        }
        let all = self.in_force.iter();
        let files = all.flat_map(|manifest| manifest.files_of(FileKind::Concepts));
        let files: Vec<String> = files.map(|file| file.digest.clone()).collect();
        let snapshot = self.handle.read_status(|status| status.snapshot.clone());
        let (Some(snapshot), true) = (snapshot, self.concepts.is_due(&files, self.views)) else {
            return;
        };
        if self.in_force.is_empty() {
            return;
        }
        let folder = self.folder.join(format!("concepts-{}", self.views));
        let learnt = match write_concepts(&self.in_force, cache, &folder) {
            Ok(learnt) => learnt.then_some(folder),
            Err(error) => {
                tracing::warn!(event = "snapshot.unusable", source, %error);
                return;
            }
        };
        let (handle, settings) = (Arc::clone(&self.handle), Arc::clone(&self.settings));
        let take_up = move || concepts::adopt_published(&handle, &settings, learnt, &snapshot);
        self.concepts.start((files, self.views), take_up);
    }

    /// Keeps what is shown for the next start, and removes the rest.
    fn save(&self, cache: &SnapshotCache) -> Result<(), SnapshotError> {
        let path = self.folder.join(IN_FORCE);
        let bytes = serde_json::to_vec(&self.in_force).expect("text and numbers are JSON");
        store::replace_file(&path, None, |file| file.write_all(&bytes))
            .map_err(SnapshotError::file(&path))?;
        self.prune(&[], cache)
    }

    /// Removes all but what is shown and what is `next`.
    fn prune(&self, next: &[PartManifest], cache: &SnapshotCache) -> Result<(), SnapshotError> {
        let all = self.in_force.iter().chain(next);
        let files = all.flat_map(|manifest| &manifest.files);
        let wanted: BTreeSet<&str> = files.map(|file| file.digest.as_str()).collect();
        let retained = cache.retain(&wanted);
        retained.map_err(SnapshotError::file(cache.folder()))?;
        // Searches under way hold the files of former views open.
        let (view, learnt) = (format!("view-{}", self.shown), "concepts-");
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_old = name.starts_with("view-") && name != view;
            if is_old || (name.starts_with(learnt) && !self.concepts.is_running()) {
                // Tried again with the next snapshot.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(())
    }
}

impl PartLearner {
    /// Shows in the part's state how far learning of all parts is, and what it waits for.
    fn show_progress(&self, all: &SourceHandle) {
        let (mut concepts, error) =
            all.read_status(|all| (all.concepts.clone(), all.error.clone()));
        if let Some(error) = error {
            concepts.error = Some(format!("learning of all parts: {error}"));
        }
        if self.part.read_status(|part| part.concepts != concepts) {
            self.part.publish_progress(|part| part.concepts = concepts);
        }
    }
}

/// A manifest as one who learns sees it: what was learnt is its own work, and nothing new.
fn without_concepts(manifest: &mut PartManifest) {
    manifest
        .files
        .retain(|file| file.kind != FileKind::Concepts);
    (manifest.epoch, manifest.sequence, manifest.published_ms) = (0, 0, 0);
}

/// What differs from what was followed before.
fn changed_documents(
    former: Option<&IndexSnapshot>,
    now: &IndexSnapshot,
) -> Result<ChangedDocuments, IndexError> {
    let Some(former) = former else {
        return Ok(ChangedDocuments::All);
    };
    let mut changed = ChangedDocuments::default();
    now.for_each_changed_key(former, |key| {
        let title = || former.document(key).ok().flatten().map(|one| one.title);
        changed.record(key, title);
    })?;
    Ok(changed)
}
