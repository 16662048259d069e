//! An indexer's side of one source: waits for the lease, makes its folder what was published last,
//! and publishes while it holds it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use search_core::answer::SourceState;
use search_core::snapshots::{FileKind, PartManifest, RENEW_INTERVAL};

use super::adopt::{SourceFolders, adopt};
use super::cache::SnapshotCache;
use super::error::SnapshotError;
use super::lease::{LeaseSeeker, SnapshotLease};
use super::place::SnapshotMode;
use super::publisher::{Publisher, UNPUBLISHED_LIMIT, show_unpublished};
use super::texts::PublishedTexts;
use super::unit::Unit;
use super::wait::sleep;
use crate::source_handle::SourceHandle;

/// How often one who waits looks at the pointer.
const SEEK_INTERVAL: Duration = Duration::from_secs(1);

/// The lease of a source, and the threads that use it. Dropped, they end, and it is given back.
#[derive(Debug)]
pub(crate) struct SourcePublisher {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    lease: Arc<SnapshotLease>,
}

impl SourcePublisher {
    /// Waits until this process may index the source; `None` when it is told to end before. `lost`
    /// is set as soon as another one may.
    ///
    /// # Errors
    /// What was published cannot be fetched, or a thread cannot be started.
    pub(crate) fn acquire(
        handle: &Arc<SourceHandle>,
        (mode, folders): (&SnapshotMode, SourceFolders),
        lost: &Arc<AtomicBool>,
        is_ended: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Self>, SnapshotError> {
        let SnapshotMode::Indexer { place, part, owner } = mode else {
            return Ok(None);
        };
        handle.publish(|status| {
            status.state = SourceState::Starting;
            status.snapshot = None;
        });
        let unit = Unit::new(&place.storage, &handle.id, *part);
        let Some(lease) = wait_for_lease(handle, (unit, owner), lost, is_ended)? else {
            return Ok(None);
        };
        let lease = Arc::new(lease);
        let ends: Arc<AtomicBool> = Arc::default();
        // Held from here on: what follows may take longer than a lease lasts.
        let mut publishing = Self {
            ends: Arc::clone(&ends),
            threads: vec![spawn_renewal(handle, &lease, &ends)?],
            lease: Arc::clone(&lease),
        };
        let cache = SnapshotCache::open(folders.published.join("files"))?;
        let former = lease.pointer().manifest.is_some();
        let published = adopt_last(&lease, &cache, &folders, is_ended)?;
        let publisher = Publisher::new(
            (Arc::clone(handle), Arc::clone(&lease), Arc::clone(&ends)),
            (cache, folders, *part),
            (published, former),
        );
        let thread = std::thread::Builder::new()
            .name(format!("publisher-{}", handle.id))
            .spawn(move || publisher.run())
            .map_err(SnapshotError::file(std::path::Path::new("a thread")))?;
        publishing.threads.push(thread);
        Ok(Some(publishing))
    }
}

impl Drop for SourcePublisher {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            // How it ended was reported by the thread itself.
            let _ = thread.join();
        }
        // Whoever waits would wait for its end otherwise; lost, it is not this process's.
        let _ = self.lease.release();
    }
}

/// The lease, as soon as nobody else has it.
fn wait_for_lease(
    handle: &SourceHandle,
    (unit, owner): (Unit, &str),
    lost: &Arc<AtomicBool>,
    is_ended: &(dyn Fn() -> bool + Sync),
) -> Result<Option<SnapshotLease>, SnapshotError> {
    let source = handle.haystack.name.as_str();
    let mut seeker = LeaseSeeker::new(unit, owner.to_owned());
    let mut told = String::new();
    loop {
        let now = match seeker.attempt(lost) {
            Ok(Some(lease)) => {
                let epoch = lease.pointer().epoch;
                handle.publish(|status| status.stands_by = None);
                tracing::info!(event = "lease.taken", source, epoch);
                return Ok(Some(lease));
            }
            Ok(None) => format!("held by {}", seeker.holder()),
            Err(error) => error.to_string(),
        };
        if now != told {
            handle.publish(|status| status.stands_by = Some(now.clone()));
            tracing::info!(event = "lease.waiting", source, reason = %now);
            told = now;
        }
        if !sleep(SEEK_INTERVAL, is_ended) {
            return Ok(None);
        }
    }
}

/// Renewals that failed one after the other.
#[derive(Debug, Default)]
struct RenewalFailures {
    since: Option<Instant>,
    is_shown: bool,
}

