//! How much work with git goes on at once: of one repository, and of all; and how much of the disk its checkouts take.

use std::collections::HashMap;
use std::sync::Arc;

use git_engine::TreeSize;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::settings::CheckoutLimits;

/// What is counted on the disk: bytes in these units.
const UNIT: u64 = 1 << 20;
/// What an entry takes beside its bytes.
const ENTRY: u64 = 4 << 10;

/// Bounds of git's work.
pub(crate) struct Checkouts {
    all: Arc<Semaphore>,
    per_repository: usize,
    by_repository: Mutex<HashMap<String, Arc<Semaphore>>>,
    disk: Arc<Semaphore>,
    units: u32,
}

/// A turn, or a part of the disk; given back when it is dropped.
pub(crate) struct Held(#[expect(dead_code, reason = "held")] Vec<OwnedSemaphorePermit>);

impl Checkouts {
    pub(crate) fn new(limits: &CheckoutLimits) -> Self {
        let most = u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX);
        let units = u32::try_from(limits.total_bytes / UNIT).unwrap_or(most);
        let units = units.clamp(1, most);
        Self {
            all: Arc::new(Semaphore::new(limits.at_once.max(1))),
            per_repository: limits.per_repository.max(1),
            by_repository: Mutex::default(),
            disk: Arc::new(Semaphore::new(units as usize)),
            units,
        }
    }

    /// Waits for a turn: first of the repository, so that one with slow commits holds only its own turns.
    pub(crate) async fn turn(&self, repository: &str) -> Held {
        let own = {
            let mut all = self.by_repository.lock();
            // Those nobody waits for are forgotten.
            all.retain(|_, own| {
                Arc::strong_count(own) > 1 || own.available_permits() < self.per_repository
            });
            Arc::clone(
                all.entry(repository.to_lowercase())
                    .or_insert_with(|| Arc::new(Semaphore::new(self.per_repository))),
            )
        };
        // Neither is ever closed.
        let own = own.acquire_owned().await.ok();
        let one = Arc::clone(&self.all).acquire_owned().await.ok();
        Held(own.into_iter().chain(one).collect())
    }

    /// Waits for room on the disk; one that is larger than all of it waits for all of it.
    pub(crate) async fn room(&self, size: &TreeSize) -> Held {
        let bytes = size
            .bytes
            .saturating_add(size.entries.saturating_mul(ENTRY));
        // Its files lie there twice: in the work tree, and packed in `.git`.
        let units = u32::try_from(bytes.saturating_mul(2) / UNIT + 1).unwrap_or(u32::MAX);
        let disk = Arc::clone(&self.disk);
        let room = disk.acquire_many_owned(units.min(self.units)).await.ok();
        Held(room.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn limits() -> CheckoutLimits {
        CheckoutLimits {
            at_once: 3,
            per_repository: 2,
            total_bytes: 10 * UNIT,
            ..CheckoutLimits::default()
        }
    }

    #[actix_rt::test]
    async fn t6_turns_are_bounded_of_a_repository_and_of_all() {
        let checkouts = Checkouts::new(&limits());
        let first = checkouts.turn("evil/fork").await;
        let second = checkouts.turn("Evil/Fork").await;
        assert!(checkouts.turn("evil/fork").now_or_never().is_none());
        let other = checkouts.turn("a/b").now_or_never();
        assert!(other.is_some(), "another repository has turns left");
        assert!(
            checkouts.turn("c/d").now_or_never().is_none(),
            "three at once"
        );
        drop(first);
        assert!(checkouts.turn("c/d").now_or_never().is_some());
        drop((second, other));
        assert!(checkouts.turn("evil/fork").now_or_never().is_some());
    }

    #[actix_rt::test]
    async fn t6_the_disk_is_shared_and_what_is_larger_than_it_has_it_alone() {
        let checkouts = Checkouts::new(&limits());
        let size = |bytes| TreeSize {
            bytes,
            ..TreeSize::default()
        };
        let small = checkouts.room(&size(2 * UNIT)).await;
        assert!(checkouts.room(&size(u64::MAX)).now_or_never().is_none());
        drop(small);
        let large = checkouts.room(&size(u64::MAX)).now_or_never();
        assert!(large.is_some());
        assert!(checkouts.room(&size(0)).now_or_never().is_none());
    }
}