impl RenewalFailures {
    /// Whether that it fails is to be shown from now on, or no more; `None` where neither.
    fn record(&mut self, fails: bool, (began, ended): (Instant, Instant)) -> Option<bool> {
        if !fails {
            self.since = None;
            return std::mem::take(&mut self.is_shown).then_some(false);
        }
        let since = *self.since.get_or_insert(began);
        self.is_shown |= ended.saturating_duration_since(since) >= UNPUBLISHED_LIMIT;
        self.is_shown.then_some(true)
    }
}

/// The thread that writes the pointer again and again. It finds sooner than the publisher that the
/// storage says nothing: what that one stores is waited for as long as a large file may take.
fn spawn_renewal(
    handle: &Arc<SourceHandle>,
    lease: &Arc<SnapshotLease>,
    ends: &Arc<AtomicBool>,
) -> Result<JoinHandle<()>, SnapshotError> {
    let (lease, ends) = (Arc::clone(lease), Arc::clone(ends));
    let handle = Arc::clone(handle);
    let keep = move || {
        let is_ended = || ends.load(Ordering::Acquire) || lease.is_lost();
        let mut unrenewed = RenewalFailures::default();
        while sleep(RENEW_INTERVAL, &is_ended) {
            let began = Instant::now();
            let renewed = lease.renew();
            let error = renewed.as_ref().err();
            if let Some(shows) = unrenewed.record(error.is_some(), (began, Instant::now())) {
                show_unpublished(&handle, error.filter(|_| shows));
            }
            match renewed {
                Ok(()) => {}
                Err(SnapshotError::LeaseLost) => {
                    tracing::warn!(event = "lease.lost", epoch = lease.pointer().epoch);
                }
                // While the storage is away nobody else can take it.
                Err(error) => tracing::warn!(event = "lease.unrenewed", %error),
            }
        }
    };
    std::thread::Builder::new()
        .name("lease".to_owned())
        .spawn(keep)
        .map_err(SnapshotError::file(std::path::Path::new("a thread")))
}

/// What was published last, and its texts. The index here becomes that, unless it is that already.
fn adopt_last(
    lease: &SnapshotLease,
    cache: &SnapshotCache,
    folders: &SourceFolders,
    is_ended: &(dyn Fn() -> bool + Sync),
) -> Result<Option<(PartManifest, PublishedTexts)>, SnapshotError> {
    let Some(published) = lease.pointer().manifest else {
        return Ok(None);
    };
    let unit = &lease.unit;
    let manifest = match unit.manifest(&published, cache.folder()) {
        Ok(manifest) => manifest,
        // Nobody can read it: it is published anew.
        Err(error @ (SnapshotError::Manifest(_) | SnapshotError::Storage(_)))
            if is_beyond_repair(&error) =>
        {
            tracing::warn!(event = "snapshot.unusable", %error);
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let texts: Vec<_> = manifest
        .files_of(FileKind::Texts)
        .map(|file| (unit, file))
        .collect();
    let adopted = cache.fetch(&texts, &|_| {}, is_ended).and_then(|()| {
        match folders.is_of(&published.object) {
            true => Ok(()),
            false => {
                adopt(unit, &manifest, cache, folders, is_ended)?;
                folders.mark(&published.object)
            }
        }
    });
    match adopted {
        Ok(()) => {}
        Err(error) if is_beyond_repair(&error) => {
            tracing::warn!(event = "snapshot.unusable", %error);
            return Ok(None);
        }
        Err(error) => return Err(error),
    }
    let texts = PublishedTexts::load(manifest.files_of(FileKind::Texts), cache)?;
    let wanted: BTreeSet<&str> = texts.files().map(|file| file.digest.as_str()).collect();
    // Files that are left take room, nothing else.
    let _ = cache.retain(&wanted);
    Ok(Some((manifest, texts)))
}

/// Whether trying again cannot help: all of it is published anew then.
fn is_beyond_repair(error: &SnapshotError) -> bool {
    use http_clients::objects::ObjectError;
    matches!(
        error,
        SnapshotError::Manifest(_)
            | SnapshotError::IndexFormat(_)
            | SnapshotError::Storage(ObjectError::Missing { .. } | ObjectError::Damaged { .. })
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_a_storage_that_hangs_is_shown_after_half_a_minute_until_it_answers() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut unrenewed = RenewalFailures::default();
        for (fails, began, ended, shown) in [
            (false, 0, 1, None),
            (true, 3, 8, None),
            (true, 10, 15, None),
            (true, 24, 32, None),
            (true, 34, 39, Some(true)),
            (true, 41, 46, Some(true)),
            (false, 48, 49, Some(false)),
            (false, 51, 52, None),
            (true, 54, 59, None),
        ] {
            let noted = unrenewed.record(fails, (at(began), at(ended)));
            assert_eq!(noted, shown, "at {ended} s");
        }
    }
}
